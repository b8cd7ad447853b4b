// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/record_line.hpp"

#include <algorithm>
#include <charconv>

#include "base/text_coding.hpp"
#include "kladde/layout.hpp"

namespace varve::kladde {

namespace {

namespace dom = simdjson::dom;

std::unexpected<Error> refused(std::string message) {
  return fail(ErrorCode::invalid_argument, "line", std::move(message));
}

// An integer, or a string that holds one (--int64 string).
std::optional<std::int64_t> integer_of(dom::element value) {
  std::int64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) {
    return number;
  }
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

Result<std::uint32_t> number_in(dom::element object, const char* key) {
  dom::element value;
  if (object[key].get(value) != simdjson::SUCCESS) {
    return refused(std::string("\"") + key + "\" is missing");
  }
  const auto number = integer_of(value);
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) > k_max_u32) {
    return refused(std::string("\"") + key + "\" is no integer of 32 bits");
  }
  return static_cast<std::uint32_t>(*number);
}

// "bytes":{"$bytes":"<base64>"}, or "hex":"...".
Result<base::Bytes> bytes_in(dom::element line) {
  std::string_view text;
  std::optional<base::Bytes> bytes;
  if (line["bytes"]["$bytes"].get(text) == simdjson::SUCCESS) {
    bytes = base::from_base64(text);
  } else if (line["hex"].get(text) == simdjson::SUCCESS) {
    bytes = base::from_hex(text);
  } else {
    return refused("the bytes to write are missing");
  }
  if (!bytes) {
    return refused("the bytes to write are neither base64 nor hex");
  }
  return std::move(*bytes);
}

Result<Roots> roots_in(dom::element header) {
  Roots roots;
  VARVE_ASSIGN(roots.root_allocation, number_in(header, "root_allocation"));
  VARVE_ASSIGN(roots.schema_table, number_in(header, "schema_table"));
  VARVE_ASSIGN(roots.consolidator_state, number_in(header, "consolidator_state"));
  std::string_view text;
  if (header["root_fingerprint"].get(text) != simdjson::SUCCESS) {
    return refused("\"root_fingerprint\" is missing");
  }
  const auto fingerprint = base::from_hex(text);
  if (!fingerprint || fingerprint->size() != roots.root_fingerprint.size()) {
    return refused("\"root_fingerprint\" is not 32 hex digits");
  }
  std::ranges::copy(*fingerprint, roots.root_fingerprint.begin());
  return roots;
}

}  // namespace

Result<RecordLineParser::Line> RecordLineParser::parse(std::string_view json) {
  Line out;
  if (parser_.parse(json.data(), json.size()).get(line_) != simdjson::SUCCESS ||
      !line_.is_object()) {
    return refused("no JSON object");
  }
  dom::element header;
  if (line_["header"].get(header) == simdjson::SUCCESS) {
    VARVE_ASSIGN(out.header, roots_in(header));
    return out;
  }
  dom::element number;
  if (line_["txn"].get(number) == simdjson::SUCCESS) {
    out.number = integer_of(number);
    if (!out.number) {
      return refused("\"txn\" is no integer");
    }
  }
  return out;
}

Result<void> RecordLineParser::add(Transaction& transaction) const {
  std::string_view op;
  if (line_["op"].get(op) != simdjson::SUCCESS) {
    return refused("\"op\" is missing");
  }
  const auto number = [&](const char* key) { return number_in(line_, key); };
  if (op == "copy" || op == "move") {
    VARVE_ASSIGN(const Id source, number("src"));
    VARVE_ASSIGN(const std::uint32_t from, number("src_offset"));
    VARVE_ASSIGN(const std::uint32_t length, number("len"));
    VARVE_ASSIGN(const Id target, number("dst"));
    VARVE_ASSIGN(const std::uint32_t to, number("dst_offset"));
    if (op == "copy") {
      transaction.copy(source, from, length, target, to);
    } else {
      transaction.move(source, from, length, target, to);
    }
    return {};
  }
  VARVE_ASSIGN(const Id id, number("id"));
  if (op == "free") {
    transaction.free(id);
  } else if (op == "resize") {
    VARVE_ASSIGN(const std::uint32_t size, number("size"));
    transaction.resize(id, size);
  } else if (op == "write" || op == "splice") {
    VARVE_ASSIGN(const std::uint32_t offset, number("offset"));
    VARVE_ASSIGN(const base::Bytes bytes, bytes_in(line_));
    if (op == "write") {
      transaction.write(id, offset, bytes);
      return {};
    }
    VARVE_ASSIGN(const std::uint32_t old_length, number("old_len"));
    transaction.splice(id, offset, old_length, bytes);
  } else {
    return refused("\"op\" is free, resize, write, splice, copy or move");
  }
  return {};
}

}  // namespace varve::kladde
