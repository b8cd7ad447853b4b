// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/event_line.hpp"

#include <charconv>

#include "base/text_coding.hpp"
#include "jss/dag_cbor_encode.hpp"
#include "jss/layout.hpp"

namespace varve::jss {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr const char* k_malformed = "malformed JSON";

// An integer, or a string that holds one (--int64 string). Nothing if it is neither or too large.
template <class Integer>
const char* take_integer(ondemand::value value, Integer& out) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && (token.back() == ' ' || token.back() == '\t' || token.back() == '\r')) {
    token.remove_suffix(1);
  }
  std::string_view text;
  if (token.starts_with('"')) {
    if (value.get_string().get(text) != simdjson::SUCCESS) {
      return k_malformed;
    }
    token = text;
  }
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), out);
  return error == std::errc{} && end == token.data() + token.size() && !token.empty()
             ? nullptr
             : "no integer of 64 bits";
}

// The bytes of {"$bytes": "<base64>"}.
const char* take_bytes(ondemand::value value, base::Bytes& out) {
  out.clear();
  if (const char* wrong = encode_dag_cbor(value, out)) {
    return wrong;
  }
  const unsigned major = base::u8(out[0]) >> 5;
  const unsigned info = base::u8(out[0]) & 31;
  if (major != 2) {
    return "no {\"$bytes\": ...}";
  }
  const std::size_t head = info < 24 ? 1 : 1 + (std::size_t{1} << (info - 24));
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(head));
  return nullptr;
}

bool is_null(ondemand::value value) {
  bool null = false;
  return value.is_null().get(null) == simdjson::SUCCESS && null;
}

}  // namespace

// Text, or bytes where it is not UTF-8.
const char* EventLineParser::take_text(Value value, std::string& memory, std::string_view& out) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    memory = text;
  } else {
    base::Bytes bytes;
    if (const char* wrong = take_bytes(value, bytes)) {
      return wrong;
    }
    memory = base::as_text(bytes);
  }
  out = memory;
  return nullptr;
}

const char* EventLineParser::take_kind(Value value) {
  has_kind_ = true;
  std::string_view name;
  if (value.get_string().get(name) != simdjson::SUCCESS) {
    return take_integer(value, event_.kind);
  }
  for (std::uint8_t kind = k_min_kind; kind <= k_max_kind; ++kind) {
    if (name == k_kind_names[kind]) {
      event_.kind = kind;
      return nullptr;
    }
  }
  return "no kind has that name";
}

const char* EventLineParser::take_record(Value value) {
  if (is_null(value)) {
    return nullptr;
  }
  if (has_payload_) {
    return "a row has a record or a payload, not both";
  }
  has_payload_ = true;
  payload_.clear();
  const char* wrong = encode_dag_cbor(value, payload_);
  event_.payload = payload_;
  return wrong;
}

const char* EventLineParser::take_payload(Value value) {
  if (is_null(value)) {
    return nullptr;
  }
  if (has_payload_) {
    return "a row has a record or a payload, not both";
  }
  has_payload_ = true;
  const char* wrong = take_bytes(value, payload_);
  event_.payload = payload_;
  return wrong;
}

const char* EventLineParser::take(std::string_view key, Value value) {
  if (key == "seq") {
    if (is_null(value)) {
      return nullptr;
    }
    const char* wrong = take_integer(value, event_.seq);
    return wrong == nullptr && event_.seq == 0 ? "0 is never a row" : wrong;
  }
  if (key == "witnessed_at") return take_integer(value, witnessed_at_.emplace());
  if (key == "indexed_at") return take_integer(value, event_.indexed_at);
  if (key == "kind") return take_kind(value);
  if (key == "did") {
    has_did_ = true;
    return take_text(value, did_, event_.did);
  }
  if (key == "collection") return take_text(value, collection_, event_.collection);
  if (key == "rkey") return take_text(value, rkey_, event_.rkey);
  if (key == "rev") return take_text(value, rev_, event_.rev);
  if (key == "record") return take_record(value);
  if (key == "payload") return take_payload(value);
  return key == "cid" || key == "at" ? nullptr : "no such key";
}

Result<Event> EventLineParser::parse(std::string_view line, std::int64_t default_time) {
  event_ = Event{};
  has_kind_ = has_did_ = has_payload_ = false;
  witnessed_at_.reset();
  padded_.assign(line);
  padded_.append(simdjson::SIMDJSON_PADDING, ' ');
  const auto wrong_line = [](std::string message) {
    return fail(ErrorCode::invalid_argument, "line", std::move(message));
  };
  ondemand::document document;
  ondemand::object members;
  if (parser_.iterate(padded_.data(), line.size(), padded_.size()).get(document) !=
          simdjson::SUCCESS ||
      document.get_object().get(members) != simdjson::SUCCESS) {
    return wrong_line("no JSON object");
  }
  for (auto member : members) {
    std::string_view key;
    Value value;
    if (member.unescaped_key().get(key) != simdjson::SUCCESS ||
        member.value().get(value) != simdjson::SUCCESS) {
      return wrong_line(k_malformed);
    }
    // For messages only; cut so that a hostile key does not fill them.
    const std::string name(key.substr(0, 32));
    if (const char* wrong = take(key, value)) {
      return wrong_line("\"" + name + "\": " + wrong);
    }
  }
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return wrong_line("bytes behind the object");
  }
  if (!has_kind_ || !has_did_) {
    return wrong_line(has_kind_ ? "no \"did\"" : "no \"kind\"");
  }
  event_.witnessed_at = witnessed_at_.value_or(default_time);
  return event_;
}

}  // namespace varve::jss
