// SPDX-License-Identifier: MIT OR Apache-2.0
// What sort of bytes a field holds, told from its name where a format does not say it.
#pragma once

#include <string_view>

#include "varve/store.hpp"

namespace varve::model {

// The words that the specifications of binary formats use for such things: "crc32",
// "segment_crc" and "checksum" are checks; "raw_len", "record_count" and "footer_offset" lengths;
// "magic", "version" and "flags" headers. Everything else is a field.
ExplainRow::Class class_of_field(std::string_view name);

}  // namespace varve::model
