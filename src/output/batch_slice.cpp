// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/batch_slice.hpp"

#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/column_types.hpp"

namespace varve::output {

namespace {

// What a slice with nulls owns: the batch's memory, and the bits as they count from its first row.
struct SliceMemory {
  std::shared_ptr<const void> owner;
  std::vector<std::vector<std::uint8_t>> validities;
};

std::size_t width_of(const Column& column, ColumnType type) {
  switch (column.layout) {
    case Column::Layout::fixed:
      return model::width_of(type);
    case Column::Layout::dictionary8:
      return 1;
    case Column::Layout::dictionary32:
      return 4;
    case Column::Layout::absent:
    case Column::Layout::variable:
      break;
  }
  return 0;
}

}  // namespace

Batch slice_batch(const Batch& batch, std::size_t first, std::size_t count) {
  assert(first + count <= batch.rows);
  Batch slice;
  slice.schema = batch.schema;
  slice.rows = count;
  slice.columns = batch.columns;
  auto memory = std::make_shared<SliceMemory>();
  memory->owner = batch.owner;
  for (std::size_t i = 0; i < slice.columns.size(); ++i) {
    Column& column = slice.columns[i];
    if (column.values != nullptr) {
      column.values = static_cast<const std::byte*>(column.values) +
                      first * width_of(column, batch.schema->fields[i].type);
    }
    if (column.offsets != nullptr) {
      column.offsets += first;
    }
    if (column.validity != nullptr) {
      std::vector<std::uint8_t> bits((count + 7) / 8);
      for (std::size_t row = 0; row < count; ++row) {
        if (!batch.columns[i].is_null(first + row)) {
          bits[row / 8] |= static_cast<std::uint8_t>(1U << (row % 8));
        }
      }
      column.validity = bits.data();
      memory->validities.push_back(std::move(bits));
    }
  }
  slice.owner = std::move(memory);
  return slice;
}

}  // namespace varve::output
