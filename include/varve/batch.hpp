// SPDX-License-Identifier: MIT OR Apache-2.0
// Columnar batches, laid out as Arrow arrays are: what scans push and sinks take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace varve {

enum class ColumnType : std::uint8_t {
  boolean,  // one byte a value, 0 or 1
  uint8,
  uint16,
  uint32,
  uint64,
  int64,
  timestamp_us,  // int64, microseconds since 1970, UTC
  text,          // UTF-8 in practice; not guaranteed for hostile stores
  bytes,
};

// One column of a schema. A dotted name ("at.segment") is a member of a struct in JSON and Arrow.
struct Field {
  std::string name;
  ColumnType type = ColumnType::text;
  bool nullable = false;
  bool repeated_text = false;  // few distinct values: worth a dictionary in Arrow and Parquet
  // Made from other columns at some cost: a scan fills it only if its request names it.
  bool computed = false;
};

struct Schema {
  std::vector<Field> fields;
  // The index of the field of that name, or -1.
  int find(std::string_view name) const;
};

// The distinct values that the codes of a dictionary column stand for. Value i is
// data[offsets[i], offsets[i+1]).
struct Dictionary {
  std::vector<std::uint32_t> offsets{0};
  std::string data;
  std::size_t size() const { return offsets.size() - 1; }
  std::string_view at(std::size_t i) const {
    return std::string_view(data).substr(offsets[i], offsets[i + 1] - offsets[i]);
  }
  void add(std::string_view value) {
    data += value;
    offsets.push_back(static_cast<std::uint32_t>(data.size()));
  }
};

// A view of one column's values. Which pointers are set depends on the layout:
//   fixed        values: n elements of the type's width, naturally aligned
//   variable     offsets: n+1 ascending positions in data (text and bytes)
//   dictionary8  values: n codes of one byte;  dictionary32: n codes of four bytes
// validity, if set, has bit i (least significant first) 0 where value i is null.
// A column that the projection left out has layout `absent`.
struct Column {
  enum class Layout : std::uint8_t { absent, fixed, variable, dictionary8, dictionary32 };
  Layout layout = Layout::absent;
  const void* values = nullptr;
  const std::uint32_t* offsets = nullptr;
  const char* data = nullptr;
  const std::uint8_t* validity = nullptr;
  const Dictionary* dictionary = nullptr;

  bool is_null(std::size_t row) const {
    return validity != nullptr && ((validity[row / 8] >> (row % 8)) & 1) == 0;
  }
  template <class T>
  T value(std::size_t row) const {
    return static_cast<const T*>(values)[row];
  }
  // The bytes of a text or bytes value, in any of the three layouts that can hold one.
  std::string_view bytes(std::size_t row) const {
    switch (layout) {
      case Layout::variable:
        return {data + offsets[row], offsets[row + 1] - offsets[row]};
      case Layout::dictionary8:
        return dictionary->at(value<std::uint8_t>(row));
      case Layout::dictionary32:
        return dictionary->at(value<std::uint32_t>(row));
      default:
        return {};
    }
  }
};

// Rows of one scan that were decoded together; all columns have `rows` values. The pointers stay
// good as long as `owner` is held, so a consumer that keeps a batch copies the Batch (cheap).
struct Batch {
  const Schema* schema = nullptr;
  std::size_t rows = 0;
  std::vector<Column> columns;  // as many as schema->fields
  std::shared_ptr<const void> owner;
  // What a BatchMapper made of the batch on a worker thread (rendered lines, for example).
  std::string mapped;
};

// Collects rows one by one into a batch of its own memory, for formats whose records are not
// columnar. Values are appended column by column in any order; each row must give each column
// exactly one value (or null) before the next row begins.
class BatchBuilder {
 public:
  explicit BatchBuilder(const Schema& schema);
  ~BatchBuilder();
  BatchBuilder(BatchBuilder&&) noexcept;
  BatchBuilder& operator=(BatchBuilder&&) noexcept;

  void add_null(std::size_t column);
  void add_u64(std::size_t column, std::uint64_t value);  // any fixed-width column but int64 kinds
  void add_i64(std::size_t column, std::int64_t value);   // int64 and timestamp_us
  // Offsets have 32 bits: a value that takes its column beyond 4 GiB becomes null. Callers end a
  // batch by data_bytes() long before.
  void add_bytes(std::size_t column, std::string_view value);
  // Ends the row; columns that got no value are null.
  void end_row();
  std::size_t rows() const;
  std::size_t data_bytes() const;  // bytes held by text and bytes columns
  // The batch so far; the builder is empty afterwards.
  Batch finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve
