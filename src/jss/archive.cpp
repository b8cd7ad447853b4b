// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/archive.hpp"

#include <algorithm>
#include <utility>

#include "jss/names.hpp"

namespace varve::jss {

namespace {

std::shared_ptr<const Dictionary> dictionary_of(const std::string& label) {
  auto dictionary = std::make_shared<Dictionary>();
  dictionary->add(label);
  return dictionary;
}

Finding note(const char* code, std::string file, std::string message) {
  Finding finding = make_finding(code, "", file, 0, 0, "file", std::move(message));
  finding.severity = Severity::note;
  return finding;
}

}  // namespace

Result<std::unique_ptr<Archive>> Archive::open(io::FileSystem& files, const std::string& path) {
  std::unique_ptr<Archive> archive(new Archive(files, path));
  VARVE_ASSIGN(const io::FileIdentity identity, files.identity_of(path));
  if (identity.type == io::FileType::directory) {
    VARVE_TRY(archive->add_directory());
    return archive;
  }
  VARVE_ASSIGN(auto file, files.open_file(path, io::OpenMode::read));
  VARVE_TRY(archive->add_member("", io::split_path(path).name, std::move(file)));
  return archive;
}

Result<void> Archive::add_directory() {
  VARVE_ASSIGN(directory_, files_.open_directory(path_));
  VARVE_ASSIGN(auto entries, directory_->list());
  const auto is_segment = [](const io::DirectoryEntry& e) { return segment_number(e.name); };
  // A data directory of the reference keeps its segments one level down.
  if (std::none_of(entries.begin(), entries.end(), is_segment) &&
      std::any_of(entries.begin(), entries.end(), [](const io::DirectoryEntry& e) {
        return e.name == "segments" && e.identity.type == io::FileType::directory;
      })) {
    VARVE_ASSIGN(directory_, directory_->open_directory("segments"));
    VARVE_ASSIGN(entries, directory_->list());
    prefix_ = "segments/";
  }
  // The order of names is the order of numbers and of time.
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const io::DirectoryEntry& entry : entries) {
    if (is_temporary_name(entry.name)) {
      notes_.push_back(note("stale-temporary", prefix_ + entry.name,
                            "left over from a rewrite that did not end; no reader looks at it"));
      continue;
    }
    if (!is_segment(entry)) {
      continue;
    }
    if (entry.identity.type != io::FileType::regular) {
      notes_.push_back(note("not-a-regular-file", prefix_ + entry.name,
                            "the name of a segment, but no regular file; not looked at"));
      continue;
    }
    VARVE_ASSIGN(auto file, directory_->open_file(entry.name, io::OpenMode::read));
    VARVE_TRY(add_member(prefix_ + entry.name, entry.name, std::move(file)));
  }
  if (members_.empty()) {
    return fail(ErrorCode::not_a_store, "not_a_store", "the directory holds no segment file",
                path_);
  }
  return {};
}

Result<void> Archive::add_member(std::string name, std::string label,
                                 std::unique_ptr<io::File> file) {
  VARVE_ASSIGN(const auto segment, SegmentFile::adopt(std::move(file), name));
  Member member;
  member.number = segment_number(label);
  member.label_dictionary = dictionary_of(label);
  member.name = std::move(name);
  member.label = std::move(label);
  member.identity = segment->identity();
  VARVE_ASSIGN(member.head, read_head(*segment));
  members_.push_back(std::move(member));
  return {};
}

std::optional<Error> Archive::overlap() const {
  const Member* last = nullptr;
  for (const Member& member : members_) {
    const Header& header = member.head.header;
    if (member.head.state != SegmentState::sealed || header.event_count == 0) {
      continue;
    }
    if (last != nullptr && header.min_seq <= last->head.header.max_seq) {
      Error error;
      error.code = ErrorCode::damaged;
      error.path = member.name;
      error.reason = "segment-overlap";
      error.message = "the segment begins at or below the last seq of " + last->label;
      error.expected = Number::decimal(last->head.header.max_seq);
      error.actual = Number::decimal(header.min_seq);
      return error;
    }
    last = &member;
  }
  return std::nullopt;
}

