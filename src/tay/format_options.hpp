// SPDX-License-Identifier: MIT OR Apache-2.0
// The format's own options and filters, as the program offers them, and as budgets.
#pragma once

#include <map>
#include <span>
#include <string>

#include "varve/store.hpp"
#include "varve/tay_options.hpp"

namespace varve::tay {

using OptionMap = std::map<std::string, std::string>;

std::span<const OptionSpec> option_specs();
std::span<const FilterSpec> filter_specs();

// What a reading verb may spend. The retained budgets are section 16's defaults only for a warning:
// a reader that keeps no definitions is not bound by them.
struct ReadBudgets {
  Budgets budgets;
  bool retained_given = false;  // the retained budgets were asked for: reaching one is an error
};
Result<ReadBudgets> read_budgets(const OptionMap& options);

// A number of an option, with a binary suffix K, M or G if it has one; `fallback` if absent.
Result<std::uint64_t> number_option(const OptionMap& options, const std::string& name,
                                    std::uint64_t fallback);

}  // namespace varve::tay
