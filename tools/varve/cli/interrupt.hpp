// SPDX-License-Identifier: MIT OR Apache-2.0
// Ctrl-C and SIGTERM. Reading verbs have nothing to put in order and leave at once, also in the
// middle of a long system call; a verb that writes can ask to be told instead.
#pragma once

#include <string>

namespace varve::cli {

// From now on SIGINT and SIGTERM end the process promptly with a message, exit code 130 or 143; a
// closed pipe, or a file beyond its limit, is an error of the write call and not a signal. Called
// once by main().
void set_up_signals();

// While one exists, the first SIGINT or SIGTERM is only noted (and interrupts a blocking read); the
// second ends the process.
class SignalGuard {
 public:
  SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  ~SignalGuard();
  // The signal that came, or 0.
  static int pending();
};

// A file that is removed when a signal ends the process while this exists: the staging file of a
// long output. One at a time.
class RemoveWhenInterrupted {
 public:
  explicit RemoveWhenInterrupted(std::string path);
  RemoveWhenInterrupted(const RemoveWhenInterrupted&) = delete;
  RemoveWhenInterrupted& operator=(const RemoveWhenInterrupted&) = delete;
  ~RemoveWhenInterrupted();

 private:
  std::string path_;
};

}  // namespace varve::cli
