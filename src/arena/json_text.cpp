// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/json_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/endian.hpp"

namespace varve::arena {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The four hex digits at `at`, or -1.
int hex4(std::string_view text, std::size_t at) {
  if (text.size() < at + 4) {
    return -1;
  }
  int out = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const int digit = hex_value(text[i]);
    if (digit < 0) {
      return -1;
    }
    out = out * 16 + digit;
  }
  return out;
}

bool is_high_surrogate(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_surrogate(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

// True if a byte of the eight is a quote, a backslash or a control character.
bool has_special(std::uint64_t word) {
  constexpr std::uint64_t k_ones = 0x0101010101010101ULL;
  constexpr std::uint64_t k_highs = 0x8080808080808080ULL;
  const auto has_zero = [](std::uint64_t v) { return (v - k_ones) & ~v & k_highs; };
  const std::uint64_t quote = has_zero(word ^ (k_ones * 0x22));
  const std::uint64_t backslash = has_zero(word ^ (k_ones * 0x5C));
  const std::uint64_t control = (word - k_ones * 0x20) & ~word & k_highs;
  return (quote | backslash | control) != 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace

char JsonReader::peek() {
  while (position_ < text_.size() && is_space(text_[position_])) {
    ++position_;
  }
  return position_ < text_.size() ? text_[position_] : '\0';
}

bool JsonReader::take(char c) {
  if (peek() != c || position_ == text_.size()) {
    return false;
  }
  ++position_;
  return true;
}

bool JsonReader::string(std::string_view& token) {
  if (!take('"')) {
    return false;
  }
  const std::size_t begin = position_ - 1;
  for (;;) {
    while (position_ + 8 <= text_.size() && !has_special(base::u64le(text_.data() + position_))) {
      position_ += 8;
    }
    if (position_ >= text_.size()) {
      return false;
    }
    const char c = text_[position_];
    if (c == '"') {
      token = text_.substr(begin, ++position_ - begin);
      return true;
    }
    if (static_cast<unsigned char>(c) < 0x20) {
      return false;
    }
    ++position_;
    if (c != '\\') {
      continue;
    }
    if (position_ >= text_.size()) {
      return false;
    }
    const char escape = text_[position_++];
    if (escape == 'u') {
      const int unit = hex4(text_, position_);
      if (unit < 0 || is_low_surrogate(unit)) {
        return false;
      }
      position_ += 4;
      if (is_high_surrogate(unit)) {
        if (text_.substr(position_, 2) != "\\u" || !is_low_surrogate(hex4(text_, position_ + 2))) {
          return false;
        }
        position_ += 6;
      }
    } else if (std::string_view("\"\\/bfnrt").find(escape) == std::string_view::npos) {
      return false;
    }
  }
}

bool JsonReader::number(std::string_view& token) {
  peek();
  const std::size_t begin = position_;
  const auto at = [&] { return position_ < text_.size() ? text_[position_] : '\0'; };
  const auto digits = [&] {
    const std::size_t from = position_;
    while (is_digit(at())) {
      ++position_;
    }
    return position_ > from;
  };
  if (at() == '-') {
    ++position_;
  }
  if (at() == '0') {
    ++position_;
  } else if (!digits()) {
    return false;
  }
  if (at() == '.') {
    ++position_;
    if (!digits()) {
      return false;
    }
  }
  if (at() == 'e' || at() == 'E') {
    ++position_;
    if (at() == '+' || at() == '-') {
      ++position_;
    }
    if (!digits()) {
      return false;
    }
  }
  token = text_.substr(begin, position_ - begin);
  return true;
}

bool JsonReader::literal(std::string_view word) {
  peek();
  if (text_.substr(position_, word.size()) != word) {
    return false;
  }
  position_ += word.size();
  return true;
}

bool JsonReader::boolean(std::string_view& token) {
  const char c = peek();
  const std::string_view word = c == 't' ? "true" : "false";
  const std::size_t begin = position_;
  if (!literal(word)) {
    return false;
  }
  token = text_.substr(begin, word.size());
  return true;
}

bool JsonReader::null() { return literal("null"); }

bool JsonReader::value(std::string_view& token, unsigned depth) {
  const char c = peek();
  const std::size_t begin = position_;
  std::string_view part;
  bool good = false;
  if (c == '"') {
    return string(token);
  }
  if (c == '{') {
    good = depth > 0 && object([&](std::string_view) { return value(part, depth - 1); });
  } else if (c == '[') {
    good = depth > 0 && array([&] { return value(part, depth - 1); });
  } else if (c == 't' || c == 'f') {
    good = boolean(part);
  } else if (c == 'n') {
    good = null();
  } else {
    return number(token);
  }
  token = text_.substr(begin, position_ - begin);
  return good;
}

std::string_view unescape(std::string_view string_token, std::string& scratch) {
  const std::string_view inner = string_token.substr(1, string_token.size() - 2);
  if (inner.find('\\') == std::string_view::npos) {
    return inner;
  }
  scratch.clear();
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') {
      scratch += inner[i];
      continue;
    }
    const char escape = inner[++i];
    switch (escape) {
      case 'b':
        scratch += '\b';
        break;
      case 'f':
        scratch += '\f';
        break;
      case 'n':
        scratch += '\n';
        break;
      case 'r':
        scratch += '\r';
        break;
      case 't':
        scratch += '\t';
        break;
      case 'u': {
        auto code = static_cast<std::uint32_t>(hex4(inner, i + 1));
        i += 4;
        if (is_high_surrogate(static_cast<int>(code))) {
          const auto low = static_cast<std::uint32_t>(hex4(inner, i + 3));
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          i += 6;
        }
        append_utf8(scratch, code);
        break;
      }
      default:
        scratch += escape;
    }
  }
  return scratch;
}

std::optional<std::uint64_t> unsigned_integer(std::string_view number_token) {
  std::uint64_t value = 0;
  const char* end = number_token.data() + number_token.size();
  const auto result = std::from_chars(number_token.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> real(std::string_view number_token) {
  double value = 0;
  const char* end = number_token.data() + number_token.size();
  const auto result = std::from_chars(number_token.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

void append_compact(std::string& out, std::string_view value_token) {
  std::size_t clean_from = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < value_token.size(); ++i) {
    const char c = value_token[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (is_space(c)) {
      out.append(value_token, clean_from, i - clean_from);
      clean_from = i + 1;
    }
  }
  out.append(value_token, clean_from);
}

}  // namespace varve::arena
