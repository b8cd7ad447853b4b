// SPDX-License-Identifier: MIT OR Apache-2.0
// Hex, base64, base32 and JSON text: decoding what was encoded gives it back, and what decodes is
// the one text for its bytes.
#include <cstdlib>

#include "base/json_writer.hpp"
#include "base/text_coding.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace varve::base;
  const ByteSpan bytes{reinterpret_cast<const std::byte*>(data), size};
  const std::string_view text = as_text(bytes);
  const Bytes copy(bytes.begin(), bytes.end());
  std::string base32;
  append_base32(base32, bytes);
  if (from_hex(to_hex(bytes)) != copy || from_base64(to_base64(bytes)) != copy ||
      from_base32(base32) != copy) {
    std::abort();
  }
  if (const auto decoded = from_base32(text)) {
    std::string again;
    append_base32(again, *decoded);
    if (again != text) {
      std::abort();
    }
  }
  if (const auto decoded = from_base64(text)) {
    const std::string again = to_base64(*decoded);
    if (!text.starts_with(again) || text.size() - again.size() > 2) {
      std::abort();
    }
  }
  if (const auto decoded = from_hex(text); decoded && decoded->size() * 2 != size) {
    std::abort();
  }
  std::string json;
  append_json_text_or_bytes(json, text);
  for (const char c : json) {
    if (static_cast<unsigned char>(c) < 0x20) {
      std::abort();
    }
  }
  if (!is_utf8(json)) {
    std::abort();
  }
  return 0;
}
