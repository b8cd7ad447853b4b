// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/live_records.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace varve::jss {

namespace {

// What a path and an account take beside their texts: nodes, pointers, allocation overhead.
constexpr std::uint64_t k_path_bytes = 256;
constexpr std::uint64_t k_account_bytes = 192;
// The database's own cache, taken from the budget.
constexpr std::uint64_t k_most_cache_bytes = std::uint64_t{64} << 20;

std::unexpected<Error> database_error(sqlite3* database) {
  return fail(ErrorCode::io, "temporary-database",
              std::string("the temporary database that holds what memory does not: ") +
                  sqlite3_errmsg(database));
}

}  // namespace

// A private file of SQLite's that nobody else sees and that is gone when it is closed.
class LiveRecords::Database {
 public:
  static Result<std::unique_ptr<Database>> open(std::uint64_t cache_bytes) {
    std::unique_ptr<Database> out(new Database);
    if (sqlite3_open("", &out->database_) != SQLITE_OK) {
      return database_error(out->database_);
    }
    const std::string setup =
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-" +
        std::to_string(cache_bytes / 1024) +
        "; CREATE TABLE live(did BLOB, collection BLOB, rkey BLOB, seq INTEGER, time INTEGER,"
        " kind INTEGER, rev BLOB, payload BLOB, PRIMARY KEY(did, collection, rkey)) WITHOUT ROWID";
    VARVE_TRY(out->run(setup.c_str()));
    VARVE_TRY(out->prepare("INSERT OR REPLACE INTO live VALUES(?,?,?,?,?,?,?,?)", out->put_));
    VARVE_TRY(
        out->prepare("DELETE FROM live WHERE did=? AND collection=? AND rkey=?", out->remove_));
    VARVE_TRY(out->prepare("DELETE FROM live WHERE did=?", out->remove_account_));
    VARVE_TRY(out->prepare("SELECT * FROM live ORDER BY did, collection, rkey", out->select_));
    return out;
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    for (sqlite3_stmt* statement : {put_, remove_, remove_account_, select_}) {
      sqlite3_finalize(statement);
    }
    sqlite3_close(database_);
  }

  Result<void> run(const char* sql) {
    return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK
               ? Result<void>()
               : Result<void>(database_error(database_));
  }
  Result<void> put(std::string_view did, std::string_view collection, std::string_view rkey,
                   const Value& value) {
    bind(put_, 1, did);
    bind(put_, 2, collection);
    bind(put_, 3, rkey);
    sqlite3_bind_int64(put_, 4, static_cast<sqlite3_int64>(value.seq));
    sqlite3_bind_int64(put_, 5, value.witnessed_at);
    sqlite3_bind_int(put_, 6, value.kind);
    bind(put_, 7, value.rev);
    bind(put_, 8, value.payload);
    return step(put_);
  }
  Result<void> remove(std::string_view did, std::string_view collection, std::string_view rkey) {
    bind(remove_, 1, did);
    bind(remove_, 2, collection);
    bind(remove_, 3, rkey);
    return step(remove_);
  }
  Result<void> remove_account(std::string_view did) {
    bind(remove_account_, 1, did);
    return step(remove_account_);
  }
  Result<void> visit(const Visit& visit) {
    for (;;) {
      const int status = sqlite3_step(select_);
      if (status == SQLITE_DONE) {
        return {};
      }
      if (status != SQLITE_ROW) {
        return database_error(database_);
      }
      LiveRecord record;
      record.did = text(0);
      record.collection = text(1);
      record.rkey = text(2);
      record.seq = static_cast<std::uint64_t>(sqlite3_column_int64(select_, 3));
      record.witnessed_at = sqlite3_column_int64(select_, 4);
      record.kind = static_cast<std::uint8_t>(sqlite3_column_int(select_, 5));
      record.rev = text(6);
      record.payload = text(7);
      VARVE_ASSIGN(const bool more, visit(record));
      if (!more) {
        return {};
      }
    }
  }

 private:
  Database() = default;
  Result<void> prepare(const char* sql, sqlite3_stmt*& out) {
    return sqlite3_prepare_v2(database_, sql, -1, &out, nullptr) == SQLITE_OK
               ? Result<void>()
               : Result<void>(database_error(database_));
  }
  // The text outlives the step. An empty one is a blob of no bytes, never NULL.
  static void bind(sqlite3_stmt* statement, int index, std::string_view text) {
    sqlite3_bind_blob64(statement, index, text.empty() ? "" : text.data(), text.size(),
                        SQLITE_STATIC);
  }
  Result<void> step(sqlite3_stmt* statement) {
    const int status = sqlite3_step(statement);
    sqlite3_reset(statement);
    return status == SQLITE_DONE ? Result<void>() : Result<void>(database_error(database_));
  }
  std::string_view text(int column) const {
    const void* bytes = sqlite3_column_blob(select_, column);
    return {static_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(select_, column))};
  }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
  sqlite3_stmt* remove_account_ = nullptr;
  sqlite3_stmt* select_ = nullptr;
};

