// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve explain`: every byte, field by field. Rows are printed as they come: a store may have more
// of them than memory.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_coding.hpp"
#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "output/report_json.hpp"
#include "terminal/style.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

using terminal::printable;

// varve.explain/1, written piece by piece.
class JsonRows final : public ExplainSink {
 public:
  JsonRows(Session& session, const Target& target) : session_(session) {
    std::string head = Json::object()
                           .set("schema", "varve.explain/1")
                           .set("path", target.path)
                           .set("format", target.format->name())
                           .text();
    head.back() = ',';
    session_.out().print(head + "\"rows\":[");
  }
  bool add(ExplainRow row) override {
    std::string text = std::exchange(first_, false) ? "\n" : ",\n";
    output::explain_row_json(row).write(text, session_.int64_as_string());
    const auto taken = session_.out().write(text);
    return taken && *taken;
  }
  void finish(Verdict verdict, const FindingList& findings) {
    std::string text = "],\"verdict\":";
    Json(to_text(verdict)).write(text);
    text += ",\"findings\":";
    output::findings_json(findings).write(text, session_.int64_as_string());
    session_.out().print(text + "}\n");
  }

 private:
  Session& session_;
  bool first_ = true;
};

// A table whose columns have fixed places, since later rows are not known yet.
class TextRows final : public ExplainSink {
 public:
  explicit TextRows(Session& session) : session_(session) {}

  bool add(ExplainRow row) override {
    if (first_ || row.file != file_) {
      begin_file(row.file);
    }
    const terminal::Style& style = session_.style();
    const std::string indent(std::min(row.depth, 12U) * 2, ' ');
    std::string line = fmt::format("{:>10} {:>9}  ", row.offset, row.length);
    line += padded(style.dim(raw_text(row)), 18) + "  ";
    line += padded(check_text(row.check), 6);
    const std::string name = indent + printable(row.field);
    line += padded(row.container ? style.bold(name) : name, 26) + "  ";
    line += padded(printable(row.value), 22);
    if (!row.meaning.empty()) {
      line += "  " + printable(row.meaning);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    const auto taken = session_.out().write(line + '\n');
    return taken && *taken;
  }

 private:
  std::string check_text(ExplainRow::Check check) const {
    switch (check) {
      case ExplainRow::Check::none:
        break;
      case ExplainRow::Check::holds:
        return session_.style().green("ok");
      case ExplainRow::Check::fails:
        return session_.style().red("WRONG");
    }
    return {};
  }
  static std::string padded(std::string text, std::size_t width) {
    const std::size_t have = terminal::display_width(text);
    return have < width ? text.append(width - have, ' ') : text;
  }
  // Eight bytes say most; a dot stands for what is left out.
  static std::string raw_text(const ExplainRow& row) {
    if (row.container) {
      return {};
    }
    const std::string_view shown = std::string_view(row.raw).substr(0, 8);
    return base::to_hex(base::as_bytes(shown)) + (row.length > shown.size() ? ".." : "");
  }
  void begin_file(const std::string& file) {
    const terminal::Style& style = session_.style();
    std::string head = first_ ? "" : "\n";
    if (!file.empty()) {
      head += style.bold(printable(file)) + '\n';
    }
    head += style.dim(fmt::format("{:>10} {:>9}  {:18}  {:6}{:26}  {:22}  {}", "offset", "length",
                                  "raw", "check", "field", "value", "meaning")) +
            '\n';
    session_.out().print(head);
    first_ = false;
    file_ = file;
  }

  Session& session_;
  bool first_ = true;
  std::string file_;
};

// Findings of a text run go to stderr; those of a JSON run into the document.
Result<int> explain(Session& session, const std::string& path, const std::string& place) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const auto view, open_view(session, target));
  const FileAndOffset where = parse_file_and_offset(place);
  const ExplainRequest request{where.file, where.offset};
  if (session.json()) {
    FindingList findings(limit);
    JsonRows rows(session, target);
    const auto summary = view->explain(request, rows, findings);
    rows.finish(summary ? summary->verdict : Verdict::unknown, findings);
    if (!summary) {
      session.message(summary.error().text());
      return exit_code_of(summary.error());
    }
    return exit_code(summary->verdict);
  }
  TextRows rows(session);
  FindingPrinter findings(session, target.path, limit);
  const auto summary = view->explain(request, rows, findings);
  session.out().flush();
  findings.finish();
  if (!summary) {
    return std::unexpected(summary.error());
  }
  return exit_code(summary->verdict);
}

int run_explain(Session& session) {
  const std::vector<std::string>& operands = session.arguments().operands;
  std::string path = operands[0];
  std::string place = operands.size() > 1 ? operands[1] : "";
  // `STORE@OFFSET` in one word, unless a file has that very name.
  const FileAndOffset split = parse_file_and_offset(path);
  if (operands.size() == 1 && split.offset && !session.context().files.identity_of(path)) {
    place = path.substr(split.file.size());
    path = split.file;
  }
  const auto code = explain(session, path, place);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_explain({
    .name = "explain",
    .group = Group::look,
    .order = 3,
    .summary = "every byte field by field: raw, decoded, what it means, whether its check holds",
    .description =
        "Prints the units of a store and their fields with offset, length, raw bytes, value and "
        "meaning. The lengths of a file's fields add up to the file. With an offset only the unit "
        "that holds this byte is printed.",
    .operands = {{"STORE", "file or directory of any format; STORE@OFFSET for one unit"},
                 {"FILE@OFFSET",
                  "a member of the store, an offset in it (decimal or 0x...), or both", true}},
    .examples = {{"explain events.jss @0", "the header"},
                 {"explain archive/ seg_0000000000.jss@4711", "the unit that holds this byte"},
                 {"explain --json events.jss", "all of it, for a program"}},
    .shared = k_json_option | k_findings_option | k_open_options,
    .run = run_explain,
});

}  // namespace

}  // namespace varve::cli
