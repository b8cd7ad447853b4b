// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/man.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/exit_codes.hpp"
#include "cli/help.hpp"

namespace varve::cli {

namespace {

// Text for a roff line: backslashes and hyphens as themselves, no line that begins with a control
// character.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string heading(const std::string& name) {
  return fmt::format(".TH {} 1 \"\" \"varve {}\" \"varve\"\n", upper(roff(name)), version());
}

std::string paragraphs(const std::string& text) {
  std::string out;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find("\n\n", from), text.size());
    out += ".PP\n" + roff(text.substr(from, end - from)) + '\n';
    from = end + 2;
  }
  return out;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(tag), roff(text));
}

std::string trimmed(std::string text) {
  return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

std::string exit_status() {
  std::string out = ".SH EXIT STATUS\n";
  for (const ExitCode& row : exit_codes()) {
    out += tagged(std::to_string(row.code), std::string(row.meaning));
  }
  return out;
}

std::string examples_section(std::span<const Example> examples) {
  std::string out = ".SH EXAMPLES\n";
  for (const Example& example : examples) {
    out += fmt::format(".TP\n.B varve {}\n{}\n", roff(example.arguments), roff(example.says));
  }
  return out;
}

}  // namespace

std::string program_man_page(std::span<const Format* const> formats) {
  std::string out = heading("varve");
  out += ".SH NAME\nvarve \\- verify, read, recover and write append\\-only stores\n";
  out += ".SH SYNOPSIS\n.B varve\n.I VERB\n[\\fIOPTIONS\\fR] \\fISTORE\\fR...\n";
  out += ".SH DESCRIPTION\n" +
         paragraphs(
             "A STORE is a file or a directory; its format is detected by content. Reading verbs "
             "change nothing in it: no content, no times, no locks. Standard output is data, "
             "everything else goes to standard error.");
  Group group = Group::other;
  for (const Command* command : commands()) {
    if (command->group != group || command == commands().front()) {
      group = command->group;
      out += fmt::format(".SH {}\n", upper(std::string(group_title(group))));
    }
    out +=
        fmt::format(".TP\n.BR varve\\-{} (1)\n{}\n", roff(command->name), roff(command->summary));
  }
  if (!formats.empty()) {
    out += ".SH FORMATS\n";
    for (const Format* format : formats) {
      out += tagged(std::string(format->name()), std::string(format->summary()));
    }
  }
  out += ".SH ENVIRONMENT\n" + tagged("NO_COLOR", "if set to anything, text output has no colour");
  return out + exit_status();
}

std::string command_man_page(const Command& command, std::span<const Format* const> formats) {
  const std::string name = "varve-" + command.name;
  std::string out = heading(name);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(command.summary));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n", roff(usage_line(command)));
  out += ".SH DESCRIPTION\n" + paragraphs(command.description);
  for (const Operand& operand : command.operands) {
    out += tagged(operand.name, operand.help);
  }
  out += ".SH OPTIONS\n";
  for (const Option& option : options_of(command, formats)) {
    out += tagged(trimmed(option_heading(option)), option_text(option));
  }
  out += examples_section(command.examples) + exit_status();
  return out + ".SH SEE ALSO\n.BR varve (1)\n";
}

}  // namespace varve::cli
