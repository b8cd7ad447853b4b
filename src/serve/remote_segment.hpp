// SPDX-License-Identifier: MIT OR Apache-2.0
// One segment of a remote archive while its blocks are read side by side. If the server replaces
// it meanwhile, the blocks that are left are read from the new generation: blocks never move
// (section 17.5), and each is whole in itself.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jss/block_reader.hpp"
#include "jss/select.hpp"
#include "jss/walker.hpp"
#include "serve/remote_files.hpp"
#include "varve/batch.hpp"

namespace varve::serve {

// A generation of it, opened.
struct OpenGeneration {
  std::shared_ptr<jss::OpenSegment> segment;
  jss::SegmentWalk walk;
};

// Thread-safe.
class RemoteSegmentReader {
 public:
  // `file_name`: how findings call it.
  static Result<std::shared_ptr<RemoteSegmentReader>> open(RemoteFileSystem& files,
                                                           std::string name, std::string file_name,
                                                           const jss::WalkOptions& options);

  // The generation that was there when it was opened: its findings and the blocks to choose from.
  const OpenGeneration& first() const { return *first_; }
  // Decodes the block of that ordinal, of the newest generation that is known. Errors as
  // BlockReader::read; one that says "changed-while-reading" after two new beginnings is final.
  Result<std::optional<Finding>> read(jss::BlockReader& reader, std::uint32_t ordinal,
                                      jss::Block& block);

 private:
  RemoteSegmentReader(RemoteFileSystem& files, std::string name, std::string file_name,
                      const jss::WalkOptions& options)
      : files_(files),
        name_(std::move(name)),
        file_name_(std::move(file_name)),
        options_(options) {}
  Result<std::shared_ptr<const OpenGeneration>> open_generation();
  Result<std::shared_ptr<const OpenGeneration>> renew(const OpenGeneration* seen);

  RemoteFileSystem& files_;
  std::string name_;
  std::string file_name_;
  jss::WalkOptions options_;
  std::shared_ptr<const OpenGeneration> first_;
  std::mutex mutex_;
  std::shared_ptr<const OpenGeneration> newest_;
  unsigned renewals_ = 0;
};

}  // namespace varve::serve
