// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/row_batch.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "jss/cid.hpp"
#include "jss/dag_cbor.hpp"

namespace varve::jss {

namespace {

// Row numbers 0, 1, 2... and as many zeros, for the columns that need no memory of their own.
const std::vector<std::uint32_t>& row_numbers() {
  static const std::vector<std::uint32_t> numbers = [] {
    std::vector<std::uint32_t> v(k_max_block_rows);
    std::iota(v.begin(), v.end(), 0U);
    return v;
  }();
  return numbers;
}
const std::uint8_t* zero_codes() {
  static const std::vector<std::uint8_t> zeros(k_max_block_rows);
  return zeros.data();
}

// The names of the kinds, so that the kind column is a dictionary column as it stands.
const Dictionary& kind_dictionary() {
  static const Dictionary dictionary = [] {
    Dictionary d;
    for (const std::string_view name : k_kind_names) {
      d.add(name);
    }
    return d;
  }();
  return dictionary;
}

Column fixed_column(const void* values) {
  Column column;
  column.layout = Column::Layout::fixed;
  column.values = values;
  return column;
}

Column code_column(const std::uint8_t* codes, const Dictionary& dictionary) {
  Column column;
  column.layout = Column::Layout::dictionary8;
  column.values = codes;
  column.dictionary = &dictionary;
  return column;
}

Column string_column(const std::uint32_t* offsets, const char* data) {
  Column column;
  column.layout = Column::Layout::variable;
  column.offsets = offsets;
  column.data = data;
  return column;
}

// Fills the columns of one batch.
class BatchMaker {
 public:
  BatchMaker(BatchMemory& memory, const BatchRequest& request)
      : memory_(memory), request_(request), c_(memory.block.columns) {
    rows_ = request.selected ? memory.selection.size() : c_.rows;
    gather_ = request.selected || request.reverse;
    if (gather_ && !request.selected) {
      memory.selection.resize(rows_);
      std::iota(memory.selection.begin(), memory.selection.end(), 0U);
    }
    if (request.reverse) {
      std::reverse(memory.selection.begin(), memory.selection.end());
    }
  }

  std::size_t rows() const { return rows_; }

  std::vector<Column> make() {
    std::vector<Column> columns(k_log_columns);
    for (std::size_t i = 0; i < k_log_columns; ++i) {
      if ((*request_.projection)[i]) {
        columns[i] = make_column(static_cast<LogColumn>(i));
      }
    }
    return columns;
  }

 private:
  Column make_column(LogColumn column) {
    switch (column) {
      case k_log_seq:
        return fixed(c_.seq, memory_.seq);
      case k_log_witnessed_at:
        return fixed(c_.witnessed_at, memory_.witnessed_at);
      case k_log_indexed_at:
        return fixed(c_.indexed_at, memory_.indexed_at);
      case k_log_kind:
        return code_column(gathered(c_.kind, memory_.kind), kind_dictionary());
      case k_log_did:
        return strings(c_.did, column);
      case k_log_collection:
        return strings(c_.collection, column);
      case k_log_rkey:
        return strings(c_.rkey, column);
      case k_log_rev:
        return strings(c_.rev, column);
      case k_log_payload:
        return strings(c_.payload, column);
      case k_log_cid:
      case k_log_record:
        return computed(column);
      case k_log_at_segment:
        return code_column(zero_codes(), *memory_.segment_label);
      case k_log_at_block:
        memory_.at_block.assign(rows_, request_.block);
        return fixed_column(memory_.at_block.data());
      case k_log_at_row:
        return fixed_column(gathered(row_numbers().data(), memory_.at_row));
      default:
        return {};
    }
  }

  // The values of the wanted rows: the column itself if all are wanted in order.
  template <class T>
  const T* gathered(const T* from, std::vector<T>& to) {
    if (!gather_) {
      return from;
    }
    to.resize(rows_);
    std::transform(memory_.selection.begin(), memory_.selection.end(), to.begin(),
                   [from](std::uint32_t row) { return from[row]; });
    return to.data();
  }
  template <class T>
  Column fixed(const T* from, std::vector<T>& to) {
    return fixed_column(gathered(from, to));
  }

