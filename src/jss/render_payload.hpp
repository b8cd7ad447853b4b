// SPDX-License-Identifier: MIT OR Apache-2.0
// The members of a line that come from a row's payload: `cid`, `record` and its other forms.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "varve/scan.hpp"

namespace varve::jss {

// Appends `,"cid":...` and the payload in the form asked for. `is_record`: the row carries a
// record, which has a CID.
void append_payload_members(std::string& out, bool is_record, base::ByteSpan payload,
                            PayloadForm form);

}  // namespace varve::jss
