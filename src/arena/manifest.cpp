// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "arena/json_text.hpp"
#include "base/json_writer.hpp"
#include "base/mutant.hpp"
#include "base/text_coding.hpp"

namespace varve::arena {

namespace {

std::unexpected<Error> bad_manifest(std::string message) {
  return fail(ErrorCode::damaged, "bad-manifest", std::move(message));
}
std::unexpected<Error> bad_schema(std::string message) {
  return fail(ErrorCode::damaged, "schema-mismatch", std::move(message));
}

// Reads an object of a small file: `member(key, reader) -> bool` takes the values.
template <class Member>
bool read_object(std::string_view text, Member member) {
  if (!base::is_utf8(text)) {
    return false;
  }
  JsonReader reader(text);
  std::string scratch;
  const bool good =
      reader.object([&](std::string_view key) { return member(unescape(key, scratch), reader); });
  return good && reader.at_end();
}

bool read_integer(JsonReader& reader, std::optional<std::uint64_t>& out) {
  std::string_view token;
  if (!reader.number(token)) {
    return false;
  }
  out = unsigned_integer(token);
  return out.has_value();
}

bool read_text(JsonReader& reader, std::string& out) {
  std::string_view token;
  std::string scratch;
  if (!reader.string(token)) {
    return false;
  }
  out = unescape(token, scratch);
  return true;
}

bool read_boolean(JsonReader& reader, std::optional<bool>& out) {
  std::string_view token;
  if (!reader.boolean(token)) {
    return false;
  }
  out = token == "true";
  return true;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text, const std::optional<Geometry>& geometry) {
  std::string magic;
  std::optional<std::uint64_t> version;
  std::optional<std::uint64_t> segment_size;
  const bool good = read_object(text, [&](std::string_view key, JsonReader& reader) {
    std::string_view ignored;
    return key == "magic"          ? read_text(reader, magic)
           : key == "version"      ? read_integer(reader, version)
           : key == "segment_size" ? read_integer(reader, segment_size)
                                   : reader.value(ignored);
  });
  if (!good || !version || !segment_size) {
    return bad_manifest("format.json is not an object of magic, version and segment_size");
  }
  if (magic != k_manifest_magic && !base::mutant("arena-manifest-magic")) {
    return bad_manifest(fmt::format("format.json names the magic \"{}\"", magic));
  }
  if (*version > k_newest_version && !base::mutant("arena-version")) {
    auto error = fail(ErrorCode::unsupported, "unsupported-format", "newer than supported");
    error.error().expected = Number::decimal(k_newest_version);
    error.error().actual = Number::decimal(*version);
    return error;
  }
  std::optional<Geometry> rule = geometry_of(static_cast<std::uint32_t>(*version));
  if (!rule) {
    return bad_manifest(fmt::format("format.json names the version {}", *version));
  }
  if (geometry && geometry->version == *version) {
    rule = geometry;
  }
  if (rule->segment_bytes != *segment_size && !base::mutant("arena-segment-size")) {
    auto error = fail(ErrorCode::damaged, "segment-size-mismatch",
                      "the segment size does not belong to the version");
    error.error().expected = Number::decimal(rule->segment_bytes);
    error.error().actual = Number::decimal(*segment_size);
    return error;
  }
  return Manifest{static_cast<std::uint32_t>(*version), *segment_size};
}

std::string manifest_text(const Manifest& manifest) {
  return fmt::format("{{\n  \"magic\": \"{}\",\n  \"version\": {},\n  \"segment_size\": {}\n}}",
                     k_manifest_magic, manifest.version, manifest.segment_size);
}

Result<StoreSchema> parse_schema(std::string_view text) {
  StoreSchema out;
  std::optional<std::uint64_t> version;
  std::optional<std::uint64_t> dimensions;
  std::optional<bool> encrypted;
  std::optional<bool> meaning;
  const bool good = read_object(text, [&](std::string_view key, JsonReader& reader) {
    std::string_view token;
    if (key == "embedding_space") {
      if (!reader.value(token)) {
        return false;
      }
      out.embedding_space.clear();
      append_compact(out.embedding_space, token);
      return true;
    }
    return key == "version"           ? read_integer(reader, version)
           : key == "dimensions"      ? read_integer(reader, dimensions)
           : key == "text_encoder"    ? read_text(reader, out.text_encoder)
           : key == "vector_encoder"  ? read_text(reader, out.vector_encoder)
           : key == "metric"          ? read_text(reader, out.metric)
           : key == "encrypted"       ? read_boolean(reader, encrypted)
           : key == "meaning_enabled" ? read_boolean(reader, meaning)
                                      : reader.value(token);
  });
  if (!good || !version) {
    return bad_schema("store.json is not an object with a version");
  }
  if (*version > k_newest_schema || *version < k_oldest_schema) {
    auto error = fail(ErrorCode::unsupported, "unsupported-schema",
                      "a schema that this build does not know");
    error.error().expected = Number::decimal(k_newest_schema);
    error.error().actual = Number::decimal(*version);
    return error;
  }
  if (!dimensions || *dimensions == 0 ||
      (*dimensions > k_max_dimensions && !base::mutant("arena-dimensions"))) {
    return bad_schema("store.json has no dimensions of 1 to 1000000");
  }
  if (!encrypted) {
    return bad_schema("store.json does not say whether the store is encrypted");
  }
  if (!meaning && *version == k_oldest_schema) {
    return bad_schema("store.json does not say whether meaning is enabled");
  }
  out.version = static_cast<std::uint32_t>(*version);
  out.dimensions = *dimensions;
  out.encrypted = *encrypted;
  out.meaning_enabled = meaning.value_or(true);
  return out;
}

std::string schema_text(const StoreSchema& schema) {
  const auto quoted = [](const std::string& text) {
    std::string out;
    base::append_json_text(out, text);
    return out;
  };
  return fmt::format(
      "{{\n  \"version\": {},\n  \"dimensions\": {},\n  \"text_encoder\": {},\n"
      "  \"vector_encoder\": {},\n  \"metric\": {},\n  \"encrypted\": {},\n"
      "  \"meaning_enabled\": {},\n  \"embedding_space\": {}\n}}",
      schema.version, schema.dimensions, quoted(schema.text_encoder), quoted(schema.vector_encoder),
      quoted(schema.metric), schema.encrypted, schema.meaning_enabled, schema.embedding_space);
}

bool valid_generation_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return name.starts_with(k_generation_prefix) && std::all_of(name.begin(), name.end(), plain);
}

std::optional<std::uint32_t> segment_number(std::string_view name) {
  constexpr std::string_view k_prefix = "seg_";
  constexpr std::string_view k_suffix = ".bin";
  if (!name.starts_with(k_prefix) || !name.ends_with(k_suffix) ||
      name.size() <= k_prefix.size() + k_suffix.size()) {
    return std::nullopt;
  }
  const std::string_view digits =
      name.substr(k_prefix.size(), name.size() - k_prefix.size() - k_suffix.size());
  if (digits.size() > 1 && digits[0] == '0' && !base::mutant("arena-leading-zero")) {
    return std::nullopt;
  }
  std::uint32_t number = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return number;
}

std::string segment_name(std::uint32_t number) { return fmt::format("seg_{}.bin", number); }

}  // namespace varve::arena
