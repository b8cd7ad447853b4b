// SPDX-License-Identifier: MIT OR Apache-2.0
// Values (section 13): the canonical encoding of payloads. Each value has exactly one encoding, so
// checking one proves that encoding what was read gives the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "tay/layout.hpp"
#include "varve/tay_options.hpp"

namespace varve::tay {

using base::Bytes;
using base::ByteSpan;

struct ValueFault {
  const char* word = "";
  bool limit = false;      // a budget was reached: `resource_limit`; else `invalid_payload`
  std::size_t offset = 0;  // of the node at fault
};

// What reading a value cost.
struct ValueUse {
  std::uint64_t nodes = 0;  // map keys count too
  std::uint64_t bytes = 0;  // of texts and opaque bytes, keys included
  std::uint64_t depth = 0;  // of the deepest node
  bool opaque = false;      // some tag 07 was met
};

// Reads values from the front of `bytes`, left to right, each check in section 13's order. Never
// allocates by what a length claims; works without recursion, whatever the depth budget.
class ValueScanner {
 public:
  ValueScanner(ByteSpan bytes, const EventBudget& budget, std::size_t position = 0)
      : bytes_(bytes), budget_(budget), position_(position) {}

  // Reads one value whose root lies at `depth`. False if it is at fault.
  bool scan(std::uint64_t depth = 1);

  std::size_t position() const { return position_; }
  const ValueUse& use() const { return use_; }
  const ValueFault& fault() const { return fault_; }

 private:
  // An open list or map.
  struct Frame {
    std::uint64_t left = 0;  // elements or pairs to come
    bool map = false;
    std::size_t key_at = 0;  // of the previous key
    std::size_t key_length = 0;
    bool has_key = false;
  };

  bool node(std::uint64_t depth, Frame& opened);
  bool container(std::uint8_t tag, std::size_t at, Frame& opened);
  bool string(std::uint8_t tag, std::size_t at);
  bool key(Frame& frame, std::uint64_t depth);
  bool fail(const char* word, std::size_t at, bool limit = false) {
    fault_ = {word, limit, at};
    return false;
  }
  std::size_t left() const { return bytes_.size() - position_; }

  ByteSpan bytes_;
  const EventBudget& budget_;
  std::size_t position_;
  ValueUse use_;
  ValueFault fault_;
  std::vector<Frame> stack_;
};

// Checks that `bytes` is one value and nothing else.
std::optional<ValueFault> check_value(ByteSpan bytes, const EventBudget& budget,
                                      ValueUse* use = nullptr);

// Appends encoded values. Maps: the caller gives the keys in ascending order.
class ValueWriter {
 public:
  explicit ValueWriter(Bytes& out) : writer_(out) {}
  void nil() { writer_.u8(k_tag_nil); }
  void boolean(bool value) { writer_.u8(value ? k_tag_true : k_tag_false); }
  void integer(std::uint64_t value) { tagged(k_tag_unsigned, value); }
  void signed_integer(std::int64_t value) {
    tagged(value < 0 ? k_tag_negative : k_tag_unsigned, static_cast<std::uint64_t>(value));
  }
  void real(double value);  // finite
  void text(std::string_view utf8) { string(k_tag_text, base::as_bytes(utf8)); }
  void opaque(ByteSpan bytes) { string(k_tag_opaque, bytes); }
  void list(std::uint32_t count) { container(k_tag_list, count); }
  void map(std::uint32_t pairs) { container(k_tag_map, pairs); }
  void integer_or_nil(const std::optional<std::uint64_t>& value) {
    value ? integer(*value) : nil();
  }

 private:
  void tagged(std::uint8_t tag, std::uint64_t value) {
    writer_.u8(tag);
    writer_.u64be(value);
  }
  void container(std::uint8_t tag, std::uint32_t count) {
    writer_.u8(tag);
    writer_.u32be(count);
  }
  void string(std::uint8_t tag, ByteSpan bytes) {
    container(tag, static_cast<std::uint32_t>(bytes.size()));
    writer_.bytes(bytes);
  }
  base::ByteWriter writer_;
};

}  // namespace varve::tay
