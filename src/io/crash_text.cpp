// SPDX-License-Identifier: MIT OR Apache-2.0
// Crash states as one line of text, so that a failure can be replayed.
#include <charconv>

#include "io/crash.hpp"

namespace varve::io {

namespace {

constexpr std::string_view k_tear_names[] = {"", "head", "tail", "hole"};

// Takes the next word, up to a space.
std::string_view take_word(std::string_view& text) {
  while (text.starts_with(' ')) {
    text.remove_prefix(1);
  }
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<CrashChoice> take_choice(std::string_view& text) {
  CrashChoice choice;
  const auto effect = take_number(text);
  if (!effect) {
    return std::nullopt;
  }
  choice.effect = *effect;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    for (const TearKind tear : {TearKind::head, TearKind::tail, TearKind::hole}) {
      const std::string_view name = k_tear_names[static_cast<std::size_t>(tear)];
      if (text.starts_with(name)) {
        text.remove_prefix(name.size());
        choice.tear = tear;
        break;
      }
    }
    const auto sector = take_number(text);
    if (choice.tear == TearKind::none || !sector) {
      return std::nullopt;
    }
    choice.sector = *sector;
  }
  return choice;
}

}  // namespace

std::string to_text(const CrashSelection& selection) {
  std::string out = selection.kind == CrashKind::kill ? "kill " : "power ";
  out += std::to_string(selection.point);
  out += selection.keeps ? " keep" : " drop";
  char separator = ' ';
  for (const CrashChoice& choice : selection.chosen) {
    out += separator;
    separator = ',';
    out += std::to_string(choice.effect);
    if (choice.tear != TearKind::none) {
      out += ':';
      out += k_tear_names[static_cast<std::size_t>(choice.tear)];
      out += std::to_string(choice.sector);
    }
  }
  return out;
}

std::optional<CrashSelection> parse_crash(std::string_view text) {
  CrashSelection out;
  const std::string_view kind = take_word(text);
  if (kind != "kill" && kind != "power") {
    return std::nullopt;
  }
  out.kind = kind == "kill" ? CrashKind::kill : CrashKind::power_cut;
  std::string_view point_text = take_word(text);
  const auto point = take_number(point_text);
  const std::string_view verb = take_word(text);
  if (!point || !point_text.empty() || (verb != "drop" && verb != "keep")) {
    return std::nullopt;
  }
  out.point = *point;
  out.keeps = verb == "keep";
  std::string_view list = take_word(text);
  while (!list.empty()) {
    const auto choice = take_choice(list);
    if (!choice || (!list.empty() && !list.starts_with(','))) {
      return std::nullopt;
    }
    out.chosen.push_back(*choice);
    if (list.starts_with(',')) {
      list.remove_prefix(1);
      if (list.empty()) {
        return std::nullopt;
      }
    }
  }
  return text.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace varve::io
