// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/names.hpp"

#include "jss/layout.hpp"

namespace varve::jss {

namespace {
constexpr std::string_view k_digits = "0123456789abcdefghijklmnopqrstuvwxyz";
}  // namespace

std::optional<std::string> segment_name(std::uint64_t number) {
  if (number > k_max_segment_number) {
    return std::nullopt;
  }
  std::string digits(k_name_digits, '0');
  for (std::size_t i = k_name_digits; number != 0; number /= k_digits.size()) {
    digits[--i] = k_digits[number % k_digits.size()];
  }
  std::string name(k_name_prefix);
  name += digits;
  name += k_name_suffix;
  return name;
}

std::optional<std::uint64_t> segment_number(std::string_view name) {
  if (name.size() != k_name_prefix.size() + k_name_digits + k_name_suffix.size() ||
      !name.starts_with(k_name_prefix) || !name.ends_with(k_name_suffix)) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  for (const char c : name.substr(k_name_prefix.size(), k_name_digits)) {
    const std::size_t digit = k_digits.find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    number = number * k_digits.size() + digit;
  }
  return number;
}

bool is_temporary_name(std::string_view name) {
  return name.ends_with(k_temporary_suffix) &&
         segment_number(name.substr(0, name.size() - k_temporary_suffix.size())).has_value();
}

}  // namespace varve::jss
