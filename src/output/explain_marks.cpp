// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/explain_marks.hpp"

#include <algorithm>
#include <utility>

#include "model/byte_runs.hpp"
#include "model/explain_class.hpp"

namespace varve::output {

namespace {

// Stretches without fields. Payloads are not looked into: what users store may repeat itself.
bool is_uncovered(const ExplainRow& row) {
  return !row.container &&
         (row.sort == ExplainRow::Class::gap || row.sort == ExplainRow::Class::padding ||
          row.sort == ExplainRow::Class::stale);
}

}  // namespace

bool MarkingSink::add(ExplainRow row) {
  if (!member_.empty()) {
    row.file = member_;
  }
  if (row.sort == ExplainRow::Class::unset) {
    row.sort = row.container ? ExplainRow::Class::field : model::class_of_field(row.field);
  }
  if (is_uncovered(row) && row.length >= model::k_least_run_bytes) {
    mark(row);
  }
  seen_.insert(row.file);
  return next_.add(std::move(row));
}

// A file that cannot be read any more stays without marks: they are a help, not a check.
void MarkingSink::mark(ExplainRow& row) {
  if (open_file_ == nullptr || open_name_ != row.file) {
    open_name_ = row.file;
    auto opened = files_.open_file(path_in_store(store_, row.file), io::OpenMode::read);
    open_file_ = opened ? *std::move(opened) : nullptr;
  }
  if (open_file_ == nullptr) {
    return;
  }
  auto runs = model::runs_of(*open_file_, row.offset, row.length, budget_bytes_);
  if (!runs) {
    return;
  }
  row.marks.insert(row.marks.end(), std::make_move_iterator(runs->begin()),
                   std::make_move_iterator(runs->end()));
  std::ranges::stable_sort(row.marks, {}, &ByteMark::offset);
}

std::string_view to_text(ExplainRow::Class sort) {
  using Class = ExplainRow::Class;
  switch (sort) {
    case Class::unset:
    case Class::field:
      return "field";
    case Class::header:
      return "header";
    case Class::check:
      return "check";
    case Class::length:
      return "length";
    case Class::payload:
      return "payload";
    case Class::padding:
      return "padding";
    case Class::gap:
      return "gap";
    case Class::stale:
      return "stale";
  }
  return "field";
}

std::string_view to_text(ByteMark::Kind kind) {
  switch (kind) {
    case ByteMark::Kind::zeros:
      return "zeros";
    case ByteMark::Kind::repeated:
      return "repeated";
    case ByteMark::Kind::stale:
      return "stale";
  }
  return "zeros";
}

std::string path_in_store(const std::string& store, const std::string& file) {
  if (file.empty()) {
    return store;
  }
  return store + (store.ends_with('/') ? "" : "/") + file;
}

}  // namespace varve::output
