// SPDX-License-Identifier: MIT OR Apache-2.0
// The live records of an archive while its log is folded: what a path holds, until an update,
// delete, sync or account deletion says otherwise. Bounded in memory: beyond that, what has been
// gathered moves into a temporary SQLite database, and memory holds what changed since.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "varve/result.hpp"

namespace varve::jss {

struct LiveRecord {
  std::string_view did;
  std::string_view collection;
  std::string_view rkey;
  // Of the row that the record comes from.
  std::uint64_t seq = 0;
  std::int64_t witnessed_at = 0;
  std::uint8_t kind = 0;
  std::string_view rev;
  std::string_view payload;
};

class LiveRecords {
 public:
  // `max_memory_bytes`: of records held in memory, an estimate.
  explicit LiveRecords(std::uint64_t max_memory_bytes);
  ~LiveRecords();

  // In log order. Errors are those of the temporary database.
  Result<void> put(const LiveRecord& record);
  Result<void> remove(std::string_view did, std::string_view collection, std::string_view rkey);
  Result<void> remove_account(std::string_view did);

  // Visits what is left, sorted bytewise by did, collection and rkey, until `visit` gives false or
  // an error. The texts are good during the call. Nothing may be put or removed afterwards.
  using Visit = std::function<Result<bool>(const LiveRecord&)>;
  Result<void> visit(const Visit& visit);

  bool spilled() const { return database_ != nullptr; }

 private:
  struct Path {
    std::string collection;
    std::string rkey;
  };
  struct PathView {
    std::string_view collection;
    std::string_view rkey;
  };
  struct PathLess {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      const int order = std::string_view(a.collection).compare(std::string_view(b.collection));
      return order != 0 ? order < 0 : std::string_view(a.rkey) < std::string_view(b.rkey);
    }
  };
  struct Value {
    bool removed = false;  // only while a database below may hold the path
    std::uint8_t kind = 0;
    std::uint64_t seq = 0;
    std::int64_t witnessed_at = 0;
    std::string rev = {};
    std::string payload = {};
  };
  struct Account {
    bool emptied = false;  // whatever the database holds of it is gone
    std::map<Path, Value, PathLess> paths;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  class Database;

  Account& account(std::string_view did);
  Value& value_at(Account& account, std::string_view collection, std::string_view rkey);
  Result<void> spill_if_large();
  Result<void> spill();
  Result<void> visit_memory(const Visit& visit) const;

  std::uint64_t max_memory_bytes_;
  std::uint64_t memory_bytes_ = 0;
  std::unordered_map<std::string, Account, Hash, std::equal_to<>> accounts_;
  std::unique_ptr<Database> database_;
};

}  // namespace varve::jss
