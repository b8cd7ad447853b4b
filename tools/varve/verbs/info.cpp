// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve info`: one screen about a store.
#include <fmt/format.h>

#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "output/report_json.hpp"
#include "terminal/numbers.hpp"
#include "terminal/table.hpp"

namespace varve::cli {

namespace {

using terminal::Table;

constexpr std::size_t k_most_detail_lines = 30;  // one screen

std::string range_of(const std::optional<std::uint64_t>& first,
                     const std::optional<std::uint64_t>& last) {
  return first && last ? fmt::format("{} to {}", *first, *last) : std::string();
}

std::string scalar_text(const Json& json) {
  return json.as_text() != nullptr ? terminal::printable(*json.as_text()) : json.text();
}

// Nested members as dotted names; lists are counted, not printed.
void add_detail(Table& table, std::size_t& lines, const std::string& prefix, const Json& json) {
  if (const Json::Object* members = json.as_object()) {
    for (const auto& [key, value] : *members) {
      add_detail(table, lines, prefix.empty() ? key : prefix + '.' + key, value);
    }
    return;
  }
  if (++lines > k_most_detail_lines) {
    return;
  }
  const Json::Array* elements = json.as_array();
  const bool long_list = elements != nullptr && json.text().size() > 60;
  table.add({terminal::printable(prefix),
             long_list ? terminal::counted(elements->size(), "element") : scalar_text(json)});
}

std::string info_text(const StoreInfo& info, const Session& session) {
  Table table({Table::Align::left, Table::Align::left});
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) {
      table.add({name, value});
    }
  };
  const auto add_count = [&](const char* name, const std::optional<std::uint64_t>& count) {
    table.add({name, count ? terminal::grouped(*count) : "only a full scan tells (varve verify)"});
  };
  add("path", terminal::printable(info.path));
  add("size", fmt::format("{} bytes ({} allocated)", terminal::grouped(info.bytes),
                          terminal::grouped(info.bytes_allocated)));
  add("segments", terminal::grouped(info.segments));
  add_count("units", info.units);
  add_count("records", info.records);
  add("seq", range_of(info.first_seq, info.last_seq));
  if (info.first_time_us && info.last_time_us) {
    add("time",
        terminal::rfc3339(*info.first_time_us) + " to " + terminal::rfc3339(*info.last_time_us));
  }
  if (info.compression_ratio) {
    add("compression", fmt::format("{:.2f} to 1", *info.compression_ratio));
  }
  if (info.sealed) {
    add("sealed", *info.sealed ? "yes" : "no");
  }
  add("tail", terminal::printable(info.tail));

  const terminal::Style& style = session.style();
  std::string out = style.bold(fmt::format("{} version {}", info.format, info.version)) + '\n' +
                    table.text(session.width(), 2);
  Table detail({Table::Align::left, Table::Align::left});
  std::size_t lines = 0;
  add_detail(detail, lines, "", info.detail);
  if (!detail.empty()) {
    out += '\n' + detail.text(session.width(), 2);
  }
  if (lines > k_most_detail_lines) {
    out += fmt::format("  and {} more fields: --json prints all\n", lines - k_most_detail_lines);
  }
  return out;
}

Result<void> print_info(Session& session, const std::string& path) {
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const auto view, open_view(session, target));
  VARVE_ASSIGN(const StoreInfo info, view->info());
  if (session.json()) {
    session.print_json(output::info_json(info));
  } else {
    session.out().print(info_text(info, session));
  }
  return {};
}

int run_info(Session& session) {
  int code = k_done;
  bool first = true;
  for (const std::string& path : session.arguments().operands) {
    if (!std::exchange(first, false) && !session.json()) {
      session.out().print("\n");
    }
    const auto printed = print_info(session, path);
    if (!printed) {
      code = combined_exit_code(code, session.report(printed.error(), path));
    }
  }
  return code;
}

const Registration k_info({
    .name = "info",
    .group = Group::look,
    .order = 1,
    .summary = "format, size, records, time range and tail of a store, on one screen",
    .description =
        "Opens the store, reads headers and footers, and says what is there. What only a "
        "full scan would tell is left out; --json has null there.",
    .operands = {{"STORE", "file or directory of any format", false, true}},
    .examples = {{"info events.jss", "what is this file?"},
                 {"info --json archive/ | jq .records", "one figure for a script"}},
    .shared = k_json_option | k_open_options,
    .run = run_info,
});

}  // namespace

}  // namespace varve::cli
