// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>

namespace varve::base {
namespace {

struct Item {
  int number = 0;
  unsigned long result = 0;
};

class PipelineTest : public ::testing::TestWithParam<unsigned> {
 protected:
  unsigned threads() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Threads, PipelineTest, ::testing::Values(1U, 2U, 3U, 8U));

// Work of very different size, so that items finish out of order.
unsigned long busy(int number) {
  auto sum = static_cast<unsigned long>(number);
  for (int i = 0; i < number % 7 * 3000; ++i) {
    sum += (sum >> 3) ^ static_cast<unsigned>(i);
  }
  return sum;
}

TEST_P(PipelineTest, DeliversEverythingInOrder) {
  int produced = 0;
  int expected = 0;
  run_ordered_pipeline<Item>(
      threads(), 16,
      [&]() -> std::optional<Item> {
        return produced < 2000 ? std::optional(Item{produced++, 0}) : std::nullopt;
      },
      [](Item& item, unsigned) { item.result = busy(item.number); },
      [&](Item& item) {
        EXPECT_EQ(item.number, expected++);
        EXPECT_EQ(item.result, busy(item.number));
        return true;
      });
  EXPECT_EQ(expected, 2000);
}

TEST_P(PipelineTest, StopsWhereTheConsumerSaysSo) {
  std::atomic<int> worked = 0;
  int produced = 0;
  int consumed = 0;
  run_ordered_pipeline<Item>(
      threads(), 8, [&]() -> std::optional<Item> { return Item{produced++, 0}; },  // endless
      [&](Item&, unsigned) { ++worked; }, [&](Item&) { return ++consumed < 100; });
  EXPECT_EQ(consumed, 100);
  EXPECT_LE(produced, 100 + 8 + static_cast<int>(threads()));
  EXPECT_LE(worked.load(), produced);
}

TEST_P(PipelineTest, KeepsToTheNumberInFlightAndDestroysWhatIsLeft) {
  std::atomic<int> alive = 0;
  std::atomic<int> most = 0;
  struct Counted {
    std::atomic<int>* count;
    explicit Counted(std::atomic<int>& c, std::atomic<int>& peak) : count(&c) {
      const int now = ++c;
      int seen = peak.load();
      while (now > seen && !peak.compare_exchange_weak(seen, now)) {
      }
    }
    ~Counted() { --*count; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
  };
  const std::size_t in_flight = 10;
  int consumed = 0;
  run_ordered_pipeline<std::unique_ptr<Counted>>(
      threads(), in_flight,
      [&]() -> std::optional<std::unique_ptr<Counted>> {
        return std::make_unique<Counted>(alive, most);
      },
      [](std::unique_ptr<Counted>&, unsigned) {},
      [&](std::unique_ptr<Counted>&) { return ++consumed < 500; });
  EXPECT_EQ(alive.load(), 0);
  EXPECT_LE(most.load(), static_cast<int>(std::max<std::size_t>(in_flight, threads())) + 1);
}

TEST_P(PipelineTest, WorkersAreToldApart) {
  std::vector<std::atomic<int>> inside(threads());
  int produced = 0;
  std::atomic<bool> clash = false;
  run_ordered_pipeline<Item>(
      threads(), 32,
      [&]() -> std::optional<Item> {
        return produced < 1000 ? std::optional(Item{produced++, 0}) : std::nullopt;
      },
      [&](Item& item, unsigned worker) {
        ASSERT_LT(worker, threads());
        clash = clash || inside[worker].fetch_add(1) != 0;
        item.result = busy(item.number % 100);
        inside[worker].fetch_sub(1);
      },
      [](Item&) { return true; });
  EXPECT_FALSE(clash);
}

TEST_P(PipelineTest, NothingToDoIsFine) {
  run_ordered_pipeline<Item>(
      threads(), 4, []() -> std::optional<Item> { return std::nullopt; },
      [](Item&, unsigned) { ADD_FAILURE(); },
      [](Item&) {
        ADD_FAILURE();
        return true;
      });
}

// Many short pipelines: starting and stopping must not lose a wake-up.
TEST_P(PipelineTest, StartsAndStopsManyTimes) {
  for (int round = 0; round < 300; ++round) {
    int produced = 0;
    int consumed = 0;
    run_ordered_pipeline<Item>(
        threads(), 3,
        [&]() -> std::optional<Item> {
          return produced < round % 9 ? std::optional(Item{produced++, 0}) : std::nullopt;
        },
        [](Item&, unsigned) {}, [&](Item&) { return ++consumed < 6; });
    EXPECT_EQ(consumed, std::min(round % 9, 6));
  }
}

}  // namespace
}  // namespace varve::base
