// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/snapshot.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tay/refusal.hpp"
#include "tay/v2_root.hpp"

namespace varve::tay {

namespace {

void read_store(Snapshot& out) {
  const Snapshot::Marker* marker = out.marker(k_store_name);
  if (marker == nullptr) {
    return;
  }
  Id id{};
  if (auto fault = decode_store(marker->bytes, id)) {
    Refusal refusal = object_refusal(*fault, std::string(k_store_name), marker->name, 0,
                                     marker->identity.size_bytes);
    if (refusal.word == "trailing_store_bytes") {
      refusal.actual = Number::decimal(marker->identity.size_bytes);
    }
    out.problems.push_back(std::move(refusal));
  } else {
    out.store_id = id;
  }
}

void look_at_lock(Snapshot& out) {
  out.lock_missing = !out.listing.lock;
  if (out.listing.lock) {
    const auto file = out.root->open_file(k_lock_name, io::OpenMode::read);
    out.lock_held = file && (*file)->locked_elsewhere();
  }
}

Refusal missing_store(const Snapshot& snapshot) {
  const bool unfinished = snapshot.unfinished_initialization();
  Refusal out = make_refusal(RefusalKind::initialization_required, "store", "missing_store_marker",
                             unfinished ? "STORE is missing and the only segment is a bare header: "
                                          "an initialization that was cut short"
                                        : "the file STORE is missing");
  out.verdict = unfinished ? Verdict::torn : Verdict::damaged;
  out.unit = k_store_name;
  out.file = k_store_name;
  return out;
}

Finding surrounding(Severity severity, const char* code, std::string file, std::string message) {
  Finding out;
  out.severity = severity;
  out.code = code;
  out.file = std::move(file);
  out.message = std::move(message);
  out.unit = "entry";
  return out;
}

}  // namespace

bool Snapshot::unfinished_initialization() const {
  return !listing.store && segments.size() == 1 && segments[0].id == 1 &&
         segments[0].bytes() == k_header_bytes;
}

std::uint64_t Snapshot::segment_bytes() const {
  std::uint64_t total = 0;
  for (const Segment& segment : segments) {
    total += segment.bytes();
  }
  return total;
}

const Snapshot::Marker* Snapshot::marker(std::string_view name) const {
  for (const Marker& entry : markers) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

std::uint64_t Snapshot::marker_bytes() const {
  std::uint64_t total = 0;
  for (const Marker& entry : markers) {
    total += entry.identity.size_bytes;
  }
  return total;
}

Result<void> read_marker(const io::Directory& directory, std::string_view name,
                         std::string_view shown_name, std::uint64_t most_bytes, Snapshot& out) {
  VARVE_ASSIGN(const auto file, directory.open_file(name, io::OpenMode::read));
  Snapshot::Marker marker;
  marker.name = shown_name;
  VARVE_ASSIGN(marker.identity, file->identity());
  marker.bytes.resize(
      static_cast<std::size_t>(std::min(marker.identity.size_bytes, most_bytes + 1)));
  VARVE_ASSIGN(const std::size_t got, file->read_at(marker.bytes, 0));
  marker.bytes.resize(got);
  out.markers.push_back(std::move(marker));
  return {};
}

Result<void> refresh_earlier(const io::Directory& directory, std::vector<Segment>& segments) {
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    auto now = directory.identity_of(segments[i].name);
    if (!now || !now->same_object(segments[i].identity)) {
      if (!now && now.error().system_errno != ENOENT) {
        return std::unexpected(std::move(now).error());
      }
      return fail(ErrorCode::locked, "changed", "a segment was replaced while it was listed",
                  directory.path());
    }
    segments[i].identity = *now;
  }
  return {};
}

Result<Snapshot> take_snapshot(io::FileSystem& files, const std::string& path,
                               std::uint64_t entry_limit) {
  Snapshot out;
  out.path = path;
  VARVE_ASSIGN(out.root, files.open_directory(path));
  VARVE_ASSIGN(out.listing, list_store(*out.root, entry_limit, false, out.segments_directory));
  out.segments = segments_of(out.listing);
  if (out.segments_directory) {
    VARVE_TRY(refresh_earlier(*out.segments_directory, out.segments));
  }
  look_at_lock(out);
  out.problems = out.listing.problems;
  if (!out.listing.store) {
    out.problems.push_back(missing_store(out));
  }
  if (out.listing.store) {
    VARVE_TRY(read_marker(*out.root, k_store_name, k_store_name, k_store_bytes, out));
    read_store(out);
  }
  if (out.segments.empty()) {
    out.problems.push_back(discovery_refusal("missing_history", {}, std::string(k_segments_name),
                                             "the store has no segment"));
  }
  if (out.listing.v2_root && std::ranges::any_of(out.listing.root, [](const auto& entry) {
        return entry.name == k_current_name;
      })) {
    VARVE_TRY(open_epoch(out));
  }
  return out;
}

void tell_surroundings(const Snapshot& snapshot, bool before_errors, FindingSink& findings) {
  if (before_errors) {
    if (snapshot.lock_missing) {
      Finding finding =
          surrounding(Severity::warning, "existing_root_or_lock_missing", std::string(k_lock_name),
                      "the lock file is missing; the format's own engine does not "
                      "open a store without it");
      finding.kind = to_text(RefusalKind::ownership_unavailable);
      findings.add(std::move(finding));
    }
    if (snapshot.lock_held) {
      Finding finding = surrounding(Severity::warning, "store_busy", std::string(k_lock_name),
                                    "another process holds the lock: what it appends from now on "
                                    "is not looked at");
      finding.kind = to_text(RefusalKind::ownership_busy);
      findings.add(std::move(finding));
    }
    return;
  }
  for (const std::string& file : snapshot.listing.staging) {
    findings.add(surrounding(Severity::note, "staging_file", file,
                             "left over from an interrupted step; it never holds records"));
  }
  for (const std::string& file : snapshot.listing.ignored) {
    findings.add(surrounding(Severity::note, "unrelated_file", file, "not part of the store"));
  }
}

}  // namespace varve::tay
