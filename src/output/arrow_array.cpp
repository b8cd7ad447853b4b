// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "output/arrow_layout.hpp"

namespace varve::output {

namespace {

// What one exported array owns: its share of the batch, and what had to be made for it. Children
// and dictionary may be moved out by the consumer, which leaves them without a release callback.
struct ArrayHolder {
  std::shared_ptr<const void> owner;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};
  std::vector<std::uint8_t> bits;
  std::vector<std::int32_t> numbers;  // offsets or codes
  Dictionary made;
  std::string data;
};

void release_array(ArrowArray* array) {
  const std::unique_ptr<ArrayHolder> holder(static_cast<ArrayHolder*>(array->private_data));
  for (ArrowArray& child : holder->children) {
    if (child.release != nullptr) {
      child.release(&child);
    }
  }
  if (holder->dictionary.release != nullptr) {
    holder->dictionary.release(&holder->dictionary);
  }
  array->release = nullptr;
}

// An array without buffers yet, which `out` owns from here on.
ArrayHolder& begin(ArrowArray* out, std::size_t rows, std::shared_ptr<const void> owner,
                   std::size_t children) {
  auto holder = std::make_unique<ArrayHolder>();
  holder->owner = std::move(owner);
  holder->children.resize(children);
  for (ArrowArray& child : holder->children) {
    holder->pointers.push_back(&child);
  }
  *out = {};
  out->length = static_cast<std::int64_t>(rows);
  out->n_children = static_cast<std::int64_t>(children);
  out->children = holder->pointers.data();
  out->release = release_array;
  out->private_data = holder.get();
  return *holder.release();
}

void set_buffers(ArrowArray* out, ArrayHolder& holder, std::vector<const void*> buffers) {
  holder.buffers = std::move(buffers);
  out->n_buffers = static_cast<std::int64_t>(holder.buffers.size());
  out->buffers = holder.buffers.data();
}

std::unexpected<Error> too_long(const Field& field) {
  return fail(ErrorCode::limit, "arrow_offsets",
              "column '" + field.name +
                  "' of one batch passes 2 GiB, the reach of Arrow's "
                  "32-bit offsets");
}

constexpr std::size_t k_largest = std::numeric_limits<std::int32_t>::max();

// Codes and dictionary of a column that has none.
void make_dictionary(const Column& column, std::size_t rows, ArrayHolder& holder) {
  std::unordered_map<std::string_view, std::int32_t> codes;
  for (std::size_t row = 0; row < rows; ++row) {
    if (column.is_null(row)) {
      holder.numbers.push_back(0);
      continue;
    }
    const std::string_view value = column.bytes(row);
    const auto [at, fresh] = codes.try_emplace(value, static_cast<std::int32_t>(codes.size()));
    if (fresh) {
      holder.made.add(value);
    }
    holder.numbers.push_back(at->second);
  }
}

Result<void> export_dictionary(const Field& field, const Column& column, const Batch& batch,
                               ArrowArray* out, ArrayHolder& holder) {
  const void* codes = column.values;  // those of dictionary32 are Arrow's as they are
  if (column.layout == Column::Layout::dictionary8) {
    for (std::size_t row = 0; row < batch.rows; ++row) {
      holder.numbers.push_back(column.is_null(row) ? 0 : column.value<std::uint8_t>(row));
    }
  } else if (column.layout == Column::Layout::variable) {
    make_dictionary(column, batch.rows, holder);
  }
  if (column.layout != Column::Layout::dictionary32) {
    codes = holder.numbers.data();
  }
  set_buffers(out, holder, {column.validity, codes});
  const bool has_one = column.layout != Column::Layout::variable;
  const Dictionary& source = has_one ? *column.dictionary : holder.made;
  if (source.data.size() > k_largest) {
    return too_long(field);
  }
  ArrayHolder& values = begin(&holder.dictionary, source.size(), batch.owner, 0);
  if (!has_one) {
    values.made = std::move(holder.made);
  }
  const Dictionary& kept = has_one ? *column.dictionary : values.made;
  set_buffers(&holder.dictionary, values, {nullptr, kept.offsets.data(), kept.data.data()});
  out->dictionary = &holder.dictionary;
  return {};
}

Result<void> export_bytes(const Field& field, const Column& column, const Batch& batch,
                          ArrowArray* out, ArrayHolder& holder) {
  if (column.layout == Column::Layout::variable) {
    if (column.offsets[batch.rows] > k_largest) {
      return too_long(field);
    }
    const char* data = column.data != nullptr ? column.data : holder.data.data();
    set_buffers(out, holder, {column.validity, column.offsets, data});
    return {};
  }
  holder.numbers.push_back(0);
  for (std::size_t row = 0; row < batch.rows; ++row) {
    if (!column.is_null(row)) {
      holder.data += column.bytes(row);
    }
    if (holder.data.size() > k_largest) {
      return too_long(field);
    }
    holder.numbers.push_back(static_cast<std::int32_t>(holder.data.size()));
  }
  set_buffers(out, holder, {column.validity, holder.numbers.data(), holder.data.data()});
  return {};
}

void export_boolean(const Column& column, const Batch& batch, ArrowArray* out,
                    ArrayHolder& holder) {
  holder.bits.resize((batch.rows + 7) / 8);
  for (std::size_t row = 0; row < batch.rows; ++row) {
    if (column.value<std::uint8_t>(row) != 0) {
      holder.bits[row / 8] = static_cast<std::uint8_t>(holder.bits[row / 8] | (1U << (row % 8)));
    }
  }
  set_buffers(out, holder, {column.validity, holder.bits.data()});
}

Result<void> export_node(const Batch& batch, const ArrowNode& node, ArrowArray* out) {
  ArrayHolder& holder = begin(out, batch.rows, batch.owner, node.children.size());
  if (node.field < 0) {
    set_buffers(out, holder, {nullptr});
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      if (auto done = export_node(batch, node.children[i], out->children[i]); !done) {
        return done;
      }
    }
    return {};
  }
  const Field& field = batch.schema->fields[static_cast<std::size_t>(node.field)];
  const Column& column = batch.columns[static_cast<std::size_t>(node.field)];
  out->null_count = column.validity != nullptr ? -1 : 0;
  if (column.layout == Column::Layout::absent) {
    return fail(ErrorCode::invalid_argument, "column",
                "the scan does not fill column '" + field.name + "'");
  }
  if (field.repeated_text) {
    return export_dictionary(field, column, batch, out, holder);
  }
  if (field.type == ColumnType::text || field.type == ColumnType::bytes) {
    return export_bytes(field, column, batch, out, holder);
  }
  if (field.type == ColumnType::boolean) {
    export_boolean(column, batch, out, holder);
  } else {
    set_buffers(out, holder, {column.validity, column.values});
  }
  return {};
}

}  // namespace

Result<void> export_arrow_array(const Batch& batch, const ArrowNode& root, ArrowArray* out) {
  auto done = export_node(batch, root, out);
  if (!done) {
    out->release(out);
  }
  return done;
}

}  // namespace varve::output
