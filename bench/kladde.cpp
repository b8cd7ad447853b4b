// SPDX-License-Identifier: MIT OR Apache-2.0
// Kladde: transactions beside SQLite and LMDB, recovery of a large journal beside the bare
// checksum, opening against the number of allocations; on the file system that holds TMPDIR (or
// /tmp).
#include "varve/kladde.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>

#include "base/checksum.hpp"
#include "bench/harness.hpp"
#include "bench/kladde_peers.hpp"
#include "kladde/reader.hpp"
#include "varve/kladde_store.hpp"

namespace {

using namespace varve;
using bench::must;
using bench::Put;

constexpr std::uint32_t k_values = 10'000;
constexpr std::size_t k_value_bytes = 100;
constexpr std::size_t k_block_bytes = 256 << 10;

std::unique_ptr<kladde::Store> open_store(const std::string& path,
                                          const kladde::StoreOptions& options = {}) {
  auto store = kladde::Store::open(io::posix_file_system(), path, options);
  must(store.has_value(), "open");
  return *std::move(store);
}

class Kladde {
 public:
  explicit Kladde(const std::string& path) {
    must(kladde::Store::create(io::posix_file_system(), path).has_value(), "create");
    store_ = open_store(path);
  }
  void commit(std::span<const Put> puts) {
    transaction_.clear();
    for (const Put& put : puts) {
      transaction_.write(put.id, 0, put.bytes);
    }
    must(store_->commit(transaction_).has_value(), "commit");
  }
  void flush() { must(store_->flush().has_value(), "flush"); }
  void sync() { must(store_->sync().has_value(), "sync"); }

 private:
  std::unique_ptr<kladde::Store> store_;
  kladde::Transaction transaction_;
};

// The bare limit: what a transaction's records take, appended.
class Bare {
 public:
  explicit Bare(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}
  ~Bare() { ::close(file_); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  void commit(std::span<const Put> puts) {
    bytes_.resize(puts.size() * (k_value_bytes + 8));
    must(::pwrite(file_, bytes_.data(), bytes_.size(), end_) > 0, "pwrite");
    end_ = (end_ + static_cast<off_t>(bytes_.size())) % (64 << 20);
  }
  void sync() { must(::fdatasync(file_) == 0, "fdatasync"); }

 private:
  int file_;
  off_t end_ = 0;
  std::vector<std::byte> bytes_;
};

// Random values to be overwritten; the same for every contender.
class Work {
 public:
  Work() : bytes_(k_values * k_value_bytes) {
    std::mt19937_64 random(7);
    for (std::byte& b : bytes_) {
      b = static_cast<std::byte>(random());
    }
  }
  template <class Target>
  void fill(Target& target) const {
    std::vector<Put> puts;
    for (std::uint32_t i = 0; i < k_values; ++i) {
      puts.push_back({i + 1, value(i)});
    }
    target.commit(puts);
  }
  std::span<const Put> next(std::size_t count) {
    puts_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      puts_.push_back({static_cast<std::uint32_t>(random_() % k_values) + 1,
                       value(static_cast<std::uint32_t>(random_() % k_values))});
    }
    return puts_;
  }

 private:
  std::span<const std::byte> value(std::uint32_t i) const {
    return std::span(bytes_).subspan(i * k_value_bytes, k_value_bytes);
  }
  std::vector<std::byte> bytes_;
  std::vector<Put> puts_;
  std::mt19937_64 random_{8};
};

void transactions(bench::Runner& runner, const std::string& directory) {
  Work work;
  Kladde ours(directory + "/ours");
  Bare bare(directory + "/bare");
  bench::Sqlite sqlite_off(directory + "/off.sqlite", "OFF");
  bench::Sqlite sqlite_full(directory + "/full.sqlite", "FULL");
  bench::Lmdb lmdb_fast(directory + "/fast.mdb", false);
  bench::Lmdb lmdb_sync(directory + "/sync.mdb", true);
  work.fill(ours);
  ours.flush();
  work.fill(sqlite_off);
  work.fill(sqlite_full);
  work.fill(lmdb_fast);
  work.fill(lmdb_sync);
  for (const std::size_t count : {1, 10, 100}) {
    const std::string of = "transactions of " + std::to_string(count) + " records of 100 bytes";
    runner.compare(
        {of + ", no flush", "transactions", 1},
        {{"pwrite", bench::k_limit, [&] { bare.commit(work.next(count)); }},
         {"kladde", bench::k_ours, [&] { ours.commit(work.next(count)); }},
         {"SQLite, synchronous=OFF", bench::k_peer, [&] { sqlite_off.commit(work.next(count)); }},
         {"LMDB, NOSYNC", bench::k_peer, [&] { lmdb_fast.commit(work.next(count)); }}});
    ours.flush();
    runner.compare(
        {of + ", durable", "transactions", 1},
        {{"pwrite + fdatasync", bench::k_limit,
          [&] {
            bare.commit(work.next(count));
            bare.sync();
          }},
         {"kladde, flush each", bench::k_ours,
          [&] {
            ours.commit(work.next(count));
            ours.flush();
          }},
         {"kladde, journal synced each", bench::k_ours,
          [&] {
            ours.commit(work.next(count));
            ours.sync();
          }},
         {"SQLite, synchronous=FULL", bench::k_peer, [&] { sqlite_full.commit(work.next(count)); }},
         {"LMDB", bench::k_peer, [&] { lmdb_sync.commit(work.next(count)); }}});
    ours.flush();
  }
}

void read_and_hash(const std::string& path, std::uint64_t size) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<std::byte> buffer(k_block_bytes);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < size;) {
    const ssize_t got = ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(at));
    must(got > 0, "pread");
    crc = base::crc32c({buffer.data(), static_cast<std::size_t>(got)}, crc);
    at += static_cast<std::uint64_t>(got);
  }
  bench::keep(crc);
  ::close(file);
}

