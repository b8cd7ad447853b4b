// SPDX-License-Identifier: MIT OR Apache-2.0
// A small JSON value with object keys in the order they were added: for reports, not for records
// (records are written straight from batches by base/json_writer.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "varve/result.hpp"

namespace varve {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool v) : value_(v) {}
  // 32-bit integers stay numbers where 64-bit ones are to be printed as strings.
  Json(int v) : value_(Small{v}) {}
  Json(std::int64_t v) : value_(v) {}
  Json(std::uint32_t v) : value_(Small{v}) {}
  Json(std::uint64_t v) : value_(v) {}
  Json(double v) : value_(v) {}
  Json(std::string v) : value_(std::move(v)) {}
  Json(std::string_view v) : value_(std::string(v)) {}
  Json(const char* v) : value_(std::string(v)) {}
  Json(Array v) : value_(std::move(v)) {}
  Json(Object v) : value_(std::move(v)) {}
  Json(Number v);  // null, an integer for decimal style, "0x..." text for the others

  // Text that is JSON already (a rendered record): written as it stands, not looked into.
  static Json raw(std::string json_text) {
    Json json;
    json.value_ = Raw{std::move(json_text)};
    return json;
  }
  static Json object() { return Json(Object{}); }
  static Json array() { return Json(Array{}); }

  // Appends a member (keys are not checked for repetition); makes an object of a null.
  Json& set(std::string key, Json value);
  // Appends an element; makes an array of a null.
  Json& push(Json value);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const std::string* as_text() const { return std::get_if<std::string>(&value_); }
  const std::string* as_raw() const {
    const Raw* raw = std::get_if<Raw>(&value_);
    return raw != nullptr ? &raw->text : nullptr;
  }
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  const std::int64_t* as_int64() const {  // also for what was made from a 32-bit integer
    const Small* small = std::get_if<Small>(&value_);
    return small != nullptr ? &small->value : std::get_if<std::int64_t>(&value_);
  }
  const std::uint64_t* as_uint64() const { return std::get_if<std::uint64_t>(&value_); }
  const double* as_double() const { return std::get_if<double>(&value_); }
  // The member of that name, or nullptr.
  const Json* find(std::string_view key) const;

  bool is_32_bit() const { return std::holds_alternative<Small>(value_); }

  // Appends the compact text. Text that is not UTF-8 is written as {"$bytes":"..."}.
  void write(std::string& out, bool int64_as_string = false) const;
  // Indented by two spaces a level.
  void write_pretty(std::string& out, bool int64_as_string = false, int depth = 0) const;
  std::string text(bool int64_as_string = false) const;

 private:
  struct Raw {
    std::string text;
  };
  struct Small {
    std::int64_t value;
  };
  std::variant<std::monostate, bool, Small, std::int64_t, std::uint64_t, double, std::string, Array,
               Object, Raw>
      value_;
};

}  // namespace varve
