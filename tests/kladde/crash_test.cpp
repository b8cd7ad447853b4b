// SPDX-License-Identifier: MIT OR Apache-2.0
// "Flush interruption" and "Failing fsync" of section 16: every crash and every failing call.
#include <functional>

#include "tests/kladde/scripted.hpp"

namespace varve::kladde::test {
namespace {

using varve::test::CallOutcome;
using varve::test::CrashOutcome;
using varve::test::every_call;
using varve::test::every_crash;
using varve::test::Table;

constexpr Shape k_small = {4, 300, 200};
constexpr Shape k_large = {12, 30'000, 20'000};

io::CrashOptions crash_options(std::uint64_t candidates = 20'000) {
  io::CrashOptions options;
  options.max_candidates = small_run() ? 1000 : candidates;
  return options;
}

struct Create {
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    if (Store::create(files, k_path)) {
      promises.acknowledge(1);
    }
  }
  std::string check(io::SimulatedFileSystem& files, const Claim& claim) const {
    if (claim.acknowledged == 0) {
      return {};
    }
    const auto opened = open_strictly(files, k_path);
    return opened && opened->recovered.empty() ? "" : "the new store is not there";
  }
};

// A store with half of its bytes freed and no consolidation yet.
class SparseStore {
 public:
  Contents contents() const { return made(Dialect::a).second; }
  io::simulated::Image image(Dialect dialect) const { return made(dialect).first; }

