// SPDX-License-Identifier: MIT OR Apache-2.0
// The state face: the live records of an archive (CONTRACT section 6).
#pragma once

#include <string>

#include "varve/batch.hpp"
#include "varve/scan.hpp"

namespace varve::jss {

enum StateColumn : std::size_t {
  k_state_did,
  k_state_collection,
  k_state_rkey,
  k_state_rev,
  k_state_cid,     // computed
  k_state_record,  // computed
  k_state_payload,
  k_state_seq,
  k_state_columns,
};

const Schema& state_schema();

// Appends the rows of a batch of the state as JSON Lines.
void render_state(const Batch& batch, const RenderOptions& options, std::string& out);

}  // namespace varve::jss
