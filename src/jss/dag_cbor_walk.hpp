// SPDX-License-Identifier: MIT OR Apache-2.0
// One pass over a DAG-CBOR value that refuses everything that is not strict (section 5.3): what
// could be spelled in another way, floats, tags other than 42, anything but UTF-8 text. No
// recursion, no allocation; the handler is told each item once it is known to be right.
//
//   handler.begin(is_map), end(is_map)
//   handler.key(text, first) -> bool    a map key; `first` in its map
//   handler.element(first)              before an array element
//   handler.text(t) -> bool             like key, false if it is not UTF-8: a handler that looks at
//                                       each byte anyway checks that cheaply
//   handler.bytes(b), link(cid), integer(negative, magnitude), boolean(v), null()
//
// An integer is `magnitude`, or -1 - `magnitude` if negative.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "base/text_coding.hpp"
#include "jss/cid.hpp"
#include "varve/result.hpp"

namespace varve::jss {

// The words of the faults.
inline constexpr const char* k_cbor_truncated = "cbor-truncated";
inline constexpr const char* k_cbor_trailing = "cbor-trailing-bytes";
inline constexpr const char* k_cbor_not_minimal = "cbor-not-minimal";
inline constexpr const char* k_cbor_indefinite = "cbor-indefinite-length";
inline constexpr const char* k_cbor_simple = "cbor-float-or-simple";
inline constexpr const char* k_cbor_tag = "cbor-tag";
inline constexpr const char* k_cbor_link = "cbor-link";
inline constexpr const char* k_cbor_key = "cbor-map-key";
inline constexpr const char* k_cbor_key_order = "cbor-key-order";
inline constexpr const char* k_cbor_utf8 = "cbor-utf8";
inline constexpr const char* k_cbor_depth = "cbor-depth";
// Strict, but {"$link": text} and {"$bytes": text} would be read back as a link and as bytes.
inline constexpr const char* k_cbor_ambiguous = "cbor-ambiguous-json";

// Items inside this many containers are looked at; deeper ones are refused.
inline constexpr std::size_t k_max_cbor_depth = 256;

template <class Handler>
class DagCborWalk {
 public:
  DagCborWalk(base::ByteSpan payload, Handler& handler)
      : begin_(payload.data()), at_(begin_), end_(begin_ + payload.size()), handler_(handler) {}

  // Walks the whole payload. The fault's offset counts from its start.
  std::optional<Fault> run() {
    for (;;) {
      if (depth_ > 0) {
        Level& level = levels_[depth_ - 1];
        if (level.left == 0) {
          handler_.end(level.is_map);
          if (--depth_ == 0) {
            return at_end();
          }
          continue;
        }
        --level.left;
        if (!level.is_map) {
          handler_.element(level.first);
          level.first = false;
        } else if (!take_key(level)) {
          return fault_;
        }
      }
      if (!take_item()) {
        return fault_;
      }
      if (depth_ == 0) {
        return at_end();
      }
    }
  }

 private:
  // Without initialisers, so that the levels that a payload does not reach cost nothing.
  struct Level {
    std::uint64_t left;    // items (of a map: pairs) still to come
    const char* last_key;  // of a map
    std::size_t last_key_bytes;
    bool is_map;
    bool first;
    bool lone;  // a map of one pair

    std::string_view key() const { return {last_key, last_key_bytes}; }
  };
  struct Head {
    unsigned major = 0;
    unsigned info = 0;
    std::uint64_t value = 0;
  };

  std::optional<Fault> at_end() const {
    if (at_ == end_) {
      return std::nullopt;
    }
    return Fault{k_cbor_trailing, offset(at_), {}, {}};
  }
  std::uint64_t offset(const std::byte* p) const { return static_cast<std::uint64_t>(p - begin_); }
  bool refuse(const char* word, const std::byte* where) {
    fault_ = Fault{word, offset(where), {}, {}};
    return false;
  }

