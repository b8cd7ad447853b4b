// SPDX-License-Identifier: MIT OR Apache-2.0
// The exact filter on rows (section 18), compiled once and asked for each row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "jss/bloom.hpp"
#include "varve/result.hpp"

namespace varve::jss {

// A set of kinds: bit k stands for kind k.
using KindMask = std::uint8_t;
inline constexpr KindMask k_all_kinds = 0xFE;
inline constexpr KindMask k_commit_kinds = 0x8E;  // 1, 2, 3 and 7: the public kind "commit"

// The kinds that a name stands for: a row kind ("create", "create_resync"...), or a public kind
// ("commit", "identity", "account", "sync"). nullopt for any other text.
std::optional<KindMask> kinds_of_name(std::string_view name);
// The same for public kinds alone, as planSnapshot and the streams take them.
std::optional<KindMask> kinds_of_public_name(std::string_view name);

// Which texts that end with ".*" a filter takes.
enum class WildcardRule : std::uint8_t {
  nsid_prefix,  // what stands before is the beginning of an NSID, two labels at least
  any_prefix,   // something stands before: the legacy stream (section 19.3)
};

// Exact names and prefixes of names. Empty: matches every name.
class CollectionMatcher {
 public:
  // `text` is an NSID, or a prefix that the rule admits followed by ".*"; false if it is neither.
  bool add(std::string_view text, WildcardRule rule = WildcardRule::nsid_prefix);
  bool empty() const { return names_.empty() && prefixes_.empty(); }
  bool matches(std::string_view name) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  friend class RowFilter;
  std::unordered_set<std::string, Hash, std::equal_to<>> names_;
  std::vector<std::string> prefixes_;  // with their last dot
};

// Each part that is empty admits everything.
class RowFilter {
 public:
  RowFilter() = default;
  // Texts as a user gives them; ErrorCode::invalid_argument names the first that is not valid.
  static Result<RowFilter> compile(const std::vector<std::string>& kinds,
                                   const std::vector<std::string>& dids,
                                   const std::vector<std::string>& collections,
                                   WildcardRule rule = WildcardRule::nsid_prefix);

  bool wants(std::uint8_t kind, std::string_view did, std::string_view collection) const {
    return wants_kind(kind) && (dids_.empty() || dids_.contains(did)) &&
           (collections_.empty() || ((k_commit_kinds >> kind) & 1) == 0 || collection.empty() ||
            collections_.matches(collection));
  }
  bool wants_kind(std::uint8_t kind) const { return ((kinds_ >> kind) & 1) != 0; }

  // For the selection of blocks (section 12).
  KindMask kinds() const { return kinds_; }
  bool has_kinds() const { return has_kinds_; }
  const CollectionMatcher& collections() const { return collections_; }
  bool has_dids() const { return !dids_.empty(); }
  const std::vector<BloomKey>& did_keys() const { return did_keys_; }
  bool empty() const { return !has_kinds_ && dids_.empty() && collections_.empty(); }

 private:
  KindMask kinds_ = k_all_kinds;
  bool has_kinds_ = false;
  std::unordered_set<std::string, CollectionMatcher::Hash, std::equal_to<>> dids_;
  std::vector<BloomKey> did_keys_;  // of the distinct DIDs
  CollectionMatcher collections_;
};

}  // namespace varve::jss
