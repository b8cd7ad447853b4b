// SPDX-License-Identifier: MIT OR Apache-2.0
// The three small files that say how a journal is to be read: format.json (section 1.2), store.json
// (1.1) and CURRENT (1.3). Parsing and writing of their text; no files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arena/layout.hpp"
#include "varve/result.hpp"

namespace varve::arena {

struct Manifest {
  std::uint32_t version = 2;
  std::uint64_t segment_size = k_large_segment_bytes;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Errors without a path: bad-manifest (damaged), unsupported-format (unsupported),
// segment-size-mismatch (damaged). `geometry`, if set, replaces the table of layout.hpp for its
// version.
Result<Manifest> parse_manifest(std::string_view text, const std::optional<Geometry>& geometry);
std::string manifest_text(const Manifest& manifest);

// What of store.json the journal needs.
struct StoreSchema {
  std::uint32_t version = 2;
  std::uint64_t dimensions = 0;
  bool encrypted = false;
  bool meaning_enabled = false;
  std::string text_encoder;
  std::string vector_encoder;
  std::string metric;
  std::string embedding_space = "null";  // JSON
};

// Errors: schema-mismatch (damaged), unsupported-schema (unsupported).
Result<StoreSchema> parse_schema(std::string_view text);
// The text that schema 2 engines write: two spaces, no final newline.
std::string schema_text(const StoreSchema& schema);

// Whether `name` may stand in CURRENT: starts with "gen-", then only letters, digits and '-'.
bool valid_generation_name(std::string_view name);

// The number in "seg_<n>.bin", decimal without leading zeros; nullopt for other names.
std::optional<std::uint32_t> segment_number(std::string_view name);
std::string segment_name(std::uint32_t number);

}  // namespace varve::arena
