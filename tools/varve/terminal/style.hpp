// SPDX-License-Identifier: MIT OR Apache-2.0
// Colour, where the reader wants it.
#pragma once

#include <string>
#include <string_view>

#include "varve/finding.hpp"

namespace varve::terminal {

class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}
  bool colour() const { return colour_; }

  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string red(std::string_view text) const { return wrap("31", text); }
  std::string green(std::string_view text) const { return wrap("32", text); }
  std::string yellow(std::string_view text) const { return wrap("33", text); }
  std::string blue(std::string_view text) const { return wrap("34", text); }
  std::string magenta(std::string_view text) const { return wrap("35", text); }
  std::string cyan(std::string_view text) const { return wrap("36", text); }
  std::string of(Verdict verdict, std::string_view text) const;
  std::string of(Severity severity, std::string_view text) const;

 private:
  std::string wrap(std::string_view code, std::string_view text) const;
  bool colour_;
};

// Whether to colour: --color always or never decide; else only a terminal, unless NO_COLOR is set
// to anything but "" or the terminal is dumb.
bool wants_colour(std::string_view when, bool terminal);

// Text of a store that goes to a person: control characters and what is not UTF-8 are shown as
// \xNN, so that a hostile name can neither move the cursor nor break a line.
std::string printable(std::string_view text);

// Characters on screen, colour codes not counted.
std::size_t display_width(std::string_view text);

// Words of `text` in lines of at most `width`, each but the first begun with `indent` spaces.
std::string wrap_words(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace varve::terminal
