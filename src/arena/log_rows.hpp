// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows of the log face: one a frame, columns filled straight from the frames of a chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arena/chunk_reader.hpp"
#include "arena/payload.hpp"
#include "varve/batch.hpp"
#include "varve/scan.hpp"

namespace varve::arena {

// Columns of the log face, in this order.
enum class LogColumn : std::uint8_t {
  frame,
  seq,
  raw_len,
  comp_len,
  payload,
  segment,
  offset,
  global,
};
inline constexpr std::size_t k_log_columns = 8;
const Schema& log_schema();

// What of the rows a scan wants.
struct LogRequest {
  bool wants_payload = true;
  std::vector<std::string> ids;  // rows whose transaction names one of these; empty: all
};

// The rows of one chunk. Payloads are decompressed into their place in the column.
class LogRows {
 public:
  LogRows() = default;
  LogRows(const LogRows&) = delete;
  LogRows& operator=(const LogRows&) = delete;

  void clear();
  // Memory for the payload of the next row.
  std::byte* room(std::uint32_t raw_len);
  // Adds a row; `payload` may be what room() gave, or bytes elsewhere.
  void add(std::uint64_t frame, std::uint32_t segment, std::uint64_t global,
           const PlannedFrame& planned, base::ByteSpan payload, bool keep_payload);
  std::size_t rows() const { return frame_.size(); }
  void reverse();
  // Columns that point into this object, which `owner` keeps alive.
  Batch batch(std::shared_ptr<const void> owner) const;

 private:
  void reserve(std::size_t bytes);

  std::vector<std::uint64_t> frame_;
  std::vector<std::uint32_t> seq_;
  std::vector<std::uint32_t> raw_len_;
  std::vector<std::uint32_t> comp_len_;
  std::vector<std::uint32_t> segment_;
  std::vector<std::uint64_t> offset_;
  std::vector<std::uint64_t> global_;
  std::vector<std::uint32_t> payload_offsets_{0};
  base::Buffer payload_;
};

// Whether a transaction names one of the ids anywhere.
bool names_an_id(const PayloadContext& context, base::ByteSpan payload,
                 const std::vector<std::string>& ids, PayloadScratch& scratch);

// Appends one row as a line of CONTRACT section 5.
void append_log_line(std::string& out, const PayloadContext& context, const Batch& batch,
                     std::size_t row, const RenderOptions& options, PayloadScratch& scratch);

}  // namespace varve::arena
