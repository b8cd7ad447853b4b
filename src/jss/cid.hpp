// SPDX-License-Identifier: MIT OR Apache-2.0
// CIDs: what links hold (section 5.3), and what `cat` prints for a record. Version 1 only, as all
// of AT Protocol; the text form is `b` and base32.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace varve::jss {

// The length of the text of a record's CID: `b` and 58 digits.
inline constexpr std::size_t k_record_cid_chars = 59;

// True for version 1, a codec, a hash code and a digest of exactly its stated length, each number
// a shortest varint of at most 9 bytes.
bool is_cid(base::ByteSpan cid);

// Appends the text of a binary CID.
void append_cid_text(std::string& out, base::ByteSpan cid);
// The binary CID of a text; nullopt unless append_cid_text gives the same text back.
std::optional<base::Bytes> parse_cid(std::string_view text);

// Appends the text of the CID of a record block: dag-cbor, SHA-256 of `payload`.
void append_record_cid(std::string& out, base::ByteSpan payload);

}  // namespace varve::jss
