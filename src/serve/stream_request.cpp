// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_request.hpp"

#include <algorithm>
#include <vector>

#include "base/whole_number.hpp"
#include "serve/stream_options.hpp"

namespace varve::serve {

namespace {

using Texts = std::vector<std::string>;
using Refused = std::unexpected<StreamRefusal>;

constexpr std::size_t k_max_kinds = 4;
constexpr std::size_t k_max_dids = 10'000;
constexpr std::size_t k_max_collections = 100;

Refused invalid(std::string message) { return Refused({"InvalidRequest", std::move(message)}); }

Texts values_of(const HttpRequest& request, const std::string& name) {
  Texts out;
  const auto [begin, end] = request.parameters.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    out.push_back(it->second);
  }
  return out;
}

// The first value of a parameter; an empty one counts as absent.
const std::string* given(const HttpRequest& request, const std::string& name) {
  const std::string* value = request.parameter(name);
  return value != nullptr && !value->empty() ? value : nullptr;
}

std::expected<std::optional<std::int64_t>, StreamRefusal> cursor_of(const HttpRequest& request) {
  const std::string* text = given(request, "cursor");
  if (text == nullptr) {
    return std::nullopt;
  }
  const auto cursor = base::whole_number<std::int64_t>(*text);
  if (!cursor || *cursor < 0) {
    return invalid("cursor is no integer from 0 to 2^63-1");
  }
  return cursor;
}

// Both ways of asking for the legacy compression.
bool asks_for_compression(const HttpRequest& request) {
  const std::string* compress = request.parameter("compress");
  const std::string* encoding = request.header("Socket-Encoding");
  return (compress != nullptr && *compress == "true") ||
         (encoding != nullptr && encoding->find("zstd") != std::string::npos);
}

std::expected<jss::RowFilter, StreamRefusal> v2_filter(const HttpRequest& request) {
  const Texts kinds = values_of(request, "kinds");
  const Texts dids = values_of(request, "dids");
  const Texts collections = values_of(request, "collections");
  const struct {
    const char* name;
    std::size_t count;
    std::size_t most;
  } limits[] = {{"kinds", kinds.size(), k_max_kinds},
                {"dids", dids.size(), k_max_dids},
                {"collections", collections.size(), k_max_collections}};
  for (const auto& limit : limits) {
    if (limit.count > limit.most) {
      return invalid("at most " + std::to_string(limit.most) + " " + limit.name + ", not " +
                     std::to_string(limit.count));
    }
  }
  for (const std::string& kind : kinds) {
    if (!jss::kinds_of_public_name(kind)) {
      return invalid("no public kind is named \"" + kind + "\"");
    }
  }
  if (!collections.empty() && !kinds.empty() && std::ranges::find(kinds, "commit") == kinds.end()) {
    return invalid("collections are of commits, which kinds leaves out");
  }
  auto filter = jss::RowFilter::compile(kinds, dids, collections);
  if (!filter) {
    return invalid(filter.error().message);
  }
  return *std::move(filter);
}

std::expected<StreamRequest, StreamRefusal> parse_v2(const HttpRequest& request,
                                                     const StreamDictionaries& dictionaries) {
  for (const char* name : {"wantedDids", "wantedCollections", "requireHello"}) {
    if (request.parameter(name) != nullptr) {
      return invalid(std::string(name) + " is a parameter of the legacy stream, /subscribe");
    }
  }
  if (asks_for_compression(request)) {
    return invalid("compression is asked for with zstdDictionary=<id> here");
  }
  StreamRequest out;
  auto filter = v2_filter(request);
  if (!filter) {
    return Refused(std::move(filter).error());
  }
  out.filter.rows = *std::move(filter);
  if (const std::string* text = given(request, "maxMessageSizeBytes")) {
    const auto limit = base::whole_number<std::uint32_t>(*text);
    if (!limit) {
      return invalid("maxMessageSizeBytes is no integer from 0 to 2^32-1");
    }
    out.filter.max_message_bytes = *limit;
  }
  if (const std::string* text = given(request, "zstdDictionary")) {
    const auto id = base::whole_number<std::uint64_t>(*text);
    if (!id) {
      return invalid("zstdDictionary is no integer from 1 on");
    }
    out.form.dictionary = dictionaries.find(*id);
    if (out.form.dictionary < 0) {
      const int current = dictionaries.current();
      return Refused(
          {"UnknownZstdDictionary",
           "no dictionary has the id " + *text + "; the current one: " +
               (current < 0
                    ? "none"
                    : std::to_string(dictionaries.at(static_cast<std::size_t>(current)).id()))});
    }
  }
  return out;
}

std::expected<StreamRequest, StreamRefusal> parse_v1(const HttpRequest& request,
                                                     const StreamDictionaries& dictionaries) {
  StreamRequest out;
  out.form.version = StreamVersion::v1;
  auto filter =
      legacy_filter(values_of(request, "wantedDids"), values_of(request, "wantedCollections"));
  if (!filter) {
    return invalid(std::move(filter).error());
  }
  out.filter.rows = *std::move(filter);
  if (const std::string* text = request.parameter("maxMessageSizeBytes")) {
    out.filter.max_message_bytes =
        legacy_limit(base::whole_number<std::int64_t>(*text).value_or(0));
  }
  const std::string* hello = request.parameter("requireHello");
  out.require_hello = hello != nullptr && *hello == "true";
  if (asks_for_compression(request)) {
    out.form.dictionary = dictionaries.find(k_legacy_dictionary_id);
    if (out.form.dictionary < 0) {
      return invalid("this server has no dictionary with the id " +
                     std::to_string(k_legacy_dictionary_id) + ", so it cannot compress");
    }
  }
  return out;
}

}  // namespace

std::expected<StreamRequest, StreamRefusal> parse_stream_request(
    StreamVersion version, const HttpRequest& request, const StreamDictionaries& dictionaries) {
  auto cursor = cursor_of(request);
  if (!cursor) {
    return Refused(std::move(cursor).error());
  }
  auto out = version == StreamVersion::v2 ? parse_v2(request, dictionaries)
                                          : parse_v1(request, dictionaries);
  if (out) {
    out->cursor = *cursor;
  }
  return out;
}

}  // namespace varve::serve
