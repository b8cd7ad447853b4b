// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/discovery.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/bytes.hpp"
#include "base/text_coding.hpp"
#include "tay/refusal.hpp"

namespace varve::tay {

namespace {

using Entries = std::vector<io::DirectoryEntry>;

std::optional<std::uint64_t> id_from_digits(std::string_view digits) {
  std::uint64_t id = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, id);
  if (parsed.ec != std::errc() || parsed.ptr != end || id == 0) {
    return std::nullopt;
  }
  return id;
}

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// prefix + nonce + ".tmp"
bool is_stage(std::string_view name, std::string_view prefix) {
  return name.size() == prefix.size() + k_nonce_digits + k_stage_suffix.size() &&
         name.starts_with(prefix) && name.ends_with(k_stage_suffix) &&
         is_lower_hex(name.substr(prefix.size(), k_nonce_digits));
}

bool is_segment_stage(std::string_view name) {
  const std::size_t digits_at = k_segment_stage_prefix.size();
  const std::size_t nonce_at = digits_at + k_segment_digits + 1;
  return name.size() == nonce_at + k_nonce_digits + k_stage_suffix.size() &&
         name.starts_with(k_segment_stage_prefix) && name.ends_with(k_stage_suffix) &&
         name[nonce_at - 1] == '-' &&
         id_from_digits(name.substr(digits_at, k_segment_digits)).has_value() &&
         is_lower_hex(name.substr(nonce_at, k_nonce_digits));
}

bool is_v2_stage(std::string_view name) {
  return is_stage(name, k_adoption_stage_prefix) || is_stage(name, k_marker_stage_prefix) ||
         is_stage(name, k_current_stage_prefix);
}

bool mentions_suffix(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto found =
      std::ranges::search(name, k_segment_suffix, [&](char a, char b) { return lower(a) == b; });
  return !found.empty();
}

std::string_view message_of(std::string_view word) {
  if (word == "invalid_name_encoding") return "the name is not UTF-8";
  if (word == "unsupported_entry_type")
    return "the entry is not of the type that its name asks for";
  if (word == "hard_link") return "the file has more than one name";
  if (word == "invalid_staging_file") return "the name or size is not that of a staging file";
  if (word == "zero_byte_segment") return "the segment is an empty file";
  if (word == "malformed_segment_name") return "a name with .tay in it that is not a segment's";
  if (word == "unexpected_directory") return "a directory that has no place here";
  return "two entries have one name";
}

// Judges one directory's entries.
class Judge {
 public:
  Judge(Listing& out, bool root) : out_(out), root_(root) {}

  void entry(const io::DirectoryEntry& entry) {
    const std::string& name = entry.name;
    const io::FileType type = entry.identity.type;
    const bool regular = type == io::FileType::regular;
    if (!base::is_utf8(name)) {
      return refuse("invalid_name_encoding", name, base::to_hex(base::as_bytes(name)));
    }
    if (!regular && type != io::FileType::directory) {
      return refuse("unsupported_entry_type", name, name);
    }
    if (regular && entry.identity.links != 1) {
      return refuse("hard_link", name, name);
    }
    if (root_ && judge_root_name(entry)) {
      return;
    }
    if (name.starts_with(k_segment_stage_prefix) || name.starts_with(k_store_stage_prefix)) {
      return judge_stage(entry);
    }
    if (!root_ && regular && segment_id_of(name)) {
      return judge_segment(entry);
    }
    if (mentions_suffix(name)) {
      return refuse("malformed_segment_name", name, name);
    }
    if (!regular) {
      return refuse("unexpected_directory", name, name);
    }
    out_.ignored.push_back(place(name));
  }

  std::string place(const std::string& name) const {
    return root_ ? name : std::string(k_segments_name) + '/' + name;
  }
  void refuse(const char* word, const std::string& name, Json argument) {
    out_.problems.push_back(
        discovery_refusal(word, std::move(argument), place(name), std::string(message_of(word))));
  }

