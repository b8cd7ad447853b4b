// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads that make pages sparse, with byte arrays beside them to compare with.
#pragma once

#include <functional>

#include "tests/kladde/naive.hpp"

namespace varve::kladde::test {

inline std::unique_ptr<io::SimulatedFileSystem> memory_store() {
  io::SimulatedFileSystem::Options options;
  options.record = false;
  auto files = std::make_unique<io::SimulatedFileSystem>(options);
  must(Store::create(*files, k_path));
  return files;
}

inline void commit_write(Store& store, Id id, std::uint32_t offset, std::string_view bytes) {
  Transaction transaction;
  transaction.write(id, offset, base::as_bytes(bytes));
  must(store.commit(transaction));
}

struct LoadShape {
  std::uint64_t live_bytes = 0;
  std::uint32_t write_bytes = 0;           // of one write: a block
  std::uint32_t allocation_bytes = 65536;  // a multiple of it
  std::uint32_t flush_bytes = 65536;       // written between two flushes
};

// Blocks of some allocations, overwritten in an order that the caller chooses.
class Load {
 public:
  explicit Load(const LoadShape& shape, const StoreOptions& options = {})
      : shape_(shape), options_(options), random_(5, {}) {
    store_ = must(Store::open(*files_, k_path, options_));
  }
  std::uint32_t below(std::uint32_t bound) { return random_.below(bound); }
  std::uint32_t blocks() const {
    return static_cast<std::uint32_t>(shape_.live_bytes / shape_.write_bytes);
  }
  std::uint64_t live_bytes() const { return shape_.live_bytes; }
  std::uint64_t written() const { return store_->status().bytes_written; }
  std::uint64_t file_bytes() const { return must(files_->identity_of(k_path)).size_bytes; }
  StoreStatus status() const { return store_->status(); }

  void fill() {
    for (std::uint32_t block = 0; block < blocks(); ++block) {
      write(block);
    }
    flush();
  }
  void overwrite(std::uint64_t bytes, const std::function<std::uint32_t(Load&)>& choose) {
    for (std::uint64_t done = 0; done < bytes; done += shape_.write_bytes) {
      write(choose(*this));
    }
    flush();
  }
  void close() {
    must(store_->close());
    store_.reset();
  }
  void expect_same() const {
    EXPECT_EQ(difference(must(open_strictly(*files_, k_path)).recovered, contents_), "");
  }

 private:
  void write(std::uint32_t block) {
    const std::uint64_t at = std::uint64_t{block} * shape_.write_bytes;
    const Id id = 1 + static_cast<Id>(at / shape_.allocation_bytes);
    const auto offset = static_cast<std::uint32_t>(at % shape_.allocation_bytes);
    std::string text(shape_.write_bytes, static_cast<char>('a' + ++count_ % 26));
    text.replace(0, 8, std::to_string(10'000'000 + count_ % 10'000'000));
    transaction_.write(id, offset, base::as_bytes(text));
    std::string& bytes = contents_[id];
    bytes.resize(std::max<std::size_t>(bytes.size(), offset + text.size()));
    bytes.replace(offset, text.size(), text);
    pending_ += shape_.write_bytes;
    if (pending_ >= shape_.flush_bytes) {
      flush();
    }
  }
  void flush() {
    must(store_->commit(transaction_));
    transaction_.clear();
    must(store_->flush());
    pending_ = 0;
  }

  LoadShape shape_;
  StoreOptions options_;
  RandomRecords random_;
  std::unique_ptr<io::SimulatedFileSystem> files_ = memory_store();
  std::unique_ptr<Store> store_;
  Transaction transaction_;
  Contents contents_;
  std::uint64_t pending_ = 0;
  std::uint64_t count_ = 0;
};

// Many allocations of one size each, most of which are freed.
class Values {
 public:
  Values(Dialect dialect, std::uint32_t value_bytes) : value_bytes_(value_bytes) {
    options_.dialect = dialect;
    store_ = must(Store::open(*files_, k_path, options_));
  }
  void make(std::uint32_t count) {
    for (Id id = 1; id <= count; ++id) {
      const std::string text(value_bytes_, static_cast<char>('a' + id % 26));
      commit_write(*store_, id, 0, text);
      contents_[id] = text;
    }
    must(store_->flush());
  }
  void free_all_but_every(std::uint32_t kept) {
    Transaction transaction;
    std::erase_if(contents_, [&](const auto& entry) {
      const bool goes = entry.first * 2654435761U / 7 % kept != 0;
      if (goes) {
        transaction.free(entry.first);
      }
      return goes;
    });
    must(store_->commit(transaction));
    must(store_->flush());
  }
  // A small change and a flush.
  void touch() {
    std::string& bytes = contents_.begin()->second;
    bytes.replace(0, 4, std::to_string(1000 + ++touched_));
    commit_write(*store_, contents_.begin()->first, 0, bytes.substr(0, 4));
    must(store_->flush());
  }
  std::uint64_t file_bytes() const { return must(files_->identity_of(k_path)).size_bytes; }
  std::uint64_t live_bytes() const { return contents_.size() * value_bytes_; }
  void expect_same() const {
    EXPECT_EQ(
        difference(must(open_strictly(*files_, k_path, options_.dialect)).recovered, contents_),
        "");
  }

 private:
  std::uint32_t value_bytes_;
  StoreOptions options_;
  std::unique_ptr<io::SimulatedFileSystem> files_ = memory_store();
  std::unique_ptr<Store> store_;
  Contents contents_;
  std::uint32_t touched_ = 0;
};

}  // namespace varve::kladde::test