std::vector<std::optional<std::size_t>> Archive::take_over(const Archive& old) {
  std::vector<std::optional<std::size_t>> out;
  std::size_t at = 0;  // both ascend by name
  for (Member& member : members_) {
    while (at < old.members_.size() && old.members_[at].name < member.name) {
      ++at;
    }
    out.emplace_back();
    if (at == old.members_.size() || old.members_[at].name != member.name) {
      continue;
    }
    const Member& before = old.members_[at];
    if (before.identity.same_object(member.identity) &&
        before.identity.size_bytes == member.identity.size_bytes &&
        before.identity.modified_ns == member.identity.modified_ns &&
        before.head.raw == member.head.raw) {
      member.hash_holds = before.hash_holds;
      out.back() = at;
    }
  }
  return out;
}

void Archive::forget_active() {
  std::erase_if(members_,
                [](const Member& member) { return member.head.state == SegmentState::active; });
}

Result<std::shared_ptr<OpenSegment>> Archive::open_file(std::size_t index) {
  Member& member = members_[index];
  std::unique_ptr<io::File> file;
  if (directory_ != nullptr) {
    VARVE_ASSIGN(file, directory_->open_file(member.label, io::OpenMode::read));
  } else {
    VARVE_ASSIGN(file, files_.open_file(path_, io::OpenMode::read));
  }
  VARVE_ASSIGN(const io::FileIdentity now, file->identity());
  const bool same = now.same_object(member.identity);
  auto segment = std::make_shared<OpenSegment>();
  VARVE_ASSIGN(segment->file,
               SegmentFile::adopt(std::move(file), member.name,
                                  same ? std::optional(member.identity.size_bytes) : std::nullopt));
  if (segment->file->size() < member.identity.size_bytes && same) {
    // Cut since the store was opened: the smaller size is the horizon from now on.
    member.identity = now;
    member.hash_holds = false;
    VARVE_ASSIGN(member.head, read_head(*segment->file));
  } else if (!same) {
    member.identity = now;
    member.hash_holds = false;
    VARVE_ASSIGN(member.head, read_head(*segment->file));
  }
  segment->head = member.head;
  return segment;
}

Result<std::shared_ptr<OpenSegment>> Archive::open_segment(std::size_t index,
                                                           std::uint64_t max_memory_bytes,
                                                           bool first_only) {
  VARVE_ASSIGN(auto segment, open_file(index));
  Member& member = members_[index];
  if (segment->head.fault) {
    segment->findings.push_back(*segment->head.fault);
  }
  segment->findings.insert(segment->findings.end(), segment->head.oddities.begin(),
                           segment->head.oddities.end());
  if (segment->head.state != SegmentState::sealed) {
    return segment;
  }
  FooterOptions options;
  options.check_hash = !member.hash_holds;
  options.first_only = first_only;
  options.max_memory_bytes = max_memory_bytes;
  VARVE_ASSIGN(segment->footer,
               load_footer(*segment->file, segment->head, options, segment->findings));
  if (!segment->footer->trusted) {
    VARVE_TRY(segment->file->still_whole());
  }
  member.hash_holds = segment->footer->trusted;
  return segment;
}

Result<bool> Archive::hash_holds(std::size_t index) {
  if (members_[index].hash_holds) {
    return true;
  }
  VARVE_ASSIGN(const auto segment, open_file(index));
  if (segment->head.state != SegmentState::sealed) {
    return false;
  }
  VARVE_ASSIGN(const std::uint64_t computed, metadata_checksum(*segment->file, segment->head));
  members_[index].hash_holds = computed == segment->head.header.checksum;
  return members_[index].hash_holds;
}

}  // namespace varve::jss
