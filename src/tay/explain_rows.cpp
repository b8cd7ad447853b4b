// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/explain_rows.hpp"

#include <algorithm>
#include <utility>

#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "tay/value_json.hpp"

namespace varve::tay {

namespace {

constexpr std::size_t k_shown_bytes = 32;
constexpr std::size_t k_shown_text_bytes = 120;

std::string shown(ByteSpan bytes) {
  return std::string(base::as_text(bytes.first(std::min(bytes.size(), k_shown_bytes))));
}

const char* tag_meaning(std::uint8_t tag) {
  constexpr const char* k_meanings[] = {"nil",     "false", "true", "negative integer",
                                        "integer", "float", "text", "opaque bytes",
                                        "list",    "map"};
  return tag <= k_tag_map ? k_meanings[tag] : "";
}

}  // namespace

void RowWriter::send(ExplainRow row) {
  if (!stopped_) {
    row.file = file_;
    stopped_ = !sink_.add(std::move(row));
  }
}

void RowWriter::container(std::uint64_t offset, std::uint64_t length, unsigned depth,
                          std::string field, std::string value, std::string meaning, Check check) {
  ExplainRow row;
  row.offset = offset;
  row.length = length;
  row.depth = depth;
  row.container = true;
  row.field = std::move(field);
  row.value = std::move(value);
  row.meaning = std::move(meaning);
  row.check = check;
  send(std::move(row));
}

ExplainRow RowWriter::row_of(std::uint64_t offset, ByteSpan bytes, std::uint64_t length,
                             unsigned depth, std::string field, std::string value,
                             std::string meaning, Check check) {
  ExplainRow row;
  row.offset = offset;
  row.length = length;
  row.depth = depth;
  row.field = std::move(field);
  row.value = std::move(value);
  row.meaning = std::move(meaning);
  row.raw = shown(bytes);
  row.check = check;
  return row;
}

void RowWriter::bytes(std::uint64_t offset, ByteSpan bytes, std::uint64_t length, unsigned depth,
                      std::string field, std::string value, std::string meaning, Check check,
                      Class sort) {
  ExplainRow row = row_of(offset, bytes, length, depth, std::move(field), std::move(value),
                          std::move(meaning), check);
  row.sort = sort;
  send(std::move(row));
}

void RowWriter::stretch(std::uint64_t offset, ByteSpan bytes, std::uint64_t length, unsigned depth,
                        std::string field, std::string value, std::string meaning, Check check,
                        std::vector<ByteMark> stale) {
  ExplainRow row = row_of(offset, bytes, length, depth, std::move(field), std::move(value),
                          std::move(meaning), check);
  row.sort = Class::gap;
  row.marks = std::move(stale);
  send(std::move(row));
}

void RowWriter::fields(std::span<const FieldSpec> specs, std::uint64_t offset, ByteSpan unit,
                       unsigned depth) {
  for (const FieldSpec& spec : specs) {
    if (spec.offset >= unit.size()) {
      return;
    }
    const ByteSpan rest = unit.subspan(static_cast<std::size_t>(spec.offset));
    if (rest.size() < spec.length) {
      bytes(offset + spec.offset, rest, rest.size(), depth, spec.name, "",
            std::string("cut short: ") + spec.meaning, Check::fails);
      return;
    }
    const ByteSpan field = rest.first(static_cast<std::size_t>(spec.length));
    Check check = Check::none;
    const std::string_view name = spec.name;
    if (name == "crc" || name == "header_crc") {
      const std::uint32_t computed =
          base::crc32c(unit.first(static_cast<std::size_t>(spec.offset)));
      check = computed == base::u32be(field.data()) ? Check::holds : Check::fails;
    }
    bytes(offset + spec.offset, field, spec.length, depth, spec.name,
          model::field_text(spec.type, field, std::endian::big), spec.meaning, check);
  }
}

void RowWriter::value(std::uint64_t offset, ByteSpan value, unsigned depth, std::string field) {
  value_offset_ = offset;
  value_begin_ = value.data();
  node(value.data(), depth, std::move(field));
}

// A map's pair: its key is told with the tag and length that precede it.
const std::byte* RowWriter::pair(const std::byte* at, unsigned depth) {
  const std::size_t length = base::u32be(at + 1);
  const std::string_view key(reinterpret_cast<const char*>(at + 5), length);
  const auto offset = value_offset_ + static_cast<std::uint64_t>(at - value_begin_);
  bytes(offset, ByteSpan(at, 5 + length), 5 + length, depth, "key",
        std::string(key.substr(0, k_shown_text_bytes)), "map key", Check::none, Class::payload);
  return node(at + 5 + length, depth, std::string(key.substr(0, k_shown_text_bytes)));
}

const std::byte* RowWriter::node(const std::byte* at, unsigned depth, std::string field) {
  const std::uint8_t tag = base::u8(*at);
  const auto offset = value_offset_ + static_cast<std::uint64_t>(at - value_begin_);
  if (tag != k_tag_list && tag != k_tag_map) {
    std::string text;
    const std::byte* end = append_value_json(text, at, false);
    const auto length = static_cast<std::size_t>(end - at);
    if (text.size() > k_shown_text_bytes) {
      text.resize(k_shown_text_bytes);
    }
    bytes(offset, ByteSpan(at, length), length, depth, std::move(field), std::move(text),
          tag_meaning(tag), Check::none, Class::payload);
    return end;
  }
  const std::uint32_t count = base::u32be(at + 1);
  bytes(offset, ByteSpan(at, 5), 5, depth, std::move(field), std::to_string(count),
        tag == k_tag_map ? "map: pairs that follow" : "list: elements that follow", Check::none,
        Class::payload);
  at += 5;
  for (std::uint32_t i = 0; i < count; ++i) {
    at = tag == k_tag_map ? pair(at, depth + 1) : node(at, depth + 1, std::to_string(i));
  }
  return at;
}

}  // namespace varve::tay
