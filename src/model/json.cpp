// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/json.hpp"

#include <cmath>

#include "base/json_writer.hpp"

namespace varve {

Json::Json(Number v) {
  if (v.style == NumberStyle::decimal) {
    value_ = v.value;
  } else if (v.present()) {
    value_ = to_text(v);
  }
}

Json& Json::set(std::string key, Json value) {
  if (is_null()) {
    value_ = Object{};
  }
  std::get<Object>(value_).emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) {
    value_ = Array{};
  }
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

const Json* Json::find(std::string_view key) const {
  if (const Object* members = as_object()) {
    for (const auto& [name, value] : *members) {
      if (name == key) {
        return &value;
      }
    }
  }
  return nullptr;
}

namespace {

template <class T>
void write_integer(std::string& out, T value, bool as_string) {
  if (as_string) out += '"';
  base::append_integer(out, value);
  if (as_string) out += '"';
}

// The scalar forms; false for arrays and objects.
bool write_scalar(const Json& json, std::string& out, bool int64_as_string) {
  if (json.is_null()) {
    out += "null";
  } else if (const bool* b = json.as_bool()) {
    out += *b ? "true" : "false";
  } else if (const std::int64_t* i = json.as_int64()) {
    write_integer(out, *i, int64_as_string && !json.is_32_bit());
  } else if (const std::uint64_t* u = json.as_uint64()) {
    write_integer(out, *u, int64_as_string);
  } else if (const double* d = json.as_double()) {
    if (std::isfinite(*d)) {
      base::append_double(out, *d);
    } else {
      out += "null";
    }
  } else if (const std::string* s = json.as_text()) {
    base::append_json_text_or_bytes(out, *s);
  } else if (const std::string* raw = json.as_raw()) {
    out += *raw;
  } else {
    return false;
  }
  return true;
}

}  // namespace

void Json::write(std::string& out, bool int64_as_string) const {
  if (write_scalar(*this, out, int64_as_string)) {
    return;
  }
  const char* separator = "";
  if (const Array* elements = as_array()) {
    out += '[';
    for (const Json& element : *elements) {
      out += std::exchange(separator, ",");
      element.write(out, int64_as_string);
    }
    out += ']';
    return;
  }
  out += '{';
  for (const auto& [key, value] : std::get<Object>(value_)) {
    out += std::exchange(separator, ",");
    base::append_json_text_or_bytes(out, key);
    out += ':';
    value.write(out, int64_as_string);
  }
  out += '}';
}

void Json::write_pretty(std::string& out, bool int64_as_string, int depth) const {
  if (write_scalar(*this, out, int64_as_string)) {
    return;
  }
  const Array* elements = as_array();
  const Object* members = as_object();
  if ((elements != nullptr && elements->empty()) || (members != nullptr && members->empty())) {
    out += elements != nullptr ? "[]" : "{}";
    return;
  }
  const std::string indent(static_cast<std::size_t>(depth + 1) * 2, ' ');
  const char* separator = "\n";
  out += elements != nullptr ? '[' : '{';
  if (elements != nullptr) {
    for (const Json& element : *elements) {
      out += std::exchange(separator, ",\n");
      out += indent;
      element.write_pretty(out, int64_as_string, depth + 1);
    }
  } else {
    for (const auto& [key, value] : *members) {
      out += std::exchange(separator, ",\n");
      out += indent;
      base::append_json_text_or_bytes(out, key);
      out += ": ";
      value.write_pretty(out, int64_as_string, depth + 1);
    }
  }
  out += '\n';
  out.append(static_cast<std::size_t>(depth) * 2, ' ');
  out += elements != nullptr ? ']' : '}';
}

std::string Json::text(bool int64_as_string) const {
  std::string out;
  write(out, int64_as_string);
  return out;
}

}  // namespace varve