// Loads the world and replays the journal in memory, as a read-only open does.
std::uint64_t replay(const std::string& path) {
  const auto file = io::posix_file_system().open_file(path, io::OpenMode::read);
  const kladde::Policy policy = kladde::Policy::strict(path);
  const auto world = kladde::load_world(**file, {}, policy);
  must(world.has_value(), "load_world");
  kladde::State state((*world)->allocations);
  const auto journal = kladde::replay_journal(**file, **world, {}, policy, state);
  must(journal.has_value(), "replay");
  return journal->transactions;
}

// A store whose journal of `journal_bytes` was never folded: writes of `record_bytes` each, 64 a
// transaction, over 4096 allocations of 64 KiB.
std::uint64_t make_journal(const std::string& path, std::uint64_t journal_bytes,
                           std::uint32_t record_bytes) {
  must(kladde::Store::create(io::posix_file_system(), path).has_value(), "create");
  kladde::StoreOptions options;
  options.journal_budget_pages = UINT32_MAX;
  const auto store = open_store(path, options);
  const std::vector<std::byte> bytes(record_bytes, std::byte{0x5A});
  std::mt19937_64 random(9);
  std::uint64_t made = 0;
  kladde::Transaction transaction;
  for (std::uint64_t written = 0; written < journal_bytes; ++made) {
    transaction.clear();
    for (int i = 0; i < 64; ++i) {
      const auto at = static_cast<std::uint32_t>(random() % (65'536 / record_bytes));
      transaction.write(1 + static_cast<std::uint32_t>(random() % 4096), at * record_bytes, bytes);
      written += record_bytes;
    }
    must(store->commit(transaction).has_value(), "commit");
  }
  return made;
}

void recovery(bench::Runner& runner, const std::string& directory) {
  for (const std::uint32_t record_bytes : {1024U, 16'384U}) {
    const std::string name =
        "recover a journal of 1 GiB, writes of " + std::to_string(record_bytes) + " bytes";
    if (!runner.wants(name)) {
      continue;
    }
    const std::string path = directory + "/journal";
    const std::uint64_t made = make_journal(path, std::uint64_t{1} << 30, record_bytes);
    const std::uint64_t size = std::filesystem::file_size(path);
    runner.compare({name, "bytes", size},
                   {{"pread + CRC-32C", bench::k_limit, [&] { read_and_hash(path, size); }},
                    {"walk and replay in memory", bench::k_ours,
                     [&] { must(replay(path) == made, "a whole replay"); }}});
    // Opening to write folds the journal: once, since it changes the file.
    const auto begin = std::chrono::steady_clock::now();
    const auto store = open_store(path);
    runner.note("Store::open on it, which folds it into pages",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                "seconds");
    std::filesystem::remove(path);
  }
}

void opening(bench::Runner& runner, const std::string& directory) {
  for (const std::uint32_t count : {1000U, 10'000U, 100'000U, 1'000'000U}) {
    const std::string name = "open " + std::to_string(count) + " allocations of 100 bytes";
    if (!runner.wants(name)) {
      continue;
    }
    const std::string path = directory + "/open" + std::to_string(count);
    must(kladde::Store::create(io::posix_file_system(), path).has_value(), "create");
    {
      const auto store = open_store(path);
      const std::vector<std::byte> bytes(k_value_bytes, std::byte{0x3C});
      kladde::Transaction transaction;
      for (std::uint32_t id = 1; id <= count; ++id) {
        transaction.write(id, 0, bytes);
        if (id % 1000 == 0) {
          must(store->commit(transaction).has_value(), "commit");
          transaction.clear();
        }
      }
      must(store->close().has_value(), "close");
    }
    const std::uint64_t size = std::filesystem::file_size(path);
    runner.compare(
        {name, "allocations", count},
        {{"pread + CRC-32C of the file", bench::k_limit, [&] { read_and_hash(path, size); }},
         {"read-only open", bench::k_ours, [&] { bench::keep(replay(path)); }},
         {"Store::open", bench::k_ours, [&] { bench::keep(open_store(path)); }}});
    std::filesystem::remove(path);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("kladde", argc, argv);
  const std::string directory = bench::scratch_directory();
  transactions(runner, directory);
  opening(runner, directory);
  recovery(runner, directory);
  runner.note("peak resident memory", static_cast<double>(bench::peak_resident_bytes()), "bytes");
  std::filesystem::remove_all(directory);
  return runner.finish();
}
