// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/export_resume.hpp"

#include <utility>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "cli/interrupt.hpp"
#include "varve/json.hpp"

namespace varve::cli {

namespace {

constexpr std::chrono::seconds k_keep_every{5};

std::size_t width_of(ColumnType type) {
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

// Of all values of a row: what tells that an earlier run's last row is still where it was.
std::string fingerprint(const Batch& batch, std::size_t row) {
  std::string values;
  for (std::size_t i = 0; i < batch.columns.size(); ++i) {
    const Column& column = batch.columns[i];
    if (column.layout == Column::Layout::absent || column.is_null(row)) {
      values += '-';
      continue;
    }
    const std::size_t width = width_of(batch.schema->fields[i].type);
    const std::string_view bytes =
        width == 0 ? column.bytes(row)
                   : std::string_view(static_cast<const char*>(column.values) + row * width, width);
    values += std::to_string(bytes.size()) + ':';
    values += bytes;
  }
  return base::to_hex(base::sha256(base::as_bytes(values)));
}

// The batch without its first rows. Its values stay where they are, but for the bits that say which
// are null.
Batch without_first(Batch batch, std::size_t rows) {
  struct Owner {
    std::shared_ptr<const void> batch;
    std::vector<std::vector<std::uint8_t>> validity;
  };
  const auto owner = std::make_shared<Owner>();
  owner->batch = batch.owner;
  owner->validity.reserve(batch.columns.size());
  const std::size_t left = batch.rows - rows;
  for (std::size_t i = 0; i < batch.columns.size(); ++i) {
    Column& column = batch.columns[i];
    if (column.validity != nullptr) {
      std::vector<std::uint8_t>& bits = owner->validity.emplace_back((left + 7) / 8);
      for (std::size_t row = 0; row < left; ++row) {
        bits[row / 8] |= static_cast<std::uint8_t>(column.is_null(rows + row) ? 0 : 1U << row % 8);
      }
      column.validity = bits.data();
    }
    std::size_t width = width_of(batch.schema->fields[i].type);
    switch (column.layout) {
      case Column::Layout::absent:
        break;
      case Column::Layout::variable:
        column.offsets += rows;
        break;
      case Column::Layout::dictionary8:
      case Column::Layout::dictionary32:
        width = column.layout == Column::Layout::dictionary8 ? 1 : 4;
        [[fallthrough]];
      case Column::Layout::fixed:
        column.values = static_cast<const char*>(column.values) + rows * width;
        break;
    }
  }
  batch.rows = left;
  batch.owner = owner;
  batch.mapped.clear();
  return batch;
}

std::unexpected<Error> changed() {
  return fail(ErrorCode::invalid_argument, "resume",
              "--resume: the store has changed since, and what is written of it does not fit any "
              "more; with --force the export begins anew");
}

}  // namespace

std::string export_identity(std::string_view to, const ScanRequest& request,
                            const std::vector<std::string>& form) {
  Json terms = Json::array();
  for (const FilterTerm& term : request.predicate.terms) {
    terms.push(term.name).push(term.value);
  }
  Json columns = Json::array();
  for (const std::string& name : request.columns) {
    columns.push(name);
  }
  Json options = Json::array();
  for (const auto& [name, value] : request.options) {
    options.push(name).push(value);
  }
  Json forms = Json::array();
  for (const std::string& text : form) {
    forms.push(text);
  }
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(); };
  const Predicate& predicate = request.predicate;
  return Json::array()
      .push(to)
      .push(request.face == Face::state ? "state" : "log")
      .push(number(predicate.seq_first))
      .push(number(predicate.seq_last))
      .push(number(predicate.since_us))
      .push(number(predicate.until_us))
      .push(std::move(terms))
      .push(std::move(columns))
      .push(std::move(options))
      .push(std::move(forms))
      .push(request.limit)
      .push(request.reverse)
      .push(request.strict)
      .push(request.partial)
      .text();
}

ResumingSink::ResumingSink(BatchSink& next, ScanRequest& request, Plan plan)
    : next_(next), plan_(std::move(plan)) {
  gate_.behind = std::exchange(request.mapper, &gate_);
  gate_.open = !plan_.from || plan_.from->rows == 0;
}

Result<void> ResumingSink::pass_over(Batch& batch) {
  const std::uint64_t left = plan_.from->rows - rows_;
  const auto passed = static_cast<std::size_t>(std::min<std::uint64_t>(left, batch.rows));
  rows_ += passed;
  if (passed == left) {
    if (fingerprint(batch, passed - 1) != plan_.from->last) {
      return changed();
    }
    gate_.open = true;
  }
  batch = without_first(std::move(batch), passed);
  return {};
}

Result<bool> ResumingSink::consume(Batch batch) {
  if (plan_.from && rows_ < plan_.from->rows) {
    VARVE_TRY(pass_over(batch));
  }
  bool more = true;
  if (batch.rows != 0) {
    const std::size_t rows = batch.rows;
    const bool due =
        plan_.from && (SignalGuard::pending() != 0 || Clock::now() - kept_ >= k_keep_every);
    const std::string last = due ? fingerprint(batch, rows - 1) : std::string();
    if (gate_.behind != nullptr && batch.mapped.empty()) {
      gate_.behind->map(batch);
    }
    VARVE_ASSIGN(more, next_.consume(std::move(batch)));
    rows_ += rows;
    if (due) {
      VARVE_TRY(plan_.keep({rows_, last}));
      kept_ = Clock::now();
    }
  }
  if (plan_.progress != nullptr) {
    plan_.progress->update_rows(rows_);
  }
  if (plan_.from && SignalGuard::pending() != 0) {
    interrupted_ = SignalGuard::pending();
    return false;
  }
  return more;
}

Result<void> ResumingSink::end() const {
  return plan_.from && rows_ < plan_.from->rows && interrupted_ == 0 ? changed() : Result<void>();
}

}  // namespace varve::cli
