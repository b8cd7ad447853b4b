// SPDX-License-Identifier: MIT OR Apache-2.0
// The store to embed: its calls, its refusals, many callers at once, and what a restart finds.
#include <atomic>
#include <set>
#include <thread>

#include "tests/tay/stores.hpp"
#include "varve/tay.hpp"

namespace varve::tay::test {
namespace {

constexpr std::int64_t k_second_ns = 1'000'000'000;

class JobStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options.environment = &environment;
    auto made = JobStore::create(files, k_root, options);
    ASSERT_TRUE(made) << made.error().text();
    store = *std::move(made);
  }
  void reopen() {
    store.reset();
    auto opened = JobStore::open(files, k_root, options);
    ASSERT_TRUE(opened) << opened.error().text();
    store = *std::move(opened);
  }
  static JobId id(std::uint8_t n) { return {std::byte{n}}; }
  static JobDefinition job(std::string args = "{}", std::string queue = "default") {
    JobDefinition out;
    out.worker_key = "mail.send";
    out.queue_key = std::move(queue);
    out.args_json = std::move(args);
    return out;
  }
  JobInfo find(std::uint8_t n) { return store->find(id(n)).value().value(); }

  io::SimulatedFileSystem files;
  io::FixedEnvironment environment;
  JobStoreOptions options;
  std::unique_ptr<JobStore> store;
};

TEST_F(JobStoreTest, InsertsOnceAndRefusesAConflict) {
  const std::string args = R"({"b":[1,-2,1.5,null,true],"a":"\u00e9"})";
  const auto first = store->insert(id(1), job(args));
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_FALSE(first->existed);
  EXPECT_EQ(first->job.state, JobState::available);
  EXPECT_EQ(first->job.definition.args_json, "{\"a\":\"\xc3\xa9\",\"b\":[1,-2,1.5,null,true]}");
  const std::uint64_t next = store->next_sequence();
  environment.advance_ns(k_second_ns);
  const auto again = store->insert(id(1), job(args));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->existed);
  EXPECT_EQ(again->job.inserted_at_ms, first->job.inserted_at_ms);
  EXPECT_EQ(store->insert(id(1), job(R"({"a":1})")).error().reason, "conflict");
  EXPECT_EQ(store->insert({}, job()).error().reason, "job_id");
  for (const std::string& bad :
       {std::string("[]"), std::string("{"), std::string(R"({"a":1e999})")}) {
    EXPECT_EQ(store->insert(id(2), job(bad)).error().reason, "invalid_definition") << bad;
  }
  JobDefinition wrong = job();
  wrong.max_attempts = 0;
  EXPECT_EQ(store->insert(id(2), wrong).error().reason, "invalid_definition");
  wrong = job();
  wrong.worker_key = std::string("a\0b", 3);
  EXPECT_EQ(store->insert(id(2), wrong).error().reason, "invalid_definition");
  EXPECT_EQ(store->next_sequence(), next);  // none of this wrote anything
  reopen();
  EXPECT_TRUE(store->insert(id(1), job(args))->existed);
}

TEST_F(JobStoreTest, RunsALife) {
  ASSERT_TRUE(store->insert(id(1), job()));
  EXPECT_EQ(store->next_ready("other").value(), std::nullopt);
  EXPECT_EQ(store->next_ready("default").value()->id, id(1));
  const auto started = store->start_next("default").value();
  ASSERT_TRUE(started);
  EXPECT_EQ(started->attempt, 1U);
  EXPECT_EQ(store->start_next("default").value(), std::nullopt);
  EXPECT_EQ(store->start(id(1)).error().reason, "invalid_transition");
  EXPECT_EQ(store->finish(id(1), *started->execution + 1, Outcome::success).error().reason,
            "invalid_transition");
  const auto failed =
      store->finish(id(1), *started->execution, Outcome::worker_failure, Failure::threw);
  ASSERT_TRUE(failed) << failed.error().text();
  EXPECT_EQ(failed->state, JobState::retryable);
  EXPECT_EQ(failed->diagnostic, 3);
  const std::uint64_t now = static_cast<std::uint64_t>(environment.now_us()) / 1000;
  EXPECT_GE(*failed->eligible_at_ms, now + 1000);
  EXPECT_LE(*failed->eligible_at_ms, now + 1250);
  EXPECT_EQ(store->next_due_ms().value(), failed->eligible_at_ms);
  EXPECT_EQ(store->start_next("default").value(), std::nullopt);
  environment.advance_ns(2 * k_second_ns);
  const auto second = store->start_next("default").value();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->attempt, 2U);
  const auto done = store->finish(id(1), *second->execution, Outcome::success);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, JobState::completed);
  EXPECT_EQ(store->cancel(id(1)).error().reason, "invalid_transition");
  EXPECT_EQ(store->retry(id(1)).error().reason, "invalid_transition");
  EXPECT_EQ(store->cancel(id(9)).error().reason, "unknown_job");
}

