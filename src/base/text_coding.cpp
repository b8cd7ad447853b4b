// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/text_coding.hpp"

#include <simdjson.h>

#include <array>

namespace varve::base {

namespace {

constexpr std::string_view k_hex = "0123456789abcdef";
constexpr std::string_view k_base64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view k_base32 = "abcdefghijklmnopqrstuvwxyz234567";

constexpr std::array<std::int8_t, 256> inverse_of(std::string_view alphabet) {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}
constexpr auto k_base64_inverse = inverse_of(k_base64);
constexpr auto k_base32_inverse = inverse_of(k_base32);

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads digits of `bits` bits each; leftover bits must be fewer than a digit and zero.
std::optional<Bytes> from_digits(std::string_view text, const std::array<std::int8_t, 256>& inverse,
                                 unsigned bits) {
  Bytes out;
  out.reserve(text.size() * bits / 8);
  std::uint32_t pending = 0;
  unsigned pending_bits = 0;
  for (const char c : text) {
    const int digit = inverse[static_cast<unsigned char>(c)];
    if (digit < 0) {
      return std::nullopt;
    }
    pending = (pending << bits) | static_cast<std::uint32_t>(digit);
    pending_bits += bits;
    if (pending_bits >= 8) {
      pending_bits -= 8;
      out.push_back(static_cast<std::byte>(pending >> pending_bits));
      pending &= (1U << pending_bits) - 1;
    }
  }
  if (pending_bits >= bits || pending != 0) {
    return std::nullopt;
  }
  return out;
}

}  // namespace

void append_hex(std::string& out, ByteSpan bytes) {
  std::size_t at = out.size();
  out.resize(at + bytes.size() * 2);
  for (const std::byte b : bytes) {
    out[at++] = k_hex[u8(b) >> 4];
    out[at++] = k_hex[u8(b) & 15];
  }
}

std::string to_hex(ByteSpan bytes) {
  std::string out;
  append_hex(out, bytes);
  return out;
}

std::optional<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return std::nullopt;
  }
  Bytes out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    out.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return out;
}

char* write_base64(char* to, ByteSpan bytes) {
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t group = static_cast<std::uint32_t>(u8(bytes[i])) << 16 |
                                static_cast<std::uint32_t>(u8(bytes[i + 1])) << 8 |
                                u8(bytes[i + 2]);
    *to++ = k_base64[group >> 18];
    *to++ = k_base64[(group >> 12) & 63];
    *to++ = k_base64[(group >> 6) & 63];
    *to++ = k_base64[group & 63];
  }
  if (bytes.size() - i == 1) {
    const std::uint32_t group = static_cast<std::uint32_t>(u8(bytes[i])) << 16;
    *to++ = k_base64[group >> 18];
    *to++ = k_base64[(group >> 12) & 63];
  } else if (bytes.size() - i == 2) {
    const std::uint32_t group = static_cast<std::uint32_t>(u8(bytes[i])) << 16 |
                                static_cast<std::uint32_t>(u8(bytes[i + 1])) << 8;
    *to++ = k_base64[group >> 18];
    *to++ = k_base64[(group >> 12) & 63];
    *to++ = k_base64[(group >> 6) & 63];
  }
  return to;
}

void append_base64(std::string& out, ByteSpan bytes) {
  const std::size_t at = out.size();
  out.resize(at + base64_size(bytes.size()));
  write_base64(out.data() + at, bytes);
}

std::string to_base64(ByteSpan bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

std::optional<Bytes> from_base64(std::string_view text) {
  if (text.size() % 4 == 0) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) {
      text.remove_suffix(1);
    }
  }
  return from_digits(text, k_base64_inverse, 6);
}

char* write_base32(char* to, ByteSpan bytes) {
  std::size_t i = 0;
  for (; i + 5 <= bytes.size(); i += 5) {
    const std::uint64_t group =
        static_cast<std::uint64_t>(u32be(bytes.data() + i)) << 8 | u8(bytes[i + 4]);
    for (int shift = 35; shift >= 0; shift -= 5) {
      *to++ = k_base32[(group >> shift) & 31];
    }
  }
  const std::size_t left = bytes.size() - i;
  std::uint64_t group = 0;
  for (std::size_t j = 0; j < 5; ++j) {
    group = group << 8 | (j < left ? u8(bytes[i + j]) : 0U);
  }
  for (std::size_t digit = 0; digit < base32_size(left); ++digit) {
    *to++ = k_base32[(group >> (35 - 5 * digit)) & 31];
  }
  return to;
}

void append_base32(std::string& out, ByteSpan bytes) {
  const std::size_t at = out.size();
  out.resize(at + base32_size(bytes.size()));
  write_base32(out.data() + at, bytes);
}

std::optional<Bytes> from_base32(std::string_view text) {
  return from_digits(text, k_base32_inverse, 5);
}

bool is_utf8(std::string_view text) {
  if (text.size() < 64) {
    bool ascii = true;
    for (const char c : text) {
      ascii = ascii && static_cast<signed char>(c) >= 0;
    }
    if (ascii) {
      return true;
    }
  }
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace varve::base
