// SPDX-License-Identifier: MIT OR Apache-2.0
// Batches written as a Parquet file by DuckDB.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "output/arrow_layout.hpp"
#include "output/duckdb_api.hpp"
#include "varve/file_system.hpp"
#include "varve/scan.hpp"

namespace varve::output {

struct ParquetRequest {
  const Schema* schema = nullptr;
  ArrowNode layout;  // which columns, and which of them are members of structs
  std::string path;  // a file that DuckDB may overwrite
  std::map<std::string, std::string> metadata;  // of the file; known before the rows are
  // Names of further metadata whose values finish() gives.
  std::vector<std::string> later_metadata;
  std::size_t row_group_rows = 122'880;
};

// Takes the batches of one scan; DuckDB writes on a thread of its own. A row group ends with the
// first batch that takes it to `row_group_rows`; only a batch that would make it longer by more
// than 2048 rows is divided between two. Row groups of very large values end earlier.
//
// Destroyed before finish() it stops DuckDB and leaves what is at the path unfinished.
class ParquetWriter final : public BatchSink {
 public:
  // load_duckdb must have succeeded.
  static Result<std::unique_ptr<ParquetWriter>> start(ParquetRequest request);
  ParquetWriter(const ParquetWriter&) = delete;
  ParquetWriter& operator=(const ParquetWriter&) = delete;
  ~ParquetWriter() override;

  // False once DuckDB has failed; finish() says why.
  Result<bool> consume(Batch batch) override;
  // Waits until the file is written; `file` is what stands at the path. Values of later metadata
  // have at most 100 bytes.
  Result<void> finish(const std::map<std::string, std::string>& later, io::File& file);

 private:
  struct Impl;
  explicit ParquetWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Puts other texts in place of these of the file's key-value metadata. All have at most 127 bytes;
// what the file holds of the old ones before, in statistics of its columns, stays.
Result<void> replace_parquet_metadata(io::File& file,
                                      const std::map<std::string, std::string>& new_by_old);

}  // namespace varve::output
