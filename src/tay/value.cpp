// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/value.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text_coding.hpp"

namespace varve::tay {

namespace {

// Below zero, zero, above zero as the bytes of A sort before, with, behind those of B.
int compare_bytes(ByteSpan a, ByteSpan b) {
  const std::size_t common = std::min(a.size(), b.size());
  // An empty span may be null, which memcmp must not be given.
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  return order != 0 ? order : (a.size() < b.size() ? -1 : (a.size() > b.size() ? 1 : 0));
}

}  // namespace

bool ValueScanner::string(std::uint8_t tag, std::size_t at) {
  const std::size_t length = base::u32be(bytes_.data() + position_);
  position_ += 4;
  if (length > left()) {
    return fail("truncated_value", at);
  }
  use_.bytes += length;
  if (use_.bytes > budget_.bytes) {
    return fail("binary_bytes", at, true);
  }
  const ByteSpan content = bytes_.subspan(position_, length);
  if (tag == k_tag_text) {
    if (!base::is_utf8(base::as_text(content))) {
      return fail("utf8", at);
    }
  } else {
    use_.opaque = true;
  }
  position_ += length;
  return true;
}

bool ValueScanner::container(std::uint8_t tag, std::size_t at, Frame& opened) {
  const std::uint64_t count = base::u32be(bytes_.data() + position_);
  position_ += 4;
  const bool map = tag == k_tag_map;
  // Each element takes at least one byte, each pair at least six.
  if (count * (map ? 6 : 1) > left()) {
    return fail("truncated_value", at);
  }
  if (count * (map ? 2 : 1) > budget_.nodes - use_.nodes) {
    return fail("output_nodes", at, true);
  }
  opened.left = count;
  opened.map = map;
  return true;
}

// One node by itself; `opened.left` is set if it is a list or map that has content.
bool ValueScanner::node(std::uint64_t depth, Frame& opened) {
  const std::size_t at = position_;
  if (depth > budget_.depth) {
    return fail("depth", at, true);
  }
  if (use_.nodes >= budget_.nodes) {
    return fail("output_nodes", at, true);
  }
  ++use_.nodes;
  use_.depth = std::max(use_.depth, depth);
  if (left() == 0) {
    return fail("truncated_value", at);
  }
  const std::uint8_t tag = base::u8(bytes_[position_]);
  if (tag > k_tag_map) {
    return fail("unknown_tag", at);
  }
  ++position_;
  if (tag <= k_tag_true) {
    return true;
  }
  if (left() < (tag <= k_tag_float ? 8U : 4U)) {
    return fail("truncated_value", at);
  }
  if (tag > k_tag_opaque) {
    return container(tag, at, opened);
  }
  if (tag > k_tag_float) {
    return string(tag, at);
  }
  const std::uint64_t word = base::u64be(bytes_.data() + position_);
  position_ += 8;
  if (tag == k_tag_negative && word >> 63 == 0) {
    return fail("noncanonical_integer", at);
  }
  if (tag == k_tag_float && ((word >> 52) & 0x7FF) == 0x7FF) {
    return fail("nonfinite_float", at);
  }
  return true;
}

bool ValueScanner::key(Frame& frame, std::uint64_t depth) {
  const std::size_t at = position_;
  if (left() != 0 && base::u8(bytes_[at]) != k_tag_text) {
    return fail("map_key", at);
  }
  Frame none;
  if (!node(depth, none)) {
    return false;
  }
  const std::size_t content = at + 5;
  const std::size_t length = position_ - content;
  if (frame.has_key && compare_bytes(bytes_.subspan(frame.key_at, frame.key_length),
                                     bytes_.subspan(content, length)) >= 0) {
    return fail("map_order", at);
  }
  frame.has_key = true;
  frame.key_at = content;
  frame.key_length = length;
  return true;
}

bool ValueScanner::scan(std::uint64_t depth) {
  stack_.clear();
  Frame opened;
  if (!node(depth, opened)) {
    return false;
  }
  if (opened.left != 0) {
    stack_.push_back(opened);
  }
  while (!stack_.empty()) {
    Frame& frame = stack_.back();
    if (frame.left == 0) {
      stack_.pop_back();
      continue;
    }
    --frame.left;
    const std::uint64_t below = depth + stack_.size();
    if (frame.map && !key(frame, below)) {
      return false;
    }
    opened = Frame();
    if (!node(below, opened)) {
      return false;
    }
    if (opened.left != 0) {
      stack_.push_back(opened);
    }
  }
  return true;
}

std::optional<ValueFault> check_value(ByteSpan bytes, const EventBudget& budget, ValueUse* use) {
  ValueScanner scanner(bytes, budget);
  const bool whole = scanner.scan();
  if (use != nullptr) {
    *use = scanner.use();
  }
  if (!whole) {
    return scanner.fault();
  }
  if (scanner.position() != bytes.size()) {
    return ValueFault{"trailing_bytes", false, scanner.position()};
  }
  return std::nullopt;
}

void ValueWriter::real(double value) { tagged(k_tag_float, std::bit_cast<std::uint64_t>(value)); }

}  // namespace varve::tay
