// SPDX-License-Identifier: MIT OR Apache-2.0
// Every crash and every failing call of what appends and seals: creation, appending, rotation,
// sealing, recovery.
#include <cerrno>

#include "crash_support.hpp"

namespace varve::jss::test {
namespace {

using varve::test::CallOptions;
using varve::test::CallOutcome;
using varve::test::CrashOutcome;
using varve::test::every_call;
using varve::test::every_crash;
using varve::test::Table;

// `may_refuse`: whether a hurt header or frame is within what section 14 allows. After the kill of
// a process it is not.
struct Judged {
  std::string path;
  std::uint64_t most_rows = 0;
  bool faults = false;
  std::string operator()(io::SimulatedFileSystem& files, const Claim& claim) const {
    return judge_appended(files, path, claim, most_rows, claim.power_cut || faults);
  }
};

// Section 13.1, step 1.
struct Create {
  std::string path;
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    if (Writer::create(files, path)) {
      promises.acknowledge(1);
    }
  }
  std::string check(io::SimulatedFileSystem& files, const Claim& claim) const {
    if (claim.acknowledged == 0) {
      const auto made = Writer::create(files, path);
      if (!made && made.error().system_errno != EEXIST) {
        return "it cannot be made again: " + made.error().text();
      }
    }
    return judge_appended(files, path, {}, 0, false);
  }
};

// Rows [before + 1, last] in batches; each made durable, or only handed to the system.
struct Append {
  std::string path;
  std::uint64_t before = 0;
  std::uint64_t last = 0;
  std::uint64_t batch = 3;
  bool sync = true;
  bool seal = false;
  std::uint64_t rotation_bytes = std::uint64_t{1} << 30;

  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    promises.acknowledge(before);
    auto writer = Writer::open(files, path, crash_options(rotation_bytes));
    if (!writer) {
      return;
    }
    for (std::uint64_t seq = before; seq < last;) {
      seq = std::min(seq + batch, last);
      if (!append_until(**writer, seq)) {
        return;
      }
      if (sync ? !(*writer)->sync() : !(*writer)->flush()) {
        EXPECT_EQ((*writer)->append(crash_row(seq + 1).event()).error().code, ErrorCode::poisoned);
        return;
      }
      sync ? promises.acknowledge(seq) : promises.complete(seq);
    }
    if (seal) {
      (void)(*writer)->seal();
    }
  }
};

// Section 14.2: the verb on a file with a tail.
struct Recover {
  std::string path;
  std::uint64_t rows = 0;
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    promises.acknowledge(rows);
    WriteRequest request;
    request.threads = 1;
    (void)recover_store(files, path, request);
  }
};

io::simulated::Image image_of(const std::string& path, std::uint64_t rows) {
  io::SimulatedFileSystem files;
  EXPECT_TRUE(Writer::create(files, path));
  auto writer = Writer::open(files, path, crash_options());
  EXPECT_TRUE(writer && append_until(**writer, rows) && (*writer)->close());
  files.settle();
  return files.image();
}

// The same with bytes behind the rows: a torn frame, or the footer of a seal that did not end.
io::simulated::Image image_with_tail(std::uint64_t rows, bool footer) {
  io::SimulatedFileSystem files(image_of("/a.jss", rows), {});
  base::Bytes active = files.get("/a.jss").value();
  if (footer) {
    EXPECT_TRUE(seal_store(files, "/a.jss", {}));
    base::Bytes sealed = files.get("/a.jss").value();
    std::copy_n(active.begin(), k_header_bytes, sealed.begin());
    active = sealed;
  } else {
    active.insert(active.end(), 700, std::byte{0x77});
    base::store_le(active.data() + active.size() - 700, std::uint64_t{5000});
  }
  EXPECT_TRUE(files.put("/a.jss", active));
  files.settle();
  return files.image();
}

template <class Visit>
void each_operation(Visit visit) {
  io::SimulatedFileSystem nothing;
  const auto append = [&](const char* name, const io::simulated::Image& image, const Append& run) {
    visit(name, image, run, Judged{run.path, run.last});
  };
  append("append, synced", image_of("/a.jss", 2), {.path = "/a.jss", .before = 2, .last = 12});
  append("append, flushed", image_of("/a.jss", 2),
         {.path = "/a.jss", .before = 2, .last = 12, .sync = false});
  append("append, rotating", image_of("/a", 2),
         {.path = "/a", .before = 2, .last = 12, .batch = 4, .rotation_bytes = 1500});
  append("append, rotating within a batch", image_of("/a", 2),
         {.path = "/a", .before = 2, .last = 14, .batch = 6, .rotation_bytes = 1000});
  append("seal a file", image_of("/a.jss", 6),
         {.path = "/a.jss", .before = 6, .last = 9, .seal = true});
  append("seal a directory's segment", image_of("/a", 6),
         {.path = "/a", .before = 6, .last = 9, .seal = true});
  visit("recover a torn tail", image_with_tail(5, false), Recover{"/a.jss", 5},
        Judged{"/a.jss", 5});
  visit("recover an orphaned footer", image_with_tail(5, true), Recover{"/a.jss", 5},
        Judged{"/a.jss", 5});
  for (const std::string path : {"/a.jss", "/d/a"}) {
    const Create run{path};
    visit(path == "/a.jss" ? "create a file" : "create a directory", nothing.image(), run,
          [run](auto& files, const Claim& claim) { return run.check(files, claim); });
  }
}

TEST(JssCrashes, EveryOneOfTheWriter) {
  io::CrashOptions options;
  options.max_candidates = varve::test::scaled(8000);
  Table table = CrashOutcome::make_table("jss: what appends and seals against every crash");
  each_operation([&](const char* name, const io::simulated::Image& image, auto run, auto check) {
    const CrashOutcome outcome = every_crash(image, run, check, options);
    EXPECT_EQ(outcome.problems, 0U) << name << ": " << outcome.first_problem;
    EXPECT_GT(outcome.report.states, 2U) << name;
    outcome.add_row(table, name);
  });
  EXPECT_TRUE(table.publish("jss-crash"));
}

TEST(JssCrashes, EveryFailingCallOfTheWriter) {
  CallOptions options;
  options.crash_candidates = varve::test::small_run() ? 2 : 10;
  options.stride = varve::test::small_run() ? 5 : 1;
  Table table = CallOutcome::make_table("jss: what appends and seals against every failing call");
  each_operation([&](const char* name, const io::simulated::Image& image, auto run, auto check) {
    if constexpr (std::is_same_v<decltype(check), Judged>) {
      check.faults = true;
    }
    const CallOutcome outcome = every_call(image, run, check, options);
    EXPECT_EQ(outcome.problems, 0U) << name << ": " << outcome.first_problem;
    EXPECT_GT(outcome.calls, 5U) << name;
    outcome.add_row(table, name);
  });
  EXPECT_TRUE(table.publish("jss-call"));
}

}  // namespace
}  // namespace varve::jss::test
