// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_options.hpp"

#include <simdjson.h>

#include <algorithm>
#include <limits>

namespace varve::serve {

namespace {

namespace dom = simdjson::dom;
using Texts = std::vector<std::string>;

constexpr std::size_t k_max_dids = 10'000;
constexpr std::size_t k_max_collections = 100;

std::size_t make_distinct(Texts& texts) {
  std::ranges::sort(texts);
  const auto rest = std::ranges::unique(texts);
  texts.erase(rest.begin(), rest.end());
  return texts.size();
}

std::string too_many(std::size_t most, const char* name, std::size_t count) {
  return "at most " + std::to_string(most) + " " + name + ", not " + std::to_string(count);
}

// An array of strings; absent and null count as empty. False if it is something else.
bool read_texts(const dom::object& payload, const char* key, Texts& out) {
  dom::element member;
  if (payload.at_key(key).get(member) != simdjson::SUCCESS || member.is_null()) {
    return true;
  }
  dom::array items;
  if (member.get(items) != simdjson::SUCCESS) {
    return false;
  }
  for (const dom::element item : items) {
    std::string_view text;
    if (item.get(text) != simdjson::SUCCESS) {
      return false;
    }
    out.emplace_back(text);
  }
  return true;
}

std::expected<StreamFilter, std::string> filter_of(const dom::object& payload) {
  Texts dids;
  Texts collections;
  if (!read_texts(payload, "wantedDids", dids) ||
      !read_texts(payload, "wantedCollections", collections)) {
    return std::unexpected("wantedDids and wantedCollections are arrays of strings");
  }
  auto rows = legacy_filter(std::move(dids), std::move(collections));
  if (!rows) {
    return std::unexpected(std::move(rows).error());
  }
  StreamFilter out;
  out.rows = *std::move(rows);
  dom::element limit;
  if (payload.at_key("maxMessageSizeBytes").get(limit) == simdjson::SUCCESS && !limit.is_null()) {
    std::int64_t bytes = 0;
    if (limit.get(bytes) != simdjson::SUCCESS) {
      return std::unexpected("maxMessageSizeBytes is no integer");
    }
    out.max_message_bytes = legacy_limit(bytes);
  }
  return out;
}

}  // namespace

std::expected<jss::RowFilter, std::string> legacy_filter(Texts dids, Texts collections) {
  if (make_distinct(collections) > k_max_collections) {
    return std::unexpected(too_many(k_max_collections, "wantedCollections", collections.size()));
  }
  if (make_distinct(dids) > k_max_dids) {
    return std::unexpected(too_many(k_max_dids, "wantedDids", dids.size()));
  }
  auto filter = jss::RowFilter::compile({}, dids, collections, jss::WildcardRule::any_prefix);
  if (!filter) {
    return std::unexpected(std::move(filter).error().message);
  }
  return *std::move(filter);
}

std::uint32_t legacy_limit(std::int64_t bytes) {
  return bytes < 0 || bytes > std::numeric_limits<std::uint32_t>::max()
             ? 0
             : static_cast<std::uint32_t>(bytes);
}

std::expected<std::optional<StreamFilter>, std::string> parse_options_update(
    std::string_view message) {
  dom::parser parser;
  dom::object members;
  if (parser.parse(message.data(), message.size()).get(members) != simdjson::SUCCESS) {
    return std::unexpected("the message is no JSON object");
  }
  std::string_view type;
  if (members.at_key("type").get(type) != simdjson::SUCCESS) {
    return std::unexpected("the message has no type");
  }
  if (type != "options_update") {
    return std::nullopt;
  }
  dom::object payload;
  if (members.at_key("payload").get(payload) != simdjson::SUCCESS) {
    return std::unexpected("the payload of options_update is no object");
  }
  auto filter = filter_of(payload);
  if (!filter) {
    return std::unexpected(std::move(filter).error());
  }
  return *std::move(filter);
}

}  // namespace varve::serve