TEST_F(JobStoreTest, DiscardsAfterTheLastAttemptAndBeginsAnew) {
  JobDefinition once = job();
  once.max_attempts = 1;
  ASSERT_TRUE(store->insert(id(1), once));
  auto run = store->start(id(1));
  ASSERT_TRUE(run);
  const auto over = store->finish(id(1), *run->execution, Outcome::timeout);
  ASSERT_TRUE(over);
  EXPECT_EQ(over->state, JobState::discarded);
  EXPECT_EQ(over->diagnostic, 5);
  const auto anew = store->retry(id(1));
  ASSERT_TRUE(anew);
  EXPECT_EQ(anew->state, JobState::available);
  EXPECT_EQ(anew->attempt, 0U);
  run = store->start(id(1));
  ASSERT_TRUE(run);
  EXPECT_EQ(store->cancel(id(1))->state, JobState::cancelled);
}

TEST_F(JobStoreTest, ReadyOrderAndTimes) {
  JobDefinition later = job();
  later.scheduled_at_ms = static_cast<std::uint64_t>(environment.now_us()) / 1000 + 5000;
  ASSERT_TRUE(store->insert(id(3), later));
  EXPECT_EQ(find(3).state, JobState::scheduled);
  environment.advance_ns(k_second_ns);
  ASSERT_TRUE(store->insert(id(2), job()));
  ASSERT_TRUE(store->insert(id(1), job()));
  EXPECT_EQ(store->next_ready("default").value()->id, id(2));  // same time, became available first
  EXPECT_EQ(store->start_next("default").value()->id, id(2));
  EXPECT_EQ(store->start_next("default").value()->id, id(1));
  EXPECT_EQ(store->start_next("default").value(), std::nullopt);
  environment.advance_ns(10 * k_second_ns);
  EXPECT_EQ(store->make_due_available().value(), 1U);
  EXPECT_EQ(find(3).state, JobState::available);
  environment.advance_ns(-8 * k_second_ns);  // the clock is set back below eligible_at
  EXPECT_EQ(store->start_next("default").value(), std::nullopt);
  EXPECT_EQ(store->start(id(3)).error().reason, "invalid_transition");
}

TEST_F(JobStoreTest, SettlesWhatItFindsExecuting) {
  ASSERT_TRUE(store->insert(id(1), job()));
  ASSERT_TRUE(store->insert(id(2), job()));
  const auto run = store->start(id(1));
  ASSERT_TRUE(run);
  reopen();
  EXPECT_EQ(store->settled(), 1U);
  EXPECT_EQ(find(1).state, JobState::retryable);
  EXPECT_EQ(find(1).next_attempt, 1U);
  EXPECT_EQ(find(1).diagnostic, 7);
  EXPECT_EQ(find(2).state, JobState::available);
  EXPECT_EQ(store->finish(id(1), *run->execution, Outcome::success).error().reason,
            "invalid_transition");
  reopen();
  EXPECT_EQ(store->settled(), 0U);
}

TEST_F(JobStoreTest, KeepsToItsBudgets) {
  options.budgets.retained_jobs = 2;
  options.insertion.args_bytes = 100;
  options.insertion.depth = 5;
  reopen();
  EXPECT_EQ(store->insert(id(1), job("{\"a\":\"" + std::string(100, 'x') + "\"}")).error().reason,
            "args_bytes");
  EXPECT_EQ(store->insert(id(1), job(R"({"a":[[1]]})")).error().reason, "depth");
  ASSERT_TRUE(store->insert(id(1), job(R"({"a":[1]})")));
  ASSERT_TRUE(store->insert(id(2), job()));
  const auto third = store->insert(id(3), job());
  EXPECT_EQ(third.error().code, ErrorCode::limit);
  EXPECT_EQ(third.error().reason, "retained_jobs");
  options.budgets = {};
  options.budgets.retained_bytes = 9000;
  reopen();
  EXPECT_EQ(store->insert(id(3), job()).error().reason, "retained_bytes");
  options.budgets = {};
  options.budgets.retained_nodes = 250;
  reopen();
  EXPECT_EQ(store->insert(id(3), job()).error().reason, "retained_nodes");
  options.budgets = {};
  options.insertion.history_bytes = 2000;
  reopen();
  EXPECT_TRUE(store->insert(id(3), job()));
  ASSERT_TRUE(store->start(id(3)));  // reserves room for its end
  EXPECT_EQ(store->insert(id(4), job()).error().reason, "history_bytes");
  options.insertion = {};
  options.insertion.history_segments = 0;
  reopen();
  EXPECT_EQ(store->insert(id(4), job()).error().reason, "history_segments");
}

