// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/group_commit.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/bytes.hpp"
#include "io/simulated.hpp"
#include "io/zero_ahead.hpp"

namespace varve::io {
namespace {

using base::as_bytes;
using base::as_text;

struct Line {
  std::string text;
  std::uint64_t offset = 0;  // where it came to stand
};

// A log of text lines behind a queue.
class LineLog {
 public:
  explicit LineLog(SimulatedFileSystem& files, CommitMode mode = {})
      : file_(std::move(*files.open_file("/log", OpenMode::create))),
        queue([this, mode](std::span<Line* const> batch) { return commit(batch, mode); }) {}

  std::unique_ptr<File> file_;
  std::uint64_t end_ = 0;
  std::atomic<int> batches = 0;
  std::atomic<int> inside = 0;
  std::chrono::microseconds delay{0};
  GroupCommit<Line> queue;

 private:
  Result<void> commit(std::span<Line* const> batch, CommitMode mode) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    std::this_thread::sleep_for(delay);
    std::string bytes;
    for (Line* line : batch) {
      line->offset = end_ + bytes.size();
      bytes += line->text;
    }
    ++batches;
    auto result = commit_bytes(*file_, as_bytes(bytes), end_, mode);
    end_ += bytes.size();
    --inside;
    return result;
  }
};

TEST(GroupCommit, ManyThreadsShareBatchesAndEachKeepsItsOrder) {
  SimulatedFileSystem files(SimulatedFileSystem::Options{nullptr, false});
  LineLog log(files, {true, true});
  log.delay = std::chrono::microseconds(200);
  constexpr int k_threads = 8;
  constexpr int k_each = 50;
  std::vector<std::vector<Line>> lines(k_threads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < k_each; ++i) {
        Line line{std::to_string(t) + ":" + std::to_string(i) + "\n", 0};
        EXPECT_TRUE(log.queue.submit(line));
        lines[static_cast<std::size_t>(t)].push_back(line);
      }
    });
  }
  threads.clear();
  const auto bytes = files.get("/log");
  const std::string_view text = as_text(*bytes);
  std::size_t total = 0;
  for (const auto& of_thread : lines) {
    std::uint64_t last = 0;
    for (const Line& line : of_thread) {
      EXPECT_EQ(text.substr(line.offset, line.text.size()), line.text);
      EXPECT_GE(line.offset, last);
      last = line.offset;
      total += line.text.size();
    }
  }
  EXPECT_EQ(text.size(), total);
  EXPECT_LT(log.batches.load(), k_threads * k_each);
}

TEST(GroupCommit, ItemsOfOneCallStayTogether) {
  SimulatedFileSystem files(SimulatedFileSystem::Options{nullptr, false});
  LineLog log(files);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        std::vector<Line> three(3, Line{std::string(1, static_cast<char>('a' + t)), 0});
        EXPECT_TRUE(log.queue.submit(std::span(three)));
        EXPECT_EQ(three[2].offset, three[0].offset + 2);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(files.get("/log")->size(), 240U);
  EXPECT_TRUE(log.queue.submit(std::span<Line>()));
}

TEST(GroupCommit, ABatchKeepsToItsLimit) {
  std::vector<std::size_t> sizes;
  std::atomic<int> waiting = 0;
  GroupCommit<int> queue(
      [&](std::span<int* const> batch) -> Result<void> {
        sizes.push_back(batch.size());
        while (waiting.load() < 6) {
          std::this_thread::yield();  // so that the others queue up behind the first batch
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return {};
      },
      2);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      int item = 0;
      ++waiting;
      EXPECT_TRUE(queue.submit(item));
    });
  }
  threads.clear();
  std::size_t total = 0;
  for (const std::size_t size : sizes) {
    EXPECT_LE(size, 2U);
    total += size;
  }
  EXPECT_EQ(total, 6U);
}

TEST(GroupCommit, AFailureIsFinalForEverybody) {
  SimulatedFileSystem files(SimulatedFileSystem::Options{nullptr, false});
  LineLog log(files);
  log.delay = std::chrono::microseconds(500);
  files.set_fault(Fault{5, FaultKind::io_error, false, mask_of(CallKind::sync)});
  std::atomic<int> good = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> refused = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        Line line{"x", 0};
        const auto result = log.queue.submit(line);
        if (result) {
          ++good;
        } else if (result.error().code == ErrorCode::io) {
          EXPECT_EQ(result.error().system_errno, EIO);
          ++failed;
        } else {
          EXPECT_EQ(result.error().code, ErrorCode::poisoned);
          ++refused;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(log.batches.load(), 6);
  EXPECT_GE(good.load(), 5);
  EXPECT_GE(failed.load(), 1);
  EXPECT_EQ(good + failed + refused, 180);
  EXPECT_TRUE(log.queue.poisoned());
}

TEST(CommitBytes, NoticesThatTheBytesReadBackDifferently) {
  SimulatedFileSystem files;
  auto file = files.open_file("/log", OpenMode::create);
  const std::string big(600'000, 'b');
  ASSERT_TRUE(commit_bytes(**file, as_bytes(big), 0, {true, true}));
  files.set_hook([&](const Call& call) {
    if (call.kind == CallKind::read) {
      ASSERT_TRUE(files.put("/log", as_bytes(big.substr(1) + "c")));
    }
  });
  const auto result = commit_bytes(**file, as_bytes(big), 0, {true, true});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "read_back");
  EXPECT_EQ(result.error().offset, 512U << 10);
}

TEST(CommitBytes, DoesNoMoreThanTheModeAsks) {
  SimulatedFileSystem files;
  auto file = files.open_file("/log", OpenMode::create);
  const auto calls = [&](CommitMode mode) {
    files.set_trace(true);
    EXPECT_TRUE(commit_bytes(**file, as_bytes("text"), 0, mode));
    std::string out;
    for (const Call& call : files.trace()) {
      out += std::string(to_text(call.kind)) + " ";
    }
    return out;
  };
  EXPECT_EQ(calls({false, false}), "write ");
  EXPECT_EQ(calls({false, true}), "write sync ");
  EXPECT_EQ(calls({true, true}), "write read sync ");
}

TEST(ZeroAhead, FillsInStepsUpToTheLimit) {
  SimulatedFileSystem files;
  auto file = files.open_file("/log", OpenMode::create);
  ZeroAhead ahead(0, 100'000, 250'000);
  ASSERT_TRUE(ahead.reserve(**file, 10));
  EXPECT_EQ((*file)->identity()->size_bytes, 100'000U);
  files.set_trace(true);
  ASSERT_TRUE(ahead.reserve(**file, 100'000));
  EXPECT_TRUE(files.trace().empty());
  ASSERT_TRUE(ahead.reserve(**file, 100'001));
  EXPECT_EQ(ahead.filled_bytes(), 200'000U);
  EXPECT_EQ(files.trace().back().kind, CallKind::sync);
  ASSERT_TRUE(ahead.reserve(**file, 200'001));
  EXPECT_EQ((*file)->identity()->size_bytes, 250'000U);
  EXPECT_EQ(ahead.reserve(**file, 250'001).error().code, ErrorCode::limit);
  ZeroAhead wide(0, 10, 1 << 20);
  ASSERT_TRUE(wide.reserve(**file, 300'000));  // further than a step
  EXPECT_EQ(wide.filled_bytes(), 300'000U);
}

}  // namespace
}  // namespace varve::io
