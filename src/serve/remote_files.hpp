// SPDX-License-Identifier: MIT OR Apache-2.0
// A remote archive as a file system that can only be read: one directory, whose list is
// listSegments and whose files are read by ranges of getSegment. With it everything that opens an
// archive on disk opens a remote one. A file is one generation of a segment: once the server has
// another one, reads fail with the reason "changed-while-reading", and never mix the two; opening
// it again gives the new one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "serve/remote_archive.hpp"
#include "serve/remote_window.hpp"
#include "varve/file_system.hpp"

namespace varve::serve {

class RemoteFileSystem final : public io::FileSystem {
 public:
  // `max_memory_bytes`: the largest segment that is held in memory, where a server gives no ranges
  // or no ETags.
  RemoteFileSystem(std::shared_ptr<RemoteArchive> archive, std::uint64_t max_memory_bytes);

  // Paths are the archive's address, or that and the name of a segment behind a slash.
  Result<io::FileIdentity> identity_of(const std::string& path) override;
  Result<std::unique_ptr<io::Directory>> open_directory(const std::string& path) override;
  Result<std::unique_ptr<io::File>> open_file(const std::string& path, io::OpenMode mode) override;
  Result<std::unique_ptr<io::Directory>> make_directories(const std::string& path) override;

  RemoteArchive& archive() { return *archive_; }
  // What a directory of it does.
  Result<std::vector<io::DirectoryEntry>> list();
  Result<std::unique_ptr<io::File>> open_segment(const std::string& name, io::OpenMode mode);

 private:
  Result<std::string> segment_of(const std::string& path) const;
  Result<RangeAnswer> first_look(const std::string& name);
  void look_at_all(const std::vector<RemoteSegment>& segments);

  std::shared_ptr<RemoteArchive> archive_;
  std::uint64_t max_whole_bytes_;
  std::mutex mutex_;
  // Heads that were fetched side by side when the directory was listed; each is used once.
  std::map<std::string, RangeAnswer> looks_;
  FetchPool pool_;  // last: its threads end before what they use
};

}  // namespace varve::serve
