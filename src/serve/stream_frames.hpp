// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as the messages that clients get, and blocks whose messages are made once for all clients.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "jss/block.hpp"
#include "serve/stream_request.hpp"
#include "varve/jss_event.hpp"

namespace varve::serve {

struct StreamFrame {
  std::string data;            // empty: the stream leaves the row out
  std::size_t text_bytes = 0;  // before compression
};

// Makes messages. One a thread; outlived by the dictionaries.
class FrameMaker {
 public:
  explicit FrameMaker(const StreamDictionaries& dictionaries) : dictionaries_(dictionaries) {}

  // The message of a row, into memory that is used again.
  void make(const jss::Event& event, StreamForm form, StreamFrame& out);
  // The message around a text that is no row.
  void wrap(std::string_view text, StreamForm form, StreamFrame& out);

 private:
  void compress(StreamForm form, StreamFrame& out);

  const StreamDictionaries& dictionaries_;
  base::ZstdEncoder encoder_;
  base::Bytes compressed_;
};

// `{"$type":"error","error":NAME,"message":TEXT}`, and the #info that a stream may begin with.
std::string stream_error_text(std::string_view error, std::string_view message);
std::string stream_info_text(std::string_view name, std::string_view message);

// A block that was just appended, for all clients who keep up. The rows do not change once it is
// shared; the frames are made by who asks first.
class LiveBlock {
 public:
  jss::Block block;
  std::uint64_t last_seq = 0;  // the highest

  // The message of a row; good as long as the block.
  const StreamFrame& frame(std::size_t row, StreamForm form, FrameMaker& maker);
  // What it holds, as far as it grows with the rows.
  std::uint64_t memory_bytes() const { return block.body.size() + frame_bytes_; }

 private:
  struct Lane {
    StreamForm form;
    std::mutex mutex;
    std::vector<StreamFrame> frames;
    std::vector<bool> made;
  };
  Lane& lane(StreamForm form);

  std::mutex mutex_;  // of lanes_
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<std::uint64_t> frame_bytes_ = 0;
};

}  // namespace varve::serve
