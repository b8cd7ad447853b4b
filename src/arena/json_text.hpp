// SPDX-License-Identifier: MIT OR Apache-2.0
// A strict pull reader for JSON that hands out raw tokens, so that what was read can be written
// again byte for byte. No allocation; nesting is limited as the format's own library limits it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace varve::arena {

class JsonReader {
 public:
  static constexpr unsigned k_max_depth = 128;

  // The text must be UTF-8.
  explicit JsonReader(std::string_view text) : text_(text) {}

  std::size_t position() const { return position_; }
  std::string_view text() const { return text_; }
  // The next character that is not white space; 0 at the end.
  char peek();
  // Takes the next character if it is `c`.
  bool take(char c);
  bool at_end() { return peek() == 0 && position_ == text_.size(); }

  // Each takes one value and gives its token (strings with their quotes); false, with the position
  // somewhere in the bad value, if there is none of that kind.
  bool string(std::string_view& token);
  bool number(std::string_view& token);
  bool boolean(std::string_view& token);
  bool null();
  bool value(std::string_view& token) { return value(token, k_max_depth); }

  // Calls `member(key_token) -> bool` for each member of an object, the reader standing at the
  // member's value, which the call must take. False if anything is malformed or refused.
  template <class Member>
  bool object(Member member) {
    return sequence('{', '}', [&] {
      std::string_view key;
      return string(key) && take(':') && member(key);
    });
  }
  // Calls `element() -> bool` for each element of an array.
  template <class Element>
  bool array(Element element) {
    return sequence('[', ']', element);
  }

 private:
  bool value(std::string_view& token, unsigned depth);
  bool literal(std::string_view word);
  template <class Item>
  bool sequence(char open, char close, Item item) {
    if (!take(open)) {
      return false;
    }
    if (take(close)) {
      return true;
    }
    do {
      if (!item()) {
        return false;
      }
    } while (take(','));
    return take(close);
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

// The text that a string token stands for: a view into the token if it has no escapes, else into
// `scratch`. The token must come from JsonReader.
std::string_view unescape(std::string_view string_token, std::string& scratch);

// An integer token without sign, fraction or exponent.
std::optional<std::uint64_t> unsigned_integer(std::string_view number_token);
// Any number token as a double; nullopt if it is out of range.
std::optional<double> real(std::string_view number_token);

// Appends a value token without the white space between its tokens.
void append_compact(std::string& out, std::string_view value_token);

}  // namespace varve::arena
