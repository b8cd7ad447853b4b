// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/parse.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace varve::cli {

namespace {

std::unexpected<Error> usage(const Command& command, const std::string& message) {
  return fail(ErrorCode::invalid_argument, "usage",
              fmt::format("{} (see `varve {} --help`)", message, command.name));
}

std::string names_of(const Option& option) {
  std::string names = "--" + option.name;
  if (option.short_name != 0) {
    names = fmt::format("-{},{}", option.short_name, names);
  }
  return names;
}

Result<void> check_operands(const Command& command, const std::vector<std::string>& operands) {
  std::size_t least = 0;
  bool unlimited = false;
  for (const Operand& operand : command.operands) {
    least += operand.optional ? 0 : 1;
    unlimited = unlimited || operand.repeats;
  }
  if (operands.size() < least) {
    return usage(command, fmt::format("{} is missing", command.operands[operands.size()].name));
  }
  if (!unlimited && operands.size() > command.operands.size()) {
    return usage(command,
                 fmt::format("'{}' is one operand too many", operands[command.operands.size()]));
  }
  return {};
}

Result<void> check_values(const Command& command, const Option& option,
                          const std::vector<std::string>& values) {
  if (values.size() > 1 && !option.repeatable && !option.value_name.empty()) {
    return usage(command, fmt::format("--{} is given twice", option.name));
  }
  for (const std::string& value : values) {
    if (!option.choices.empty() && !lists_word(option.choices, value)) {
      return usage(command, fmt::format("--{} '{}': one of: {}", option.name, value,
                                        fmt::join(split_words(option.choices), ", ")));
    }
  }
  return {};
}

}  // namespace

Result<Arguments> parse(const Command& command, std::span<const Format* const> formats,
                        const std::vector<std::string>& words) {
  const std::vector<Option> options = options_of(command, formats);
  CLI::App app;
  app.set_help_flag();
  Arguments arguments;
  std::vector<std::vector<std::string>> values(options.size());
  std::vector<int> counts(options.size(), 0);
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i].value_name.empty()) {
      app.add_flag(names_of(options[i]), counts[i]);
    } else {
      app.add_option(names_of(options[i]), values[i])
          ->expected(1)
          ->allow_extra_args(false)
          ->take_all();
    }
  }
  app.add_option("operands", arguments.operands);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants them reversed
  } catch (const CLI::ExtrasError&) {
    return usage(command, fmt::format("there is no option {}", app.remaining().front()));
  } catch (const CLI::ParseError& error) {
    return usage(command, error.what());
  }
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (counts[i] > 0) {
      values[i] = {"1"};
    }
    VARVE_TRY(check_values(command, options[i], values[i]));
    if (!values[i].empty()) {
      arguments.options[options[i].name] = std::move(values[i]);
    }
  }
  if (!arguments.has("help")) {
    VARVE_TRY(check_operands(command, arguments.operands));
  }
  return arguments;
}

}  // namespace varve::cli
