// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/clickhouse.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace varve::output {

namespace {

// A request ends here too, whatever the number of its rows.
constexpr std::size_t k_request_bytes = std::size_t{64} << 20;

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string list(const Schema& schema, const std::vector<std::size_t>& columns, bool typed) {
  std::string out;
  for (const std::size_t at : columns) {
    const Field& field = schema.fields[at];
    out += (out.empty() ? "`" : ", `") + clickhouse_name(field) + "`";
    out += typed ? " " + clickhouse_type(field) : "";
  }
  return out;
}

}  // namespace

Result<std::string> quoted_clickhouse_name(const std::string& name) {
  const std::size_t dot = name.find('.');
  const std::string first = name.substr(0, dot);
  const std::string second = dot == name.npos ? "" : name.substr(dot + 1);
  if (!is_name(first) || (dot != name.npos && !is_name(second))) {
    return fail(
        ErrorCode::invalid_argument, "usage",
        "\"" + name + "\" is no name of a table: letters, digits, _, with DATABASE. before");
  }
  return "`" + first + "`" + (dot == name.npos ? "" : ".`" + second + "`");
}

Result<std::string> create_statement(const ClickHouseTable& table) {
  VARVE_ASSIGN(const std::string name, quoted_clickhouse_name(table.name));
  for (const std::size_t at : table.key) {
    if (table.schema->fields[at].nullable) {
      return fail(ErrorCode::invalid_argument, "usage",
                  "a key's column cannot be null: " + table.schema->fields[at].name);
    }
  }
  return "CREATE TABLE IF NOT EXISTS " + name + " (" + list(*table.schema, table.columns, true) +
         ") ENGINE = ReplacingMergeTree() ORDER BY (" + list(*table.schema, table.key, false) + ")";
}

Result<std::unique_ptr<ClickHouseSink>> ClickHouseSink::create(const ClickHouseTable& table,
                                                               int seq,
                                                               std::uint64_t rows_per_request,
                                                               ClickHousePost post) {
  VARVE_ASSIGN(const std::string name, quoted_clickhouse_name(table.name));
  std::unique_ptr<ClickHouseSink> sink(new ClickHouseSink);
  sink->statement_ = "INSERT INTO " + name + " (" + list(*table.schema, table.columns, false) +
                     ") FORMAT RowBinary";
  sink->seq_ = seq;
  sink->rows_per_request_ = rows_per_request;
  sink->post_ = std::move(post);
  return sink;
}

ClickHouseSink::~ClickHouseSink() {
  if (sending_.valid()) {
    sending_.wait();
  }
}

std::uint64_t ClickHouseSink::range_of(const Batch& batch) const {
  if (seq_ < 0) {
    return body_rows_ < rows_per_request_ ? range_ : range_ + 1;
  }
  const auto at = static_cast<std::size_t>(seq_);
  const bool narrow = batch.schema->fields[at].type == ColumnType::uint32;
  const std::uint64_t first = narrow ? batch.columns[at].value<std::uint32_t>(0)
                                     : batch.columns[at].value<std::uint64_t>(0);
  return first / rows_per_request_;
}

Result<bool> ClickHouseSink::consume(Batch batch) {
  if (batch.rows == 0) {
    return true;
  }
  const std::uint64_t range = range_of(batch);
  if (!body_.empty() && (range != range_ || body_.size() >= k_request_bytes)) {
    VARVE_TRY(send());
  }
  range_ = range;
  body_ += batch.mapped;
  body_rows_ += batch.rows;
  return true;
}

Result<void> ClickHouseSink::wait() { return sending_.valid() ? sending_.get() : Result<void>(); }

Result<void> ClickHouseSink::send() {
  VARVE_TRY(wait());
  rows_ += body_rows_;
  ++requests_;
  sending_ = std::async(std::launch::async, [this, body = std::exchange(body_, {})] {
    return post_(statement_, body);
  });
  body_rows_ = 0;
  return {};
}

Result<void> ClickHouseSink::finish() {
  if (!body_.empty()) {
    VARVE_TRY(send());
  }
  return wait();
}

}  // namespace varve::output
