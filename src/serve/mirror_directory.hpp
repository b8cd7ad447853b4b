// SPDX-License-Identifier: MIT OR Apache-2.0
// The directory of a mirror: segments as the server has them, and in `.varve-mirror/` what tells
// the mirror's own files from others, the lock, and downloads under way. A file that this mirror
// did not put there, or that was changed since, is never replaced nor removed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/result.hpp"

namespace varve::serve {

inline constexpr const char* k_mirror_work_directory = ".varve-mirror";

// What tells generations of a segment apart.
struct SegmentMark {
  std::uint64_t checksum = 0;  // of the header
  std::uint64_t size_bytes = 0;
  friend bool operator==(const SegmentMark&, const SegmentMark&) = default;
};

class MirrorDirectory {
 public:
  // Makes the directory if it is missing, and takes its lock. Errors: locked if another mirror has
  // it; invalid_argument if it mirrors another address.
  static Result<std::unique_ptr<MirrorDirectory>> open(io::FileSystem& files,
                                                       io::Environment& environment,
                                                       const std::string& path,
                                                       const std::string& url);

  io::Directory& work() { return *work_; }
  std::string work_path(const std::string& name) const;

  struct Local {
    SegmentMark mark;  // zero for what is no segment file
    bool own = false;
  };
  // What lies under a segment's name; nullopt if nothing does.
  Result<std::optional<Local>> look(const std::string& name) const;
  // The names of the mirror's own segments.
  std::vector<std::string> own_names() const;

  // Moves the downloaded and checked file of that name in the working directory to its place. The
  // mark is noted durably before, so that a crash leaves no file that nobody owns.
  Result<void> publish(const std::string& name, const std::string& downloaded, SegmentMark mark);
  // Removes an own segment.
  Result<void> remove(const std::string& name);
  // Removes what is left of downloads of other segments than these.
  Result<void> tidy(const std::vector<std::string>& wanted);
  // The mark in the header of a file of the working directory.
  Result<SegmentMark> mark_of_download(const std::string& downloaded) const;

 private:
  MirrorDirectory(io::Environment& environment, std::string path, std::string url)
      : environment_(environment), path_(std::move(path)), url_(std::move(url)) {}
  Result<void> load();
  Result<void> save();

  io::Environment& environment_;
  std::string path_;
  std::string url_;
  std::unique_ptr<io::Directory> directory_;
  std::unique_ptr<io::Directory> work_;
  std::unique_ptr<io::File> lock_;
  // Two marks while a segment is being replaced.
  std::multimap<std::string, SegmentMark> own_;
};

}  // namespace varve::serve
