// SPDX-License-Identifier: MIT OR Apache-2.0
// Lines from a pipe, one at a time, in bounded memory, with notice when the input pauses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "varve/result.hpp"

namespace varve::cli {

class LineReader {
 public:
  // Lines longer than `most_line_bytes` are ErrorCode::limit. The descriptor stays the caller's.
  LineReader(int descriptor, std::uint64_t most_line_bytes)
      : descriptor_(descriptor), most_line_bytes_(most_line_bytes) {}

  enum class Kind : unsigned char {
    line,
    idle,         // nothing came for `idle_ms`
    interrupted,  // a signal came while waiting
    end,
  };
  struct Event {
    Kind kind = Kind::end;
    std::string_view line;  // without its line feed; good until the next call
  };
  Result<Event> next(int idle_ms);
  std::uint64_t line_number() const { return line_number_; }  // of the last line, from 1

 private:
  Result<Kind> fill(int idle_ms);  // `line` stands for "there is more"

  int descriptor_;
  std::uint64_t most_line_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the next line in buffer_
  std::size_t scanned_ = 0;  // up to here buffer_ has no line feed
  std::uint64_t line_number_ = 0;
  bool ended_ = false;
};

}  // namespace varve::cli
