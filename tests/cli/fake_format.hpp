// SPDX-License-Identifier: MIT OR Apache-2.0
// Two formats that exist only in tests, so that the program can be tried without any real one, and
// the program run in-process over them.
//
// `lines`: a file that begins with "LINES 1\n", then one record a line: "<time_us> <text>"; the
// sequence number is the line's number from 1. "!..." is a damaged record; a last line without line
// feed is torn; "LINES 2" is an unknown version. "throw" in the first line throws an exception; a
// scan that reaches the text "interrupt" raises SIGINT. `bare`: a file that begins with "BARE\n";
// no sequence numbers, no times, no writing.
#pragma once

#include <string>
#include <vector>

#include "tests/support.hpp"
#include "varve/store.hpp"

namespace varve::test {

const Format& lines_format();
const Format& bare_format();
std::span<const Format* const> fake_formats();

// Runs `varve ARGUMENTS` in this process over the two formats.
RunResult run_fake(const std::vector<std::string>& arguments, const std::string& input = {});
// The same over the real formats: as run_tool() of the built program, without a process.
RunResult run_real(const std::vector<std::string>& arguments, const std::string& input = {});

}  // namespace varve::test
