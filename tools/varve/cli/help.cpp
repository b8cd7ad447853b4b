// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_codes.hpp"
#include "terminal/table.hpp"

namespace varve::cli {

namespace {

using terminal::Style;
using terminal::Table;

std::string example_lines(std::span<const Example> examples, const Style& style) {
  std::size_t widest = 0;
  for (const Example& example : examples) {
    widest = std::max(widest, example.arguments.size());
  }
  std::string out;
  for (const Example& example : examples) {
    out += fmt::format("  varve {:{}}  {}\n", example.arguments, widest,
                       style.dim("# " + example.says));
  }
  return out;
}

std::string paragraphs(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find("\n\n", from), text.size());
    out += terminal::wrap_words(text.substr(from, end - from), width, 0) + "\n\n";
    from = end + 2;
  }
  return out;
}

// The examples that `varve --help` begins with: the first one of each verb that looks or reads.
std::vector<Example> first_steps() {
  std::vector<Example> examples;
  for (const Command* command : commands()) {
    if (command->group <= Group::read && !command->examples.empty() && examples.size() < 6) {
      examples.push_back(command->examples.front());
    }
  }
  return examples;
}

}  // namespace

std::string_view group_title(Group group) {
  switch (group) {
    case Group::look:
      return "Look at a store";
    case Group::read:
      return "Read what is in it";
    case Group::write:
      return "Write, repair, copy";
    case Group::other:
      return "About varve";
  }
  return {};
}

std::string usage_line(const Command& command) {
  std::string line = "varve " + command.name + " [OPTIONS]";
  for (const Operand& operand : command.operands) {
    const std::string name = operand.name + (operand.repeats ? "..." : "");
    line += operand.optional ? " [" + name + "]" : " " + name;
  }
  return line;
}

std::string option_heading(const Option& option) {
  std::string text = option.short_name != 0 ? fmt::format("-{}, ", option.short_name) : "    ";
  text += "--" + option.name;
  return option.value_name.empty() ? text : text + ' ' + option.value_name;
}

std::string option_text(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) {
    text += fmt::format(" [{}]", fmt::join(split_words(option.choices), "|"));
  }
  if (option.repeatable) {
    text += " (may be repeated)";
  }
  return text;
}

std::string program_help(std::span<const Format* const> formats, const Style& style,
                         std::size_t width) {
  std::string out = example_lines(first_steps(), style);
  out += "\nvarve VERB [OPTIONS] STORE...\n\n";
  out += paragraphs(
      "A STORE is a file or a directory; its format is detected by content. Reading verbs change "
      "nothing in it.",
      width);
  Group group = Group::other;
  Table verbs({Table::Align::left, Table::Align::left});
  const auto end_group = [&] {
    if (!verbs.empty()) {
      out += style.bold(group_title(group)) + '\n' + verbs.text(width, 2) + '\n';
    }
    verbs = Table({Table::Align::left, Table::Align::left});
  };
  for (const Command* command : commands()) {
    if (command->group != group) {
      end_group();
      group = command->group;
    }
    verbs.add({command->name, command->summary});
  }
  end_group();
  if (!formats.empty()) {
    Table table({Table::Align::left, Table::Align::left});
    for (const Format* format : formats) {
      table.add({std::string(format->name()), std::string(format->summary())});
    }
    out += style.bold("Formats") + '\n' + table.text(width, 2) + '\n';
  }
  out += "`varve VERB --help` tells about a verb, `varve help exit-codes` what exit codes mean.\n";
  return out;
}

std::string command_help(const Command& command, std::span<const Format* const> formats,
                         const Style& style, std::size_t width) {
  std::string out = example_lines(command.examples, style);
  out += '\n' + usage_line(command) + "\n\n";
  out += paragraphs(command.description, width);
  Table operands({Table::Align::left, Table::Align::left});
  for (const Operand& operand : command.operands) {
    if (!operand.help.empty()) {
      operands.add({operand.name, operand.help});
    }
  }
  if (!operands.empty()) {
    out += operands.text(width, 2) + '\n';
  }
  Table own({Table::Align::left, Table::Align::left});
  Table offered({Table::Align::left, Table::Align::left});
  for (const Option& option : options_of(command, formats)) {
    (option.from_formats ? offered : own).add({option_heading(option), option_text(option)});
  }
  out += style.bold("Options") + '\n' + own.text(width, 2);
  if (!offered.empty()) {
    out += '\n' + style.bold("Options of one format") + '\n' + offered.text(width, 2);
  }
  return out;
}

std::string exit_code_help(const Style& style, std::size_t width) {
  Table table({Table::Align::right, Table::Align::left});
  for (const ExitCode& row : exit_codes()) {
    table.add({std::to_string(row.code), std::string(row.meaning)});
  }
  std::string out = style.bold("Exit codes, the same for every verb") + '\n' + table.text(width, 2);
  out += '\n' + terminal::wrap_words(
                    "Several stores: the first of 74, 77, 66 that occurred, else 2 before 3 before "
                    "1 before 0. A reader that closes the pipe (`| head`) makes it 0.",
                    width, 0);
  return out + '\n';
}

std::string version_text(std::span<const Format* const> formats) {
  std::string out = fmt::format("varve {}\nformats:", version());
  for (const Format* format : formats) {
    out += ' ';
    out += format->name();
  }
  return out + '\n' + version_details();
}

}  // namespace varve::cli
