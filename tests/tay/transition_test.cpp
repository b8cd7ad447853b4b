// SPDX-License-Identifier: MIT OR Apache-2.0
// Section 15's table, cell by cell, and each single condition of each event.
#include <functional>
#include <map>

#include "tay/job_table.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay::test {
namespace {

constexpr Id k_id = {std::byte{1}};
constexpr std::uint64_t k_now = 1'000'000;

Bytes definition(std::uint32_t max_attempts, std::uint64_t scheduled_at) {
  Bytes args;
  ValueWriter(args).map(0);
  DefinitionFields fields;
  fields.args = args;
  fields.worker_key = "w";
  fields.max_attempts = max_attempts;
  fields.scheduled_at = scheduled_at;
  Bytes out;
  encode_definition(fields, out);
  return out;
}

// One job, driven by events that are right by themselves.
class OneJob {
 public:
  explicit OneJob(std::uint32_t max_attempts = 2, std::uint64_t scheduled_at = k_nil)
      : definition_(definition(max_attempts, scheduled_at)), scheduled_at_(scheduled_at) {}

  bool apply(const Event& event) {
    EventPlace place;
    place.revision = place.order = sequence_;
    const bool applied = table_.apply(event, place);
    sequence_ += applied ? 1 : 0;
    return applied;
  }
  const Job& job() const { return *table_.find(k_id); }
  bool exists() const { return table_.size() == 1; }

  // An event of that kind (7: retried with mode 1) that fits the job as well as it can.
  Event event(int kind) const {
    Event out;
    out.type = EventType(kind == 7 ? 6 : kind);
    out.job_id = k_id;
    out.at = k_now;
    if (kind == 1) {
      out.definition = *decode_definition(definition_, {});
      out.due_at = scheduled_at_ == k_nil ? k_now : scheduled_at_;
      return out;
    }
    const Job none;
    const Job& now = exists() ? job() : none;
    out.expected_revision = now.revision;
    switch (kind) {
      case 2:
        out.due_at = now.eligible_at;
        break;
      case 3:
        out.attempt = now.next_attempt;
        out.token = now.cycle;
        break;
      case 4:
        out.token = now.execution;
        break;
      case 5:
        out.token = now.execution;
        break;
      default:
        out.mode = kind == 7 ? 1 : 0;
        out.due_at = out.at;
        break;
    }
    return out;
  }
  Event failure() const {
    Event out = event(4);
    out.outcome = 1;
    out.diagnostic = 1;
    const bool again = job().attempt < job().max_attempts;
    out.disposition = again ? 1 : 2;
    out.attempt = again ? job().attempt + 1 : 0;
    out.due_at = again ? retry_interval(job().attempt, out.at).low : k_nil;
    return out;
  }

