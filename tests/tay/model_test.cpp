// SPDX-License-Identifier: MIT OR Apache-2.0
// Random events through the writer, the log and replay, beside a naive model of section 15.
#include <cstdlib>

#include "tests/tay/naive_jobs.hpp"
#include "tests/tay/stores.hpp"

namespace varve::tay::test {
namespace {

// VARVE_TAY_ROUNDS=100 makes it ten million events.
std::uint64_t rounds() {
  const char* wanted = std::getenv("VARVE_TAY_ROUNDS");
  return wanted == nullptr ? 1 : std::strtoull(wanted, nullptr, 10);
}

constexpr std::uint64_t k_events = 100'000;

void run_round(std::uint64_t seed) {
  io::SimulatedFileSystem files(io::SimulatedFileSystem::Options{nullptr, false});
  io::FixedEnvironment environment;
  ASSERT_TRUE(make_store(files, environment));
  LogWriterOptions options;
  options.environment = &environment;
  options.rotation_bytes = std::uint64_t{3} << 20;
  options.durability = Durability::write;
  auto writer = open_writer(recover_at(files, &environment), options);
  ASSERT_TRUE(writer) << writer.error().text();

  NaiveJobs naive;
  JobTable live(true);
  EventSource source(seed);
  std::uint64_t refused = 0;
  Bytes payload;
  while (writer->next_sequence() <= k_events) {
    const Event event = source.next(naive);
    EventPlace place;
    place.revision = place.order = writer->next_sequence();
    const bool legal = naive.apply(event, place.revision);
    ASSERT_EQ(live.apply(event, place), legal) << "seed " << seed << ", sequence " << place.revision
                                               << ", type " << static_cast<int>(event.type);
    if (!legal) {
      ++refused;
      continue;
    }
    payload.clear();
    encode_event(event, payload);
    ASSERT_TRUE(writer->add(static_cast<std::uint8_t>(event.type), 1, payload));
    if (writer->waiting_bytes() > 100'000) {
      ASSERT_TRUE(writer->commit());
    }
  }
  ASSERT_TRUE(writer->commit());
  EXPECT_GT(refused, k_events / 100);
  EXPECT_GT(writer->segment_id(), 3U);
  EXPECT_EQ(difference(naive, live), "") << "seed " << seed;
  writer = fail(ErrorCode::io, "gone", "");  // lets go of the lock
  const auto replayed = recover_at(files, &environment);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->facts.totals.records, k_events);
  EXPECT_EQ(difference(naive, replayed->jobs), "") << "seed " << seed;
}

TEST(Model, RandomEventsGiveTheSameJobs) {
  for (std::uint64_t seed = 1; seed <= rounds() && !HasFatalFailure(); ++seed) {
    run_round(seed);
  }
}

}  // namespace
}  // namespace varve::tay::test
