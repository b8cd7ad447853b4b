// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/payload_line.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "arena/json_text.hpp"
#include "base/text_coding.hpp"

namespace varve::arena {

namespace {

constexpr std::array<std::string_view, 5> k_derived_keys = {"frame", "seq", "raw_len", "comp_len",
                                                            "at"};

std::unexpected<Error> bad_line(std::string message) {
  return fail(ErrorCode::invalid_argument, "line", std::move(message));
}

// For messages; cut so that a hostile key does not fill them.
std::string shown(std::string_view key) { return "\"" + std::string(key.substr(0, 32)) + "\""; }

// Calls take(key, value_token) -> Result<void> for each member of the object.
template <class Take>
Result<void> each_member(std::string_view text, Take take) {
  JsonReader reader(text);
  Result<void> taken;
  std::string scratch;
  const bool whole = reader.object([&](std::string_view key_token) {
    std::string_view value;
    if (!reader.value(value)) {
      return false;
    }
    taken = take(unescape(key_token, scratch), value);
    return taken.has_value();
  });
  if (!taken) {
    return taken;
  }
  if (!whole || !reader.at_end()) {
    return bad_line("no JSON object, or malformed at byte " + std::to_string(reader.position()));
  }
  return {};
}

Result<base::Bytes> bytes_of(std::string_view token,
                             std::optional<base::Bytes> (*decode)(std::string_view)) {
  std::string scratch;
  if (token.starts_with('"')) {
    if (auto bytes = decode(unescape(token, scratch))) {
      return *std::move(bytes);
    }
  }
  return bad_line("the payload's bytes are no text of that coding");
}

}  // namespace

Result<void> PayloadLineParser::take_mutations(std::string_view array_token) {
  text_ = k_txn2_magic;
  append_compact(text_, array_token);
  // Only what the format's own parser takes; the store's rules are checked where it is appended.
  if (const auto fault = decode_transaction(base::as_bytes(text_), {}, mutations_)) {
    return bad_line(std::string("mutations: ") + fault->what);
  }
  encoded_.clear();
  encode_transaction(mutations_, encoded_);
  const base::ByteSpan bytes = base::as_bytes(encoded_);
  payload_.assign(bytes.begin(), bytes.end());
  return {};
}

Result<void> PayloadLineParser::take_payload(std::string_view object_token) {
  std::string_view mutations;
  std::string_view bytes;
  std::string_view form;
  VARVE_TRY(
      each_member(object_token, [&](std::string_view key, std::string_view value) -> Result<void> {
        if (key == "txn") {
          form = value;
        } else if (key == "mutations") {
          mutations = value;
        } else if (key == "$bytes") {
          bytes = value;
        } else if (key != "encrypted") {
          return bad_line("no key " + shown(key) + " is known in a payload");
        }
        return {};
      }));
  if (mutations.empty() == bytes.empty()) {
    return bad_line("a payload has \"mutations\" or \"$bytes\"");
  }
  if (bytes.empty()) {
    return form.empty() || form == "2"
               ? take_mutations(mutations)
               : bad_line("only transactions of form 2 can be made of \"mutations\"");
  }
  VARVE_ASSIGN(payload_, bytes_of(bytes, base::from_base64));
  return {};
}

Result<base::ByteSpan> PayloadLineParser::parse(std::string_view line) {
  bool has_payload = false;
  VARVE_TRY(each_member(line, [&](std::string_view key, std::string_view value) -> Result<void> {
    if (std::ranges::find(k_derived_keys, key) != k_derived_keys.end()) {
      return {};
    }
    if (key != "payload" && key != "hex") {
      return bad_line("no key " + shown(key) + " is known");
    }
    if (has_payload) {
      return bad_line("a second payload");
    }
    has_payload = true;
    if (key == "payload") {
      return take_payload(value);
    }
    VARVE_ASSIGN(payload_, bytes_of(value, base::from_hex));
    return {};
  }));
  if (!has_payload) {
    return bad_line("no \"payload\"");
  }
  return base::ByteSpan(payload_);
}

}  // namespace varve::arena
