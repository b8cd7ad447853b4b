// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/verify_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "output/report_json.hpp"
#include "terminal/numbers.hpp"
#include "terminal/table.hpp"

namespace varve::cli {

namespace {

using terminal::counted;
using terminal::grouped;
using terminal::printable;
using terminal::Table;

std::string verdict_line(const Session& session, const VerifyReport& report,
                         const FindingList& findings) {
  std::string says;
  switch (report.verdict) {
    case Verdict::clean:
      says = findings.total() == 0 ? "nothing to complain about" : "no error";
      break;
    case Verdict::torn:
      says = "the log ends in an incomplete or unverifiable last unit; all before it is proven";
      break;
    case Verdict::damaged:
      says = "a committed unit is hurt, or a rule of the format is broken";
      break;
    case Verdict::unknown:
      says = "this build cannot tell";
      break;
  }
  return fmt::format(
      "{}  {}  ({} version {}): {}\n", session.style().of(report.verdict, to_text(report.verdict)),
      session.style().bold(printable(report.path)), report.format, report.version, says);
}

std::string findings_text(const Session& session, const FindingList& findings) {
  Table table({Table::Align::left, Table::Align::left, Table::Align::left, Table::Align::left,
               Table::Align::left});
  const bool several_files = std::any_of(findings.findings().begin(), findings.findings().end(),
                                         [](const Finding& f) { return !f.file.empty(); });
  const terminal::Style& style = session.style();
  table.add({style.dim("severity"), several_files ? style.dim("file") : "", style.dim("offset"),
             style.dim("code"), style.dim("what is wrong")});
  for (const Finding& finding : findings.findings()) {
    std::string message = printable(finding.message);
    if (const std::string values = disagreement_of(finding); !values.empty()) {
      message += (message.empty() ? "" : "; ") + values;
    }
    table.add({style.of(finding.severity, to_text(finding.severity)), printable(finding.file),
               std::to_string(finding.offset), printable(finding.code), message});
  }
  std::string out = table.text(session.width(), 2);
  if (findings.truncated()) {
    out += "  " + output::truncation_finding(findings).message + '\n';
  }
  return out;
}

std::string counts_text(const VerifyReport& report, double elapsed_s) {
  const Counts& counts = report.counts;
  std::string out =
      fmt::format("checked {} in {}, {}, {}; {}: {} intact, {} lost", counted(counts.bytes, "byte"),
                  counted(counts.files, "file"), counted(counts.segments, "segment"),
                  counted(counts.units, "unit"), counted(counts.records, "record"),
                  grouped(report.intact_records), grouped(report.lost_records));
  if (report.unknown_records != 0) {
    out += fmt::format(", {} of unknown fate", grouped(report.unknown_records));
  }
  return out + fmt::format("; {}, {}/s\n", terminal::human_seconds(elapsed_s),
                           terminal::human_bytes(static_cast<double>(counts.bytes) / elapsed_s));
}

std::string segments_text(const Session& session, const VerifyReport& report) {
  std::string out;
  std::uint64_t clean = 0;
  for (const SegmentVerdict& segment : report.segments) {
    if (segment.verdict == Verdict::clean) {
      ++clean;
    } else {
      out +=
          fmt::format("  {}  {}\n", session.style().of(segment.verdict, to_text(segment.verdict)),
                      printable(segment.name));
    }
  }
  return out.empty() ? out
                     : fmt::format("segments that are not clean ({} are):\n", grouped(clean)) + out;
}

// A shell word that names the path.
std::string quoted(const std::string& path) {
  constexpr std::string_view k_plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%=";
  if (!path.empty() && path.find_first_not_of(k_plain) == std::string::npos) {
    return path;
  }
  std::string out = "'";
  for (const char c : path) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

// The first finding that decided the verdict, for "look here".
const Finding* first_error(const FindingList& findings) {
  for (const Finding& finding : findings.findings()) {
    if (finding.severity == Severity::error) {
      return &finding;
    }
  }
  return nullptr;
}

struct Step {
  std::string command;
  std::string says;
};

// Command and comment side by side where all of them fit, else one under the other.
std::string steps_text(const std::vector<Step>& steps, std::size_t width) {
  std::size_t widest = 0;
  for (const Step& step : steps) {
    widest = std::max(widest, step.command.size());
  }
  const bool side_by_side = std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
    return 2 + widest + 4 + step.says.size() <= width;
  });
  std::string out;
  for (const Step& step : steps) {
    out += side_by_side ? fmt::format("  {:{}}  # {}\n", step.command, widest, step.says)
                        : fmt::format("  # {}\n  {}\n", step.says, step.command);
  }
  return out;
}

// The commands that help with this verdict; only verbs that this program has.
std::string next_steps(const Session& session, const Format& format, const VerifyReport& report,
                       const FindingList& findings) {
  const std::string store = quoted(report.path);
  std::vector<Step> steps;
  std::string advice = printable(format.advice(report.verdict));
  if (report.verdict == Verdict::torn) {
    steps.push_back({fmt::format("varve cat {}", store), "print the records that are whole"});
    steps.push_back({fmt::format("varve recover --dry-run {}", store),
                     "show what the format's own recovery would write"});
  } else if (report.verdict == Verdict::damaged) {
    const Finding* first = first_error(findings);
    const std::string place =
        first == nullptr ? std::string()
        : first->file.empty()
            ? fmt::format(" @{}", first->offset)
            : fmt::format(" {}", quoted(fmt::format("{}@{}", first->file, first->offset)));
    steps.push_back({fmt::format("varve explain {}{}", store, place),
                     "the bytes of the first fault, field by field"});
    if (find_command("salvage") != nullptr) {
      steps.push_back(
          {fmt::format("varve salvage {}", store), "rehearse: what can be got back, what is lost"});
    }
    steps.push_back({fmt::format("varve cat {} > whole.jsonl", store),
                     "print every record that is proven intact"});
    if (advice.empty()) {
      advice = "Work on a copy (cp -a), and let nothing write to the store meanwhile.";
    }
  } else if (report.verdict == Verdict::unknown && advice.empty()) {
    advice =
        "The finding names what this build does not know or which limit was met "
        "(--max-memory raises it). Nothing is said against the store.";
  }
  if (steps.empty() && advice.empty()) {
    return {};
  }
  std::string out = session.style().bold("next") + '\n' + steps_text(steps, session.width());
  return advice.empty() ? out
                        : out + "  " + terminal::wrap_words(advice, session.width(), 2) + '\n';
}

}  // namespace

