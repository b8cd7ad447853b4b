// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/sql_output.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "output/csv.hpp"
#include "terminal/numbers.hpp"

namespace varve::cli {

namespace {

using query::SqlBlob;
using query::SqlValue;

// SQLite makes no NaN, but infinities: digits beyond the range, which readers take for one.
void append_real(std::string& out, double value) {
  if (std::isinf(value)) {
    out += value < 0 ? "-1e999" : "1e999";
  } else {
    base::append_double(out, value);
  }
}

class JsonOutput final : public SqlOutput {
 public:
  explicit JsonOutput(Session& session) : session_(session) {}

  // A name that repeats gets a number, so that no value hides another.
  Result<void> columns(std::span<const std::string> names) override {
    std::set<std::string> used(names.begin(), names.end());
    std::set<std::string> seen;
    for (const std::string& name : names) {
      std::string key = name;
      for (int n = 2; !seen.insert(key).second; ++n) {
        do {
          key = name + ':' + std::to_string(n);
        } while (used.contains(key) && ++n != 0);
      }
      std::string text;
      base::append_json_text_or_bytes(text, key);
      keys_.push_back(std::move(text));
    }
    return {};
  }

  Result<bool> row(std::span<const SqlValue> values) override {
    line_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      line_ += i == 0 ? '{' : ',';
      line_ += keys_[i];
      line_ += ':';
      append(values[i]);
    }
    line_ += "}\n";
    return session_.out().write(line_);
  }

 private:
  void append(const SqlValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      const char* quote = session_.int64_as_string() ? "\"" : "";
      line_ += quote;
      base::append_integer(line_, *integer);
      line_ += quote;
    } else if (const auto* real = std::get_if<double>(&value)) {
      append_real(line_, *real);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      base::append_json_text_or_bytes(line_, *text);
    } else if (const auto* blob = std::get_if<SqlBlob>(&value)) {
      base::append_json_bytes(line_, base::as_bytes(blob->bytes));
    } else {
      line_ += "null";
    }
  }

  Session& session_;
  std::vector<std::string> keys_;
  std::string line_;
};

class CsvOutput final : public SqlOutput {
 public:
  explicit CsvOutput(Session& session) : session_(session) {}

  Result<void> columns(std::span<const std::string> names) override {
    for (const std::string& name : names) {
      line_ += line_.empty() ? "" : ",";
      output::append_csv_text(line_, name);
    }
    line_ += "\r\n";
    VARVE_TRY(session_.out().write(line_));
    return {};
  }
  Result<bool> row(std::span<const SqlValue> values) override {
    line_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      line_ += i == 0 ? "" : ",";
      append(values[i]);
    }
    line_ += "\r\n";
    return session_.out().write(line_);
  }

 private:
  void append(const SqlValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      base::append_integer(line_, *integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      append_real(line_, *real);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      output::append_csv_text(line_, *text);
    } else if (const auto* blob = std::get_if<SqlBlob>(&value)) {
      output::append_csv_bytes(line_, blob->bytes);
    }
  }

  Session& session_;
  std::string line_;
};

// The widths are those of the first rows; what comes later and is wider moves its line.
class TableOutput final : public SqlOutput {
 public:
  explicit TableOutput(Session& session) : session_(session) {}

  Result<void> columns(std::span<const std::string> names) override {
    for (const std::string& name : names) {
      header_.push_back(terminal::printable(name));
    }
    numeric_.assign(names.size(), true);
    return {};
  }

  Result<bool> row(std::span<const SqlValue> values) override {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < values.size(); ++i) {
      cells.push_back(cell_of(values[i]));
      const bool number = std::holds_alternative<std::int64_t>(values[i]) ||
                          std::holds_alternative<double>(values[i]) ||
                          std::holds_alternative<std::monostate>(values[i]);
      if (widths_.empty()) {
        numeric_[i] = numeric_[i] && number;
      }
    }
    if (!widths_.empty()) {
      return write(cells);
    }
    held_.push_back(std::move(cells));
    return held_.size() < k_held_rows ? Result<bool>(true) : release();
  }

  Result<void> finish() override {
    if (widths_.empty() && !header_.empty()) {
      VARVE_TRY(release());
    }
    return {};
  }

 private:
  static constexpr std::size_t k_held_rows = 1000;

  static std::string cell_of(const SqlValue& value) {
    std::string out;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      base::append_integer(out, *integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      append_real(out, *real);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      out = terminal::printable(*text);
    } else if (const auto* blob = std::get_if<SqlBlob>(&value)) {
      out = "x'";
      base::append_hex(out, base::as_bytes(blob->bytes));
      out += '\'';
    } else {
      out = "NULL";
    }
    return out;
  }

  Result<bool> release() {
    for (const std::string& name : header_) {
      widths_.push_back(terminal::display_width(name));
    }
    for (const auto& cells : held_) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        widths_[i] = std::max(widths_[i], terminal::display_width(cells[i]));
      }
    }
    bool more = true;
    std::vector<std::string> rule;
    for (const std::size_t width : widths_) {
      rule.emplace_back(width, '-');
    }
    VARVE_ASSIGN(more, write(header_));
    VARVE_ASSIGN(more, write(rule));
    for (const auto& cells : held_) {
      VARVE_ASSIGN(more, write(cells));
      if (!more) {
        break;
      }
    }
    held_.clear();
    return more;
  }

  Result<bool> write(const std::vector<std::string>& cells) {
    line_.clear();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line_ += i == 0 ? "" : "  ";
      const std::size_t width = terminal::display_width(cells[i]);
      const std::string padding(widths_[i] > width ? widths_[i] - width : 0, ' ');
      line_ += numeric_[i] ? padding + cells[i] : cells[i] + padding;
    }
    line_.erase(line_.find_last_not_of(' ') + 1);
    line_ += '\n';
    return session_.out().write(line_);
  }

  Session& session_;
  std::vector<std::string> header_;
  std::vector<bool> numeric_;  // of the held rows, or nothing else
  std::vector<std::vector<std::string>> held_;
  std::vector<std::size_t> widths_;  // empty while rows are held
  std::string line_;
};

}  // namespace

std::unique_ptr<SqlOutput> make_sql_output(Session& session) {
  if (session.json()) {
    return std::make_unique<JsonOutput>(session);
  }
  if (session.has("csv")) {
    return std::make_unique<CsvOutput>(session);
  }
  return std::make_unique<TableOutput>(session);
}

}  // namespace varve::cli
