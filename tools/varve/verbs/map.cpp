// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve map`: the store as a picture.
#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "terminal/numbers.hpp"
#include "verbs/map_page.hpp"
#include "verbs/output_file.hpp"

namespace varve::cli {

using output::MapCollector;
using output::MapFile;
using output::MapUnit;
using output::StoreMapPicture;
using output::UnitState;

namespace {

using terminal::counted;
using terminal::printable;

constexpr std::size_t k_most_units = 4'000;  // a file
constexpr std::size_t k_narrowest = 10;

// One character a slice of the file; the worst state in a slice wins.
std::string bar(const terminal::Style& style, const MapFile& file, std::size_t width) {
  std::vector<UnitState> slices(width, UnitState::plain);
  std::vector<bool> begins(width, false);
  // As in the page: a long end that nothing checks would hide the rest.
  std::uint64_t total = file.bytes;
  const MapUnit& last = file.units.back();
  const bool cut = file.units.size() > 1 && last.state == UnitState::plain &&
                   last.length > file.bytes - last.length;
  if (cut) {
    total = (file.bytes - last.length) * 100 / 85 + 1;
  }
  for (const MapUnit& unit : file.units) {
    const auto place = [&](std::uint64_t offset) {
      return std::min<std::size_t>(
          width - 1,
          static_cast<std::size_t>(static_cast<double>(offset) /
                                   static_cast<double>(std::max<std::uint64_t>(total, 1)) *
                                   static_cast<double>(width)));
    };
    const std::size_t first = place(unit.offset);
    const std::size_t end = place(unit.offset + (unit.length == 0 ? 0 : unit.length - 1));
    begins[first] = true;
    for (std::size_t i = first; i <= end; ++i) {
      slices[i] = std::max(slices[i], unit.state);
    }
  }
  std::string out;
  for (std::size_t i = 0; i < width; ++i) {
    switch (slices[i]) {
      case UnitState::plain:
        out += style.dim("·");
        break;
      case UnitState::holds:
        out += style.green(begins[i] ? "▌" : "█");
        break;
      case UnitState::noticed:
        out += style.yellow("▒");
        break;
      case UnitState::hurt:
        out += style.red("!");
        break;
    }
  }
  return out + (cut ? style.dim("…") : "");
}

std::string kinds_text(const MapFile& file) {
  std::vector<std::pair<std::string, std::uint64_t>> kinds;
  std::uint64_t hurt = 0;
  for (const MapUnit& unit : file.units) {
    auto found = std::ranges::find(kinds, unit.kind, &std::pair<std::string, std::uint64_t>::first);
    if (found == kinds.end()) {
      kinds.emplace_back(unit.kind, 0);
      found = std::prev(kinds.end());
    }
    found->second += unit.count;
    hurt += unit.state == UnitState::hurt ? unit.count : 0;
  }
  std::string out;
  for (const auto& [kind, count] : kinds) {
    out +=
        fmt::format("{}{} {}", out.empty() ? "" : ", ", terminal::grouped(count), printable(kind));
  }
  return hurt == 0 ? out : fmt::format("{}; {} hurt", out, terminal::grouped(hurt));
}

std::string picture_text(const Session& session, const StoreMapPicture& picture) {
  const terminal::Style& style = session.style();
  std::string out =
      fmt::format("{}  {}  ({})\n", style.of(picture.verdict, to_text(picture.verdict)),
                  style.bold(printable(picture.path)), picture.format);
  const std::size_t width = std::max(k_narrowest, session.width() - 4);
  for (const MapFile& file : picture.files) {
    if (file.units.empty()) {
      continue;
    }
    out +=
        fmt::format("\n{}  {}: {}\n  {}\n", printable(file.name.empty() ? picture.path : file.name),
                    counted(file.bytes, "byte"), kinds_text(file), bar(style, file, width));
    for (const MapUnit& unit : file.units) {
      for (const Finding& finding : unit.findings) {
        if (finding.severity != Severity::note) {
          out += fmt::format("  {} @{} {}: {}\n",
                             style.of(finding.severity, to_text(finding.severity)), finding.offset,
                             printable(finding.code), printable(finding.message));
        }
      }
    }
  }
  for (const Finding& finding : picture.elsewhere) {
    if (finding.severity != Severity::note) {
      out += fmt::format("\n{} {}: {}\n", style.of(finding.severity, to_text(finding.severity)),
                         printable(finding.code), printable(finding.message));
    }
  }
  return out + fmt::format("\n{} its check holds  {} nothing checks it  {} a warning  {} hurt\n",
                           style.green("█"), style.dim("·"), style.yellow("▒"), style.red("!"));
}

Result<StoreMapPicture> picture_of(Session& session, const Target& target) {
  MapCollector collector(k_most_units);
  FindingList checked;
  FindingList explained;
  VerifyRequest request;
  request.threads = target.threads;
  Verdict verdict = Verdict::clean;
  {
    VARVE_ASSIGN(const auto view, open_view(session, target));
    VARVE_ASSIGN(const VerifyReport report, view->verify(request, checked));
    verdict = report.verdict;
  }
  VARVE_ASSIGN(const auto view, open_view(session, target));
  VARVE_TRY(view->explain(ExplainRequest{}, collector, explained));
  StoreMapPicture picture = collector.finish(checked.findings());
  picture.path = target.path;
  picture.format = target.format->name();
  picture.verdict = verdict;
  return picture;
}

int run_map(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto target = locate_target(session, path);
  if (!target) {
    return session.report(target.error(), path);
  }
  const auto picture = picture_of(session, *target);
  if (!picture) {
    return session.report(picture.error(), path);
  }
  if (session.has("html")) {
    const auto written = write_output_file(session.context().files, session.context().environment,
                                           session.arguments().value("html"), map_page(*picture),
                                           session.has("force"));
    if (!written) {
      session.report(written.error().error);
      return written.error().exit_code;
    }
  } else if (session.json()) {
    session.print_json(map_json(*picture));
  } else {
    session.out().print(picture_text(session, *picture));
  }
  return exit_code(picture->verdict);
}

const Registration k_map({
    .name = "map",
    .group = Group::look,
    .order = 5,
    .summary = "the store as a picture: its units to scale, by state",
    .description =
        "Checks the store, then draws each file as a row of its units: what holds, what nothing "
        "checks, what is hurt. --html writes one page that needs no network: hover and click for "
        "fields and findings, zoom, light and dark.\n\n"
        "The exit code is that of `verify`. A long end that nothing checks (space ahead of a log) "
        "is drawn shorter than it is.",
    .operands = {{"STORE", "file or directory of any format"}},
    .examples = {{"map broken.jss", "where is it hurt?"},
                 {"map --html map.html archive/", "a page to look at and to hand on"}},
    .options = {{"html", "FILE", "write a self-contained HTML page", 0, false, "", false, true},
                {"force", "", "replace FILE"}},
    .shared = k_json_option | k_open_options,
    .run = run_map,
});

}  // namespace

}  // namespace varve::cli
