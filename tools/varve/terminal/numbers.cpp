// SPDX-License-Identifier: MIT OR Apache-2.0
#include "terminal/numbers.hpp"

#include <fmt/format.h>

#include <array>

#include "base/json_writer.hpp"

namespace varve::terminal {

std::string grouped(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) {
      out += ',';
    }
    out += digits[i];
  }
  return out;
}

std::string human_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> k_units{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < k_units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 99.95 ? 0 : 1, k_units[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds >= 120) {
    const auto whole = static_cast<std::uint64_t>(seconds);
    return whole >= 7200 ? fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60)
                         : fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  return seconds < 1 ? fmt::format("{:.2g} s", seconds) : fmt::format("{:.1f} s", seconds);
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) {
    return fmt::format("1 {}", one);
  }
  return many.empty() ? fmt::format("{} {}s", grouped(count), one)
                      : fmt::format("{} {}", grouped(count), many);
}

std::string rfc3339(std::int64_t microseconds) {
  std::string out;
  base::append_rfc3339(out, microseconds);
  return out;
}

}  // namespace varve::terminal
