// SPDX-License-Identifier: MIT OR Apache-2.0
// Every crash and every failing call of initialization, appending, sealing, rotation, activation.
#include "tests/support.hpp"
#include "tests/tay/crash_checks.hpp"
#include "varve/tay.hpp"

namespace varve::tay::test {
namespace {

using varve::test::CallOptions;
using varve::test::CallOutcome;
using varve::test::CrashOutcome;
using varve::test::every_call;
using varve::test::every_crash;
using varve::test::Table;

// Fewer states under sanitizers; every one by default.
io::CrashOptions crash_options() {
  io::CrashOptions options;
  options.max_candidates = varve::test::scaled(40'000);
  return options;
}
CallOptions call_options() {
  CallOptions options;
  options.crash_candidates = varve::test::scaled(40);
  options.stride = varve::test::small_run() ? 3 : 1;
  return options;
}

// A poisoned writer says so, and that the outcome is unknown.
void expect_poisoned(LogWriter& writer, const Error& error) {
  EXPECT_NE(error.message.find("unknown"), std::string::npos) << error.text();
  EXPECT_EQ(writer.add(1, 1, {}).error().code, ErrorCode::poisoned);
  EXPECT_EQ(writer.commit().error().code, ErrorCode::poisoned);
  EXPECT_FALSE(writer.writable());
}

// Section 9.
struct Initialize {
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    io::FixedEnvironment environment;
    if (make_store(files, environment)) {
      promises.acknowledge(1);
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    auto found = recover_at(files);
    if (found) {
      return found->facts.totals.records == 0 ? "" : "records out of nothing";
    }
    if (claim.acknowledged > 0) {
      return "an acknowledged store is refused: " + found.error().word;
    }
    const RefusalKind kind = found.error().kind;
    if (kind != RefusalKind::ownership_unavailable &&
        kind != RefusalKind::initialization_required) {
      return "refused as " + std::string(to_text(kind)) + " " + found.error().word;
    }
    // On request the initializer finishes what was begun.
    InitializeOptions options;
    options.existing = files.identity_of(k_root).has_value();
    const auto made = initialize(files, k_root, options);
    return made ? "" : "cannot be finished: " + made.error().text();
  }
};

struct Killed {};

// Runs `work` until it makes its call number `call`: from there on it changes nothing. What it had
// written stays as it is, durable or not.
template <class Work>
void kill_at(std::uint64_t call, io::SimulatedFileSystem& files, Work work) {
  std::uint64_t made = 0;
  files.set_hook([&](const io::Call&) {
    if (made++ == call) {
      files.set_fault(io::Fault{0, io::FaultKind::io_error, true, io::k_all_calls});
      throw Killed{};
    }
  });
  EXPECT_THROW(work(), Killed);
  files.set_hook(nullptr);
  files.set_fault(std::nullopt);
}

// Section 9: an initialization that was killed, finished on request.
struct InitializeAgain {
  std::uint64_t calls = 0;  // the first has so many

  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    io::FixedEnvironment environment;
    kill_at(calls, files, [&] { (void)make_store(files, environment); });
    InitializeOptions options;
    options.existing = files.identity_of(k_root).has_value();
    options.environment = &environment;
    if (initialize(files, k_root, options)) {
      promises.acknowledge(1);
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    return Initialize::check(files, claim);
  }
};

// Another implementation may have written the first segment's header in place, and not made it
// durable.
struct InitializeBegun {
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    io::FixedEnvironment environment;
    InitializeOptions options;
    options.existing = true;
    options.environment = &environment;
    const auto root = files.make_directories(k_root);
    ASSERT_TRUE(root);
    ASSERT_TRUE((*root)->make_directory(k_segments_name, 0700));
    Bytes header;
    encode_header({1, 1, Id{std::byte{7}}}, header);
    const auto file = files.open_file(segment_path(1), io::OpenMode::create_exclusive);
    ASSERT_TRUE(file && (*file)->write_at(header, 0));
    if (initialize(files, k_root, options)) {
      promises.acknowledge(1);
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    return claim.acknowledged > 0 ? Initialize::check(files, claim) : "";
  }
};

// How many calls an initialization makes.
std::uint64_t calls_of_initialize(const io::simulated::Image& image) {
  io::SimulatedFileSystem files(image, {});
  io::FixedEnvironment environment;
  files.set_trace(true);
  EXPECT_TRUE(make_store(files, environment));
  return files.trace().size();
}

// Section 10: batches of records, in one mode.
struct Append {
  Durability durability = Durability::sync;
  std::uint64_t rotation_bytes = k_default_rotation_bytes;

  static constexpr std::uint64_t k_before = 2;
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    io::FixedEnvironment environment;
    promises.acknowledge(k_before);
    LogWriterOptions options = write_options(environment, durability);
    options.rotation_bytes = rotation_bytes;
    auto writer = open_writer(recover_physically(files), options);
    if (!writer) {
      return;
    }
    std::uint64_t sequence = k_before;
    for (const int batch : {1, 3, 1}) {
      for (int i = 0; i < batch; ++i) {
        ++sequence;
        ASSERT_TRUE(writer->add(1, 1, payload_of(sequence)));
      }
      if (const auto done = writer->commit(); !done) {
        expect_poisoned(*writer, done.error());
        return;
      }
      if (durability == Durability::sync) {
        promises.acknowledge(sequence);
      } else {
        promises.complete(sequence);
      }
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    const auto found = recover_physically(files);
    if (!found) {
      std::uint64_t highest = 1;
      while (files.get(segment_path(highest + 1))) {
        ++highest;
      }
      return check_torn(files, found.error(), claim, highest);
    }
    const std::uint64_t records = found->facts.totals.records;
    if (records < claim.owed()) {
      return "only " + std::to_string(records) + " records are left";
    }
    return whole_records(files) == records ? "" : "records are not what they were";
  }
};

// Section 11: the two halves of a rotation. Acknowledged: 1 sealed, 2 the next segment is there.
struct Rotate {
  static constexpr std::uint64_t k_records = 3;
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    io::FixedEnvironment environment;
    auto writer = open_writer(recover_physically(files), write_options(environment));
    if (!writer) {
      return;
    }
    if (const auto sealed = writer->seal(); !sealed) {
      expect_poisoned(*writer, sealed.error());
      return;
    }
    promises.acknowledge(1);
    if (const auto next = writer->complete_rotation(); !next) {
      expect_poisoned(*writer, next.error());
      return;
    }
    promises.acknowledge(2);
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    {
      const auto found = recover_physically(files);
      if (!found) {
        if (claim.acknowledged > 0) {
          return "refused although the footer is durable: " + found.error().word;
        }
        return check_torn(files, found.error(), {k_records, k_records, claim.power_cut}, 1);
      }
      const auto& segments = found->facts.segments;
      const bool sealed = segments[0].sealed;
      if (segments.size() > 2 || (segments.size() == 2 && (!sealed || segments[1].records != 0))) {
        return "a state that section 11 does not know";
      }
      if ((claim.acknowledged >= 1 && !sealed) ||
          (claim.acknowledged >= 2 && segments.size() != 2)) {
        return "a durable step is missing";
      }
    }
    return check_usable(files, k_records);
  }
};

// Section 12, Q4 to Q7, on a store whose rotation was interrupted.
struct Activate {
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    io::FixedEnvironment environment;
    auto candidate = recover_physically(files);
    if (!candidate) {
      return;
    }
    const auto writer = activate(*candidate, write_options(environment));
    if (writer) {
      promises.acknowledge(2);
    } else if (files.get(segment_path(2))) {
      EXPECT_EQ(writer.error().kind, RefusalKind::uncertain_activation);
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    return Rotate::check(files, {std::max<std::uint64_t>(claim.acknowledged, 1), 0, false});
  }
};

TEST(Crashes, EveryOne) {
  Table table = CrashOutcome::make_table("tay: writer operations against every crash");
  const auto expect_kept = [&](const char* operation, const io::simulated::Image& image, auto run) {
    const CrashOutcome outcome = every_crash(image, run, run.check, crash_options());
    EXPECT_EQ(outcome.problems, 0U) << operation << ": " << outcome.first_problem;
    EXPECT_GT(outcome.report.states, 5U) << operation;
    outcome.add_row(table, operation);
  };
  io::SimulatedFileSystem empty;
  ASSERT_TRUE(empty.add_directory("/data"));
  expect_kept("init", empty.image(), Initialize{});
  expect_kept("append, sync", store_image(Append::k_before), Append{});
  expect_kept("append, write", store_image(Append::k_before), Append{Durability::write});
  expect_kept("append, sync, rotating", store_image(Append::k_before),
              Append{Durability::sync, 1200});
  expect_kept("append, write, rotating", store_image(Append::k_before),
              Append{Durability::write, 1200});
  expect_kept("seal and rotate", store_image(Rotate::k_records), Rotate{});
  expect_kept("activate, rotation interrupted", store_image(Rotate::k_records, true), Activate{});
  EXPECT_TRUE(table.publish("tay-crash"));
}

TEST(Crashes, EveryFailingCall) {
  Table table = CallOutcome::make_table("tay: writer operations against every failing call");
  const auto expect_kept = [&](const char* operation, const io::simulated::Image& image, auto run) {
    const CallOutcome outcome = every_call(image, run, run.check, call_options());
    EXPECT_EQ(outcome.problems, 0U) << operation << ": " << outcome.first_problem;
    EXPECT_GT(outcome.calls, 10U) << operation;
    outcome.add_row(table, operation);
  };
  io::SimulatedFileSystem empty;
  ASSERT_TRUE(empty.add_directory("/data"));
  expect_kept("init", empty.image(), Initialize{});
  expect_kept("append, sync", store_image(Append::k_before), Append{});
  expect_kept("append, write", store_image(Append::k_before), Append{Durability::write});
  expect_kept("append, sync, rotating", store_image(Append::k_before),
              Append{Durability::sync, 1200});
  expect_kept("seal and rotate", store_image(Rotate::k_records), Rotate{});
  expect_kept("activate, rotation interrupted", store_image(Rotate::k_records, true), Activate{});
  EXPECT_TRUE(table.publish("tay-call"));
}

TEST(Crashes, OfAnInitializationThatFinishesAnother) {
  io::SimulatedFileSystem empty;
  ASSERT_TRUE(empty.add_directory("/data"));
  const std::uint64_t calls = calls_of_initialize(empty.image());
  std::uint64_t states = 0;
  for (std::uint64_t ended = 0; ended < calls; ++ended) {
    const InitializeAgain run{ended};
    const CrashOutcome outcome = every_crash(empty.image(), run, run.check, crash_options());
    EXPECT_EQ(outcome.problems, 0U) << "ended at call " << ended << ": " << outcome.first_problem;
    states += outcome.report.states;
  }
  EXPECT_GT(states, 100U);
  const InitializeBegun begun;
  const CrashOutcome outcome = every_crash(empty.image(), begun, begun.check, crash_options());
  EXPECT_EQ(outcome.problems, 0U) << outcome.first_problem;
}

// The embedded store as a whole: what a caller was told is there after any crash.
struct Work {
  static JobId id(std::uint64_t n) { return {std::byte(n)}; }
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    io::FixedEnvironment environment;
    JobStoreOptions options;
    options.environment = &environment;
    auto store = JobStore::open(files, k_root, options);
    if (!store) {
      return;
    }
    // Acknowledged: one a call that returned. Job n: inserted, started, finished.
    std::uint64_t calls = 0;
    for (std::uint64_t n = 1; n <= 3; ++n) {
      JobDefinition definition;
      definition.worker_key = "w";
      if (!(*store)->insert(id(n), definition)) return;
      promises.acknowledge(++calls);
      const auto run = (*store)->start(id(n));
      if (!run) return;
      promises.acknowledge(++calls);
      if (!(*store)->finish(id(n), *run->execution, Outcome::success)) return;
      promises.acknowledge(++calls);
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    io::FixedEnvironment environment;
    JobStoreOptions options;
    options.environment = &environment;
    auto store = JobStore::open(files, k_root, options);
    if (!store) {
      // A torn tail is kept, not cut; what was acknowledged stands before it.
      const bool torn = store.error().code == ErrorCode::torn ||
                        (claim.power_cut && store.error().code == ErrorCode::damaged);
      if (!torn) return "cannot be opened: " + store.error().text();
      const auto bytes = files.get(segment_path(1)).value();
      const std::size_t whole = records_before(bytes, store.error().offset);
      return whole >= claim.owed() ? "" : "acknowledged records lie behind the fault";
    }
    for (std::uint64_t n = 1; n <= 3; ++n) {
      const auto job = (*store)->find(id(n)).value();
      const std::uint64_t step = claim.owed() - std::min(claim.owed(), 3 * (n - 1));
      if (step >= 1 && !job) return "an acknowledged job is missing";
      if (step >= 2 && job->attempt != 1) return "an acknowledged start is missing";
      if (step >= 3 && job->state != JobState::completed) return "an acknowledged end is missing";
      if (job && job->state == JobState::executing) return "a job found executing was not settled";
    }
    return "";
  }
  static std::size_t records_before(ByteSpan segment, std::uint64_t offset) {
    return records_of(segment.first(static_cast<std::size_t>(offset))).size();
  }
};

TEST(Crashes, TheJobStoreKeepsWhatItAcknowledged) {
  Table crashes = CrashOutcome::make_table("tay: the job store against every crash");
  const CrashOutcome crash = every_crash(store_image(0), Work{}, Work::check, crash_options());
  EXPECT_EQ(crash.problems, 0U) << crash.first_problem;
  EXPECT_GT(crash.report.states, 20U);
  crash.add_row(crashes, "insert, start, finish");
  EXPECT_TRUE(crashes.publish("tay-job-store-crash"));
  Table calls = CallOutcome::make_table("tay: the job store against every failing call");
  const CallOutcome call = every_call(store_image(0), Work{}, Work::check, call_options());
  EXPECT_EQ(call.problems, 0U) << call.first_problem;
  call.add_row(calls, "insert, start, finish");
  EXPECT_TRUE(calls.publish("tay-job-store-call"));
}

}  // namespace
}  // namespace varve::tay::test
