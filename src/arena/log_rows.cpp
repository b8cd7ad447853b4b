// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/log_rows.hpp"

#include <algorithm>
#include <cstring>

#include "base/checksum.hpp"
#include "base/json_writer.hpp"
#include "base/text_coding.hpp"

namespace varve::arena {

const Schema& log_schema() {
  static const Schema schema{{
      {"frame", ColumnType::uint64, false, false},
      {"seq", ColumnType::uint32, false, false},
      {"raw_len", ColumnType::uint32, false, false},
      {"comp_len", ColumnType::uint32, false, false},
      {"payload", ColumnType::bytes, false, false},
      {"at.segment", ColumnType::uint32, false, false},
      {"at.offset", ColumnType::uint64, false, false},
      {"at.global", ColumnType::uint64, false, false},
  }};
  return schema;
}

void LogRows::clear() {
  frame_.clear();
  seq_.clear();
  raw_len_.clear();
  comp_len_.clear();
  segment_.clear();
  offset_.clear();
  global_.clear();
  payload_offsets_.assign(1, 0);
  payload_.set_size(0);
}

void LogRows::reserve(std::size_t bytes) {
  const std::size_t needed = payload_.size() + bytes;
  if (needed > payload_.capacity()) {
    payload_.reserve(std::max(needed, payload_.capacity() * 2));
  }
}

std::byte* LogRows::room(std::uint32_t raw_len) {
  reserve(raw_len);
  return payload_.data() + payload_.size();
}

void LogRows::add(std::uint64_t frame, std::uint32_t segment, std::uint64_t global,
                  const PlannedFrame& planned, base::ByteSpan payload, bool keep_payload) {
  frame_.push_back(frame);
  seq_.push_back(planned.header.seq);
  raw_len_.push_back(planned.header.raw_len);
  comp_len_.push_back(planned.header.comp_len);
  segment_.push_back(segment);
  offset_.push_back(planned.offset);
  global_.push_back(global);
  if (keep_payload && !payload.empty()) {
    reserve(payload.size());
    std::byte* to = payload_.data() + payload_.size();
    if (to != payload.data()) {
      std::memcpy(to, payload.data(), payload.size());
    }
    payload_.set_size(payload_.size() + payload.size());
  }
  payload_offsets_.push_back(static_cast<std::uint32_t>(payload_.size()));
}

void LogRows::reverse() {
  std::ranges::reverse(frame_);
  std::ranges::reverse(seq_);
  std::ranges::reverse(raw_len_);
  std::ranges::reverse(comp_len_);
  std::ranges::reverse(segment_);
  std::ranges::reverse(offset_);
  std::ranges::reverse(global_);
  base::Buffer payload;
  std::byte* to = payload.reserve(std::max<std::size_t>(payload_.size(), 1));
  std::vector<std::uint32_t> offsets{0};
  for (std::size_t i = rows(); i > 0; --i) {
    const std::uint32_t length = payload_offsets_[i] - payload_offsets_[i - 1];
    if (length != 0) {
      std::memcpy(to + offsets.back(), payload_.data() + payload_offsets_[i - 1], length);
    }
    offsets.push_back(offsets.back() + length);
  }
  payload.set_size(payload_.size());
  payload_ = std::move(payload);
  payload_offsets_ = std::move(offsets);
}

Batch LogRows::batch(std::shared_ptr<const void> owner) const {
  Batch out;
  out.schema = &log_schema();
  out.rows = rows();
  out.columns.resize(k_log_columns);
  const auto fixed = [&](LogColumn column, const void* values) {
    Column& to = out.columns[static_cast<std::size_t>(column)];
    to.layout = Column::Layout::fixed;
    to.values = values;
  };
  fixed(LogColumn::frame, frame_.data());
  fixed(LogColumn::seq, seq_.data());
  fixed(LogColumn::raw_len, raw_len_.data());
  fixed(LogColumn::comp_len, comp_len_.data());
  fixed(LogColumn::segment, segment_.data());
  fixed(LogColumn::offset, offset_.data());
  fixed(LogColumn::global, global_.data());
  Column& payload = out.columns[static_cast<std::size_t>(LogColumn::payload)];
  payload.layout = Column::Layout::variable;
  payload.offsets = payload_offsets_.data();
  payload.data = reinterpret_cast<const char*>(payload_.data());
  out.owner = std::move(owner);
  return out;
}

namespace {

// Whether a JSON token, or a string anywhere in it, stands for one of the ids.
bool token_names(std::string_view token, const std::vector<std::string>& ids) {
  const auto wanted = [&](std::string_view string_token) {
    const std::string text = text_of(string_token);
    return std::ranges::find(ids, text) != ids.end();
  };
  if (token.starts_with('"')) {
    return wanted(token);
  }
  if (!token.starts_with('[')) {
    return false;
  }
  if (token.starts_with("[\"") || token.starts_with("[]")) {
    const auto list = ids_of(token);
    return std::ranges::any_of(
        list, [&](const std::string& id) { return std::ranges::find(ids, id) != ids.end(); });
  }
  const auto chunks = chunks_of(token);
  return std::ranges::any_of(
      chunks, [&](const Chunk& chunk) { return wanted(chunk.value(ChunkField::id)); });
}

}  // namespace

bool names_an_id(const PayloadContext& context, base::ByteSpan payload,
                 const std::vector<std::string>& ids, PayloadScratch& scratch) {
  const PayloadView view = look_at_payload(context, payload, scratch);
  if (view.what != PayloadClass::txn2) {
    return false;
  }
  for (const Mutation& mutation : scratch.mutations) {
    const auto keys = keys_of(mutation.kind);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool named = keys[i] != "metadata" && keys[i] != "version" && keys[i] != "properties" &&
                         keys[i] != "source_uri" && token_names(mutation.values[i], ids);
      if (named) {
        return true;
      }
    }
  }
  return false;
}

