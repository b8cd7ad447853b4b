// SPDX-License-Identifier: MIT OR Apache-2.0
// A local copy of a remote archive, kept up: segments that are new or were replaced on the server
// are downloaded, verified in full, and only then put in place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/remote_archive.hpp"
#include "varve/finding.hpp"
#include "varve/json.hpp"

namespace varve::serve {

struct MirrorOptions {
  bool prune = false;  // remove own segments that the server no longer has
  std::uint64_t part_bytes = std::uint64_t{16} << 20;
  unsigned parts_at_once = 8;  // of all segments together
  unsigned threads = 0;        // that verify; 0: all cores
  // Bytes that have arrived, and that are to come, of this round; one call at a time. May be null.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  std::function<bool()> interrupted;  // from several threads; may be null
};

// What a round did about one segment. Those that were there already are only counted.
struct MirroredSegment {
  enum class Fate : std::uint8_t {
    added,
    replaced,  // the server had another generation
    kept,      // the server no longer has it
    pruned,
    foreign,  // a file of that name is not the mirror's own, and not the server's either
    failed,
  };
  std::string name;
  Fate fate = Fate::failed;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_before = 0;      // of them fetched by an earlier run
  std::optional<Error> error = {};     // of a failed one
  std::vector<Finding> findings = {};  // what verifying it found, if that is why it failed
};
std::string_view to_text(MirroredSegment::Fate fate);

struct MirrorReport {
  std::string url;
  std::string directory;
  std::uint64_t segments = 0;  // that the server has
  std::uint64_t present = 0;   // of them there and the same, before and after
  std::uint64_t bytes_fetched = 0;
  bool interrupted = false;
  std::vector<MirroredSegment> changes;  // in the order of the archive
  std::optional<Error> error;            // what ended the round early

  // varve.mirror/1
  Json to_json() const;
};

// The mirror in a directory. Holds its lock.
class Mirror {
 public:
  // Errors: as MirrorDirectory::open and RemoteArchive::connect.
  static Result<std::unique_ptr<Mirror>> open(io::FileSystem& files, io::Environment& environment,
                                              const std::string& url, const std::string& directory,
                                              RemoteOptions remote, MirrorOptions options);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // One round. What fails on the way is in the report; an error is what keeps it from beginning:
  // the list cannot be had, the directory cannot be read.
  Result<MirrorReport> round();

 private:
  struct Impl;
  explicit Mirror(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::serve
