// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of a jss fixture as its .events.jsonl tells them, with payloads encoded from the JSON
// and checked against the published hash; and JSON compared as values.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "jss/dag_cbor_encode.hpp"
#include "tests/support.hpp"
#include "varve/jss_event.hpp"

namespace varve::jss::test {

inline std::filesystem::path fixture(std::string_view name) {
  return varve::test::shared_path("fixtures/jss/" + std::string(name));
}

// An event with memory of its own.
struct Row {
  std::uint64_t seq = 0;
  std::int64_t witnessed_at = 0;
  std::int64_t indexed_at = 0;
  std::uint8_t kind = 0;
  std::string did, collection, rkey, rev, payload;
  std::uint64_t block = 0;  // where the fixture has it
  std::uint64_t row = 0;

  Event event() const {
    return {seq, witnessed_at,           indexed_at, kind, did, collection, rkey,
            rev, base::as_bytes(payload)};
  }
  static Row of(const Event& event) {
    Row out;
    out.seq = event.seq;
    out.witnessed_at = event.witnessed_at;
    out.indexed_at = event.indexed_at;
    out.kind = event.kind;
    out.did = event.did;
    out.collection = event.collection;
    out.rkey = event.rkey;
    out.rev = event.rev;
    out.payload = base::as_text(event.payload);
    return out;
  }
  // Block and row are places, not content.
  friend bool operator==(const Row& a, const Row& b) {
    return a.seq == b.seq && a.witnessed_at == b.witnessed_at && a.indexed_at == b.indexed_at &&
           a.kind == b.kind && a.did == b.did && a.collection == b.collection && a.rkey == b.rkey &&
           a.rev == b.rev && a.payload == b.payload;
  }
  friend void PrintTo(const Row& of, std::ostream* out) {
    *out << "seq " << of.seq << " kind " << int(of.kind) << " " << of.did << "/" << of.collection
         << "/" << of.rkey << " rev " << of.rev << ", " << of.payload.size() << " bytes";
  }
};

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::istringstream in(varve::test::read_file(path));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    out.push_back(line);
  }
  return out;
}

// The rows that `name`.events.jsonl lists.
inline std::vector<Row> fixture_rows(std::string_view name) {
  std::vector<Row> out;
  simdjson::dom::parser parser;
  for (const std::string& line : lines_of(fixture(std::string(name) + ".events.jsonl"))) {
    const simdjson::dom::element json = parser.parse(line);
    const auto text = [&](const char* key) { return std::string(std::string_view(json[key])); };
    Row row;
    row.seq = std::uint64_t(json["seq"]);
    row.witnessed_at = std::int64_t(json["witnessed_at"]);
    row.indexed_at = std::int64_t(json["indexed_at"]);
    row.kind = static_cast<std::uint8_t>(std::uint64_t(json["kind"]));
    row.block = std::uint64_t(json["block"]);
    row.row = std::uint64_t(json["row"]);
    row.did = text("did");
    row.collection = text("collection");
    row.rkey = text("rkey");
    row.rev = text("rev");
    simdjson::dom::element value;
    if (json["value"].get(value) == simdjson::SUCCESS) {
      base::Bytes payload;
      EXPECT_EQ(encode_dag_cbor(simdjson::minify(value), payload), nullptr) << line;
      row.payload = base::as_text(payload);
    } else if (json["payload_hex"].get(value) == simdjson::SUCCESS) {
      row.payload = base::as_text(base::from_hex(std::string_view(value)).value());
    }
    EXPECT_EQ(row.payload.size(), std::uint64_t(json["payload_len"])) << line;
    simdjson::dom::element hash;
    if (json["payload_sha256"].get(hash) == simdjson::SUCCESS) {
      EXPECT_EQ(base::to_hex(base::sha256(base::as_bytes(row.payload))), std::string_view(hash));
    }
    out.push_back(std::move(row));
  }
  return out;
}

inline void append_canonical(std::string& out, const simdjson::dom::element& json) {
  if (json.is_array()) {
    out += '[';
    for (const auto item : simdjson::dom::array(json)) {
      append_canonical(out, item);
      out += ',';
    }
    out += ']';
  } else if (json.is_object()) {
    std::vector<std::pair<std::string, std::string>> members;
    for (const auto member : simdjson::dom::object(json)) {
      members.emplace_back(member.key, "");
      append_canonical(members.back().second, member.value);
    }
    std::ranges::sort(members);
    out += '{';
    for (const auto& [key, value] : members) {
      base::append_json_text(out, key);
      out += ':' + value + ',';
    }
    out += '}';
  } else {
    out += simdjson::minify(json);
  }
}

// A spelling that two equal JSON values share.
inline std::string canonical_json(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  const simdjson::padded_string padded(text);
  if (parser.parse(padded).get(json) != simdjson::SUCCESS) {
    ADD_FAILURE() << "not JSON: " << text;
    return {};
  }
  std::string out;
  append_canonical(out, json);
  return out;
}

}  // namespace varve::jss::test
