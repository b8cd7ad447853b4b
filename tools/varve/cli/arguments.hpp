// SPDX-License-Identifier: MIT OR Apache-2.0
// What the user typed behind a verb, and typed access to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/scan.hpp"

namespace varve::cli {

struct Arguments {
  std::vector<std::string> operands;
  std::map<std::string, std::vector<std::string>, std::less<>> options;  // a flag has the value "1"

  bool has(std::string_view name) const { return options.find(name) != options.end(); }
  // The (last) value, or `otherwise`.
  std::string value(std::string_view name, std::string_view otherwise = {}) const;
  std::vector<std::string> values(std::string_view name) const;
};

// Parsers of option values. Each gives ErrorCode::invalid_argument with a message that names the
// option and says what was expected.

Result<std::uint64_t> parse_count(std::string_view option, std::string_view text);
// "4096", "64K", "1G": powers of 1024; a trailing B or iB is taken too.
Result<std::uint64_t> parse_size(std::string_view option, std::string_view text);
// "2026-07-04T12:00:00Z", with a fraction or an offset too; "2026-07-04"; or microseconds since
// 1970.
Result<std::int64_t> parse_time(std::string_view option, std::string_view text);
// "A..B", "A..", "..B" or "A".
struct SeqRange {
  std::optional<std::uint64_t> first, last;
};
Result<SeqRange> parse_seq(std::string_view text);
PayloadForm parse_payload_form(std::string_view text);  // one of the option's choices

// "FILE@OFFSET", "@OFFSET", "FILE": the offset decimal or 0x-hexadecimal. A name that merely has an
// '@' in it stays whole.
struct FileAndOffset {
  std::string file;
  std::optional<std::uint64_t> offset;
};
FileAndOffset parse_file_and_offset(std::string_view text);

}  // namespace varve::cli
