// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve salvage`: what can be got back of a broken store, and getting it back.
#include <fmt/format.h>

#include <charconv>

#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "terminal/numbers.hpp"
#include "terminal/style.hpp"
#include "terminal/table.hpp"
#include "varve/salvage.hpp"
#include "verbs/output_file.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

using terminal::counted;
using terminal::printable;
using terminal::Table;

constexpr std::size_t k_most_ranges_shown = 200;

// "4096", "64K" or "2.5%".
Result<MaxLoss> parse_max_loss(const std::string& text) {
  MaxLoss out;
  if (!text.ends_with('%')) {
    VARVE_ASSIGN(out.bytes, parse_size("max-loss", text));
    return out;
  }
  double value = 0;
  const char* last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value >= 0 && value <= 100)) {
    return fail(ErrorCode::invalid_argument, "max-loss",
                fmt::format("--max-loss '{}': a size (64K), or 0% to 100%", text));
  }
  out.percent = value;
  return out;
}

std::string seq_text(const SalvageRange& range) {
  if (!range.first_seq && !range.last_seq) {
    return {};
  }
  const auto text = [](const std::optional<std::uint64_t>& seq) {
    return seq ? std::to_string(*seq) : std::string("?");
  };
  // Of bytes that were not understood the whole records on both sides are known.
  return range.fate == Fate::lost
             ? fmt::format("between {} and {}", text(range.first_seq), text(range.last_seq))
         : range.first_seq == range.last_seq
             ? text(range.first_seq)
             : fmt::format("{}..{}", text(range.first_seq), text(range.last_seq));
}

std::string ranges_text(const Session& session, const SalvageReport& report) {
  const terminal::Style& style = session.style();
  Table table({Table::Align::left, Table::Align::left, Table::Align::right, Table::Align::right,
               Table::Align::left, Table::Align::left, Table::Align::left});
  table.add({style.dim("fate"), style.dim("file"), style.dim("offset"), style.dim("length"),
             style.dim("what"), style.dim("sequence"), style.dim("why, and where it went")});
  std::size_t shown = 0;
  for (const SalvageRange& range : report.ranges) {
    if (++shown > k_most_ranges_shown) {
      break;
    }
    const std::string_view fate = to_text(range.fate);
    std::string why = printable(range.reason);
    if (!range.saved_as.empty()) {
      why += (why.empty() ? "-> " : " -> ") + printable(range.saved_as);
    }
    table.add({range.fate == Fate::kept   ? style.green(fate)
               : range.fate == Fate::lost ? style.red(fate)
                                          : style.yellow(fate),
               printable(range.file), std::to_string(range.offset), std::to_string(range.length),
               range.records == 0 ? printable(range.unit) : counted(range.records, "record"),
               seq_text(range), why});
  }
  std::string out = table.text(session.width(), 2);
  if (report.ranges.size() > k_most_ranges_shown) {
    out += fmt::format("  and {} more; --json prints all\n",
                       report.ranges.size() - k_most_ranges_shown);
  }
  return out;
}

std::string report_text(const Session& session, const SalvageReport& report) {
  const auto total = [](const SalvageTotals& totals) {
    return fmt::format("{} in {}", counted(totals.records, "record"),
                       counted(totals.bytes, "byte"));
  };
  std::string out =
      fmt::format("{}  {}  ({}): {}\n", session.style().of(report.verdict, to_text(report.verdict)),
                  session.style().bold(printable(report.path)), report.format,
                  report.target.empty() ? "a rehearsal, nothing was written" : "salvaged");
  out += '\n' + ranges_text(session, report) + '\n';
  out += fmt::format("kept {}; set aside {}; lost {}", total(report.kept), total(report.set_aside),
                     total(report.lost));
  if (report.unknown_records != 0) {
    out += fmt::format("; {} of unknown fate", counted(report.unknown_records, "record"));
  }
  out += '\n';
  if (report.target.empty()) {
    return out + fmt::format("{}\n  varve salvage {} -o NEW  # writes it\n",
                             session.style().bold("next"), printable(report.path));
  }
  return out + fmt::format("new store: {}\nwhat it lacks, and the receipt salvage.json: {}\n",
                           printable(report.target), printable(report.lost_and_found));
}

int fail_salvage(Session& session, const OutputError& error) {
  session.report(error.error);
  return error.exit_code;
}

int run_salvage(Session& session) {
  const std::string& path = session.arguments().operands.front();
  SalvageRequest request;
  request.environment = &session.context().environment;
  if (session.has("max-loss")) {
    auto max_loss = parse_max_loss(session.arguments().value("max-loss"));
    if (!max_loss) {
      return session.report(max_loss.error(), path);
    }
    request.max_loss = *max_loss;
  }
  const auto limit = max_findings(session);
  const auto target = locate_target(session, path);
  if (!limit || !target) {
    return session.report(limit ? target.error() : limit.error(), path);
  }
  request.threads = target->threads;
  request.options = target->options;
  request.max_memory_bytes = target->max_memory_bytes;
  request.target = session.arguments().value("output");
  if (!request.target.empty()) {
    if (const auto free = check_new_path(session.context().files, request.target); !free) {
      return fail_salvage(session, free.error());
    }
  }
  FindingPrinter findings(session, target->path, *limit);
  const auto report =
      target->format->salvage(session.context().files, target->path, request, findings);
  findings.finish();
  if (!report) {
    return session.report(report.error(), path);
  }
  if (session.json()) {
    session.print_json(to_json(*report));
  } else {
    session.out().print(report_text(session, *report));
  }
  // Nobody shall take a store that lacks something for a whole one.
  return report->verdict == Verdict::clean && report->missing_bytes() != 0
             ? exit_code(Verdict::damaged)
             : exit_code(report->verdict);
}

const Registration k_salvage({
    .name = "salvage",
    .group = Group::write,
    .order = 7,
    .summary = "get back every intact record of a broken store, into a new one",
    .description =
        "Without -o a rehearsal: it says which bytes can be kept, which are lost, and the whole "
        "records on both sides of each gap. With -o NEW it writes a new valid store of the same "
        "format, and lost+found (in NEW, or beside it as NEW.lost+found where the store is a file "
        "or takes no other directory) with the raw bytes of what was not understood and the "
        "receipt salvage.json. All of it appears at the end or not at all.\n\n"
        "STORE is never written to, and not locked. The exit code is that of what was found in "
        "STORE (0 clean, 1 torn, 2 damaged, 3 cannot tell), also where all went well, and 2 where "
        "something of a clean one is set aside: so a script does not take a store with gaps for a "
        "whole one.",
    .operands = {{"STORE", "file or directory of any format"}},
    .examples = {{"salvage broken.jss", "what could be got back; nothing is written"},
                 {"salvage broken.jss -o whole.jss", "write the new store and its lost+found"},
                 {"salvage --max-loss 1% broken.jss -o whole.jss",
                  "refuse if more than a hundredth of the bytes would be missing"}},
    .options = {{"output", "NEW", "the new store; nothing may be there", 'o', false, "", false,
                 true},
                {"max-loss", "SIZE|N%", "refuse (exit code 2) when more bytes would be missing"}},
    .shared = k_json_option | k_open_options | k_findings_option,
    .run = run_salvage,
});

}  // namespace

}  // namespace varve::cli
