// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cstring>
#include <utility>
#include <vector>

#include "model/column_types.hpp"
#include "varve/batch.hpp"

namespace varve {

namespace {

template <class T>
void store_as(char* to, std::uint64_t value) {
  const auto narrow = static_cast<T>(value);
  std::memcpy(to, &narrow, sizeof narrow);
}

// Stores a value in the machine's byte order, `width` bytes wide.
void store_native(char* to, std::uint64_t value, std::size_t width) {
  switch (width) {
    case 1:
      return store_as<std::uint8_t>(to, value);
    case 2:
      return store_as<std::uint16_t>(to, value);
    case 4:
      return store_as<std::uint32_t>(to, value);
    default:
      return store_as<std::uint64_t>(to, value);
  }
}

// The memory of one column while it grows. Fixed-width values live in 64-bit words so that their
// bytes are aligned for every width.
struct Storage {
  std::vector<std::uint64_t> words;
  std::vector<std::uint32_t> offsets{0};
  std::vector<char> data;
  std::vector<std::uint8_t> validity;
  std::size_t rows = 0;
  bool has_null = false;
};

}  // namespace

struct BatchBuilder::Impl {
  const Schema* schema;
  std::shared_ptr<std::vector<Storage>> columns;
  std::size_t rows = 0;
  std::size_t data_bytes = 0;

  explicit Impl(const Schema& s) : schema(&s) { reset(); }
  void reset() {
    columns = std::make_shared<std::vector<Storage>>(schema->fields.size());
    rows = 0;
    data_bytes = 0;
  }

  void mark(Storage& column, bool valid) {
    if (column.rows % 8 == 0) {
      column.validity.push_back(0);
    }
    if (valid) {
      column.validity.back() |= static_cast<std::uint8_t>(1U << (column.rows % 8));
    } else {
      column.has_null = true;
    }
    ++column.rows;
  }

  void add_fixed(std::size_t index, std::uint64_t value, bool valid) {
    Storage& column = (*columns)[index];
    const std::size_t width = model::width_of(schema->fields[index].type);
    const std::size_t at = column.rows * width;
    if (column.words.size() * 8 < at + width) {
      column.words.resize(column.words.size() + 1);
    }
    store_native(reinterpret_cast<char*>(column.words.data()) + at, value, width);
    mark(column, valid);
  }
};

BatchBuilder::BatchBuilder(const Schema& schema) : impl_(std::make_unique<Impl>(schema)) {}
BatchBuilder::~BatchBuilder() = default;
BatchBuilder::BatchBuilder(BatchBuilder&&) noexcept = default;
BatchBuilder& BatchBuilder::operator=(BatchBuilder&&) noexcept = default;

void BatchBuilder::add_null(std::size_t column) {
  if (model::width_of(impl_->schema->fields[column].type) != 0) {
    impl_->add_fixed(column, 0, false);
    return;
  }
  Storage& storage = (*impl_->columns)[column];
  storage.offsets.push_back(storage.offsets.back());
  impl_->mark(storage, false);
}

void BatchBuilder::add_u64(std::size_t column, std::uint64_t value) {
  impl_->add_fixed(column, value, true);
}

void BatchBuilder::add_i64(std::size_t column, std::int64_t value) {
  impl_->add_fixed(column, static_cast<std::uint64_t>(value), true);
}

void BatchBuilder::add_bytes(std::size_t column, std::string_view value) {
  Storage& storage = (*impl_->columns)[column];
  if (value.size() > UINT32_MAX - storage.data.size()) {
    add_null(column);
    return;
  }
  storage.data.insert(storage.data.end(), value.begin(), value.end());
  storage.offsets.push_back(static_cast<std::uint32_t>(storage.data.size()));
  impl_->data_bytes += value.size();
  impl_->mark(storage, true);
}

void BatchBuilder::end_row() {
  ++impl_->rows;
  for (std::size_t i = 0; i < impl_->columns->size(); ++i) {
    if ((*impl_->columns)[i].rows < impl_->rows) {
      add_null(i);
    }
  }
}

std::size_t BatchBuilder::rows() const { return impl_->rows; }
std::size_t BatchBuilder::data_bytes() const { return impl_->data_bytes; }

Batch BatchBuilder::finish() {
  Batch batch;
  batch.schema = impl_->schema;
  batch.rows = impl_->rows;
  for (std::size_t i = 0; i < impl_->columns->size(); ++i) {
    const Storage& storage = (*impl_->columns)[i];
    Column column;
    if (model::width_of(impl_->schema->fields[i].type) != 0) {
      column.layout = Column::Layout::fixed;
      column.values = storage.words.data();
    } else {
      column.layout = Column::Layout::variable;
      column.offsets = storage.offsets.data();
      column.data = storage.data.data();
    }
    column.validity = storage.has_null ? storage.validity.data() : nullptr;
    batch.columns.push_back(column);
  }
  batch.owner = impl_->columns;
  impl_->reset();
  return batch;
}

}  // namespace varve
