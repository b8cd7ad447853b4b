// SPDX-License-Identifier: MIT OR Apache-2.0
// Every crash and every failing call of the journal: appending, rollover, growth, write-back.
// Compaction has a file of its own.
#include "crash_checks.hpp"

namespace varve::arena {
namespace {

using namespace test;

// A journal with some frames, goes on in one of several ways.
struct Append {
  enum class Way : std::uint8_t { sync_each, zero_ahead, batches, unsynced };
  Geometry geometry;
  Way way = Way::sync_each;
  std::uint64_t count = 3;  // frames that are appended
  Tally* tally = nullptr;

  static constexpr std::uint64_t k_before = 2;

  JournalOptions options() const {
    JournalOptions out = quiet_options();
    out.zero_ahead_bytes = way == Way::zero_ahead ? 700 : 0;
    out.sync_each = way != Way::unsynced;
    return out;
  }
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    promises.acknowledge(k_before);
    auto journal = open_journal(files, "/arena", options(), geometry);
    if (!journal) {
      return;
    }
    std::uint64_t number = k_before;
    while (number < k_before + count) {
      const std::uint64_t batch = way == Way::batches ? 1 + number % 3 : 1;
      std::vector<std::string> texts;
      for (std::uint64_t i = 0; i < batch; ++i) {
        texts.push_back(crash_payload(number + i));
      }
      const std::vector<base::ByteSpan> payloads = spans_of(texts);
      if (!(*journal)->append_all(payloads, way != Way::unsynced)) {
        EXPECT_EQ(append(**journal, "late").error().code, ErrorCode::poisoned);
        return;
      }
      number += batch;
      way == Way::unsynced ? promises.complete(number) : promises.acknowledge(number);
    }
    if ((*journal)->close()) {
      promises.acknowledge(number);
    }
  }
  std::string check(io::SimulatedFileSystem& files, const Claim& claim) const {
    return check_log(files, geometry, claim, *tally);
  }
};

std::string lost_payload() { return noise(600, 9); }

io::simulated::Image image_with(const Geometry& geometry, std::uint64_t frames) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, geometry);
  const auto journal = must_open(files, "/arena", geometry);
  for (std::uint64_t i = 0; i < frames; ++i) {
    EXPECT_TRUE(append(*journal, crash_payload(i)).has_value());
  }
  EXPECT_TRUE(journal->close().has_value());
  files.settle();
  return files.image();
}

// Behind two whole frames a third that lost its end, or (`torn` not set) one that lost its header,
// so that its payload and its marker stand behind the end.
io::simulated::Image image_to_recover(bool torn) {
  io::SimulatedFileSystem files(image_with(k_small_fixed, Append::k_before), {});
  const std::size_t end =
      static_cast<std::size_t>(must_open(files, "/arena", k_small_fixed)->end().offset);
  std::string lost = raw_frame(lost_payload(), 2) + marker();
  if (torn) {
    lost.resize(lost.size() - 40);
  } else {
    lost.replace(0, k_header_bytes, marker());
  }
  const std::string path = "/arena/seg_0.bin";
  put(files, path, text_of_file(files, path).replace(end, lost.size(), lost));
  files.settle();
  return files.image();
}

// Opening writes back: the marker, then zeros, with what is overwritten kept aside.
struct WriteBack {
  Tally* tally = nullptr;
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    promises.acknowledge(Append::k_before);
    (void)open_journal(files, "/arena", quiet_options(), k_small_fixed);
  }
  std::string check(io::SimulatedFileSystem& files, const Claim& claim) const {
    const std::string problem = check_log(files, k_small_fixed, claim, *tally);
    if (!problem.empty()) {
      return problem;
    }
    const std::string lost = lost_payload().substr(0, 500);
    for (const std::string& name : files.paths("/arena/lost+found")) {
      if (text_of_file(files, "/arena/lost+found/" + name).find(lost) != std::string::npos) {
        return "";
      }
    }
    return "what was overwritten is not in lost+found";
  }
};

class Tables {
 public:
  explicit Tables(const std::string& about)
      : crashes_(CrashOutcome::make_table("arena: " + about + " against every crash")),
        calls_(CallOutcome::make_table("arena: " + about + " against every failing call")) {}

  template <class Run>
  void row(const std::string& operation, const io::simulated::Image& image, Run run) {
    Tally tally;
    run.tally = &tally;
    const auto check = [&run](io::SimulatedFileSystem& files, const Claim& claim) {
      return run.check(files, claim);
    };
    const CrashOutcome crash = every_crash(image, run, check, crash_options());
    EXPECT_EQ(crash.problems, 0U) << operation << ": " << crash.first_problem;
    EXPECT_GT(crash.report.states, 5U) << operation;
    crash.add_row(crashes_, operation);
    crashes_.add_note(operation + ": " + tally.text());
    Tally of_calls;
    run.tally = &of_calls;
    const CallOutcome call = every_call(image, run, check, call_options());
    EXPECT_EQ(call.problems, 0U) << operation << ": " << call.first_problem;
    EXPECT_GT(call.calls, 5U) << operation;
    call.add_row(calls_, operation);
    calls_.add_note(operation + ": " + of_calls.text());
  }
  void publish(const std::string& name) const {
    EXPECT_TRUE(crashes_.publish(name + "-crash"));
    EXPECT_TRUE(calls_.publish(name + "-call"));
  }

 private:
  varve::test::Table crashes_;
  varve::test::Table calls_;
};

TEST(ArenaCrashes, EveryOneAndEveryFailingCall) {
  using Way = Append::Way;
  Tables tables("the journal");
  const auto fixed = image_with(k_small_fixed, Append::k_before);
  const auto growing = image_with(k_small_growing, Append::k_before);
  tables.row("append, synced each", growing, Append{k_small_growing, Way::sync_each, 3});
  tables.row("append, zeros ahead", growing, Append{k_small_growing, Way::zero_ahead, 3});
  tables.row("append in batches", growing, Append{k_small_growing, Way::batches, 6});
  tables.row("append, not synced", fixed, Append{k_small_fixed, Way::unsynced, 4});
  tables.row("rollover", fixed, Append{k_small_fixed, Way::sync_each, 6});
  tables.row("growth and rollover", growing, Append{k_small_growing, Way::sync_each, 9});
  tables.row("write back a torn tail", image_to_recover(true), WriteBack{});
  tables.row("clear behind the marker", image_to_recover(false), WriteBack{});
  tables.publish("arena");
}

}  // namespace
}  // namespace varve::arena
