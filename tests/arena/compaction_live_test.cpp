// SPDX-License-Identifier: MIT OR Apache-2.0
// Compaction after compaction on a real file system while several threads append and another
// reads: for 10 seconds, or as many as VARVE_ARENA_SECONDS says. And what memory a compaction
// takes.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "compaction_support.hpp"
#include "tests/peak_memory.hpp"
#include "tests/support.hpp"

namespace varve::arena {
namespace {

using namespace test;

// Segments that fill up several times between two compactions.
constexpr Geometry k_live{4, 1 << 20, 256 << 10};
constexpr std::uint64_t k_writers = 3;
constexpr std::uint64_t k_ids = 40;  // of each writer

std::chrono::milliseconds running_time() {
  const char* chosen = std::getenv("VARVE_ARENA_SECONDS");
  if (chosen != nullptr) {
    return std::chrono::seconds(std::strtol(chosen, nullptr, 10));
  }
  return std::chrono::milliseconds(varve::test::small_run() ? 1000 : 10'000);
}

// The n-th transaction of a writer sets one of its vectors to a value that says n. Padding makes
// the log long beside its state.
std::string transaction(std::uint64_t writer, std::uint64_t n) {
  return txn(fmt::format(
      R"({{"Vector":{{"id":"w{}-{:02}","vector":{{"dim":4096,"indices":[{},{},{}]}}}}}})", writer,
      n % k_ids, n % 1000, 1000 + n / 1000 % 1000, 2000 + n / 1'000'000));
}

struct Progress {
  std::array<std::atomic<std::uint64_t>, k_writers> acknowledged{};
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> failures = 0;
  std::mutex mutex;
  std::string first;

  void fail(const std::string& what) {
    const std::lock_guard guard(mutex);
    if (failures++ == 0) {
      first = what;
    }
    stop = true;
  }
};

// What of the acknowledged transactions a state lacks, or nothing.
std::string missing(const std::vector<std::string>& state,
                    const std::array<std::uint64_t, k_writers>& acknowledged) {
  std::map<std::string, std::uint64_t> found;
  for (const std::string& line : state) {
    std::array<char, 16> id{};
    unsigned long low = 0;
    unsigned long middle = 0;
    unsigned long high = 0;
    if (std::sscanf(line.c_str(),
                    R"({"kind":"vector","id":"%15[^"]","dim":4096,"indices":[%lu,%lu,%lu])",
                    id.data(), &low, &middle, &high) == 4) {
      found[id.data()] = low + (middle - 1000) * 1000 + (high - 2000) * 1'000'000;
    }
  }
  for (std::uint64_t writer = 0; writer < k_writers; ++writer) {
    const std::uint64_t count = acknowledged[writer];
    for (std::uint64_t n = count - std::min(count, k_ids); n < count; ++n) {
      const std::string id = fmt::format("w{}-{:02}", writer, n % k_ids);
      const auto at = found.find(id);
      if (at == found.end() || at->second < n) {
        return fmt::format("{} is not the one of transaction {}", id, n);
      }
    }
  }
  return "";
}

std::array<std::uint64_t, k_writers> now(const Progress& progress) {
  std::array<std::uint64_t, k_writers> out{};
  for (std::uint64_t i = 0; i < k_writers; ++i) {
    out[i] = progress.acknowledged[i];
  }
  return out;
}

void write(Journal& journal, std::uint64_t writer, Progress& progress) {
  for (std::uint64_t n = 0; !progress.stop; ++n) {
    if (const auto done = append(journal, transaction(writer, n)); !done) {
      return progress.fail("append: " + done.error().text());
    }
    progress.acknowledged[writer] = n + 1;
  }
}

// A reader without the lock sees all that was acknowledged before it began, or is told to come
// back.
void read(const std::string& path, Progress& progress, std::uint64_t& reads) {
  while (!progress.stop) {
    const auto owed = now(progress);
    auto view = ArenaView::open(io::posix_file_system(), path, {}, k_live);
    if (!view) {
      if (view.error().code != ErrorCode::locked) {
        progress.fail("reader: " + view.error().text());
      }
      continue;
    }
    const Scanned seen = state_of(**view);
    if (seen.error) {
      if (seen.error->code != ErrorCode::locked) {
        progress.fail("reader: " + seen.error->text());
      }
      continue;
    }
    if (const std::string what = missing(seen.lines, owed); !what.empty()) {
      progress.fail("reader: " + what);
    }
    ++reads;
  }
}

TEST(ArenaCompactionLive, NothingAcknowledgedIsLostAndTheStateStays) {
  varve::test::ScratchDirectory scratch;
  const std::string path = (scratch / "store").string();
  std::filesystem::create_directories(scratch / "store/vectors_data.bin");
  varve::test::write_file(scratch / "store/store.json", k_schema_2);
  varve::test::write_file(scratch / "store/vectors_data.bin/format.json", small_manifest(k_live));
  Progress progress;
  std::uint64_t compactions = 0;
  std::uint64_t reads = 0;
  std::uint64_t carried = 0;
  {
    JournalOptions options;
    options.threads = 1;
    const auto journal = must_open(io::posix_file_system(), path, k_live, options);
    std::vector<std::jthread> threads;
    for (std::uint64_t writer = 0; writer < k_writers; ++writer) {
      threads.emplace_back([&, writer] { write(*journal, writer, progress); });
    }
    threads.emplace_back([&] { read(path, progress, reads); });
    const auto end = std::chrono::steady_clock::now() + running_time();
    while (!progress.stop && std::chrono::steady_clock::now() < end) {
      const auto done = journal->compact();
      if (!done || !done->warning.empty()) {
        progress.fail("compact: " + (done ? done->warning : done.error().text()));
        break;
      }
      ++compactions;
      carried += done->frames_carried;
    }
    progress.stop = true;
    threads.clear();
    EXPECT_EQ(progress.failures, 0U) << progress.first;
    // Nobody writes: the state before a compaction is the state after it.
    const auto before = state_lines(io::posix_file_system(), path, k_live);
    ASSERT_TRUE(journal->compact().has_value());
    EXPECT_EQ(state_lines(io::posix_file_system(), path, k_live), before);
  }
  EXPECT_EQ(missing(state_lines(io::posix_file_system(), path, k_live), now(progress)), "");
  EXPECT_GT(compactions, 0U);
  EXPECT_GT(carried, 0U);
  std::printf(
      "%llu compactions, %llu frames carried over, %llu looks of a reader, %llu appends\n",
      static_cast<unsigned long long>(compactions), static_cast<unsigned long long>(carried),
      static_cast<unsigned long long>(reads),
      static_cast<unsigned long long>(now(progress)[0] + now(progress)[1] + now(progress)[2]));
}

// A log of so many vectors of some kilobytes, under 20 ids.
void write_log(const std::string& path, std::uint64_t transactions) {
  ASSERT_TRUE(create_store(io::posix_file_system(), path, {.version = 3}).has_value());
  JournalOptions options;
  options.sync_each = false;
  options.buffer_bytes = 1 << 20;
  const auto journal = Journal::open(io::posix_file_system(), path, options);
  ASSERT_TRUE(journal.has_value());
  for (std::uint64_t n = 0; n < transactions; ++n) {
    std::string indices;
    for (std::uint64_t i = 0, at = n % 7; at < 4096; ++i, at += 1 + (i * i + n) % 13) {
      indices += (indices.empty() ? "" : ",") + std::to_string(at);
    }
    ASSERT_TRUE(append(**journal,
                       txn(fmt::format(
                           R"({{"Vector":{{"id":"v{}","vector":{{"dim":4096,"indices":[{}]}}}}}})",
                           n % 20, indices)))
                    .has_value());
  }
  ASSERT_TRUE((*journal)->close().has_value());
}

TEST(ArenaCompactionMemory, IsThatOfTheStateNotOfTheLog) {
  if (varve::test::address_sanitized() || varve::test::thread_sanitized()) {
    GTEST_SKIP() << "a sanitizer's shadow counts as memory";
  }
  varve::test::ScratchDirectory scratch;
  const auto peak = [&](const char* name, std::uint64_t transactions) {
    const std::string path = (scratch / name).string();
    write_log(path, transactions);
    return varve::test::peak_of([&] {
      const auto journal = Journal::open(io::posix_file_system(), path, {.threads = 1});
      (void)(*journal)->compact();
    });
  };
  const std::uint64_t of_short = peak("short", 1000);
  const std::uint64_t of_long = peak("long", 20'000);
  EXPECT_TRUE(std::filesystem::exists(scratch / "long/vectors_data.bin/CURRENT"));  // compacted
  EXPECT_LT(of_long, of_short + (6U << 20)) << "the log is some 20 MB longer";
}

}  // namespace
}  // namespace varve::arena
