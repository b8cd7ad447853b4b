// SPDX-License-Identifier: MIT OR Apache-2.0
// Progress on stderr: a line that rewrites itself on a terminal, or JSON Lines. By time, never by
// count, so that it costs nothing and never floods.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "terminal/stream.hpp"

namespace varve::terminal {

enum class ProgressMode : unsigned char { never, line, json };

// "auto" shows the line only where stderr is a terminal.
ProgressMode progress_mode(std::string_view when, bool error_is_terminal);

class Progress {
 public:
  // `what` names the work: "verify seg_0.jss".
  Progress(OutputStream& err, ProgressMode mode, std::string verb, std::string path);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Bytes done and bytes to do. From one thread at a time.
  void update(std::uint64_t done, std::uint64_t total);
  // Rows done, where nobody knows how many there will be.
  void update_rows(std::uint64_t rows);
  // Removes the line.
  void finish();
  double elapsed_s() const;

 private:
  using Clock = std::chrono::steady_clock;
  // True if it is time to say something again.
  bool due();
  void show(std::string line);

  OutputStream& err_;
  ProgressMode mode_;
  std::string verb_;
  std::string path_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
  bool line_shown_ = false;
};

}  // namespace varve::terminal
