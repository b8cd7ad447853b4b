// SPDX-License-Identifier: MIT OR Apache-2.0
// The columns of the log, in the order of CONTRACT section 5.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "varve/batch.hpp"
#include "varve/result.hpp"

namespace varve::jss {

enum LogColumn : std::size_t {
  k_log_seq,
  k_log_witnessed_at,
  k_log_indexed_at,
  k_log_kind,
  k_log_did,
  k_log_collection,
  k_log_rkey,
  k_log_rev,
  k_log_cid,     // computed: text, null where the row has no record
  k_log_record,  // computed: the payload as JSON text, null where it is empty or no strict DAG-CBOR
  k_log_payload,
  k_log_at_segment,
  k_log_at_block,
  k_log_at_row,
  k_log_columns,
};

const Schema& log_schema();

// Which columns a scan fills.
using Projection = std::array<bool, k_log_columns>;
// The named columns; all but the computed ones if `names` is empty. ErrorCode::invalid_argument for
// an unknown name.
Result<Projection> make_projection(const std::vector<std::string>& names);

}  // namespace varve::jss
