// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/table_cursor.hpp"

#include <limits>
#include <utility>

#include "base/json_writer.hpp"
#include "base/text_coding.hpp"

namespace varve::query {

namespace {

// Hands findings to the observer until it has had enough.
class Findings final : public FindingSink {
 public:
  Findings(TableObserver& observer, TableKind table) : observer_(observer), table_(table) {}
  void add(Finding finding) override {
    if (refusal) {
      return;
    }
    if (auto taken = observer_.found(table_, std::move(finding)); !taken) {
      refusal = std::move(taken).error();
    }
  }
  std::optional<Error> refusal;

 private:
  TableObserver& observer_;
  TableKind table_;
};

void give_unsigned(sqlite3_context* context, std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<sqlite3_int64>::max())) {
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(value));
    return;
  }
  // SQLite has no such integer; its digits are at least not another number.
  std::string digits;
  base::append_integer(digits, value);
  sqlite3_result_text(context, digits.data(), static_cast<int>(digits.size()), SQLITE_TRANSIENT);
}

void give_text(sqlite3_context* context, std::string_view text) {
  // Text that is none goes as the bytes it is: SQLite trusts what it is told.
  if (base::is_utf8(text)) {
    sqlite3_result_text64(context, text.data() == nullptr ? "" : text.data(), text.size(),
                          SQLITE_TRANSIENT, SQLITE_UTF8);
  } else {
    sqlite3_result_blob64(context, text.data(), text.size(), SQLITE_TRANSIENT);
  }
}

void give(sqlite3_context* context, ColumnType type, const Column& column, std::size_t row) {
  if (column.layout == Column::Layout::absent || column.is_null(row)) {
    sqlite3_result_null(context);
    return;
  }
  switch (type) {
    case ColumnType::boolean:
    case ColumnType::uint8:
      sqlite3_result_int(context, column.value<std::uint8_t>(row));
      break;
    case ColumnType::uint16:
      sqlite3_result_int(context, column.value<std::uint16_t>(row));
      break;
    case ColumnType::uint32:
      sqlite3_result_int64(context, column.value<std::uint32_t>(row));
      break;
    case ColumnType::uint64:
      give_unsigned(context, column.value<std::uint64_t>(row));
      break;
    case ColumnType::int64:
    case ColumnType::timestamp_us:
      sqlite3_result_int64(context, column.value<std::int64_t>(row));
      break;
    case ColumnType::text:
      give_text(context, column.bytes(row));
      break;
    case ColumnType::bytes: {
      const std::string_view bytes = column.bytes(row);
      sqlite3_result_blob64(context, bytes.data() == nullptr ? "" : bytes.data(), bytes.size(),
                            SQLITE_TRANSIENT);
      break;
    }
  }
}

}  // namespace

int Table::fail(const Error& error) {
  sqlite3_free(zErrMsg);
  zErrMsg = sqlite3_mprintf("%s", error.text().c_str());
  return SQLITE_ERROR;
}

int Cursor::filter(const char* plan_text, sqlite3_value** values) {
  stream_.reset();
  batch_ = {};
  row_ = 0;
  row_id_ = 0;
  at_end_ = true;
  const ScanPlan plan = ScanPlan::parse(plan_text);
  auto request = table_request(table_.shape(), plan, values);
  if (table_.observer().planning() != nullptr) {
    return note(request.value_or(TableRequest{}), !request);
  }
  if (!request) {
    return SQLITE_OK;
  }
  const auto counted = counted_column(table_.shape(), plan.columns_used);
  counting_ = table_.observer().row_weight() != nullptr && counted;
  if (counting_) {
    return fetch_counts(*counted, *std::move(request));
  }
  lines_wanted_ = table_.shape().columns.back().is_line && request->columns.back();
  auto stream = table_.tables().start(table_.kind(), *request);
  if (!stream) {
    return fail(stream.error());
  }
  stream_ = *std::move(stream);
  at_end_ = false;
  return fetch();
}

int Cursor::note(const TableRequest& request, bool empty) {
  PlannedScan scan;
  scan.table = table_.kind();
  scan.empty = empty;
  scan.predicate = request.predicate;
  for (std::size_t i = 0; i < request.columns.size(); ++i) {
    if (request.columns[i]) {
      scan.columns.push_back(table_.shape().columns[i].name);
    }
  }
  if (!empty) {
    auto plan = table_.tables().plan(table_.kind(), request);
    if (!plan) {
      return fail(plan.error());
    }
    scan.plan = *std::move(plan);
  }
  table_.observer().planning()->push_back(std::move(scan));
  return SQLITE_OK;
}

int Cursor::fail(const Error& error) {
  at_end_ = true;
  table_.observer().failed(error);
  return table_.fail(error);
}

// Scans to the end at once: SQLite wants the values in order.
int Cursor::fetch_counts(std::optional<std::size_t> column, TableRequest request) {
  const CountMapper mapper(column);
  request.mapper = &mapper;
  auto stream = table_.tables().start(table_.kind(), request);
  if (!stream) {
    return fail(stream.error());
  }
  counts_ = {};
  Findings findings(table_.observer(), table_.kind());
  for (;;) {
    auto batch = (*stream)->next(findings);
    if (!batch || findings.refusal) {
      return fail(findings.refusal ? *findings.refusal : batch.error());
    }
    if (!*batch) {
      break;
    }
    if (!counts_.add(**batch)) {
      table_.observer().too_many_values();
      return SQLITE_ERROR;
    }
  }
  table_.observer().ended((*stream)->verdict());
  count_ = counts_.all().begin();
  at_end_ = count_ == counts_.all().end();
  row_id_ = 1;
  if (!at_end_) {
    *table_.observer().row_weight() = count_->second;
  }
  return SQLITE_OK;
}

int Cursor::fetch() {
  Findings findings(table_.observer(), table_.kind());
  do {
    auto batch = stream_->next(findings);
    if (!batch || findings.refusal) {
      return fail(findings.refusal ? *findings.refusal : batch.error());
    }
    if (!*batch) {
      at_end_ = true;
      batch_ = {};
      table_.observer().ended(stream_->verdict());
      stream_.reset();
      return SQLITE_OK;
    }
    batch_ = std::move(**batch);
  } while (batch_.rows == 0);
  row_ = 0;
  ++row_id_;
  if (lines_wanted_) {
    split_lines();
  }
  return SQLITE_OK;
}

void Cursor::split_lines() {
  lines_.clear();
  std::string_view rest = batch_.mapped;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    lines_.push_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

int Cursor::next() {
  if (counting_) {
    ++row_id_;
    at_end_ = ++count_ == counts_.all().end();
    if (!at_end_) {
      *table_.observer().row_weight() = count_->second;
    }
    return SQLITE_OK;
  }
  if (++row_ < batch_.rows) {
    ++row_id_;
    return SQLITE_OK;
  }
  return fetch();
}

int Cursor::column(sqlite3_context* context, std::size_t at) const {
  const TableShape& shape = table_.shape();
  if (counting_) {
    give_text(context, count_->first);
  } else if (at < shape.schema->fields.size()) {
    give(context, shape.columns[at].type, batch_.columns[at], row_);
  } else if (shape.columns[at].is_line && row_ < lines_.size()) {
    give_text(context, lines_[row_]);
  }
  return SQLITE_OK;
}

}  // namespace varve::query
