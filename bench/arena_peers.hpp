// SPDX-License-Identifier: MIT OR Apache-2.0
// The logs that a user would pick instead of an arena journal: those of RocksDB and LevelDB, each
// record under a number of its own. The tables in memory are large enough that nothing but the
// write-ahead log reaches the disk.
#pragma once

#include <leveldb/db.h>
#include <rocksdb/db.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/harness.hpp"

namespace varve::bench {

inline constexpr std::size_t k_table_bytes = std::size_t{1} << 30;

class RocksLog {
 public:
  explicit RocksLog(const std::string& path) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = k_table_bytes;
    options.compression = rocksdb::kNoCompression;
    rocksdb::DB* opened = nullptr;
    must(rocksdb::DB::Open(options, path, &opened).ok(), "rocksdb open");
    db_.reset(opened);
  }
  void append(const std::string& record, bool sync) {
    rocksdb::WriteOptions options;
    options.sync = sync;
    must(db_->Put(options, std::to_string(next_++), record).ok(), "rocksdb put");
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::atomic<std::uint64_t> next_ = 1'000'000'000;
};

class LevelLog {
 public:
  explicit LevelLog(const std::string& path) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = k_table_bytes;
    options.compression = leveldb::kNoCompression;
    leveldb::DB* opened = nullptr;
    must(leveldb::DB::Open(options, path, &opened).ok(), "leveldb open");
    db_.reset(opened);
  }
  void append(const std::string& record, bool sync) {
    leveldb::WriteOptions options;
    options.sync = sync;
    must(db_->Put(options, std::to_string(next_++), record).ok(), "leveldb put");
  }

 private:
  std::unique_ptr<leveldb::DB> db_;
  std::atomic<std::uint64_t> next_ = 1'000'000'000;
};

}  // namespace varve::bench