 private:
  // The root's own names; true if the entry is settled.
  bool judge_root_name(const io::DirectoryEntry& entry) {
    const std::string& name = entry.name;
    const bool directory = entry.identity.type == io::FileType::directory;
    if (name == k_segments_name || name == k_store_name || name == k_lock_name) {
      if (directory != (name == k_segments_name)) {
        refuse("unsupported_entry_type", name, name);
      } else if (directory) {
        out_.has_segments = true;
      } else {
        (name == k_store_name ? out_.store : out_.lock) = entry.identity;
      }
      return true;
    }
    if (!directory && (name == k_store_v2_name || name == k_current_name)) {
      out_.v2_root = true;
    }
    if (directory ? name == k_epochs_name : is_v2_stage(name)) {
      out_.ignored.push_back(name);
      return true;
    }
    return false;
  }
  void judge_stage(const io::DirectoryEntry& entry) {
    const bool good =
        entry.identity.type == io::FileType::regular &&
        (root_ ? is_stage(entry.name, k_store_stage_prefix) &&
                     entry.identity.size_bytes <= k_store_bytes
               : is_segment_stage(entry.name) && entry.identity.size_bytes <= k_header_bytes);
    if (!good) {
      return refuse("invalid_staging_file", entry.name, entry.name);
    }
    out_.staging.push_back(place(entry.name));
  }
  void judge_segment(const io::DirectoryEntry& entry) {
    const std::uint64_t id = *segment_id_of(entry.name);
    if (entry.identity.size_bytes == 0) {
      refuse("zero_byte_segment", entry.name, id);
    }
    out_.canonical.push_back({id, entry.identity});
  }

  Listing& out_;
  bool root_;
};

void judge_all(Entries& entries, std::uint64_t entry_limit, bool root, Listing& out) {
  std::ranges::sort(entries, {}, &io::DirectoryEntry::name);
  if (entries.size() > entry_limit) {
    Refusal refusal = make_refusal(RefusalKind::resource_limit, "listing", "max_directory_entries",
                                   "the directory has more entries than its budget");
    refusal.physical_kind = "io_or_resource_error";
    refusal.expected = Number::decimal(entry_limit);
    refusal.actual = Number::decimal(entries.size());
    out.problems.push_back(std::move(refusal));
    return;
  }
  Judge judge(out, root);
  for (const io::DirectoryEntry& entry : entries) {
    judge.entry(entry);
  }
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].name == entries[i - 1].name) {
      judge.refuse("duplicate_name", entries[i].name, entries[i].name);
    }
  }
}

}  // namespace

std::string segment_name(std::uint64_t id) {
  std::string digits = std::to_string(id);
  digits.insert(0, k_segment_digits - digits.size(), '0');
  return digits += k_segment_suffix;
}

std::optional<std::uint64_t> segment_id_of(std::string_view name) {
  if (name.size() != k_segment_digits + k_segment_suffix.size() ||
      !name.ends_with(k_segment_suffix)) {
    return std::nullopt;
  }
  return id_from_digits(name.substr(0, k_segment_digits));
}

std::string segment_stage_name(std::uint64_t id, std::span<const std::byte> nonce) {
  std::string name(k_segment_stage_prefix);
  name.append(segment_name(id), 0, k_segment_digits);
  name += '-';
  base::append_hex(name, nonce);
  return name += k_stage_suffix;
}

std::string store_stage_name(std::span<const std::byte> nonce) {
  std::string name(k_store_stage_prefix);
  base::append_hex(name, nonce);
  return name += k_stage_suffix;
}

void judge_root(Entries entries, std::uint64_t entry_limit, Listing& out) {
  judge_all(entries, entry_limit, true, out);
  out.root = std::move(entries);
  if (out.v2_root) {
    Refusal refusal = discovery_refusal("store_v2_requires_v2_recovery", {}, "",
                                        "the directory is the root of a Store v2");
    refusal.offset = 0;
    refusal.verdict = Verdict::unknown;
    out.problems.push_back(std::move(refusal));
  }
}

void judge_segments(Entries entries, std::uint64_t entry_limit, Listing& out) {
  judge_all(entries, entry_limit, false, out);
  out.segments = std::move(entries);
  std::ranges::sort(out.canonical, {}, &SegmentEntry::id);
  bool contiguous = true;
  Json ids = Json::array();
  for (std::size_t i = 0; i < out.canonical.size(); ++i) {
    contiguous = contiguous && out.canonical[i].id == i + 1;
    ids.push(out.canonical[i].id);
  }
  if (!contiguous) {
    out.problems.push_back(discovery_refusal("noncontiguous_ids", std::move(ids),
                                             std::string(k_segments_name),
                                             "the segments' ids are not 1, 2, 3 and so on"));
  }
}

Result<Listing> list_store(const io::Directory& root, std::uint64_t entry_limit, bool stop_early,
                           std::unique_ptr<io::Directory>& segments) {
  Listing out;
  VARVE_ASSIGN(Entries entries, root.list());
  judge_root(std::move(entries), entry_limit, out);
  if ((stop_early && !out.problems.empty()) || !out.has_segments) {
    return out;
  }
  VARVE_ASSIGN(segments, root.open_directory(k_segments_name));
  VARVE_ASSIGN(entries, segments->list());
  judge_segments(std::move(entries), entry_limit, out);
  return out;
}

}  // namespace varve::tay
