// SPDX-License-Identifier: MIT OR Apache-2.0
// The jobs as rows, sorted by id. Definitions are read from the segments as they are needed.
#pragma once

#include <memory>
#include <vector>

#include "tay/examine.hpp"
#include "varve/store.hpp"

namespace varve::tay {

// Reads definitions from where the table says that they stand. Keeps a bounded number of files
// open.
class DefinitionReader {
 public:
  DefinitionReader(const io::Directory& directory, const std::vector<Segment>& segments)
      : directory_(directory), segments_(segments) {}

  // The job's definition; the spans lie in a buffer that the next call reuses. ErrorCode::locked if
  // no definition stands there any more.
  Result<DefinitionView> read(const Job& job);

 private:
  Result<const io::File*> open(std::uint32_t segment);

  struct OpenFile {
    std::uint32_t segment = 0;
    std::unique_ptr<io::File> file;
  };
  const io::Directory& directory_;
  const std::vector<Segment>& segments_;
  std::vector<OpenFile> files_;
  std::size_t next_to_close_ = 0;
  Bytes buffer_;
};

// One job's row.
void add_job_row(const Job& job, const JobTable& jobs, const DefinitionView& definition,
                 BatchBuilder& builder);

Result<ScanSummary> scan_state(const Snapshot& snapshot, const ScanRequest& request,
                               const ExamineRequest& examine_request, BatchSink& sink,
                               FindingSink& findings);

}  // namespace varve::tay