 private:
  static std::pair<io::simulated::Image, Contents> made(Dialect dialect) {
    io::SimulatedFileSystem files(empty_image(), {});
    StoreOptions options;
    options.dialect = dialect;
    options.consolidate = false;
    Contents contents;
    const auto store = must(Store::open(files, k_path, options));
    RandomRecords random(6, {});
    for (int round = 0; round < 3; ++round) {
      Transaction transaction;
      for (Id id = 10; id < 110; ++id) {
        if (round == 2 && id % 3 != 0) {
          transaction.free(id);
          contents.erase(id);
        } else if (round < 2) {
          const std::string text = random.bytes(id % 2 == 0 ? 900 : 50);
          transaction.write(id, 0, base::as_bytes(text));
          contents[id] = text;
        }
      }
      must(store->commit(transaction));
      must(store->flush());
    }
    must(store->sync());
    files.settle();
    return {files.image(), contents};
  }
};

// The run moved bytes and left a shorter file: else its crash states would say nothing about that.
void expect_consolidated(const io::simulated::Image& before, const Script& script) {
  const auto pages = [](const io::simulated::Image& image) {
    io::SimulatedFileSystem files(image, {});
    return must(files.identity_of(k_path)).size_bytes / k_page_bytes;
  };
  EXPECT_LT(pages(image_after(before, script)) + 8, pages(before));
}

TEST(FlushInterruption, AnySubsetOfUnsyncedWritesKept) {
  Table table = CrashOutcome::make_table("kladde: the store against every crash");
  const auto expect_kept = [&](const char* operation, const io::simulated::Image& image,
                               const auto& run, const io::CrashOptions& options) {
    const CrashOutcome outcome = every_crash(
        image, std::cref(run),
        [&](io::SimulatedFileSystem& files, const Claim& claim) { return run.check(files, claim); },
        options);
    EXPECT_EQ(outcome.problems, 0U) << operation << ": " << outcome.first_problem;
    EXPECT_GT(outcome.report.states, 3U) << operation;
    outcome.add_row(table, operation);
  };
  io::SimulatedFileSystem nothing;
  expect_kept("create", nothing.image(), Create{}, crash_options());
  const Script first("ccfcc", 11, k_small);
  expect_kept("a run's first flush", empty_image(), first, crash_options());
  const io::simulated::Image unfolded = image_after(empty_image(), first);
  expect_kept("recovery of a journal, then a flush", unfolded,
              Script("cf", 12, k_small, first.states.back()), crash_options());
  expect_kept("flush after flush, pages reused", empty_image(),
              Script("cfcfcfcfccfcf", 13, k_small), crash_options());
  expect_kept("the same in dialect B", empty_image(),
              Script("cfcfcfcfccfcf", 14, k_small, {}, Dialect::b), crash_options());
  expect_kept("sync of a journal", empty_image(), Script("ccsccs", 15, k_small), crash_options());
  expect_kept("close with truncation", empty_image(), Script("ccfcfccx", 16, k_small),
              crash_options());
  expect_kept("large flushes", empty_image(), Script("cccfccccfccx", 17, k_large),
              crash_options(4000));
  // Pages are sparse and the file has holes, so that flushes move bytes and cut the file.
  const SparseStore sparse;
  for (const Dialect dialect : {Dialect::a, Dialect::b}) {
    const std::string in = dialect == Dialect::a ? "" : " in dialect B";
    const io::simulated::Image image = sparse.image(dialect);
    Script script("cfcfcfccfcfcfcfx", 18, k_small, sparse.contents(), dialect);
    expect_kept(("consolidation and truncation" + in).c_str(), image, script, crash_options(4000));
    expect_consolidated(image, script);
    expect_kept(("compact, then close" + in).c_str(), image,
                Script("ckfx", 19, k_small, sparse.contents(), dialect), crash_options(4000));
    script.punch_holes = true;
    expect_kept(("the same with holes punched" + in).c_str(), image, script, crash_options(2000));
  }
  EXPECT_TRUE(table.publish("kladde-crash"));
}

TEST(FailingSync, AnyFailingCallLeavesATransactionBoundary) {
  Table table = CallOutcome::make_table("kladde: the store against every failing call");
  const auto expect_kept = [&](const char* operation, const io::simulated::Image& image,
                               const auto& run) {
    varve::test::CallOptions options;
    options.crash_candidates = small_run() ? 5 : 30;
    const CallOutcome outcome = every_call(
        image, std::cref(run),
        [&](io::SimulatedFileSystem& files, const Claim& claim) { return run.check(files, claim); },
        options);
    EXPECT_EQ(outcome.problems, 0U) << operation << ": " << outcome.first_problem;
    outcome.add_row(table, operation);
  };
  io::SimulatedFileSystem nothing;
  expect_kept("create", nothing.image(), Create{});
  const Script first("ccfcfcc", 21, k_small);
  expect_kept("commit and flush", empty_image(), first);
  expect_kept("recovery, flush, close", image_after(empty_image(), first),
              Script("cfcx", 22, k_small, first.states.back()));
  const SparseStore sparse;
  expect_kept("consolidation, truncation, compact", sparse.image(Dialect::a),
              Script("cfcfcfkx", 24, k_small, sparse.contents()));
  expect_kept("flush after flush in dialect B", empty_image(),
              Script("cfcfcfx", 23, k_small, {}, Dialect::b));
  EXPECT_TRUE(table.publish("kladde-call"));
}

// Other transactions, both dialects, each script behind the one before it.
TEST(FlushInterruption, ManyScripts) {
  static constexpr const char* k_plans[] = {"cfcfccfcfx", "ccfscfccfcf", "cfccccfcfcfcx"};
  std::uint64_t states = 0;
  for (const Dialect dialect : {Dialect::a, Dialect::b}) {
    io::simulated::Image image = empty_image();
    Contents before;
    for (std::uint64_t seed = 0, count = varve::test::scaled(64); seed < count; ++seed) {
      const Script script(k_plans[seed % 3], 1000 + seed, seed % 2 == 0 ? k_small : k_large, before,
                          dialect);
      const CrashOutcome outcome = every_crash(
          image, std::cref(script),
          [&](io::SimulatedFileSystem& files, const Claim& claim) {
            return script.check(files, claim);
          },
          crash_options(300));
      ASSERT_EQ(outcome.problems, 0U) << seed << ": " << outcome.first_problem;
      states += outcome.report.states;
      image = image_after(image, script);
      before = script.states.back();
    }
  }
  EXPECT_GT(states, 100U);
}

// A crash of a run that began behind a crash: epochs that were lost are issued again.
TEST(FlushInterruption, ACrashBehindEveryCrash) {
  const Script first("ccfcfc", 31, k_small);
  io::SimulatedFileSystem files(empty_image(), {});
  files.settle();
  Promises promises(files);
  first(files, promises);
  std::uint64_t states = 0;
  io::CrashOptions options = crash_options(small_run() ? 20 : 300);
  options.max_candidates = small_run() ? 20 : 300;
  for_each_crash(files.recording(), options, [&](const io::CrashState& state) {
    const auto after = state.restart();
    const Contents before = must(open_strictly(*after, k_path)).recovered;
    const Script second("ccfcf", 32, k_small, before);
    const CrashOutcome outcome = every_crash(
        state.image, std::cref(second),
        [&](io::SimulatedFileSystem& again, const Claim& claim) {
          return second.check(again, claim);
        },
        [] {
          io::CrashOptions inner;
          inner.max_candidates = 60;
          return inner;
        }());
    EXPECT_EQ(outcome.problems, 0U) << to_text(state.selection) << ": " << outcome.first_problem;
    states += outcome.report.states;
    return outcome.problems == 0;
  });
  EXPECT_GT(states, 500U);
}

TEST(RepeatedEpoch, NoTransactionOfALostSegmentComesBack) {
  io::SimulatedFileSystem files;
  must(Store::create(files, k_path));
  const auto write = [](Id id, std::string_view text) {
    Transaction out;
    out.write(id, 0, base::as_bytes(text));
    return out;
  };
  const auto slot_1 = [&] {
    const auto bytes = *files.get(k_path);
    return base::Bytes(bytes.begin() + k_page_bytes, bytes.begin() + 2 * k_page_bytes);
  };
  const auto lose_header = [&](const base::Bytes& old) {
    auto bytes = *files.get(k_path);
    std::ranges::copy(old, bytes.begin() + k_page_bytes);
    must(files.put(k_path, bytes));
  };
  const base::Bytes before = slot_1();
  auto store = must(Store::open(files, k_path));
  must(store->commit(write(1, "kept")));
  must(store->flush());  // epoch 1, whose header will be lost
  must(store->commit(write(2, "lost with the header")));
  store.reset();
  lose_header(before);
  const Contents kept = {{1, "kept"}};
  EXPECT_EQ(must(open_strictly(files, k_path)).recovered, kept);
  for (int round = 0; round < 3; ++round) {
    store = must(Store::open(files, k_path));  // epoch 1 again
    EXPECT_EQ(store->status().epoch, 1U);
    EXPECT_EQ(contents_of(*store), kept);
    store.reset();
    const Opened opened = must(open_strictly(files, k_path));
    EXPECT_EQ(opened.recovered, kept);
    EXPECT_EQ(opened.journal.transactions, 0U);
    lose_header(before);
    EXPECT_EQ(must(open_strictly(files, k_path)).recovered, kept);
  }
}

TEST(FailingSync, EndsTheRun) {
  io::SimulatedFileSystem files;
  must(Store::create(files, k_path));
  const auto store = must(Store::open(files, k_path));
  Transaction transaction;
  transaction.write(1, 0, base::as_bytes("abc"));
  must(store->commit(transaction));
  files.set_fault(io::Fault{0, io::FaultKind::io_error, false, mask_of(io::CallKind::sync)});
  EXPECT_FALSE(store->flush());
  files.set_fault(std::nullopt);
  EXPECT_EQ(store->flush().error().code, ErrorCode::poisoned);
  EXPECT_EQ(store->commit(transaction).error().code, ErrorCode::poisoned);
  std::byte out[3];
  EXPECT_EQ(store->read(1, 0, out).error().code, ErrorCode::poisoned);
}

TEST(FullDisk, IsAnOrdinaryError) {
  io::SimulatedFileSystem files;
  must(Store::create(files, k_path));
  const auto store = must(Store::open(files, k_path));
  const std::string large(50'000, 'x');
  Transaction transaction;
  transaction.write(1, 0, base::as_bytes(large));
  const auto without_room = [&](auto call) {
    files.set_fault(io::Fault{0, io::FaultKind::no_space, true, mask_of(io::CallKind::allocate)});
    const Result<void> done = call();
    files.set_fault(std::nullopt);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().system_errno, ENOSPC);
  };
  without_room([&] { return store->commit(transaction); });
  EXPECT_FALSE(store->exists(1));
  must(store->commit(transaction));
  without_room([&] { return store->flush(); });
  EXPECT_EQ(store->size(1), large.size());
  must(store->flush());
  must(store->close());
  EXPECT_EQ(must(open_strictly(files, k_path)).flushed.at(1), large);
}

}  // namespace
}  // namespace varve::kladde::test
