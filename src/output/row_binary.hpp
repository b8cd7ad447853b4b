// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as ClickHouse takes them: its names of types, and RowBinary.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "varve/scan.hpp"

namespace varve::output {

// "at.segment" is at_segment there, where a dot means something else.
std::string clickhouse_name(const Field& field);
// Times are Int64, microseconds since 1970: servers of any age take them.
std::string clickhouse_type(const Field& field);

// Appends the batch's rows to Batch::mapped, on the threads that decode: value after value of the
// given columns, integers in little-endian, strings behind their length, a byte before a value that
// may be null.
class RowBinaryMapper final : public BatchMapper {
 public:
  RowBinaryMapper(const Schema& schema, std::vector<std::size_t> columns)
      : schema_(schema), columns_(std::move(columns)) {}
  void map(Batch& batch) const override;

 private:
  const Schema& schema_;
  std::vector<std::size_t> columns_;
};

}  // namespace varve::output
