// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/command.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

namespace varve::cli {

namespace {

struct Table {
  std::vector<std::unique_ptr<const Command>> owned;
  std::vector<const Command*> sorted;
};
Table& table() {
  static Table instance;
  return instance;
}

struct SharedOption {
  std::uint32_t set;
  Option option;
};

const std::vector<SharedOption>& shared_options() {
  static const std::vector<SharedOption> list = {
      {k_json_option, {"json", "", "print one JSON document (several stores: JSON Lines)"}},
      {k_json_option,
       {"int64", "FORM", "how 64-bit integers stand in JSON", 0, false, "number string"}},
      {k_log_options,
       {"seq", "A..B", "only sequence numbers A to B, both included; A.. and ..B too"}},
      {k_log_options,
       {"since", "TIME", "only records at or after TIME (RFC 3339 or microseconds)"}},
      {k_log_options, {"until", "TIME", "only records before TIME (RFC 3339 or microseconds)"}},
      {k_log_options, {"limit", "N", "at most N records"}},
      {k_log_options, {"reverse", "", "newest first"}},
      {k_payload_option,
       {"payload", "FORM", "how payloads are printed (default json)", 0, false,
        "json base64 hex sha256 none"}},
      {k_findings_option, {"max-findings", "N", "list at most N findings (default 10000)"}},
      {k_dry_run_option, {"dry-run", "", "only show what would be written"}},
      {k_open_options, {"format", "FORMAT", "take the store for one of this format"}},
      {k_open_options, {"threads", "N", "threads to use (default: all cores)"}},
      {k_open_options,
       {"max-memory", "SIZE", "refuse units that need more memory (default 1G; suffixes K M G)"}},
      {k_open_options,
       {"api-key-file", "FILE", "the key for an http(s):// store (else that of VARVE_API_KEY)", 0,
        false, "", false, true}},
      {k_progress_option,
       {"progress", "WHEN", "progress on stderr: on a terminal, never, or as JSON Lines", 0, false,
        "auto never json"}},
  };
  return list;
}

// Adds what a format offers; an option that is there already gets the format's words added.
void merge(std::vector<Option>& options, std::string_view format, Option option) {
  option.from_formats = true;
  option.help = std::string(format) + ": " + option.help;
  const auto same = std::find_if(options.begin(), options.end(),
                                 [&](const Option& o) { return o.name == option.name; });
  if (same == options.end()) {
    options.push_back(std::move(option));
    return;
  }
  same->help += "; " + option.help;
  same->repeatable = same->repeatable || option.repeatable;
  for (const std::string& choice : split_words(option.choices)) {
    if (!same->choices.empty() && !lists_word(same->choices, choice)) {
      same->choices += ' ' + choice;
    }
  }
  if (option.choices.empty()) {
    same->choices.clear();
  }
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row[b.size()];
}

}  // namespace

Registration::Registration(Command command) {
  Table& all = table();
  all.owned.push_back(std::make_unique<const Command>(std::move(command)));
  all.sorted.push_back(all.owned.back().get());
  std::sort(all.sorted.begin(), all.sorted.end(), [](const Command* a, const Command* b) {
    return std::tie(a->group, a->order, a->name) < std::tie(b->group, b->order, b->name);
  });
}

std::span<const Command* const> commands() { return table().sorted; }

const Command* find_command(std::string_view name) {
  for (const Command* command : commands()) {
    if (command->name == name) {
      return command;
    }
  }
  return nullptr;
}

const Command* nearest_command(std::string_view name) {
  const Command* best = nullptr;
  std::size_t best_distance = 3;
  for (const Command* command : commands()) {
    const std::size_t distance = edit_distance(name, command->name);
    if (distance < best_distance && distance < command->name.size()) {
      best = command;
      best_distance = distance;
    }
  }
  return best;
}

std::vector<Option> options_of(const Command& command, std::span<const Format* const> formats) {
  std::vector<Option> options = command.options;
  std::vector<Option> offered;
  for (const Format* format : formats) {
    for (const FilterSpec& filter : format->filters()) {
      if (lists_word(filter.verbs, command.name)) {
        merge(offered, format->name(),
              {std::string(filter.name), std::string(filter.value_name), std::string(filter.help),
               0, filter.repeatable, std::string(filter.choices)});
      }
    }
    for (const OptionSpec& option : format->options()) {
      if (lists_word(option.verbs, command.name)) {
        merge(offered, format->name(),
              {std::string(option.name), std::string(option.value_name), std::string(option.help),
               0, false, std::string(option.choices)});
      }
    }
  }
  for (const SharedOption& shared : shared_options()) {
    const bool own = std::any_of(command.options.begin(), command.options.end(),
                                 [&](const Option& o) { return o.name == shared.option.name; });
    if ((command.shared & shared.set) != 0 && !own) {
      options.push_back(shared.option);
      if (shared.option.name == "format") {
        for (const Format* format : formats) {
          options.back().choices += options.back().choices.empty() ? "" : " ";
          options.back().choices += format->name();
        }
      }
    }
  }
  options.insert(options.end(), offered.begin(), offered.end());
  options.push_back({"color", "WHEN", "colour in text output", 0, false, "auto always never"});
  options.push_back({"help", "", "print this help", 'h'});
  return options;
}

}  // namespace varve::cli
