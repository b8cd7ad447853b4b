// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads the pieces that payloads with fixed keys are made of. Since every value has exactly one
// encoding, a map with exactly these keys is exactly these bytes in this order: nothing is
// searched, nothing is allocated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "tay/event.hpp"

namespace varve::tay {

// Each method reads one thing at the position or makes the matcher fail; it stays failed.
class EventMatcher {
 public:
  EventMatcher(ByteSpan bytes, const EventBudget& budget) : bytes_(bytes), budget_(budget) {}

  bool good() const { return good_; }
  bool at_end() const { return position_ == bytes_.size(); }
  std::size_t position() const { return position_; }
  const ValueUse& use() const { return use_; }

  void map(std::uint32_t pairs) {
    if (const std::byte* p = take(5)) {
      require(base::u8(*p) == k_tag_map && base::u32be(p + 1) == pairs);
      ++use_.nodes;
    }
  }
  // A map key that is known beforehand.
  void key(std::string_view name) {
    if (const std::byte* p = take(5 + name.size())) {
      require(base::u8(*p) == k_tag_text && base::u32be(p + 1) == name.size() &&
              std::memcmp(p + 5, name.data(), name.size()) == 0);
      ++use_.nodes;
      use_.bytes += name.size();
    }
  }
  std::uint64_t integer(std::uint64_t minimum, std::uint64_t maximum) {
    if (const std::byte* p = take(9)) {
      const std::uint64_t value = base::u64be(p + 1);
      require(base::u8(*p) == k_tag_unsigned && value >= minimum && value <= maximum);
      ++use_.nodes;
      return value;
    }
    return 0;
  }
  std::uint64_t integer_or(std::uint64_t absent, std::uint64_t minimum, std::uint64_t maximum) {
    return nil() ? absent : integer(minimum, maximum);
  }
  std::uint64_t time() { return integer(0, k_time_max); }
  std::uint64_t time_or_nil() { return integer_or(k_nil, 0, k_time_max); }
  std::uint64_t sequence() { return integer(1, k_u64_max); }
  std::uint32_t attempt() { return static_cast<std::uint32_t>(integer(1, k_max_attempt)); }
  // Reads a nil if there is one.
  bool nil() {
    if (position_ < bytes_.size() && base::u8(bytes_[position_]) == k_tag_nil) {
      ++position_;
      ++use_.nodes;
      return true;
    }
    return false;
  }
  Id id() {
    Id out{};
    if (const std::byte* p = take(5 + k_id_bytes)) {
      out = load_id(p + 5);
      require(base::u8(*p) == k_tag_opaque && base::u32be(p + 1) == k_id_bytes && !is_zero(out));
      ++use_.nodes;
      use_.bytes += k_id_bytes;
    }
    return out;
  }
  std::string_view key_text() {
    if (const std::byte* p = take(5)) {
      const std::uint32_t length = base::u32be(p + 1);
      require(base::u8(*p) == k_tag_text);
      if (const std::byte* content = take(length)) {
        const std::string_view text(reinterpret_cast<const char*>(content), length);
        require(is_key(text));
        ++use_.nodes;
        use_.bytes += length;
        return text;
      }
    }
    return {};
  }
  // A list's head; its elements follow. At most as many as there are bytes left.
  std::uint32_t list() {
    if (const std::byte* p = take(5)) {
      const std::uint32_t count = base::u32be(p + 1);
      require(base::u8(*p) == k_tag_list && count <= bytes_.size() - position_);
      ++use_.nodes;
      return good_ ? count : 0;
    }
    return 0;
  }
  // Opaque bytes of a known length.
  void opaque(std::span<std::byte> out) {
    if (const std::byte* p = take(5 + out.size())) {
      require(base::u8(*p) == k_tag_opaque && base::u32be(p + 1) == out.size());
      std::memcpy(out.data(), p + 5, out.size());
      ++use_.nodes;
      use_.bytes += out.size();
    }
  }
  // The tag that comes next; nil at the end.
  std::uint8_t peek_tag() const {
    return position_ < bytes_.size() ? base::u8(bytes_[position_]) : k_tag_nil;
  }
  bool next_is_key(std::string_view name) const {
    const ByteSpan rest = bytes_.subspan(position_);
    return rest.size() >= 5 + name.size() && base::u32be(rest.data() + 1) == name.size() &&
           std::memcmp(rest.data() + 5, name.data(), name.size()) == 0;
  }
  // Any map, of whatever content but opaque bytes; its root lies at `depth`.
  ByteSpan plain_map(std::uint64_t depth) {
    if (!good_ || position_ >= bytes_.size() || base::u8(bytes_[position_]) != k_tag_map) {
      good_ = false;
      return {};
    }
    ValueScanner scanner(bytes_, budget_, position_);
    if (!scanner.scan(depth) || scanner.use().opaque) {
      good_ = false;
      return {};
    }
    const ByteSpan content = bytes_.subspan(position_, scanner.position() - position_);
    position_ = scanner.position();
    use_.nodes += scanner.use().nodes;
    use_.bytes += scanner.use().bytes;
    depth_ = std::max(depth_, scanner.use().depth);
    return content;
  }
  void require(bool condition) { good_ = good_ && condition; }
  // The deepest node so far, where `fixed` is that of the parts read one by one.
  bool within_budget(std::uint64_t fixed_depth) const {
    return use_.nodes <= budget_.nodes && use_.bytes <= budget_.bytes &&
           std::max(depth_, fixed_depth) <= budget_.depth;
  }
  void definition(DefinitionView& out, std::uint64_t depth);

 private:
  const std::byte* take(std::size_t count) {
    if (!good_ || count > bytes_.size() - position_) {
      good_ = false;
      return nullptr;
    }
    const std::byte* p = bytes_.data() + position_;
    position_ += count;
    return p;
  }

  ByteSpan bytes_;
  const EventBudget& budget_;
  std::size_t position_ = 0;
  ValueUse use_;
  std::uint64_t depth_ = 0;
  bool good_ = true;
};

}  // namespace varve::tay