TEST_F(JobStoreTest, ManyCallersShareTheirSyncs) {
  constexpr int k_callers = 8;
  constexpr int k_jobs = 50;
  files.set_trace(true);
  std::vector<std::jthread> callers;
  std::atomic<int> failures = 0;
  for (int caller = 0; caller < k_callers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < k_jobs; ++i) {
        JobId name{};
        name[0] = std::byte(caller + 1);
        name[1] = std::byte(i + 1);
        const auto inserted = store->insert(name, job());
        const auto run = inserted ? store->start(name) : Result<JobInfo>(JobInfo{});
        const auto done =
            run && run->execution ? store->finish(name, *run->execution, Outcome::success) : run;
        failures += done && done->state == JobState::completed ? 0 : 1;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(failures, 0);
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
  for (const io::Call& call : files.trace()) {
    writes += call.kind == io::CallKind::write ? 1 : 0;
    syncs += call.kind == io::CallKind::sync ? 1 : 0;
  }
  EXPECT_EQ(writes, syncs);
  EXPECT_LE(writes, 3U * k_callers * k_jobs);
  EXPECT_EQ(store->next_sequence(), 3U * k_callers * k_jobs + 1);
  reopen();
  EXPECT_EQ(store->states().value()[static_cast<std::size_t>(JobState::completed)],
            static_cast<std::uint64_t>(k_callers * k_jobs));
}

// Two workers never get the same job.
TEST_F(JobStoreTest, AJobIsStartedOnce) {
  for (std::uint8_t n = 1; n <= 100; ++n) {
    ASSERT_TRUE(store->insert(id(n), job()));
  }
  std::mutex mutex;
  std::set<JobId> started;
  std::vector<std::jthread> workers;
  for (int worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&] {
      for (;;) {
        const auto next = store->start_next("default");
        if (!next || !*next) {
          return;
        }
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(started.insert((*next)->id).second);
      }
    });
  }
  workers.clear();
  EXPECT_EQ(started.size(), 100U);
}

TEST_F(JobStoreTest, IsPoisonedByAFailedSync) {
  ASSERT_TRUE(store->insert(id(1), job()));
  files.set_fault(io::Fault{0, io::FaultKind::io_error, false, mask_of(io::CallKind::sync)});
  const auto lost = store->insert(id(2), job());
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("unknown"), std::string::npos);
  files.set_fault(std::nullopt);
  EXPECT_TRUE(store->poisoned());
  EXPECT_EQ(store->insert(id(3), job()).error().code, ErrorCode::poisoned);
  EXPECT_EQ(store->find(id(1)).error().code, ErrorCode::poisoned);
  EXPECT_EQ(store->jobs().error().code, ErrorCode::poisoned);
  EXPECT_EQ(store->seal().error().code, ErrorCode::poisoned);
  reopen();
  EXPECT_TRUE(store->find(id(1)).value());
  EXPECT_FALSE(store->find(id(3)).value());
}

TEST_F(JobStoreTest, HasOneOwner) {
  const auto second = JobStore::open(files, k_root, options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::locked);
  EXPECT_EQ(JobStore::create(files, k_root, options).error().system_errno, EEXIST);
  options.rotation_bytes = 1000;
  EXPECT_EQ(JobStore::open(files, k_root, options).error().reason, "rotation_bytes");
}

TEST_F(JobStoreTest, SealsAndGoesOn) {
  EXPECT_EQ(store->seal().error().reason, "empty_segment");
  ASSERT_TRUE(store->insert(id(1), job()));
  EXPECT_EQ(store->seal().value(), 1U);
  ASSERT_TRUE(store->insert(id(2), job()));
  reopen();
  EXPECT_EQ(store->jobs().value().size(), 2U);
  EXPECT_EQ(files.get(segment_path(2)).value().size() > k_header_bytes, true);
}

}  // namespace
}  // namespace varve::tay::test
