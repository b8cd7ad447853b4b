// SPDX-License-Identifier: MIT OR Apache-2.0
// Every crash and every failing call of what rewrites sealed segments: compaction and patching.
// Each segment is the old file or the new one, and doing it again ends where an undisturbed run
// does.
#include <functional>
#include <map>

#include "crash_support.hpp"

namespace varve::jss::test {
namespace {

using varve::test::CallOptions;
using varve::test::CallOutcome;
using varve::test::CrashOutcome;
using varve::test::every_call;
using varve::test::every_crash;
using varve::test::Table;

constexpr std::uint64_t k_rows = 36;
const std::string k_path = "/a";

io::simulated::Image sealed_image() {
  io::SimulatedFileSystem files;
  EXPECT_TRUE(Writer::create(files, k_path));
  auto writer = Writer::open(files, k_path, crash_options(2500));
  EXPECT_TRUE(writer && append_until(**writer, k_rows) && (*writer)->seal());
  EXPECT_GE((*writer)->sealed_segments().size(), 3U);
  writer->reset();
  files.settle();
  return files.image();
}

// The bytes of each segment, by name.
std::map<std::string, base::Bytes> segments_of(io::SimulatedFileSystem& files) {
  std::map<std::string, base::Bytes> out;
  for (const std::string& path : files.paths(k_path)) {
    if (segment_number(path)) {
      out[path] = files.get(k_path + "/" + path).value();
    }
  }
  return out;
}

// One way of rewriting, and what is left of a store once it is through.
class Rewriting {
 public:
  using Do = std::function<bool(io::FileSystem& files)>;
  // `at_once`: each segment is rewritten once at most, so that it is the old file or the last one.
  explicit Rewriting(Do rewrite, bool at_once = true) : do_(std::move(rewrite)), at_once_(at_once) {
    io::SimulatedFileSystem files(image_, {});
    old_ = segments_of(files);
    before_ = Sight::of(files, k_path).lines;
    EXPECT_TRUE(do_(files));
    new_ = segments_of(files);
    after_ = Sight::of(files, k_path).lines;
    EXPECT_NE(old_, new_);
    EXPECT_NE(before_, after_);
  }

  const io::simulated::Image& image() const { return image_; }
  void run(io::SimulatedFileSystem& files, Promises& promises) const {
    if (do_(files)) {
      promises.acknowledge(1);
    }
  }
  std::string check(io::SimulatedFileSystem& files, const Claim& claim) const {
    const auto now = segments_of(files);
    if (now.size() != old_.size()) {
      return "a segment is missing";
    }
    for (const auto& [name, bytes] : now) {
      if (at_once_ && bytes != new_.at(name) &&
          (claim.acknowledged != 0 || bytes != old_.at(name))) {
        return name + " is neither the old file nor the new one";
      }
    }
    const Sight seen = Sight::of(files, k_path);
    if (seen.refused || seen.verdict != Verdict::clean) {
      return "it does not read clean";
    }
    if (at_once_ ? seen.lines.size() < after_.size()
                 : !in_order(after_, seen.lines) || !in_order(seen.lines, before_)) {
      return "rows are missing, or too many";
    }
    // Numbers of rows that are gone are not given again.
    {
      const auto other = copy_of(files);
      const auto writer = Writer::open(*other, k_path, crash_options());
      if (!writer || (*writer)->next_seq() != k_rows + 1) {
        return "the next number is wrong";
      }
    }
    if (!do_(files)) {
      return "it cannot be done again";
    }
    if ((at_once_ && segments_of(files) != new_) || Sight::of(files, k_path).lines != after_) {
      return "done again, it ends elsewhere";
    }
    for (const std::string& path : files.paths(k_path)) {
      if (is_temporary_name(path)) {
        return path + " is left";
      }
    }
    return "";
  }

 private:
  io::simulated::Image image_ = sealed_image();
  Do do_;
  bool at_once_;
  std::map<std::string, base::Bytes> old_;
  std::map<std::string, base::Bytes> new_;
  Lines before_;
  Lines after_;
};

template <class Visit>
void each_rewriting(Visit visit) {
  visit("compaction", Rewriting([](io::FileSystem& files) {
          return compact(files, k_path, {.threads = 1}).has_value();
        }));
  visit("compaction in chunks",
        Rewriting(
            [](io::FileSystem& files) {
              return compact(files, k_path, {.threads = 1, .max_tombstones = 1}).has_value();
            },
            false));
  visit("patch", Rewriting([](io::FileSystem& files) {
          const std::vector<IndexedAtPatch> patches = {{2, 17}, {3, 18}, {k_rows - 1, 19}};
          return patch_indexed_at(files, k_path, patches, 1).has_value();
        }));
}

TEST(JssCrashes, EveryOneOfARewrite) {
  io::CrashOptions options;
  options.max_candidates = varve::test::scaled(8000);
  Table table = CrashOutcome::make_table("jss: what rewrites segments against every crash");
  each_rewriting([&](const char* name, const Rewriting& rewriting) {
    const CrashOutcome outcome = every_crash(
        rewriting.image(), [&](auto& files, auto& promises) { rewriting.run(files, promises); },
        [&](auto& files, const Claim& claim) { return rewriting.check(files, claim); }, options);
    EXPECT_EQ(outcome.problems, 0U) << name << ": " << outcome.first_problem;
    EXPECT_GT(outcome.report.states, 10U) << name;
    outcome.add_row(table, name);
  });
  EXPECT_TRUE(table.publish("jss-rewrite-crash"));
}

TEST(JssCrashes, EveryFailingCallOfARewrite) {
  CallOptions options;
  options.crash_candidates = varve::test::small_run() ? 2 : 4;
  options.stride = varve::test::small_run() ? 13 : 1;
  options.kinds = {io::FaultKind::io_error, io::FaultKind::short_write};
  Table table = CallOutcome::make_table("jss: what rewrites segments against every failing call");
  each_rewriting([&](const char* name, const Rewriting& rewriting) {
    const CallOutcome outcome = every_call(
        rewriting.image(), [&](auto& files, auto& promises) { rewriting.run(files, promises); },
        [&](auto& files, const Claim& claim) { return rewriting.check(files, claim); }, options);
    EXPECT_EQ(outcome.problems, 0U) << name << ": " << outcome.first_problem;
    EXPECT_GT(outcome.calls, 20U) << name;
    outcome.add_row(table, name);
  });
  EXPECT_TRUE(table.publish("jss-rewrite-call"));
}

}  // namespace
}  // namespace varve::jss::test