LiveRecords::LiveRecords(std::uint64_t max_memory_bytes) : max_memory_bytes_(max_memory_bytes) {}
LiveRecords::~LiveRecords() = default;

LiveRecords::Account& LiveRecords::account(std::string_view did) {
  auto found = accounts_.find(did);
  if (found == accounts_.end()) {
    memory_bytes_ += k_account_bytes + did.size();
    found = accounts_.emplace(std::string(did), Account{}).first;
  }
  return found->second;
}

LiveRecords::Value& LiveRecords::value_at(Account& account, std::string_view collection,
                                          std::string_view rkey) {
  auto found = account.paths.find(PathView{collection, rkey});
  if (found == account.paths.end()) {
    memory_bytes_ += k_path_bytes + collection.size() + rkey.size();
    found = account.paths.emplace(Path{std::string(collection), std::string(rkey)}, Value{}).first;
  }
  return found->second;
}

Result<void> LiveRecords::put(const LiveRecord& record) {
  Value& value = value_at(account(record.did), record.collection, record.rkey);
  memory_bytes_ -= value.payload.size() + value.rev.size();
  value.removed = false;
  value.kind = record.kind;
  value.seq = record.seq;
  value.witnessed_at = record.witnessed_at;
  value.rev = record.rev;
  value.payload = record.payload;
  memory_bytes_ += value.payload.size() + value.rev.size();
  return spill_if_large();
}

Result<void> LiveRecords::remove(std::string_view did, std::string_view collection,
                                 std::string_view rkey) {
  const auto found = accounts_.find(did);
  const bool below = spilled() && (found == accounts_.end() || !found->second.emptied);
  if (below) {
    Value& value = value_at(account(did), collection, rkey);
    memory_bytes_ -= value.payload.size() + value.rev.size();
    value = Value{.removed = true};
    return spill_if_large();
  }
  if (found == accounts_.end()) {
    return {};
  }
  auto& paths = found->second.paths;
  if (const auto at = paths.find(PathView{collection, rkey}); at != paths.end()) {
    memory_bytes_ -= k_path_bytes + collection.size() + rkey.size() + at->second.payload.size() +
                     at->second.rev.size();
    paths.erase(at);
  }
  return {};
}

Result<void> LiveRecords::remove_account(std::string_view did) {
  const auto found = accounts_.find(did);
  if (found != accounts_.end()) {
    for (const auto& [path, value] : found->second.paths) {
      memory_bytes_ -= k_path_bytes + path.collection.size() + path.rkey.size() +
                       value.payload.size() + value.rev.size();
    }
    found->second.paths.clear();
  }
  if (spilled()) {
    account(did).emptied = true;
    return spill_if_large();
  }
  return {};
}

Result<void> LiveRecords::spill_if_large() {
  return memory_bytes_ > max_memory_bytes_ ? spill() : Result<void>();
}

Result<void> LiveRecords::spill() {
  if (!database_) {
    VARVE_ASSIGN(database_, Database::open(std::min(max_memory_bytes_ / 4, k_most_cache_bytes)));
  }
  VARVE_TRY(database_->run("BEGIN"));
  std::vector<const std::pair<const std::string, Account>*> sorted;
  for (const auto& entry : accounts_) {
    sorted.push_back(&entry);
  }
  std::ranges::sort(sorted, {},
                    [](const auto* entry) -> const std::string& { return entry->first; });
  for (const auto* entry : sorted) {
    const auto& [did, account] = *entry;
    if (account.emptied) {
      VARVE_TRY(database_->remove_account(did));
    }
    for (const auto& [path, value] : account.paths) {
      VARVE_TRY(value.removed ? database_->remove(did, path.collection, path.rkey)
                              : database_->put(did, path.collection, path.rkey, value));
    }
  }
  VARVE_TRY(database_->run("COMMIT"));
  accounts_.clear();
  memory_bytes_ = 0;
  return {};
}

Result<void> LiveRecords::visit_memory(const Visit& visit) const {
  std::vector<const std::string*> dids;
  for (const auto& [did, account] : accounts_) {
    dids.push_back(&did);
  }
  std::ranges::sort(dids, {}, [](const std::string* did) -> const std::string& { return *did; });
  for (const std::string* did : dids) {
    for (const auto& [path, value] : accounts_.find(*did)->second.paths) {
      VARVE_ASSIGN(const bool more,
                   visit({*did, path.collection, path.rkey, value.seq, value.witnessed_at,
                          value.kind, value.rev, value.payload}));
      if (!more) {
        return {};
      }
    }
  }
  return {};
}

Result<void> LiveRecords::visit(const Visit& visit) {
  if (!spilled()) {
    return visit_memory(visit);
  }
  VARVE_TRY(spill());
  return database_->visit(visit);
}

}  // namespace varve::jss
