// SPDX-License-Identifier: MIT OR Apache-2.0
#include "terminal/style.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/text_coding.hpp"

namespace varve::terminal {

std::string Style::wrap(std::string_view code, std::string_view text) const {
  return colour_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text)
                                  : std::string(text);
}

std::string Style::of(Verdict verdict, std::string_view text) const {
  switch (verdict) {
    case Verdict::clean:
      return green(text);
    case Verdict::torn:
    case Verdict::unknown:
      return yellow(text);
    case Verdict::damaged:
      return red(text);
  }
  return std::string(text);
}

std::string Style::of(Severity severity, std::string_view text) const {
  switch (severity) {
    case Severity::error:
      return red(text);
    case Severity::warning:
      return yellow(text);
    case Severity::note:
      return cyan(text);
  }
  return std::string(text);
}

bool wants_colour(std::string_view when, bool terminal) {
  if (when == "always" || when == "never") {
    return when == "always";
  }
  const auto set_to = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  return terminal && set_to("NO_COLOR").empty() && set_to("TERM") != "dumb";
}

std::string printable(std::string_view text) {
  const bool utf8 = base::is_utf8(text);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // C1 control characters are 0xC2 0x80..0x9F in UTF-8.
    const bool c1 = utf8 && c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c < 0x20 || c == 0x7F || (c >= 0x80 && !utf8)) {
      out += fmt::format("\\x{:02X}", c);
    } else if (c1) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[++i]));
    } else {
      out += text[i];
    }
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') {
        ++i;
      }
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string wrap_words(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t word_width = display_width(word);
    if (column > indent && column + 1 + word_width > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word_width;
  }
  return out;
}

}  // namespace varve::terminal
