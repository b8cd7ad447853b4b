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

// The number of digits that `bytes` bytes take.
constexpr std::size_t base64_size(std::size_t bytes) { return (bytes * 8 + 5) / 6; }
constexpr std::size_t base32_size(std::size_t bytes) { return (bytes * 8 + 4) / 5; }
// Write exactly base64_size/base32_size digits at `to`; give the place behind them.
char* write_base64(char* to, ByteSpan bytes);
char* write_base32(char* to, ByteSpan bytes);

void append_base64(std::string& out, ByteSpan bytes);
std::string to_base64(ByteSpan bytes);
// Accepts the unpadded and the padded form; refuses foreign characters and loose bits.
std::optional<Bytes> from_base64(std::string_view text);

void append_base32(std::string& out, ByteSpan bytes);
std::optional<Bytes> from_base32(std::string_view text);

// True for well-formed UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace varve::base
