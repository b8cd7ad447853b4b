// SPDX-License-Identifier: MIT OR Apache-2.0
// What the types of columns are elsewhere: bytes in memory, names in SQLite.
#pragma once

#include <cstddef>

#include "varve/batch.hpp"

namespace varve::model {

// Bytes of one value in Column::values; 0 for text and bytes, whose values differ in length.
constexpr std::size_t width_of(ColumnType type) {
  switch (type) {
    case ColumnType::boolean:
    case ColumnType::uint8:
      return 1;
    case ColumnType::uint16:
      return 2;
    case ColumnType::uint32:
      return 4;
    case ColumnType::uint64:
    case ColumnType::int64:
    case ColumnType::timestamp_us:
      return 8;
    case ColumnType::text:
    case ColumnType::bytes:
      return 0;
  }
  return 0;
}

constexpr const char* sqlite_type(ColumnType type) {
  switch (type) {
    case ColumnType::text:
      return "TEXT";
    case ColumnType::bytes:
      return "BLOB";
    default:
      return "INTEGER";
  }
}

}  // namespace varve::model