  bool take_head(Head& head) {
    if (at_ == end_) {
      return refuse(k_cbor_truncated, at_);
    }
    const std::uint8_t first = base::u8(*at_);
    head.major = first >> 5;
    head.info = first & 31;
    head.value = head.info;
    if (head.info < 24) {
      ++at_;
      return true;
    }
    if (head.major == 7) {
      return refuse(k_cbor_simple, at_);
    }
    if (head.info > 27) {
      return refuse(k_cbor_indefinite, at_);
    }
    const unsigned size = 1U << (head.info - 24);
    if (static_cast<std::size_t>(end_ - at_) - 1 < size) {
      return refuse(k_cbor_truncated, at_);
    }
    std::uint64_t least = 24;
    switch (size) {
      case 1:
        head.value = base::u8(at_[1]);
        break;
      case 2:
        head.value = base::u16be(at_ + 1);
        least = std::uint64_t{1} << 8;
        break;
      case 4:
        head.value = base::u32be(at_ + 1);
        least = std::uint64_t{1} << 16;
        break;
      default:
        head.value = base::u64be(at_ + 1);
        least = std::uint64_t{1} << 32;
        break;
    }
    if (head.value < least) {
      return refuse(k_cbor_not_minimal, at_);
    }
    at_ += 1 + size;
    return true;
  }

  // The content of a byte or text string whose head stood at `where`.
  bool take_string(const Head& head, const std::byte* where, std::string_view& out) {
    if (head.value > static_cast<std::uint64_t>(end_ - at_)) {
      return refuse(k_cbor_truncated, where);
    }
    out = {reinterpret_cast<const char*>(at_), static_cast<std::size_t>(head.value)};
    at_ += head.value;
    return true;
  }

  static bool ascends(std::string_view before, std::string_view key) {
    return before.size() != key.size() ? before.size() < key.size() : before < key;
  }

  bool take_key(Level& level) {
    const std::byte* where = at_;
    Head head;
    std::string_view key;
    if (!take_head(head)) {
      return false;
    }
    if (head.major != 3) {
      return refuse(k_cbor_key, where);
    }
    if (!take_string(head, where, key)) {
      return false;
    }
    if (!level.first && !ascends(level.key(), key)) {
      return refuse(k_cbor_key_order, where);
    }
    if (!handler_.key(key, level.first)) {
      return refuse(k_cbor_utf8, where);
    }
    level.first = false;
    level.last_key = key.data();
    level.last_key_bytes = key.size();
    return true;
  }

  bool take_item() {
    const std::byte* where = at_;
    Head head;
    std::string_view content;
    if (depth_ > k_max_cbor_depth) {
      return refuse(k_cbor_depth, where);
    }
    if (!take_head(head)) {
      return false;
    }
    switch (head.major) {
      case 0:
      case 1:
        handler_.integer(head.major == 1, head.value);
        return true;
      case 2:
        if (!take_string(head, where, content)) {
          return false;
        }
        handler_.bytes(base::as_bytes(content));
        return true;
      case 3:
        if (!take_string(head, where, content)) {
          return false;
        }
        if (depth_ > 0 && levels_[depth_ - 1].lone && is_marker(levels_[depth_ - 1].key())) {
          return refuse(k_cbor_ambiguous, where);
        }
        return handler_.text(content) || refuse(k_cbor_utf8, where);
      case 4:
      case 5:
        return open(head, where);
      case 6:
        return take_link(head, where);
      default:
        return take_simple(head, where);
    }
  }

  static bool is_marker(std::string_view key) { return key == "$link" || key == "$bytes"; }

  bool open(const Head& head, const std::byte* where) {
    // Each item takes a byte at least, so a greater count cannot be fulfilled.
    if (head.value > static_cast<std::uint64_t>(end_ - at_)) {
      return refuse(k_cbor_truncated, where);
    }
    Level& level = levels_[depth_++];
    level.left = head.value;
    level.is_map = head.major == 5;
    level.first = true;
    level.lone = level.is_map && head.value == 1;
    handler_.begin(level.is_map);
    return true;
  }

  bool take_link(const Head& tag, const std::byte* where) {
    if (tag.value != 42) {
      return refuse(k_cbor_tag, where);
    }
    Head head;
    std::string_view content;
    if (!take_head(head)) {
      return false;
    }
    if (head.major != 2) {
      return refuse(k_cbor_link, where);
    }
    if (!take_string(head, where, content)) {
      return false;
    }
    const base::ByteSpan cid = base::as_bytes(content.substr(content.empty() ? 0 : 1));
    if (content.empty() || content.front() != '\0' || !is_cid(cid)) {
      return refuse(k_cbor_link, where);
    }
    handler_.link(cid);
    return true;
  }

  bool take_simple(const Head& head, const std::byte* where) {
    switch (head.info) {
      case 20:
      case 21:
        handler_.boolean(head.info == 21);
        return true;
      case 22:
        handler_.null();
        return true;
      default:
        return refuse(k_cbor_simple, where);
    }
  }

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  Handler& handler_;
  std::array<Level, k_max_cbor_depth + 1> levels_;
  std::size_t depth_ = 0;
  Fault fault_;
};

}  // namespace varve::jss
