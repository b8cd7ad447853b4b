// SPDX-License-Identifier: MIT OR Apache-2.0
// stdout and stderr: buffered, with what happens on a closed pipe or a full disk in one place.
#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "output/byte_sink.hpp"

namespace varve::terminal {

class OutputStream final : public output::ByteSink {
 public:
  // `descriptor` stays the caller's.
  explicit OutputStream(int descriptor) : descriptor_(descriptor) {}
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;
  ~OutputStream() override;

  // False once the reader has closed the pipe: stop producing. Errors come back once from here
  // and are kept for finish().
  Result<bool> write(std::string_view bytes) override;
  // For texts whose fate is only looked at in the end.
  void print(std::string_view text) { std::ignore = write(text); }
  void flush();
  // Flushes; the error that stopped the output, if any. A closed pipe is none.
  Result<void> finish();
  bool closed_by_reader() const { return closed_; }
  bool usable() const { return !closed_ && failed_errno_ == 0; }
  int descriptor() const { return descriptor_; }

 private:
  void write_now(std::string_view bytes);

  int descriptor_;
  std::string buffer_;
  bool closed_ = false;
  int failed_errno_ = 0;
};

bool is_terminal(int descriptor);
// Columns of the terminal; 100 where there is none.
int terminal_width(int descriptor);

}  // namespace varve::terminal
