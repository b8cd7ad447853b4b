// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as the two public streams show them (section 19): `cat --as v1|v2`.
#pragma once

#include <string>

#include "varve/jss_event.hpp"

namespace varve::jss {

// Appends the row as a subscribeEvents frame, without a line end. A payload that is not strict
// DAG-CBOR appears as "payload":{"$bytes":...} in place of what it would have become.
void append_stream_v2(std::string& out, const Event& event);

// Appends the row as a legacy /subscribe frame. That stream leaves out syncs and resynced creates:
// for them appends nothing and returns false.
bool append_stream_v1(std::string& out, const Event& event);

}  // namespace varve::jss
