// SPDX-License-Identifier: MIT OR Apache-2.0
// Hex, base64 (standard alphabet, no padding), base32 (lower case, no padding), UTF-8 checking.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace varve::base {

void append_hex(std::string& out, ByteSpan bytes);  // lower case
std::string to_hex(ByteSpan bytes);
std::optional<Bytes> from_hex(std::string_view text);  // either case, even length

void append_base64(std::string& out, ByteSpan bytes);
std::string to_base64(ByteSpan bytes);
// Accepts the unpadded and the padded form; refuses foreign characters and loose bits.
std::optional<Bytes> from_base64(std::string_view text);

void append_base32(std::string& out, ByteSpan bytes);
std::optional<Bytes> from_base32(std::string_view text);

// True for well-formed UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace varve::base
