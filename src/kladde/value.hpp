// SPDX-License-Identifier: MIT OR Apache-2.0
// Values read by their descriptors (Appendix B): as JSON, and the pointers in them.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "kladde/type_rules.hpp"
#include "varve/json.hpp"
#include "varve/kladde.hpp"

namespace varve::kladde {

struct PointerUse {
  Id target = 0;
  std::uint32_t type = 0;  // of what it points to
};

// What reading a value gave.
struct ValueRead {
  Json json;                         // null if only pointers were asked for
  std::vector<PointerUse> pointers;  // those that are not null, in order
  bool opaque = false;               // bytes that no descriptor explains were passed over
};

struct ValueFault {
  std::size_t offset = 0;  // in the value
  const char* what = "";
};

// Reads values of a table that breaks no rule.
class ValueReader {
 public:
  explicit ValueReader(const TypeTable& table) : table_(table), sizes_(fixed_sizes(table)) {}

  // The root value: `bytes` are all of its allocation.
  std::expected<ValueRead, ValueFault> read_root(base::ByteSpan bytes, bool want_json) const;
  // What a pointer leads to: `bytes` are all of the target, `type` is PointerUse::type.
  std::expected<ValueRead, ValueFault> read_target(std::uint32_t type, base::ByteSpan bytes,
                                                   bool want_json) const;
  // Whether a value of the type can hold pointers, or bytes that no descriptor explains.
  bool may_point(std::uint32_t type) const;

 private:
  const TypeTable& table_;
  std::vector<std::optional<std::uint64_t>> sizes_;
};

}  // namespace varve::kladde
