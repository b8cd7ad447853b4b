// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve stats`: distributions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "output/report_json.hpp"
#include "terminal/numbers.hpp"
#include "terminal/table.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

using terminal::grouped;
using terminal::Table;

constexpr std::size_t k_bar_columns = 24;
constexpr std::size_t k_most_categories = 12;

std::string bar(std::uint64_t value, std::uint64_t most) {
  const std::size_t length =
      most == 0 ? 0
                : static_cast<std::size_t>(std::lround(static_cast<double>(value) /
                                                       static_cast<double>(most) * k_bar_columns));
  return std::string(value > 0 ? std::max<std::size_t>(length, 1) : 0, '#');
}

std::string categories_text(const Session& session, const Distribution& distribution) {
  using Category = Distribution::Category;
  std::uint64_t total = 0;
  std::uint64_t most = 0;
  bool any_bytes = false;
  for (const Category& category : distribution.categories) {
    total += category.count;
    most = std::max(most, category.count);
    any_bytes = any_bytes || category.bytes != 0;
  }
  Table table({Table::Align::left, Table::Align::right, Table::Align::right, Table::Align::right,
               Table::Align::left});
  std::size_t shown = 0;
  Category rest;
  for (const Category& category : distribution.categories) {
    if (++shown > k_most_categories) {
      rest.count += category.count;
      rest.bytes += category.bytes;
      continue;
    }
    table.add({terminal::printable(category.name), grouped(category.count),
               fmt::format("{:.1f} %", total == 0 ? 0.0
                                                  : static_cast<double>(category.count) * 100 /
                                                        static_cast<double>(total)),
               any_bytes ? terminal::human_bytes(static_cast<double>(category.bytes)) : "",
               session.style().cyan(bar(category.count, most))});
  }
  if (shown > k_most_categories) {
    table.add({fmt::format("({} more)", shown - k_most_categories), grouped(rest.count), "",
               any_bytes ? terminal::human_bytes(static_cast<double>(rest.bytes)) : "", ""});
  }
  return table.text(session.width(), 2);
}

// The figures on one line, then how many values have each size, by powers of two.
std::string numeric_text(const Session& session, const Distribution& distribution) {
  if (distribution.count == 0) {
    return "  none\n";
  }
  std::string out = fmt::format(
      "  {}, sum {}; minimum {}, median {}, 90 % {}, 99 % {}, maximum {}\n",
      terminal::counted(distribution.count, "value"), grouped(distribution.sum),
      grouped(distribution.minimum), grouped(distribution.p50), grouped(distribution.p90),
      grouped(distribution.p99), grouped(distribution.maximum));
  const std::vector<std::uint64_t>& counts = distribution.by_bit_width;
  const std::uint64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  Table table({Table::Align::right, Table::Align::right, Table::Align::left});
  bool begun = false;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    begun = begun || counts[i] != 0;
    if (begun) {
      const std::uint64_t below = i < 64 ? std::uint64_t{1} << i : UINT64_MAX;
      table.add({i == 0 ? std::string("0") : "< " + grouped(below), grouped(counts[i]),
                 session.style().cyan(bar(counts[i], most))});
    }
  }
  return out + table.text(session.width(), 2);
}

std::string stats_text(const Session& session, const StatsReport& report) {
  std::string out;
  for (const Distribution& distribution : report.distributions) {
    out += out.empty() ? "" : "\n";
    out += session.style().bold(terminal::printable(distribution.name));
    out += distribution.unit.empty() ? "\n" : fmt::format(" ({})\n", distribution.unit);
    out += distribution.categories.empty() ? numeric_text(session, distribution)
                                           : categories_text(session, distribution);
  }
  return out;
}

Result<int> stats(Session& session, const std::string& path) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const auto view, open_view(session, target));
  FindingList findings(limit);
  VARVE_ASSIGN(const StatsReport report, view->stats(findings));
  if (session.json()) {
    session.print_json(output::stats_json(target.path, target.format->name(), report, findings));
  } else {
    session.out().print(stats_text(session, report));
    session.out().flush();
    FindingPrinter printer(session, target.path, limit);
    for (const Finding& finding : findings.findings()) {
      printer.add(finding);
    }
  }
  return exit_code(findings.verdict());
}

int run_stats(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto code = stats(session, path);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_stats({
    .name = "stats",
    .group = Group::look,
    .order = 4,
    .summary = "distributions: sizes, kinds, compression, rate over time",
    .description = "Reads the whole log once and prints how its sizes, kinds and other properties "
                   "are distributed.",
    .operands = {{"STORE", "file or directory of any format"}},
    .examples = {{"stats events.jss", "what is in there, in bars"},
                 {"stats --json events.jss", "the same for a program"}},
    .shared = k_json_option | k_findings_option | k_open_options,
    .run = run_stats,
});

}  // namespace

}  // namespace varve::cli