std::string place_of(const Finding& finding) {
  return finding.file.empty() ? fmt::format("byte {}", finding.offset)
                              : fmt::format("{} at byte {}", finding.file, finding.offset);
}

std::string disagreement_of(const Finding& finding) {
  if (!finding.expected.present() && !finding.actual.present()) {
    return {};
  }
  if (!finding.expected.present()) {
    return fmt::format("found {}", to_text(finding.actual));
  }
  return finding.actual.present() ? fmt::format("expected {}, found {}", to_text(finding.expected),
                                                to_text(finding.actual))
                                  : fmt::format("expected {}", to_text(finding.expected));
}

namespace {

std::string receipt_text(const VerifyReport& report) {
  const ReceiptUse& use = report.receipt_use;
  if (use.parts == 0 && use.reasons.empty()) {
    return {};
  }
  std::string out = fmt::format(
      "receipt: {} of {} taken from it and not read again ({}); {} checked now\n"
      "what has rotted on the medium in the bytes not read is not seen\n",
      counted(use.bytes_taken, "byte"), counted(use.parts, "part"),
      counted(use.parts_taken, "part"), counted(report.counts.bytes, "byte"));
  for (const std::string& reason : use.reasons) {
    out += "receipt: " + printable(reason) + '\n';
  }
  return out;
}

}  // namespace

std::string verify_text(const Session& session, const Format& format, const VerifyReport& report,
                        const FindingList& findings, double elapsed_s) {
  std::string out = verdict_line(session, report, findings);
  if (findings.total() != 0) {
    out += '\n' + findings_text(session, findings) + '\n';
  }
  out += segments_text(session, report);
  out += counts_text(report, elapsed_s);
  out += receipt_text(report);
  if (const std::string next = next_steps(session, format, report, findings); !next.empty()) {
    out += '\n' + next;
  }
  return out;
}

}  // namespace varve::cli
