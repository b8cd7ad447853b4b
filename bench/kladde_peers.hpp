// SPDX-License-Identifier: MIT OR Apache-2.0
// The stores that a user would pick instead of kladde, doing the same work: values by number, some
// of them overwritten in a transaction.
#pragma once

#include <lmdb.h>
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/harness.hpp"

namespace varve::bench {

// One value of the work: `id` gets these bytes.
struct Put {
  std::uint32_t id = 0;
  std::span<const std::byte> bytes;
};

class Sqlite {
 public:
  // `synchronous`: OFF or FULL; the journal is a WAL.
  Sqlite(const std::string& path, const std::string& synchronous) {
    must(sqlite3_open(path.c_str(), &db_) == SQLITE_OK, "sqlite3_open");
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=" + synchronous);
    run("CREATE TABLE v(id INTEGER PRIMARY KEY, bytes BLOB)");
    put_ = prepare("INSERT OR REPLACE INTO v VALUES(?,?)");
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
  }
  ~Sqlite() {
    for (sqlite3_stmt* statement : {put_, begin_, commit_}) {
      sqlite3_finalize(statement);
    }
    sqlite3_close(db_);
  }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  void commit(std::span<const Put> puts) {
    step(begin_);
    for (const Put& put : puts) {
      sqlite3_bind_int64(put_, 1, put.id);
      sqlite3_bind_blob(put_, 2, put.bytes.data(), static_cast<int>(put.bytes.size()),
                        SQLITE_STATIC);
      step(put_);
    }
    step(commit_);
  }

 private:
  void run(const std::string& sql) {
    must(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, sql.c_str());
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* out = nullptr;
    must(sqlite3_prepare_v2(db_, sql, -1, &out, nullptr) == SQLITE_OK, sql);
    return out;
  }
  static void step(sqlite3_stmt* statement) {
    must(sqlite3_step(statement) == SQLITE_DONE, "sqlite3_step");
    sqlite3_reset(statement);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
};

class Lmdb {
 public:
  Lmdb(const std::string& path, bool sync) {
    must(mdb_env_create(&environment_) == 0, "mdb_env_create");
    must(mdb_env_set_mapsize(environment_, std::size_t{1} << 30) == 0, "mdb_env_set_mapsize");
    const unsigned flags = MDB_NOSUBDIR | (sync ? 0U : unsigned{MDB_NOSYNC});
    must(mdb_env_open(environment_, path.c_str(), flags, 0600) == 0, "mdb_env_open");
    MDB_txn* transaction = begin();
    must(mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY, &table_) == 0, "mdb_dbi_open");
    must(mdb_txn_commit(transaction) == 0, "mdb_txn_commit");
  }
  ~Lmdb() { mdb_env_close(environment_); }
  Lmdb(const Lmdb&) = delete;
  Lmdb& operator=(const Lmdb&) = delete;

  void commit(std::span<const Put> puts) {
    MDB_txn* transaction = begin();
    for (const Put& put : puts) {
      std::uint32_t id = put.id;
      MDB_val key{sizeof id, &id};
      MDB_val value{put.bytes.size(), const_cast<std::byte*>(put.bytes.data())};
      must(mdb_put(transaction, table_, &key, &value, 0) == 0, "mdb_put");
    }
    must(mdb_txn_commit(transaction) == 0, "mdb_txn_commit");
  }

 private:
  MDB_txn* begin() {
    MDB_txn* out = nullptr;
    must(mdb_txn_begin(environment_, nullptr, 0, &out) == 0, "mdb_txn_begin");
    return out;
  }

  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
};

}  // namespace varve::bench