 private:
  JobTable table_{true};
  Bytes definition_;
  std::uint64_t scheduled_at_;
  std::uint64_t sequence_ = 1;
};

OneJob in_state(const std::string& state) {
  OneJob out(state == "discarded" ? 1 : 2, state == "scheduled" ? k_now + 5 : k_nil);
  if (state == "none") {
    return out;
  }
  EXPECT_TRUE(out.apply(out.event(1)));
  if (state == "scheduled" || state == "available") {
    return out;
  }
  if (state == "cancelled") {
    EXPECT_TRUE(out.apply(out.event(5)));
    return out;
  }
  EXPECT_TRUE(out.apply(out.event(3)));
  if (state == "completed") {
    EXPECT_TRUE(out.apply(out.event(4)));
  } else if (state != "executing") {
    EXPECT_TRUE(out.apply(out.failure()));
  }
  return out;
}

TEST(Transitions, TheTable) {
  // By state: what the events 1, 2, 3, 4, 5, 6 with mode 0, 6 with mode 1 lead to.
  const std::map<std::string, std::array<const char*, 7>> table = {
      {"none", {"available", "", "", "", "", "", ""}},
      {"scheduled", {"", "available", "", "", "cancelled", "", ""}},
      {"available", {"", "", "executing", "", "cancelled", "", ""}},
      {"executing", {"", "", "", "completed", "cancelled", "", ""}},
      {"retryable", {"", "available", "", "", "cancelled", "available", ""}},
      {"discarded", {"", "", "", "", "", "", "available"}},
      {"completed", {"", "", "", "", "", "", ""}},
      {"cancelled", {"", "", "", "", "", "", ""}},
  };
  for (const auto& [state, row] : table) {
    for (int kind = 1; kind <= 7; ++kind) {
      OneJob one = in_state(state);
      if (state != "none") {
        ASSERT_EQ(to_text(one.job().state), state);
      }
      const std::string want = row[static_cast<std::size_t>(kind - 1)];
      const Job before = one.exists() ? one.job() : Job();
      EXPECT_EQ(one.apply(one.event(kind)), !want.empty()) << state << ", event " << kind;
      if (!want.empty()) {
        EXPECT_EQ(to_text(one.job().state), want) << state << ", event " << kind;
      } else if (one.exists()) {
        EXPECT_EQ(one.job().revision, before.revision);
        EXPECT_EQ(one.job().state, before.state);
      }
    }
  }
}

TEST(Transitions, EachConditionByItself) {
  const auto refused = [](const char* state, int kind, const std::function<void(Event&)>& spoil) {
    OneJob one = in_state(state);
    Event event = one.event(kind);
    spoil(event);
    EXPECT_FALSE(one.apply(event)) << state << ", event " << kind;
    EXPECT_TRUE(one.apply(one.event(kind))) << state << ", event " << kind;
  };
  for (const auto& [state, kind] : {std::pair{"scheduled", 2},
                                    {"available", 3},
                                    {"executing", 4},
                                    {"executing", 5},
                                    {"retryable", 6},
                                    {"discarded", 7}}) {
    refused(state, kind, [](Event& event) { ++event.expected_revision; });
    refused(state, kind, [](Event& event) { event.expected_revision = 0; });
    refused(state, kind, [](Event& event) { event.job_id = {std::byte{2}}; });
  }
  refused("scheduled", 2, [](Event& event) { ++event.due_at; });
  refused("retryable", 2, [](Event& event) { --event.due_at; });
  refused("available", 3, [](Event& event) { ++event.attempt; });
  refused("available", 3, [](Event& event) { ++event.token; });
  refused("available", 3, [](Event& event) { --event.at; });
  refused("executing", 4, [](Event& event) { ++event.token; });
  refused("executing", 4, [](Event& event) { event.disposition = 2; });
  refused("executing", 4, [](Event& event) { event.outcome = 1; });
  refused("executing", 5, [](Event& event) { event.token = 0; });
  refused("available", 5, [](Event& event) { event.token = 1; });
}

TEST(Transitions, ARetryLiesInItsInterval) {
  constexpr std::uint64_t k_d[] = {1000, 2000, 4000, 8000, 16'000, 32'000, 60'000, 60'000};
  constexpr std::uint64_t k_j[] = {250, 500, 1000, 2000, 4000, 8000, 0, 0};
  OneJob one(100);
  ASSERT_TRUE(one.apply(one.event(1)));
  for (std::uint32_t n = 1; n <= 8; ++n) {
    ASSERT_TRUE(one.apply(one.event(3)));
    Event event = one.failure();
    const std::uint64_t low = k_now + k_d[n - 1];
    const std::uint64_t high = low + k_j[n - 1];
    event.due_at = low - 1;
    EXPECT_FALSE(one.apply(event)) << n;
    event.due_at = high + 1;
    EXPECT_FALSE(one.apply(event)) << n;
    event.due_at = n % 2 == 0 ? low : high;
    EXPECT_TRUE(one.apply(event)) << n;
    EXPECT_TRUE(one.apply(one.event(6))) << n;
  }
}

TEST(Transitions, AtTheEndOfTimeTheIntervalSaturates) {
  EXPECT_EQ(retry_interval(1, k_time_max).low, k_time_max);
  EXPECT_EQ(retry_interval(1, k_time_max).high, k_time_max);
  EXPECT_EQ(retry_interval(1, k_time_max - 1100).low, k_time_max - 100);
  EXPECT_EQ(retry_interval(1, k_time_max - 1100).high, k_time_max);
  EXPECT_EQ(retry_interval(65'535, 0).low, 60'000U);
}

TEST(Transitions, AnInterruptionIsNoAttempt) {
  OneJob one(1);
  ASSERT_TRUE(one.apply(one.event(1)));
  ASSERT_TRUE(one.apply(one.event(3)));
  Event event = one.event(4);
  event.outcome = 3;
  event.diagnostic = 7;
  event.disposition = 1;
  event.due_at = k_now + 1000;
  event.attempt = 2;
  EXPECT_FALSE(one.apply(event));
  event.attempt = 1;  // also though it was the last one
  EXPECT_TRUE(one.apply(event));
  EXPECT_EQ(one.job().next_attempt, 1U);
}

TEST(Transitions, AfterTheLastAttemptAJobIsDiscarded) {
  OneJob one(1);
  ASSERT_TRUE(one.apply(one.event(1)));
  ASSERT_TRUE(one.apply(one.event(3)));
  Event event = one.failure();
  EXPECT_EQ(event.disposition, 2);
  event.disposition = 1;
  event.attempt = 2;
  event.due_at = k_now + 1000;
  EXPECT_FALSE(one.apply(event));
  EXPECT_TRUE(one.apply(one.failure()));
  EXPECT_TRUE(one.apply(one.event(7)));
  EXPECT_EQ(one.job().attempt, 0U);
  EXPECT_EQ(one.job().cycle, one.job().revision);
  EXPECT_EQ(one.job().diagnostic, 1);
}

}  // namespace
}  // namespace varve::tay::test
