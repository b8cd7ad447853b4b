// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/write_report.hpp"

#include <fmt/format.h>

#include "cli/exit_codes.hpp"
#include "output/report_json.hpp"
#include "terminal/numbers.hpp"
#include "terminal/table.hpp"

namespace varve::cli {

namespace {

using terminal::printable;
using terminal::Table;

std::string actions_text(const WriteReport& report, std::size_t width) {
  Table table({Table::Align::left, Table::Align::left, Table::Align::left});
  for (const WriteReport::Action& action : report.actions) {
    std::string place;
    if (action.length != 0) {
      place = fmt::format("{} at byte {}", terminal::counted(action.length, "byte"), action.offset);
    } else if (action.offset != 0) {
      place = fmt::format("at byte {}", action.offset);
    }
    table.add({printable(action.what), printable(action.file), place});
  }
  return table.text(width, 2);
}

std::string detail_text(const Json& detail, std::size_t width) {
  Table table({Table::Align::left, Table::Align::left});
  if (const Json::Object* members = detail.as_object()) {
    for (const auto& [key, value] : *members) {
      table.add({printable(key),
                 value.as_text() != nullptr ? printable(*value.as_text()) : value.text()});
    }
  }
  return table.text(width, 2);
}

}  // namespace

void print_write_report(Session& session, const Target& target, const WriteReport& report) {
  if (session.json()) {
    session.print_json(
        output::write_json(session.command().name, target.path, target.format->name(), report));
    return;
  }
  const char* state = report.actions.empty()
                          ? (report.dry_run ? "nothing would be written" : "nothing needed writing")
                      : report.dry_run ? "would write (nothing was changed)"
                                       : "wrote";
  session.out().print(fmt::format("{} {}: {}\n", session.command().name, printable(target.path),
                                  session.style().bold(state)) +
                      actions_text(report, session.width()) +
                      detail_text(report.detail, session.width()));
}

int run_write(Session& session, const WriteCall& call) {
  const std::string& path = session.arguments().operands.front();
  const auto target = locate_target(session, path);
  if (!target) {
    return session.report(target.error(), path);
  }
  const auto report = call(*target, write_request(session, *target));
  if (!report) {
    return session.report(report.error(), path);
  }
  print_write_report(session, *target, *report);
  return k_done;
}

}  // namespace varve::cli
