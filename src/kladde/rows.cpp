// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/rows.hpp"

#include "base/checksum.hpp"
#include "base/json_writer.hpp"
#include "base/text_coding.hpp"

namespace varve::kladde {

namespace {

constexpr std::size_t at(LogColumn column) { return static_cast<std::size_t>(column); }

const Column& column_of(const Batch& batch, LogColumn column) { return batch.columns[at(column)]; }

template <class T>
void append_number(std::string& out, const Batch& batch, LogColumn column, std::size_t row,
                   std::string_view name) {
  out += ",\"";
  out += name;
  out += "\":";
  base::append_integer(out, column_of(batch, column).value<T>(row));
}

void append_wide(std::string& out, auto value, const RenderOptions& options) {
  const char* quote = options.int64_as_string ? "\"" : "";
  out += quote;
  base::append_integer(out, value);
  out += quote;
}

void append_header_line(std::string& out, const Batch& batch, std::size_t row) {
  out += "{\"header\":{\"root_allocation\":";
  base::append_integer(out, column_of(batch, LogColumn::root_allocation).value<std::uint32_t>(row));
  append_number<std::uint32_t>(out, batch, LogColumn::schema_table, row, "schema_table");
  append_number<std::uint32_t>(out, batch, LogColumn::consolidator_state, row,
                               "consolidator_state");
  out += ",\"root_fingerprint\":\"";
  base::append_hex(out, base::as_bytes(column_of(batch, LogColumn::root_fingerprint).bytes(row)));
  out += "\"}}\n";
}

}  // namespace

const Schema& log_schema() {
  static const Schema schema{{
      {"txn", ColumnType::int64},
      {"index", ColumnType::uint64},
      {"op", ColumnType::text, false, true},
      {"id", ColumnType::uint32, true},
      {"offset", ColumnType::uint32, true},
      {"size", ColumnType::uint32, true},
      {"len", ColumnType::uint32, true},
      {"old_len", ColumnType::uint32, true},
      {"bytes", ColumnType::bytes, true},
      {"src", ColumnType::uint32, true},
      {"src_offset", ColumnType::uint32, true},
      {"dst", ColumnType::uint32, true},
      {"dst_offset", ColumnType::uint32, true},
      {"at.page", ColumnType::uint32},
      {"at.offset", ColumnType::uint32},
      {"header.root_allocation", ColumnType::uint32, true},
      {"header.schema_table", ColumnType::uint32, true},
      {"header.consolidator_state", ColumnType::uint32, true},
      {"header.root_fingerprint", ColumnType::bytes, true},
  }};
  return schema;
}

const Schema& state_schema() {
  static const Schema schema{
      {{"id", ColumnType::uint32}, {"size", ColumnType::uint32}, {"bytes", ColumnType::bytes}}};
  return schema;
}

void add_record_row(BatchBuilder& out, const RowPlace& place, const Record& record,
                    std::string_view payload) {
  const auto put = [&](LogColumn column, std::uint64_t value) { out.add_u64(at(column), value); };
  out.add_i64(at(LogColumn::txn), place.txn);
  put(LogColumn::index, place.index);
  out.add_bytes(at(LogColumn::op), to_text(record.kind));
  put(LogColumn::page, place.at.page);
  put(LogColumn::page_offset, place.at.offset);
  if (record.has_source()) {
    put(LogColumn::src, record.source);
    put(LogColumn::src_offset, record.source_offset);
    put(LogColumn::len, record.length);
    put(LogColumn::dst, record.id);
    put(LogColumn::dst_offset, record.offset);
  } else {
    put(LogColumn::id, record.id);
  }
  if (record.kind == RecordKind::resize) {
    put(LogColumn::size, record.length);
  }
  if (record.has_payload()) {
    put(LogColumn::offset, record.offset);
    put(LogColumn::len, record.length);
    out.add_bytes(at(LogColumn::bytes), payload);
  }
  if (record.kind == RecordKind::splice) {
    put(LogColumn::old_len, record.old_length);
  }
  out.end_row();
}

void add_header_row(BatchBuilder& out, const Header& header, Place place) {
  out.add_i64(at(LogColumn::txn), -1);
  out.add_u64(at(LogColumn::index), 0);
  out.add_bytes(at(LogColumn::op), k_header_op);
  out.add_u64(at(LogColumn::page), place.page);
  out.add_u64(at(LogColumn::page_offset), place.offset);
  out.add_u64(at(LogColumn::root_allocation), header.root_allocation);
  out.add_u64(at(LogColumn::schema_table), header.schema_table);
  out.add_u64(at(LogColumn::consolidator_state), header.consolidator_state);
  out.add_bytes(at(LogColumn::root_fingerprint), base::as_text(header.root_fingerprint));
  out.end_row();
}

void append_payload(std::string& out, std::string_view bytes, const RenderOptions& options) {
  switch (options.payload) {
    case PayloadForm::json:
    case PayloadForm::base64:
      out += ",\"bytes\":";
      base::append_json_bytes(out, base::as_bytes(bytes));
      break;
    case PayloadForm::hex:
      out += ",\"hex\":\"";
      base::append_hex(out, base::as_bytes(bytes));
      out += '"';
      break;
    case PayloadForm::sha256:
      out += ",\"sha256\":\"";
      base::append_hex(out, base::sha256(base::as_bytes(bytes)));
      out += '"';
      break;
    case PayloadForm::none:
      break;
  }
}

void append_log_line(std::string& out, const Batch& batch, std::size_t row,
                     const RenderOptions& options) {
  const std::string_view op = column_of(batch, LogColumn::op).bytes(row);
  if (op == k_header_op) {
    return append_header_line(out, batch, row);
  }
  const auto number = [&](LogColumn column, std::string_view name) {
    if (!column_of(batch, column).is_null(row)) {
      append_number<std::uint32_t>(out, batch, column, row, name);
    }
  };
  out += "{\"txn\":";
  append_wide(out, column_of(batch, LogColumn::txn).value<std::int64_t>(row), options);
  out += ",\"index\":";
  append_wide(out, column_of(batch, LogColumn::index).value<std::uint64_t>(row), options);
  out += ",\"op\":\"";
  out += op;
  out += '"';
  if (column_of(batch, LogColumn::id).is_null(row)) {
    number(LogColumn::src, "src");
    number(LogColumn::src_offset, "src_offset");
    number(LogColumn::len, "len");
    number(LogColumn::dst, "dst");
    number(LogColumn::dst_offset, "dst_offset");
  } else {
    number(LogColumn::id, "id");
    number(LogColumn::size, "size");
    number(LogColumn::offset, "offset");
    number(LogColumn::old_len, "old_len");
    number(LogColumn::len, "len");
    const Column& bytes = column_of(batch, LogColumn::bytes);
    if (!bytes.is_null(row)) {
      append_payload(out, bytes.bytes(row), options);
    }
  }
  out += ",\"at\":{\"page\":";
  base::append_integer(out, column_of(batch, LogColumn::page).value<std::uint32_t>(row));
  append_number<std::uint32_t>(out, batch, LogColumn::page_offset, row, "offset");
  out += "}}\n";
}

void append_state_line(std::string& out, const Batch& batch, std::size_t row,
                       const RenderOptions& options) {
  out += "{\"id\":";
  base::append_integer(out, batch.columns[0].value<std::uint32_t>(row));
  out += ",\"size\":";
  base::append_integer(out, batch.columns[1].value<std::uint32_t>(row));
  append_payload(out, batch.columns[2].bytes(row), options);
  out += "}\n";
}

}  // namespace varve::kladde
