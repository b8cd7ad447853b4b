// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve diff`: what two stores of one format have that the other has not, in log and state.
#include <fmt/format.h>

#include <unordered_map>

#include "cli/exit_codes.hpp"
#include "terminal/numbers.hpp"
#include "verbs/line_stream.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

using terminal::counted;

constexpr int k_different = 4;
// How far ahead a common line is looked for, on each side.
constexpr std::size_t k_window_lines = 20'000;
constexpr std::size_t k_window_bytes = std::size_t{32} << 20;

struct Row {
  std::string line;
  std::string key;  // what two equal rows have in common: all but their place
};

// A record that moved within the file is the same record. Where records have no sequence of their
// own, their number says only where they stand, too.
std::string key_of(const std::string& line, Face face, bool has_seq) {
  if (face != Face::log) {
    return line;
  }
  std::string key = line;
  if (const std::size_t at = key.rfind(",\"at\":{"); at != std::string::npos) {
    key.erase(at, key.find('}', at) + 1 - at);
  }
  if (!has_seq) {
    for (const std::string_view name : {"\"frame\":", "\"txn\":", "\"seq\":"}) {
      const std::size_t comma = key.find(',');
      if (std::string_view(key).substr(1).starts_with(name) && comma != std::string::npos) {
        key.erase(1, comma);
      }
    }
  }
  return key;
}

// One side of the comparison, with a window of rows that are read but not yet compared.
class Side {
 public:
  Side(StoreView& view, const ScanRequest& request, const RenderOptions& render,
       FindingSink& findings, bool has_seq)
      : face_(request.face), has_seq_(has_seq), stream_(view, request, render, findings) {}

  // True if there is a row at the front.
  bool fill_one() { return !rows_.empty() || read(); }
  void fill_window() {
    while (rows_.size() < k_window_lines && bytes_ < k_window_bytes && read()) {
    }
  }
  const std::deque<Row>& rows() const { return rows_; }
  Row take() {
    Row row = std::move(rows_.front());
    rows_.pop_front();
    bytes_ -= row.line.size();
    return row;
  }
  const Result<ScanSummary>& outcome() const { return stream_.outcome(); }

 private:
  bool read() {
    auto line = stream_.next();
    if (!line) {
      return false;
    }
    bytes_ += line->size();
    std::string key = key_of(*line, face_, has_seq_);
    rows_.push_back({*std::move(line), std::move(key)});
    return true;
  }

  Face face_;
  bool has_seq_;
  LineStream stream_;
  std::deque<Row> rows_;
  std::size_t bytes_ = 0;
};

struct FaceCounts {
  std::uint64_t same = 0;
  std::uint64_t only_a = 0;
  std::uint64_t only_b = 0;
};

// The nearest pair of equal rows in the two windows; their ends if there is none.
std::pair<std::size_t, std::size_t> nearest_common(const Side& a, const Side& b) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t j = b.rows().size(); j-- > 0;) {
    places[b.rows()[j].key] = j;  // the first place stays
  }
  std::pair best{a.rows().size(), b.rows().size()};
  for (std::size_t i = 0; i < a.rows().size() && i < best.first + best.second; ++i) {
    const auto found = places.find(a.rows()[i].key);
    if (found != places.end() && i + found->second < best.first + best.second) {
      best = {i, found->second};
    }
  }
  return best;
}

class Comparison {
 public:
  Comparison(Session& session, Face face) : session_(session), face_(face) {}

  // False if nobody wants to see more.
  Result<bool> run(Side& a, Side& b) {
    for (;;) {
      const bool has_a = a.fill_one();
      const bool has_b = b.fill_one();
      if (!has_a && !has_b) {
        break;
      }
      if (has_a && has_b && a.rows().front().key == b.rows().front().key) {
        a.take();
        b.take();
        ++counts_.same;
        continue;
      }
      a.fill_window();
      b.fill_window();
      const auto [skip_a, skip_b] = nearest_common(a, b);
      for (std::size_t i = 0; i < skip_a; ++i) {
        ++counts_.only_a;
        VARVE_ASSIGN(const bool more, print('-', a.take()));
        if (!more) return false;
      }
      for (std::size_t j = 0; j < skip_b; ++j) {
        ++counts_.only_b;
        VARVE_ASSIGN(const bool more, print('+', b.take()));
        if (!more) return false;
      }
    }
    for (const Side* side : {&a, &b}) {
      if (!side->outcome()) {
        return std::unexpected(side->outcome().error());
      }
      verdict_ = worse(verdict_, side->outcome()->verdict);
    }
    return true;
  }
  const FaceCounts& counts() const { return counts_; }
  Verdict verdict() const { return verdict_; }

 private:
  Result<bool> print(char sign, const Row& row) {
    if (session_.has("brief")) {
      return true;
    }
    if (session_.json()) {
      return session_.out().write(fmt::format(
          "{{\"schema\":\"varve.diff/1\",\"face\":\"{}\",\"only_in\":\"{}\",\"row\":{}}}\n",
          face_ == Face::log ? "log" : "state", sign == '-' ? "a" : "b", row.line));
    }
    const std::string text = fmt::format("{} {}", sign, row.line);
    const terminal::Style& style = session_.style();
    return session_.out().write((sign == '-' ? style.red(text) : style.green(text)) + '\n');
  }

