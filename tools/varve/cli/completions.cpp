// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/completions.hpp"

#include <fmt/format.h>

namespace varve::cli {

namespace {

std::string verb_names() {
  std::string names;
  for (const Command* command : commands()) {
    names += (names.empty() ? "" : " ") + command->name;
  }
  return names;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Text within single quotes of a POSIX shell, and of fish.
std::string in_single_quotes(const std::string& text) { return replace_all(text, "'", "'\\''"); }
std::string in_fish_quotes(const std::string& text) {
  return replace_all(replace_all(text, "\\", "\\\\"), "'", "\\'");
}
// A description inside a zsh option spec: brackets and colons have a meaning there.
std::string in_zsh_spec(std::string text) {
  for (const char* special : {"\\", "[", "]", ":"}) {
    text = replace_all(std::move(text), special, std::string("\\") + special);
  }
  return in_single_quotes(text);
}

// What the first operand of a verb can be besides a file.
std::string operand_words(const Command& command) {
  if (command.name == "help") {
    return verb_names() + " exit-codes";
  }
  if (command.name == "man") {
    return verb_names();
  }
  return command.name == "completions" ? "bash zsh fish" : "";
}

std::string bash_values(const Command& command, const std::vector<Option>& options) {
  std::string out;
  for (const Option& option : options) {
    if (option.value_name.empty()) {
      continue;
    }
    std::string pattern = "--" + option.name;
    if (option.short_name != 0) {
      pattern += fmt::format("|-{}", option.short_name);
    }
    if (!option.choices.empty()) {
      out += fmt::format(
          "        {}:{}) COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;;\n",
          command.name, replace_all(pattern, "|", "|" + command.name + ":"), option.choices);
    } else if (!option.names_a_file) {
      out += fmt::format("        {}:{}) return ;;\n", command.name,
                         replace_all(pattern, "|", "|" + command.name + ":"));
    }
  }
  return out;
}

std::string zsh_option(const Option& option) {
  std::string action;
  if (!option.value_name.empty()) {
    action = fmt::format(":{}:{}", option.value_name,
                         !option.choices.empty() ? "(" + option.choices + ")"
                         : option.names_a_file   ? "_files"
                                                 : " ");
  }
  const std::string body = fmt::format("[{}]{}", in_zsh_spec(option.help), action);
  const char* repeat = option.repeatable ? "*" : "";
  std::string out = fmt::format("          '{}--{}{}'", repeat, option.name, body);
  if (option.short_name != 0) {
    out += fmt::format(" \\\n          '{}-{}{}'", repeat, option.short_name, body);
  }
  return out;
}

}  // namespace

std::string bash_completion(std::span<const Format* const> formats) {
  std::string values;
  std::string words;
  for (const Command* command : commands()) {
    const std::vector<Option> options = options_of(*command, formats);
    values += bash_values(*command, options);
    std::string names;
    for (const Option& option : options) {
      names += fmt::format("{}--{}", names.empty() ? "" : " ", option.name);
      names += option.short_name != 0 ? fmt::format(" -{}", option.short_name) : "";
    }
    words += fmt::format("        {}) options='{}'; words='{}' ;;\n", command->name, names,
                         operand_words(*command));
  }
  return fmt::format(R"(# bash completion for varve, printed by `varve completions bash`
_varve() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local verb=${{COMP_WORDS[1]}} options='' words=''
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{} --help --version' -- "$current"))
        return
    fi
    case "$verb:$previous" in
{}    esac
    case "$verb" in
{}    esac
    case "$current" in
        -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
        *)
            if [ -n "$words" ]; then
                COMPREPLY=($(compgen -W "$words" -- "$current"))
            else
                compopt -o filenames 2>/dev/null
                COMPREPLY=($(compgen -f -- "$current"))
            fi ;;
    esac
}}
complete -F _varve varve
)",
                     verb_names(), values, words);
}

std::string zsh_completion(std::span<const Format* const> formats) {
  std::string verbs;
  std::string cases;
  for (const Command* command : commands()) {
    verbs += fmt::format("    '{}:{}'\n", command->name, in_zsh_spec(command->summary));
    cases += fmt::format("      {})\n        _arguments \\\n", command->name);
    for (const Option& option : options_of(*command, formats)) {
      cases += zsh_option(option) + " \\\n";
    }
    const std::string words = operand_words(*command);
    cases += words.empty() ? "          '*:file:_files' ;;\n"
                           : fmt::format("          '1:word:({})' ;;\n", words);
  }
  return fmt::format(R"(#compdef varve
# zsh completion for varve, printed by `varve completions zsh`
_varve() {{
  local line state
  local -a verbs
  verbs=(
{})
  _arguments -C '1: :->verb' '*:: :->rest'
  case $state in
    verb) _describe 'verb' verbs ;;
    rest)
      case $line[1] in
{}      esac ;;
  esac
}}
_varve "$@"
)",
                     verbs, cases);
}

std::string fish_completion(std::span<const Format* const> formats) {
  std::string out =
      "# fish completion for varve, printed by `varve completions fish`\n"
      "complete -c varve -n __fish_use_subcommand -l version -d 'version, libraries, CPU path'\n";
  for (const Command* command : commands()) {
    out += fmt::format("complete -c varve -f -n __fish_use_subcommand -a {} -d '{}'\n",
                       command->name, in_fish_quotes(command->summary));
    const std::string seen = fmt::format("'__fish_seen_subcommand_from {}'", command->name);
    if (const std::string words = operand_words(*command); !words.empty()) {
      out += fmt::format("complete -c varve -f -n {} -a '{}'\n", seen, words);
    }
    for (const Option& option : options_of(*command, formats)) {
      out += fmt::format("complete -c varve -n {} -l {}", seen, option.name);
      out += option.short_name != 0 ? fmt::format(" -s {}", option.short_name) : "";
      if (!option.value_name.empty()) {
        out += option.names_a_file ? " -r" : " -x";
      }
      out += option.choices.empty() ? "" : fmt::format(" -a '{}'", option.choices);
      out += fmt::format(" -d '{}'\n", in_fish_quotes(option.help));
    }
  }
  return out;
}

}  // namespace varve::cli
