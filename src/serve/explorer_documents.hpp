// SPDX-License-Identifier: MIT OR Apache-2.0
// The documents of the explorer's interface about one store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serve/explored_store.hpp"
#include "serve/http.hpp"
#include "varve/json.hpp"

namespace varve::serve {

// How the check of the store stands: verdict and totals of the last one, progress of a running one.
Json check_json(const ExploredStore::CheckState& state);

// The store's format, schema and filters, and what `info` says, or why it does not open.
Json info_document(const ExploredStore& store, io::FileSystem& files);

// Parameters file, from, to, units, files_from. Errors: ErrorCode::invalid_argument.
Result<Json> map_document(const CheckResult& result, const HttpRequest& request);
// Parameters start, limit, severity, file, from, to. Errors: ErrorCode::invalid_argument.
Result<Json> findings_document(const CheckResult& result, const HttpRequest& request);

// What is looked up in the store itself: one record, the unit at a byte, the distributions.
struct Lookup {
  std::string what;    // "record", "explain" or "stats"
  std::string record;  // the key, as `get` takes it
  std::string file;    // of explain
  std::optional<std::uint64_t> offset;
  std::string key() const;
};
Result<Lookup> parse_lookup(std::string_view what, const HttpRequest& request);
Result<Json> lookup_document(const ExploredStore& store, io::FileSystem& files,
                             const Lookup& lookup);

}  // namespace varve::serve