namespace {

template <class T>
T value_of(const Batch& batch, LogColumn column, std::size_t row) {
  return batch.columns[static_cast<std::size_t>(column)].value<T>(row);
}

void append_payload(std::string& out, const PayloadContext& context, base::ByteSpan payload,
                    PayloadScratch& scratch) {
  PayloadContext lenient = context;
  lenient.rules_apply = false;
  lenient.rules = {};
  const PayloadView view = look_at_payload(lenient, payload, scratch);
  std::string encoded;
  if (view.what == PayloadClass::txn2 && is_canonical(view.text, scratch.mutations, encoded)) {
    out += "{\"txn\":2,\"mutations\":";
    out += base::as_text(view.text).substr(k_txn2_magic.size());
    out += '}';
    return;
  }
  out += view.what == PayloadClass::txn3 ? "{\"txn\":3,\"$bytes\":\""
         : context.encrypted && form_of(payload) == TransactionForm::unknown
             ? "{\"encrypted\":true,\"$bytes\":\""
             : "{\"$bytes\":\"";
  base::append_base64(out, payload);
  out += "\"}";
}

}  // namespace

void append_log_line(std::string& out, const PayloadContext& context, const Batch& batch,
                     std::size_t row, const RenderOptions& options, PayloadScratch& scratch) {
  const auto wide = [&](std::uint64_t value) {
    if (options.int64_as_string) {
      out += '"';
    }
    base::append_integer(out, value);
    if (options.int64_as_string) {
      out += '"';
    }
  };
  out += "{\"frame\":";
  wide(value_of<std::uint64_t>(batch, LogColumn::frame, row));
  out += ",\"seq\":";
  base::append_integer(out, value_of<std::uint32_t>(batch, LogColumn::seq, row));
  out += ",\"raw_len\":";
  base::append_integer(out, value_of<std::uint32_t>(batch, LogColumn::raw_len, row));
  out += ",\"comp_len\":";
  base::append_integer(out, value_of<std::uint32_t>(batch, LogColumn::comp_len, row));
  const base::ByteSpan payload =
      base::as_bytes(batch.columns[static_cast<std::size_t>(LogColumn::payload)].bytes(row));
  switch (options.payload) {
    case PayloadForm::json:
      out += ",\"payload\":";
      append_payload(out, context, payload, scratch);
      break;
    case PayloadForm::base64:
      out += ",\"payload\":";
      base::append_json_bytes(out, payload);
      break;
    case PayloadForm::hex:
      out += ",\"hex\":\"";
      base::append_hex(out, payload);
      out += '"';
      break;
    case PayloadForm::sha256:
      out += ",\"sha256\":\"";
      base::append_hex(out, base::sha256(payload));
      out += '"';
      break;
    case PayloadForm::none:
      break;
  }
  out += ",\"at\":{\"segment\":";
  base::append_integer(out, value_of<std::uint32_t>(batch, LogColumn::segment, row));
  out += ",\"offset\":";
  wide(value_of<std::uint64_t>(batch, LogColumn::offset, row));
  out += ",\"global\":";
  wide(value_of<std::uint64_t>(batch, LogColumn::global, row));
  out += "}}\n";
}

}  // namespace varve::arena
