// SPDX-License-Identifier: MIT OR Apache-2.0
// What supersedes rows (section 14.3): for each path, and for each account, the highest seq of a
// row that ends what came before it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "jss/bloom.hpp"

namespace varve::jss {

// Whether the row ends all that its account had: a sync, or an account row that says deleted.
bool ends_account(std::uint8_t kind, base::ByteSpan payload);

class Tombstones {
 public:
  // Adds the row if it is a tombstone: an update or delete, a sync, an account deletion.
  void add(std::uint64_t seq, std::uint8_t kind, std::string_view did, std::string_view collection,
           std::string_view rkey, std::string_view payload);
  std::uint64_t size() const { return count_; }
  void clear();

  // Whether the row is a create or update that something of a greater seq supersedes. Thread-safe.
  bool supersedes(std::uint64_t seq, std::uint8_t kind, std::string_view did,
                  std::string_view collection, std::string_view rkey) const;

  // The accounts concerned, hashed for blooms. Empty if there are more than `most`: then narrowing
  // by account is not worth it.
  std::vector<BloomKey> accounts(std::size_t most) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Account {
    std::uint64_t seq = 0;  // of the last sync or deletion
    // By the length of the collection, the collection and the record key, in one text.
    std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> paths;
  };
  std::unordered_map<std::string, Account, Hash, std::equal_to<>> accounts_;
  std::uint64_t count_ = 0;
};

}  // namespace varve::jss
