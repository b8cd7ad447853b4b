// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as a table of a SQLite database. SQLite writes the file itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "varve/scan.hpp"

namespace varve::output {

struct SqliteFileRequest {
  const Schema* schema = nullptr;    // outlives the file
  std::vector<std::size_t> columns;  // of the schema, in the table's order
  std::string path;                  // an empty file, or one that an interrupted run has left
  std::string table;                 // "log"
  std::vector<std::string> indexed;  // columns that get an index in the end
  // Whether each transaction is to survive a crash of the machine; else only finish() is.
  bool durable = false;
};

// Integers, times and booleans become INTEGER, text TEXT, bytes BLOB; an integer above 2^63-1
// becomes the text of its digits, and text that is not UTF-8 a blob, as in `varve sql`. Beside the
// table stands `varve_export` (name, value): where the rows come from, and while rows are still
// being added, how many there are.
class SqliteFile final : public BatchSink {
 public:
  static Result<std::unique_ptr<SqliteFile>> open(SqliteFileRequest request);
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;
  ~SqliteFile() override;

  // What stands in `varve_export`: of an interrupted run, after open().
  const std::map<std::string, std::string>& notes() const;
  // Adds the rows; begins a transaction if none is open.
  Result<bool> consume(Batch batch) override;
  // Commits the rows so far together with the notes.
  Result<void> commit(const std::map<std::string, std::string>& notes);
  // Makes the indexes, keeps these notes alone, commits and closes the file.
  Result<void> finish(const std::map<std::string, std::string>& notes);

 private:
  struct Impl;
  explicit SqliteFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::output
