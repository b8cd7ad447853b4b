// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/arguments.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <limits>

#include "base/whole_number.hpp"

namespace varve::cli {

namespace {

std::unexpected<Error> bad(std::string_view option, std::string_view text, std::string_view want) {
  return fail(ErrorCode::invalid_argument, std::string(option),
              fmt::format("--{} '{}': {}", option, text, want));
}

// Takes exactly `digits` digits from the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) {
    return std::nullopt;
  }
  const auto value = base::whole_number<unsigned>(text.substr(0, digits));
  if (!value) {
    return std::nullopt;
  }
  text.remove_prefix(digits);
  return static_cast<int>(*value);
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> take_date(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date).time_since_epoch().count();
}

// The fraction of a second in microseconds; finer digits are cut off.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!take(text, '.')) {
    return 0;
  }
  std::int64_t microseconds = 0;
  std::int64_t weight = 100'000;
  bool any = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    microseconds += (text.front() - '0') * weight;
    weight /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? std::optional(microseconds) : std::nullopt;
}

// "Z" or "+hh:mm", in seconds east of Greenwich.
std::optional<std::int64_t> take_offset(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) {
    return 0;
  }
  const int sign = text.starts_with('-') ? -1 : 1;
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hours = take_digits(text, 2);
  if (!hours || !take(text, ':')) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

std::optional<std::int64_t> rfc3339_us(std::string_view text) {
  const auto days = take_date(text);
  if (!days) return std::nullopt;
  std::int64_t seconds = *days * 86'400;
  if (text.empty()) {
    return seconds * 1'000'000;
  }
  if (!take(text, 'T') && !take(text, 't') && !take(text, ' ')) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  seconds += *hour * 3600 + *minute * 60 + *second - *offset;
  return seconds * 1'000'000 + *fraction;
}

}  // namespace

std::string Arguments::value(std::string_view name, std::string_view otherwise) const {
  const auto found = options.find(name);
  return std::string(found == options.end() ? otherwise : found->second.back());
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::vector<std::string>() : found->second;
}

Result<std::uint64_t> parse_count(std::string_view option, std::string_view text) {
  const auto value = base::whole_number<std::uint64_t>(text);
  if (!value) {
    return bad(option, text, "a whole number is wanted");
  }
  return *value;
}

Result<std::uint64_t> parse_size(std::string_view option, std::string_view text) {
  constexpr std::string_view k_want = "a size is wanted: 4096, 64K, 512M, 2G";
  std::string_view digits = text;
  for (const std::string_view ending : {"iB", "B"}) {
    if (digits.ends_with(ending)) {
      digits.remove_suffix(ending.size());
      break;
    }
  }
  unsigned shift = 0;
  if (!digits.empty()) {
    const std::size_t unit = std::string_view("KkMmGgTt").find(digits.back());
    if (unit != std::string_view::npos) {
      shift = static_cast<unsigned>(unit / 2 + 1) * 10;
      digits.remove_suffix(1);
    }
  }
  const auto value = base::whole_number<std::uint64_t>(digits);
  if (!value || *value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return bad(option, text, k_want);
  }
  return *value << shift;
}

Result<std::int64_t> parse_time(std::string_view option, std::string_view text) {
  if (const auto microseconds = base::whole_number<std::int64_t>(text)) {
    return *microseconds;
  }
  if (const auto microseconds = rfc3339_us(text)) {
    return *microseconds;
  }
  return bad(option, text,
             "a time is wanted: 2026-07-04T12:00:00Z, 2026-07-04, or microseconds since 1970");
}

Result<SeqRange> parse_seq(std::string_view text) {
  constexpr std::string_view k_want = "a range is wanted: 5..9, 5.., ..9, or 5";
  SeqRange range;
  const std::size_t dots = text.find("..");
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = dots == std::string_view::npos ? text : text.substr(dots + 2);
  if (!first.empty() && !(range.first = base::whole_number<std::uint64_t>(first))) {
    return bad("seq", text, k_want);
  }
  if (!last.empty() && !(range.last = base::whole_number<std::uint64_t>(last))) {
    return bad("seq", text, k_want);
  }
  if (!range.first && !range.last) {
    return bad("seq", text, k_want);
  }
  if (range.first && range.last && *range.first > *range.last) {
    return bad("seq", text, "the range ends before it begins");
  }
  return range;
}

PayloadForm parse_payload_form(std::string_view text) {
  constexpr std::array<std::string_view, 5> k_names{"json", "base64", "hex", "sha256", "none"};
  for (std::size_t i = 0; i < k_names.size(); ++i) {
    if (text == k_names[i]) {
      return static_cast<PayloadForm>(i);
    }
  }
  return PayloadForm::json;
}

FileAndOffset parse_file_and_offset(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view digits = text.substr(at + 1);
    const auto offset = digits.starts_with("0x")
                            ? base::whole_number<std::uint64_t>(digits.substr(2), 16)
                            : base::whole_number<std::uint64_t>(digits);
    if (offset) {
      return {std::string(text.substr(0, at)), offset};
    }
  }
  return {std::string(text), std::nullopt};
}

}  // namespace varve::cli