  Session& session_;
  Face face_;
  FaceCounts counts_;
  Verdict verdict_ = Verdict::clean;
};

Json counts_json(const FaceCounts& counts) {
  return Json::object()
      .set("same", counts.same)
      .set("only_a", counts.only_a)
      .set("only_b", counts.only_b);
}

struct Outcome {
  FaceCounts counts;
  Verdict verdict = Verdict::clean;
  bool more = true;
};

Result<Outcome> compare_face(Session& session, const Target& a, const Target& b, Face face,
                             FindingSink& findings_a, FindingSink& findings_b) {
  VARVE_ASSIGN(const auto view_a, open_view(session, a));
  VARVE_ASSIGN(const auto view_b, open_view(session, b));
  VARVE_ASSIGN(ScanRequest request_a, scan_request(session, a, face));
  VARVE_ASSIGN(ScanRequest request_b, scan_request(session, b, face));
  request_a.partial = request_b.partial = true;
  const RenderOptions render = render_options(session, a);
  const bool has_seq = a.format->has_seq();
  Side side_a(*view_a, request_a, render, findings_a, has_seq);
  Side side_b(*view_b, request_b, render, findings_b, has_seq);
  if (!session.json() && !session.has("brief")) {
    session.out().print(session.style().bold(face == Face::log ? "log" : "state") + '\n');
  }
  Comparison comparison(session, face);
  Outcome out;
  VARVE_ASSIGN(out.more, comparison.run(side_a, side_b));
  out.counts = comparison.counts();
  out.verdict = comparison.verdict();
  return out;
}

std::string counts_text(const char* face, const FaceCounts& counts) {
  return fmt::format("{}: {} the same, {} only in A, {} only in B\n", face,
                     counted(counts.same, "row"), terminal::grouped(counts.only_a),
                     terminal::grouped(counts.only_b));
}

void print_findings(Session& session, const std::string& store, std::size_t limit,
                    FindingList& list) {
  FindingPrinter printer(session, store, limit);
  for (Finding& finding : list.findings()) {
    printer.add(std::move(finding));
  }
  printer.finish();
}

Result<int> diff(Session& session, const std::string& path_a, const std::string& path_b) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  VARVE_ASSIGN(const Target a, locate_target(session, path_a));
  VARVE_ASSIGN(const Target b, locate_target(session, path_b));
  if (a.format->name() != b.format->name()) {
    return fail(
        ErrorCode::invalid_argument, "format",
        fmt::format("stores of two formats: {} and {}", a.format->name(), b.format->name()));
  }
  // Kept until both scans are over: they run side by side.
  FindingList findings_a(limit);
  FindingList findings_b(limit);
  Json summary = Json::object()
                     .set("schema", "varve.diff/1")
                     .set("format", a.format->name())
                     .set("a", a.path)
                     .set("b", b.path);
  std::string text;
  bool differs = false;
  Verdict verdict = Verdict::clean;
  for (const Face face : {Face::log, Face::state}) {
    const char* name = face == Face::log ? "log" : "state";
    if (session.has("only") && session.arguments().value("only") != name) {
      continue;
    }
    VARVE_ASSIGN(const Outcome outcome, compare_face(session, a, b, face, findings_a, findings_b));
    if (!outcome.more) {
      return k_different;
    }
    differs = differs || outcome.counts.only_a + outcome.counts.only_b != 0;
    verdict = worse(verdict, outcome.verdict);
    summary.set(name, counts_json(outcome.counts));
    text += counts_text(name, outcome.counts);
  }
  summary.set("equal", !differs);
  if (session.json()) {
    std::string line;
    summary.write(line, session.int64_as_string());
    session.out().print(line + '\n');
  } else {
    session.out().print(text);
  }
  session.out().flush();
  print_findings(session, a.path, limit, findings_a);
  print_findings(session, b.path, limit, findings_b);
  return differs ? k_different : exit_code(verdict);
}

int run_diff(Session& session) {
  const std::vector<std::string>& paths = session.arguments().operands;
  const auto code = diff(session, paths[0], paths[1]);
  return code ? *code : session.report(code.error(), paths[0]);
}

const Registration k_diff({
    .name = "diff",
    .group = Group::read,
    .order = 5,
    .summary = "what one store has that another has not, in log and state",
    .description =
        "Compares the logs of two stores of one format record by record, then what they add up "
        "to. Where a record stands does not matter, only what it says and in which order. Rows "
        "of A that B has not are printed with '-', those of B that A has not with '+'.\n\n"
        "Both stores are read once for each face, in bounded memory: a row that moved more than "
        "20,000 rows is told as missing on one side and new on the other. The exit code is 0 if "
        "they are equal, 4 if not; where no difference was found but one of them could not be read "
        "whole, that of the fault.",
    .operands = {{"A", "file or directory of any format"}, {"B", "another of the same format"}},
    .examples = {{"diff broken.jss whole.jss", "what a salvage could not keep"},
                 {"diff --only state --brief before after", "do they add up to the same?"}},
    .options = {{"only", "FACE", "compare only this", 0, false, "log state"},
                {"brief", "", "only the numbers"}},
    .shared = k_json_option | k_payload_option | k_findings_option | k_open_options,
    .run = run_diff,
});

}  // namespace

}  // namespace varve::cli
