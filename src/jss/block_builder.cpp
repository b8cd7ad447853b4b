// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/block_builder.hpp"

#include <algorithm>

namespace varve::jss {

namespace {

template <class T>
void put_column(std::byte*& to, const std::vector<T>& values) {
  if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
    base::copy_bytes(to, values.data(), values.size() * sizeof(T));
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      base::store_le(to + i * sizeof(T), static_cast<std::uint64_t>(values[i]));
    }
  }
  to += values.size() * sizeof(T);
}

}  // namespace

void BlockBuilder::Strings::add(const char* from, std::size_t bytes) {
  data.insert(data.end(), from, from + bytes);
  offsets.push_back(static_cast<std::uint32_t>(data.size()));
}

void BlockBuilder::Strings::clear() {
  offsets.resize(1);
  data.clear();
}

std::uint64_t BlockBuilder::body_bytes() const {
  return k_body_count_bytes + k_row_fixed_bytes * rows() + collection_.data.size() +
         did_.data.size() + rkey_.data.size() + rev_.data.size() + payload_.data.size();
}

std::optional<Fault> BlockBuilder::append(const Event& event) {
  const auto too_long = [](std::size_t bytes, std::uint64_t most) {
    return Fault{k_field_too_long, 0, Number::decimal(most), Number::decimal(bytes)};
  };
  if (!is_kind(event.kind)) {
    return Fault{k_invalid_kind, 0, {}, Number::decimal(event.kind)};
  }
  if (event.did.size() > k_max_did_bytes) return too_long(event.did.size(), k_max_did_bytes);
  for (const std::string_view text : {event.collection, event.rkey, event.rev}) {
    if (text.size() > k_max_collection_bytes) return too_long(text.size(), k_max_collection_bytes);
  }
  const std::uint64_t row_bytes = k_row_fixed_bytes + event.did.size() + event.collection.size() +
                                  event.rkey.size() + event.rev.size() + event.payload.size();
  const std::uint64_t most = k_max_body_bytes - k_body_count_bytes;
  if (row_bytes > most) return too_long(event.payload.size(), most);
  if (rows() == k_max_block_rows || body_bytes() + row_bytes > k_max_body_bytes) {
    return Fault{k_block_full, 0, {}, {}};
  }
  seq_.push_back(event.seq);
  witnessed_at_.push_back(event.witnessed_at);
  indexed_at_.push_back(event.indexed_at);
  kind_.push_back(event.kind);
  collection_.add(event.collection.data(), event.collection.size());
  did_.add(event.did.data(), event.did.size());
  rkey_.add(event.rkey.data(), event.rkey.size());
  rev_.add(event.rev.data(), event.rev.size());
  payload_.add(reinterpret_cast<const char*>(event.payload.data()), event.payload.size());
  return std::nullopt;
}

void BlockBuilder::encode(base::Bytes& out) const {
  const std::size_t from = out.size();
  out.resize(from + body_bytes());
  std::byte* to = out.data() + from;
  base::store_le(to, rows());
  to += k_body_count_bytes;
  put_column(to, seq_);
  put_column(to, witnessed_at_);
  put_column(to, indexed_at_);
  put_column(to, kind_);
  const auto put_lengths = [&]<class Length>(const Strings& strings, Length) {
    for (std::size_t row = 0; row < rows(); ++row) {
      base::store_le(to, static_cast<Length>(strings.length(row)));
      to += sizeof(Length);
    }
  };
  put_lengths(collection_, std::uint8_t{});
  put_lengths(did_, std::uint16_t{});
  put_lengths(rkey_, std::uint8_t{});
  put_lengths(rev_, std::uint8_t{});
  put_lengths(payload_, std::uint32_t{});
  for (const Strings* strings : {&collection_, &did_, &rkey_, &rev_, &payload_}) {
    put_column(to, strings->data);
  }
}

BlockColumns BlockBuilder::columns() {
  BlockColumns out;
  out.rows = rows();
  out.seq = seq_.data();
  out.witnessed_at = witnessed_at_.data();
  out.indexed_at = indexed_at_.data();
  out.kind = kind_.data();
  out.collection = collection_.column();
  out.did = did_.column();
  out.rkey = rkey_.column();
  out.rev = rev_.column();
  out.payload = payload_.column();
  return out;
}

void BlockBuilder::clear() {
  seq_.clear();
  witnessed_at_.clear();
  indexed_at_.clear();
  kind_.clear();
  for (Strings* strings : {&collection_, &did_, &rkey_, &rev_, &payload_}) {
    strings->clear();
  }
}

Event event_at(const BlockColumns& columns, std::size_t row) {
  Event out;
  out.seq = columns.seq[row];
  out.witnessed_at = columns.witnessed_at[row];
  out.indexed_at = columns.indexed_at[row];
  out.kind = columns.kind[row];
  out.did = columns.did.at(row);
  out.collection = columns.collection.at(row);
  out.rkey = columns.rkey.at(row);
  out.rev = columns.rev.at(row);
  out.payload = base::as_bytes(columns.payload.at(row));
  return out;
}

}  // namespace varve::jss
