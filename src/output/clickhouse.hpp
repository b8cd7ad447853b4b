// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows on their way to a table of ClickHouse, in batches that can be sent again.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "output/row_binary.hpp"
#include "varve/result.hpp"

namespace varve::output {

struct ClickHouseTable {
  const Schema* schema = nullptr;
  std::string name;                  // TABLE or DATABASE.TABLE
  std::vector<std::size_t> columns;  // of the schema
  std::vector<std::size_t> key;      // what tells rows apart, of the schema
};

// The name in the backquotes that it needs. Errors: invalid_argument if it is no name.
Result<std::string> quoted_clickhouse_name(const std::string& name);

// CREATE TABLE IF NOT EXISTS ... ReplacingMergeTree: of rows with the same key one stays.
Result<std::string> create_statement(const ClickHouseTable& table);

// Runs a statement with a body on the server, as often as it takes. Called from one thread at a
// time.
using ClickHousePost = std::function<Result<void>(const std::string& sql, const std::string& body)>;

// Sends batches that a RowBinaryMapper has mapped. A scan's batches are put together while their
// first rows fall into the same range of `rows_per_request` sequence numbers, so that a later run
// over the same store cuts at the same places wherever it begins; or, without a seq, while they
// have fewer rows than that. One request is on its way while the next is put together.
class ClickHouseSink final : public BatchSink {
 public:
  // `seq`: the column of the sequence number, or -1.
  static Result<std::unique_ptr<ClickHouseSink>> create(const ClickHouseTable& table, int seq,
                                                        std::uint64_t rows_per_request,
                                                        ClickHousePost post);
  ~ClickHouseSink() override;
  ClickHouseSink(const ClickHouseSink&) = delete;
  ClickHouseSink& operator=(const ClickHouseSink&) = delete;

  Result<bool> consume(Batch batch) override;
  // Sends the rest and waits for the server.
  Result<void> finish();
  std::uint64_t rows() const { return rows_; }
  std::uint64_t requests() const { return requests_; }

 private:
  ClickHouseSink() = default;
  std::uint64_t range_of(const Batch& batch) const;
  Result<void> send();
  Result<void> wait();

  std::string statement_;
  int seq_ = -1;
  std::uint64_t rows_per_request_ = 0;
  ClickHousePost post_;
  std::string body_;
  std::uint64_t body_rows_ = 0;
  std::uint64_t range_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t requests_ = 0;
  std::future<Result<void>> sending_;
};

}  // namespace varve::output