  Column strings(const StringColumn& from, LogColumn column) {
    if (!gather_) {
      return string_column(from.offsets, from.data);
    }
    BatchMemory::Strings& to = memory_.strings[column];
    to.offsets.resize(rows_ + 1);
    to.offsets[0] = 0;
    // The sum is at most the size of the block.
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::uint32_t row = memory_.selection[i];
      to.offsets[i + 1] = to.offsets[i] + (from.offsets[row + 1] - from.offsets[row]);
    }
    to.data.resize(to.offsets[rows_]);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::string_view value = from.at(memory_.selection[i]);
      std::copy_n(value.data(), value.size(), to.data.data() + to.offsets[i]);
    }
    return string_column(to.offsets.data(), to.data.data());
  }

  // Appends the value of one row; false if it is null.
  bool append_computed(LogColumn column, std::uint32_t row, std::string& out) const {
    const base::ByteSpan payload = base::as_bytes(c_.payload.at(row));
    if (column == k_log_record) {
      return !payload.empty() && !append_dag_cbor_json(out, payload);
    }
    if (!is_materialization(c_.kind[row]) || check_dag_cbor(payload)) {
      return false;
    }
    append_record_cid(out, payload);
    return true;
  }

  Column computed(LogColumn column) {
    BatchMemory::Strings& to = memory_.strings[column];
    to.data.clear();
    to.offsets.assign(1, 0);
    to.validity.assign((rows_ + 7) / 8, 0);
    for (std::size_t i = 0; i < rows_; ++i) {
      const auto row = gather_ ? memory_.selection[i] : static_cast<std::uint32_t>(i);
      // JSON of a payload is at most a few times its size, and a block at most 1 GiB; what would
      // not fit 32-bit positions any more is null.
      const std::size_t before = to.data.size();
      const bool fits = before < k_max_column_bytes && append_computed(column, row, to.data);
      if (fits && to.data.size() <= k_max_column_bytes) {
        to.validity[i / 8] |= static_cast<std::uint8_t>(1U << (i % 8));
      } else {
        to.data.resize(before);
      }
      to.offsets.push_back(static_cast<std::uint32_t>(to.data.size()));
    }
    Column out = string_column(to.offsets.data(), to.data.data());
    out.validity = to.validity.data();
    return out;
  }

  static constexpr std::size_t k_max_column_bytes = UINT32_MAX;

  BatchMemory& memory_;
  const BatchRequest& request_;
  const BlockColumns& c_;
  std::size_t rows_ = 0;
  bool gather_ = false;
};

}  // namespace

std::shared_ptr<BatchMemory> BatchPool::take() {
  std::unique_ptr<BatchMemory> memory;
  {
    const std::lock_guard lock(shelf_->mutex);
    if (!shelf_->idle.empty()) {
      memory = std::move(shelf_->idle.back());
      shelf_->idle.pop_back();
    }
  }
  if (!memory) {
    memory = std::make_unique<BatchMemory>();
  }
  return {memory.release(), [shelf = shelf_](BatchMemory* back) {
            std::unique_ptr<BatchMemory> owned(back);
            const std::lock_guard lock(shelf->mutex);
            shelf->idle.push_back(std::move(owned));
          }};
}

bool select_rows(const RowQuery& query, BatchMemory& memory) {
  const BlockColumns& c = memory.block.columns;
  if (query.takes_all()) {
    return false;
  }
  memory.selection.clear();
  for (std::uint32_t row = 0; row < c.rows; ++row) {
    if (query.wants(c.seq[row], c.witnessed_at[row], c.kind[row], c.did.at(row),
                    c.collection.at(row))) {
      memory.selection.push_back(row);
    }
  }
  return memory.selection.size() != c.rows;
}

Batch make_batch(std::shared_ptr<BatchMemory> memory, const BatchRequest& request) {
  BatchMaker maker(*memory, request);
  Batch batch;
  batch.schema = &log_schema();
  batch.rows = maker.rows();
  batch.columns = maker.make();
  batch.owner = std::move(memory);
  return batch;
}

}  // namespace varve::jss
