// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/value_json.hpp"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "tay/json_encoder.hpp"

namespace varve::tay {

namespace {

// Deeper JSON is refused: no budget of an event allows it, and the parser counts levels itself.
constexpr std::size_t k_max_json_depth = 1000;

template <class T>
void append_number(std::string& out, T value, bool as_string) {
  if (as_string) out += '"';
  base::append_integer(out, value);
  if (as_string) out += '"';
}

void append_opaque(std::string& out, base::ByteSpan bytes) {
  if (bytes.size() != 16 && bytes.size() != 32) {
    base::append_json_bytes(out, bytes);
    return;
  }
  out += '"';
  base::append_hex(out, bytes);
  out += '"';
}

std::unexpected<Error> bad_json(std::string message) {
  return fail(ErrorCode::invalid_argument, "json", std::move(message));
}

}  // namespace

const std::byte* append_value_json(std::string& out, const std::byte* value, bool int64_as_string) {
  const std::uint8_t tag = base::u8(*value++);
  switch (tag) {
    case k_tag_nil:
      out += "null";
      return value;
    case k_tag_false:
    case k_tag_true:
      out += tag == k_tag_true ? "true" : "false";
      return value;
    case k_tag_negative:
      append_number(out, static_cast<std::int64_t>(base::u64be(value)), int64_as_string);
      return value + 8;
    case k_tag_unsigned:
      append_number(out, base::u64be(value), int64_as_string);
      return value + 8;
    case k_tag_float:
      base::append_double(out, std::bit_cast<double>(base::u64be(value)));
      return value + 8;
    default:
      break;
  }
  const std::uint32_t count = base::u32be(value);
  value += 4;
  if (tag == k_tag_text || tag == k_tag_opaque) {
    const base::ByteSpan content(value, count);
    tag == k_tag_text ? base::append_json_text(out, base::as_text(content))
                      : append_opaque(out, content);
    return value + count;
  }
  const bool map = tag == k_tag_map;
  out += map ? '{' : '[';
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i != 0) out += ',';
    if (map) {
      value = append_value_json(out, value, false);
      out += ':';
    }
    value = append_value_json(out, value, int64_as_string);
  }
  out += map ? '}' : ']';
  return value;
}

Result<void> JsonEncoder::element(simdjson::dom::element element, bool with_id) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::NULL_VALUE:
      writer_.nil();
      return {};
    case element_type::BOOL:
      writer_.boolean(element.get_bool().value_unsafe());
      return {};
    case element_type::INT64:
      writer_.signed_integer(element.get_int64().value_unsafe());
      return {};
    case element_type::UINT64:
      writer_.integer(element.get_uint64().value_unsafe());
      return {};
    case element_type::DOUBLE:
      writer_.real(element.get_double().value_unsafe());
      return {};
    case element_type::STRING:
      writer_.text(element.get_string().value_unsafe());
      return {};
    case element_type::ARRAY: {
      const simdjson::dom::array array = element.get_array().value_unsafe();
      std::uint32_t count = 0;
      const std::size_t count_at = out_.size() + 1;
      writer_.list(0);
      for (const simdjson::dom::element item : array) {
        VARVE_TRY(this->element(item, false));
        ++count;
      }
      base::store_be(out_.data() + count_at, count);
      return {};
    }
    case element_type::OBJECT:
      return object(element.get_object().value_unsafe(), with_id);
  }
  return bad_json("a value of an unknown kind");
}

// Members are written as they come, which mostly is the right order already; else they are sorted.
Result<void> JsonEncoder::object(simdjson::dom::object object, bool with_id) {
  struct Pair {
    std::string_view key;
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Pair> pairs;
  const std::size_t begin = out_.size();
  writer_.map(0);
  bool sorted = true;
  for (const auto [key, value] : object) {
    const std::size_t at = out_.size();
    writer_.text(key);
    if (with_id && key == "job_id") {
      VARVE_TRY(id(value));
    } else {
      VARVE_TRY(element(value, false));
    }
    sorted = sorted && (pairs.empty() || pairs.back().key < key);
    pairs.push_back({key, at, out_.size()});
  }
  base::store_be(out_.data() + begin + 1, static_cast<std::uint32_t>(pairs.size()));
  if (sorted) {
    return {};
  }
  std::ranges::sort(pairs, {}, &Pair::key);
  base::Bytes ordered;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i != 0 && pairs[i].key == pairs[i - 1].key) {
      return bad_json("the key \"" + std::string(pairs[i].key) + "\" stands twice in one object");
    }
    ordered.insert(ordered.end(), out_.begin() + static_cast<std::ptrdiff_t>(pairs[i].begin),
                   out_.begin() + static_cast<std::ptrdiff_t>(pairs[i].end));
  }
  std::ranges::copy(ordered, out_.begin() + static_cast<std::ptrdiff_t>(begin + 5));
  return {};
}

Result<void> JsonEncoder::id(simdjson::dom::element element) {
  std::string_view digits;
  if (element.get_string().get(digits) != simdjson::SUCCESS) {
    return bad_json("`job_id` must be text of 32 hex digits");
  }
  const auto bytes = base::from_hex(digits);
  if (!bytes || bytes->size() != k_id_bytes) {
    return bad_json("`job_id` must be 32 hex digits");
  }
  writer_.opaque(*bytes);
  return {};
}

Result<void> encode_json(std::string_view json, bool with_id, base::Bytes& out) {
  simdjson::dom::parser parser;
  if (parser.allocate(json.size(), k_max_json_depth) != simdjson::SUCCESS) {
    return bad_json("the text is too large");
  }
  simdjson::dom::element element;
  if (const auto error = parser.parse(json.data(), json.size()).get(element)) {
    return bad_json(std::string("not JSON that can be taken: ") + simdjson::error_message(error));
  }
  return JsonEncoder(out).element(element, with_id);
}

}  // namespace varve::tay
