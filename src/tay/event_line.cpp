// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/event_line.hpp"

#include <limits>
#include <string>

#include "base/text_coding.hpp"
#include "tay/event.hpp"
#include "tay/json_encoder.hpp"

namespace varve::tay {

namespace {

using simdjson::dom::element;

std::unexpected<Error> bad_line(std::string message) {
  return fail(ErrorCode::invalid_argument, "line", std::move(message));
}

template <class Integer>
Result<Integer> integer(std::string_view key, element value) {
  std::uint64_t number = 0;
  if (value.get_uint64().get(number) != simdjson::SUCCESS ||
      number > std::numeric_limits<Integer>::max()) {
    return bad_line("\"" + std::string(key) + "\" is no number that fits");
  }
  return static_cast<Integer>(number);
}

Result<std::uint8_t> type_of(element value) {
  std::string_view name;
  if (value.get_string().get(name) != simdjson::SUCCESS) {
    return integer<std::uint8_t>("type", value);
  }
  const std::uint8_t type = event_type_of(name);
  if (type == 0) {
    return bad_line("no event type has the name \"" + std::string(name.substr(0, 32)) + "\"");
  }
  return type;
}

// The bytes of {"$bytes":"<base64>"}.
Result<Bytes> bytes_of(element value) {
  std::string_view text;
  simdjson::dom::object members;
  if (value.get_object().get(members) == simdjson::SUCCESS && members.size() == 1 &&
      members["$bytes"].get_string().get(text) == simdjson::SUCCESS) {
    if (auto bytes = base::from_base64(text)) {
      return *std::move(bytes);
    }
  }
  return bad_line("\"payload\" is not {\"$bytes\":\"<base64>\"}");
}

}  // namespace

Result<void> EventLineParser::take(std::string_view key, element value, EventLine& out) {
  if (key == "seq") {
    VARVE_ASSIGN(out.sequence, integer<std::uint64_t>(key, value));
  } else if (key == "type") {
    VARVE_ASSIGN(out.type, type_of(value));
  } else if (key == "schema") {
    VARVE_ASSIGN(out.schema, integer<std::uint8_t>(key, value));
  } else if (key == "event" || key == "payload") {
    if (value.is_null()) {
      return {};
    }
    if (has_payload_) {
      return bad_line("a record has an event or a payload, not both");
    }
    has_payload_ = true;
    if (key == "event") {
      return JsonEncoder(payload_).element(value, true);
    }
    VARVE_ASSIGN(payload_, bytes_of(value));
  } else if (key != "at") {
    return bad_line("no key \"" + std::string(key.substr(0, 32)) + "\" is known");
  }
  return {};
}

Result<EventLine> EventLineParser::parse(std::string_view json) {
  EventLine out;
  payload_.clear();
  has_payload_ = false;
  simdjson::dom::object members;
  element root;
  if (const auto error = parser_.parse(json.data(), json.size()).get(root)) {
    return bad_line(std::string("no JSON that can be taken: ") + simdjson::error_message(error));
  }
  if (root.get_object().get(members) != simdjson::SUCCESS) {
    return bad_line("no JSON object");
  }
  bool has_type = false;
  bool has_event = false;
  for (const auto [key, value] : members) {
    has_type = has_type || key == "type";
    has_event = has_event || (key == "event" && !value.is_null());
    VARVE_TRY(take(key, value, out));
  }
  if (!has_type || !has_payload_) {
    return bad_line(has_type ? "no \"event\" and no \"payload\"" : "no \"type\"");
  }
  if (has_event && out.type > k_event_types) {
    return bad_line("the fields of this type are not known; give its \"payload\" as bytes");
  }
  out.payload = payload_;
  return out;
}

}  // namespace varve::tay
