// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/row_counts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/text_coding.hpp"

namespace varve::query {

namespace {

// More than this is counted row by row, with SQLite's sorter, which spills to disk.
constexpr std::size_t k_most_bytes = std::size_t{256} << 20;
constexpr std::size_t k_node_bytes = 96;  // about what a counted value takes besides its text

void append_count(std::string& out, std::string_view value, std::uint64_t count) {
  const auto size = static_cast<std::uint32_t>(value.size());
  out.append(reinterpret_cast<const char*>(&count), sizeof count);
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out += value;
}

// The codes of a dictionary column.
template <class Code>
void count_codes(const Column& column, std::size_t rows, std::string& out) {
  std::vector<std::uint64_t> counts(column.dictionary->size());
  const auto* codes = static_cast<const Code*>(column.values);
  for (std::size_t row = 0; row < rows; ++row) {
    ++counts[codes[row]];
  }
  for (std::size_t code = 0; code < counts.size(); ++code) {
    if (counts[code] != 0) {
      append_count(out, column.dictionary->at(code), counts[code]);
    }
  }
}

void count_texts(const Column& column, std::size_t rows, std::string& out) {
  std::unordered_map<std::string_view, std::uint64_t> counts;
  // Neighbours are often equal, and then nothing need be looked up.
  std::string_view last;
  std::uint64_t* counter = nullptr;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view value = column.bytes(row);
    if (counter == nullptr || value != last) {
      counter = &counts[value];
      last = value;
    }
    ++*counter;
  }
  for (const auto& [value, count] : counts) {
    append_count(out, value, count);
  }
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// The opcodes that a loop which only counts is made of.
bool belongs_to_counting(std::string_view opcode) {
  constexpr std::array k_opcodes{"VFilter", "VColumn", "VNext",   "AggStep",   "Compare", "Jump",
                                 "Move",    "Gosub",   "IfPos",   "If",        "IfNot",   "Integer",
                                 "Null",    "Copy",    "SCopy",   "Goto",      "Eq",      "Ne",
                                 "Lt",      "Le",      "Gt",      "Ge",        "IsNull",  "NotNull",
                                 "String8", "Noop",    "CollSeq", "ReleaseReg"};
  return std::ranges::find(k_opcodes, opcode) != k_opcodes.end();
}

}  // namespace

void CountMapper::map(Batch& batch) const {
  batch.mapped.clear();
  if (!column_) {
    append_count(batch.mapped, {}, batch.rows);
    return;
  }
  const Column& column = batch.columns[*column_];
  switch (column.layout) {
    case Column::Layout::dictionary8:
      count_codes<std::uint8_t>(column, batch.rows, batch.mapped);
      break;
    case Column::Layout::dictionary32:
      count_codes<std::uint32_t>(column, batch.rows, batch.mapped);
      break;
    default:
      count_texts(column, batch.rows, batch.mapped);
      break;
  }
}

bool RowCounts::add(const Batch& batch) {
  std::string_view rest = batch.mapped;
  while (!rest.empty()) {
    std::uint64_t count = 0;
    std::uint32_t size = 0;
    std::memcpy(&count, rest.data(), sizeof count);
    std::memcpy(&size, rest.data() + sizeof count, sizeof size);
    const std::string_view value = rest.substr(sizeof count + sizeof size, size);
    rest.remove_prefix(sizeof count + sizeof size + size);
    auto at = counts_.find(value);
    if (at == counts_.end()) {
      bytes_ += value.size() + k_node_bytes;
      if (bytes_ > k_most_bytes || !base::is_utf8(value)) {
        return false;
      }
      at = counts_.emplace(value, 0).first;
    }
    at->second += static_cast<std::int64_t>(count);
  }
  return true;
}

std::optional<std::optional<std::size_t>> counted_column(const TableShape& shape,
                                                         sqlite3_uint64 columns_used) {
  if (columns_used == 0) {
    return std::optional<std::size_t>();
  }
  for (std::size_t i = 0; i < shape.schema->fields.size() && i < 63; ++i) {
    const Field& field = shape.schema->fields[i];
    if (columns_used == sqlite3_uint64{1} << i && field.type == ColumnType::text &&
        !field.nullable) {
      return std::optional<std::size_t>(i);
    }
  }
  return std::nullopt;
}

bool only_counts(sqlite3* connection, std::string_view statement) {
  const std::string text = "explain " + std::string(statement);
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(connection, text.c_str(), static_cast<int>(text.size()), &raw, nullptr) !=
      SQLITE_OK) {
    return false;
  }
  const std::unique_ptr<sqlite3_stmt, Finalize> explained(raw);
  const auto column = [&](int at) {
    const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(raw, at));
    return std::string(value == nullptr ? "" : value);
  };
  int loops = 0;  // begun: 1 within the one, 2 behind it
  int steps = 0;
  int tables = 0;
  while (sqlite3_step(raw) == SQLITE_ROW) {
    const std::string opcode = column(1);
    if (opcode == "VFilter" && ++loops != 1) {
      return false;
    }
    if (opcode == "VOpen" && ++tables != 1) {
      return false;
    }
    if (opcode == "AggStep" && (loops != 1 || column(5) != "count(0)" || ++steps == 0)) {
      return false;
    }
    if (opcode == "OpenRead" || opcode == "OpenWrite" || opcode == "InitCoroutine" ||
        opcode == "Program" || opcode == "AggStep1" || opcode == "AggInverse" ||
        (loops == 1 && !belongs_to_counting(opcode))) {
      return false;
    }
    loops += opcode == "VNext" ? 1 : 0;
  }
  return loops == 2 && steps > 0;
}

int add_weighted_count(sqlite3* connection, const std::int64_t* weight) {
  return sqlite3_create_function_v2(
      connection, "count", 0, SQLITE_UTF8, const_cast<std::int64_t*>(weight), nullptr,
      [](sqlite3_context* context, int, sqlite3_value**) {
        auto* sum = static_cast<std::int64_t*>(
            sqlite3_aggregate_context(context, static_cast<int>(sizeof(std::int64_t))));
        if (sum != nullptr) {
          *sum += *static_cast<const std::int64_t*>(sqlite3_user_data(context));
        }
      },
      [](sqlite3_context* context) {
        const auto* sum = static_cast<const std::int64_t*>(sqlite3_aggregate_context(context, 0));
        sqlite3_result_int64(context, sum == nullptr ? 0 : *sum);
      },
      nullptr);
}

}  // namespace varve::query
