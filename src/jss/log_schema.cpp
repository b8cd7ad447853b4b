// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/log_schema.hpp"

namespace varve::jss {

const Schema& log_schema() {
  static const Schema schema = [] {
    Schema s;
    const auto add = [&](const char* name, ColumnType type) -> Field& {
      s.fields.push_back(Field{.name = name, .type = type});
      return s.fields.back();
    };
    add("seq", ColumnType::uint64);
    add("witnessed_at", ColumnType::timestamp_us);
    add("indexed_at", ColumnType::timestamp_us);
    add("kind", ColumnType::text).repeated_text = true;
    add("did", ColumnType::text).repeated_text = true;
    add("collection", ColumnType::text).repeated_text = true;
    add("rkey", ColumnType::text);
    add("rev", ColumnType::text);
    for (const char* name : {"cid", "record"}) {
      Field& field = add(name, ColumnType::text);
      field.nullable = true;
      field.computed = true;
    }
    add("payload", ColumnType::bytes);
    add("at.segment", ColumnType::text).repeated_text = true;
    add("at.block", ColumnType::uint32);
    add("at.row", ColumnType::uint32);
    return s;
  }();
  return schema;
}

Result<Projection> make_projection(const std::vector<std::string>& names) {
  Projection projection{};
  if (names.empty()) {
    for (std::size_t i = 0; i < k_log_columns; ++i) {
      projection[i] = !log_schema().fields[i].computed;
    }
    return projection;
  }
  for (const std::string& name : names) {
    const int at = log_schema().find(name);
    if (at < 0) {
      return fail(ErrorCode::invalid_argument, "column", "the log has no column " + name);
    }
    projection[static_cast<std::size_t>(at)] = true;
  }
  return projection;
}

}  // namespace varve::jss
