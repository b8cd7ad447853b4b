// SPDX-License-Identifier: MIT OR Apache-2.0
// One connected socket with limits of time. Each wait ends when the peer is ready, the time is
// over, or the server's signal comes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/posix_calls.hpp"
#include "serve/http.hpp"

namespace varve::serve {

// A signal to any number of waiting threads: once raised, it stays.
class Signal {
 public:
  Signal();
  bool valid() const { return descriptor_.valid(); }
  void raise();
  bool raised() const { return raised_.load(std::memory_order_acquire); }
  int descriptor() const { return descriptor_.get(); }  // readable once raised

 private:
  io::Descriptor descriptor_;
  std::atomic<bool> raised_ = false;
};

enum class Wait : std::uint8_t { ready, timed_out, signalled, gone };

class HttpSocket {
 public:
  using Duration = std::chrono::milliseconds;

  // `descriptor`: non-blocking. `abort` ends every wait.
  HttpSocket(io::Descriptor descriptor, const Signal& abort)
      : descriptor_(std::move(descriptor)), abort_(abort) {}

  // Waits for bytes (or the peer's end). `signal` ends the wait as `abort` does; may be null.
  Wait wait_readable(Duration timeout, const Signal* signal = nullptr) const;
  Wait wait_writable(Duration timeout) const;

  // Reads what is there, at most `max` bytes, behind `out`. ready: at least a byte came; timed_out:
  // nothing is there now; gone: the peer has ended or the connection is broken.
  Wait read_available(std::string& out, std::size_t max) const;
  Wait read_available(char* to, std::size_t max, std::size_t& got) const;
  // Writes what fits now.
  Wait write_available(const char* from, std::size_t size, std::size_t& written,
                       bool more_follows = false) const;

  // Write all. False if no byte could be written for `progress_timeout`, or the connection broke.
  bool write_all(std::string_view bytes, Duration progress_timeout,
                 bool more_follows = false) const;
  // False also where the file is shorter than its stretch: the connection is then of no more use.
  bool send_file(const FileBody& body, Duration progress_timeout) const;

  // Says that nothing more will come, and swallows what the peer still sends for at most `longest`,
  // so that it can read the answer before its unread bytes reset the connection.
  void linger(Duration longest) const;

  int descriptor() const { return descriptor_.get(); }
  // Bytes handed to the system since the connection began.
  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  Wait wait(short events, Duration timeout, const Signal* signal) const;
  bool send_stretch_of(int file, std::uint64_t offset, std::uint64_t length,
                       Duration progress_timeout) const;

  io::Descriptor descriptor_;
  const Signal& abort_;
  mutable std::uint64_t bytes_sent_ = 0;
};

}  // namespace varve::serve
