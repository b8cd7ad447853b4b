// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/explain_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text_coding.hpp"
#include "output/report_json.hpp"
#include "terminal/style.hpp"

namespace varve::cli {

namespace {

using terminal::printable;

std::string padded(std::string text, std::size_t width) {
  const std::size_t have = terminal::display_width(text);
  return have < width ? text.append(width - have, ' ') : text;
}

// Eight bytes say most; two dots stand for what is left out.
std::string raw_text(const ExplainRow& row) {
  if (row.container) {
    return {};
  }
  const std::string_view shown = std::string_view(row.raw).substr(0, 8);
  return base::to_hex(base::as_bytes(shown)) + (row.length > shown.size() ? ".." : "");
}

}  // namespace

JsonRows::JsonRows(Session& session, const Target& target) : session_(session) {
  std::string head = Json::object()
                         .set("schema", "varve.explain/1")
                         .set("path", target.path)
                         .set("format", target.format->name())
                         .text();
  head.back() = ',';
  session_.out().print(head + "\"rows\":[");
}

bool JsonRows::add(ExplainRow row) {
  std::string text = std::exchange(first_, false) ? "\n" : ",\n";
  output::explain_row_json(row).write(text, session_.int64_as_string());
  const auto taken = session_.out().write(text);
  return taken && *taken;
}

void JsonRows::finish(Verdict verdict, const FindingList& findings) {
  std::string text = "],\"verdict\":";
  Json(to_text(verdict)).write(text);
  text += ",\"findings\":";
  output::findings_json(findings).write(text, session_.int64_as_string());
  session_.out().print(text + "}\n");
}

bool TextRows::add(ExplainRow row) {
  if (first_ || row.file != file_) {
    begin_file(row.file);
  }
  const terminal::Style& style = session_.style();
  const std::string indent(std::min(row.depth, 12U) * 2, ' ');
  std::string text = fmt::format("{:>10} {:>9}  ", row.offset, row.length);
  text += padded(coloured(row, raw_text(row)), 18) + "  ";
  text += padded(check_text(row.check), 6);
  const std::string name = indent + printable(row.field);
  text += padded(row.container ? style.bold(name) : coloured(row, name), 26) + "  ";
  text += padded(printable(row.value), 22);
  if (!row.meaning.empty()) {
    text += "  " + printable(row.meaning);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  for (const ByteMark& mark : row.marks) {
    text += mark_line(mark, indent);
  }
  const auto taken = session_.out().write(text);
  return taken && *taken;
}

std::string TextRows::coloured(const ExplainRow& row, const std::string& text) const {
  using Class = ExplainRow::Class;
  const terminal::Style& style = session_.style();
  if (row.check == ExplainRow::Check::fails) {
    return style.red(text);
  }
  switch (row.sort) {
    case Class::header:
      return style.cyan(text);
    case Class::check:
      return style.green(text);
    case Class::length:
      return style.yellow(text);
    case Class::payload:
      return style.blue(text);
    case Class::padding:
      return style.dim(text);
    case Class::gap:
    case Class::stale:
      return style.magenta(text);
    case Class::unset:
    case Class::field:
      break;
  }
  return text;
}

std::string TextRows::check_text(ExplainRow::Check check) const {
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

// Under its row, with a sign where rows have their bytes: the lengths of marks add to nothing.
std::string TextRows::mark_line(const ByteMark& mark, const std::string& indent) const {
  std::string says;
  switch (mark.kind) {
    case ByteMark::Kind::zeros:
      says = "zeros";
      break;
    case ByteMark::Kind::repeated:
      says = "repeats " + mark.text;
      break;
    case ByteMark::Kind::stale:
      says = "stale: " + printable(mark.text);
      break;
  }
  return session_.style().dim(fmt::format("{:>10} {:>9}  {:18}        {}{}", mark.offset,
                                          mark.length, "~", indent, says)) +
         '\n';
}

void TextRows::begin_file(const std::string& file) {
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

}  // namespace varve::cli
