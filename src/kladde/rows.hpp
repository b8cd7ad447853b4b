// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows of both faces: columns, and the lines of CONTRACT sections 5 and 6.
#pragma once

#include <string>
#include <string_view>

#include "kladde/codec.hpp"
#include "kladde/record.hpp"
#include "kladde/walker.hpp"
#include "varve/batch.hpp"
#include "varve/scan.hpp"

namespace varve::kladde {

// Columns of the log face, in this order.
enum class LogColumn : std::uint8_t {
  txn,
  index,
  op,
  id,
  offset,
  size,
  len,
  old_len,
  bytes,
  src,
  src_offset,
  dst,
  dst_offset,
  page,
  page_offset,
  root_allocation,  // of the one row that `--full` begins with, as the next three
  schema_table,
  consolidator_state,
  root_fingerprint,
};
const Schema& log_schema();
const Schema& state_schema();  // id, size, bytes

// The words of the column `op`; the header row's is "header".
inline constexpr std::string_view k_header_op = "header";

struct RowPlace {
  std::int64_t txn = 0;
  std::uint64_t index = 0;
  Place at;
};
void add_record_row(BatchBuilder& out, const RowPlace& place, const Record& record,
                    std::string_view payload);
void add_header_row(BatchBuilder& out, const Header& header, Place at);

void append_log_line(std::string& out, const Batch& batch, std::size_t row,
                     const RenderOptions& options);
void append_state_line(std::string& out, const Batch& batch, std::size_t row,
                       const RenderOptions& options);
// Appends `,"bytes":{...}` in the form that the options ask for.
void append_payload(std::string& out, std::string_view bytes, const RenderOptions& options);

}  // namespace varve::kladde
