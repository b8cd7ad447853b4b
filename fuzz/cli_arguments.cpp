// SPDX-License-Identifier: MIT OR Apache-2.0
// The words of a command line (separated by line feeds) through the parser of the verb that the
// first byte says, and the parsers of single values: a word that is refused is refused with a text.
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/parse.hpp"

namespace {

using namespace varve;

void check_values(const std::string& text) {
  (void)cli::parse_count("--limit", text);
  (void)cli::parse_time("--since", text);
  if (const auto size = cli::parse_size("--max-memory", text);
      !size && size.error().text().empty()) {
    std::abort();
  }
  if (const auto range = cli::parse_seq(text);
      range && range->first && range->last && *range->first > *range->last) {
    std::abort();
  }
  (void)cli::parse_file_and_offset(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  std::vector<std::string> words(1);
  for (std::size_t i = 1; i < size && words.size() < 64; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back().push_back(static_cast<char>(data[i]));
    }
  }
  for (const cli::Command* command : cli::commands()) {
    const auto parsed = cli::parse(*command, formats(), words);
    if (!parsed &&
        (parsed.error().code != ErrorCode::invalid_argument || parsed.error().text().empty())) {
      std::abort();
    }
  }
  for (const std::string& word : words) {
    check_values(word);
  }
  return 0;
}
