// SPDX-License-Identifier: MIT OR Apache-2.0
// A small store cut at every byte, and with every bit flipped.
#include <algorithm>

#include "tay/view.hpp"
#include "tests/exhaustive/every_bit.hpp"
#include "tests/exhaustive/every_cut.hpp"
#include "tests/exhaustive/sight.hpp"
#include "tests/tay/stores.hpp"
#include "varve/tay.hpp"

namespace varve::tay::test {
namespace {

using varve::test::BitLook;
using varve::test::BitReport;
using varve::test::CutLook;
using varve::test::CutReport;
using varve::test::every_bit;
using varve::test::every_cut;
using varve::test::look_at;
using varve::test::Sight;

// Two segments, the first sealed; jobs that were run and that wait.
io::simulated::Image two_segments() {
  io::SimulatedFileSystem files;
  io::FixedEnvironment environment;
  JobStoreOptions options;
  options.environment = &environment;
  auto store = JobStore::create(files, k_root, options);
  EXPECT_TRUE(store);
  for (std::uint8_t n = 1; n <= 2; ++n) {
    JobDefinition definition;
    definition.worker_key = "w";
    EXPECT_TRUE((*store)->insert({std::byte{n}}, definition));
    const auto run = (*store)->start({std::byte{n}});
    EXPECT_TRUE((*store)->finish({std::byte{n}}, *run->execution, Outcome(n - 1)));
    if (n == 1) {
      EXPECT_TRUE((*store)->seal());
    }
  }
  store->reset();
  files.settle();
  return files.image();
}

Sight sight_of(io::SimulatedFileSystem& files) { return look_at(format(), files, k_root); }

// What stays is a part of what was, in order; of the cut segment the records before the cut, and
// all of the other.
TEST(Cuts, OfEachFile) {
  const auto image = two_segments();
  io::SimulatedFileSystem healthy(image, {});
  const Sight whole = sight_of(healthy);
  ASSERT_EQ(whole.verdict, Verdict::clean);
  ASSERT_EQ(whole.log.size(), 6U);
  for (const std::uint64_t id : {1U, 2U}) {
    const Bytes bytes = healthy.get(segment_path(id)).value();
    const CutReport report =
        every_cut(image, segment_path(id), [&](io::SimulatedFileSystem& files, std::uint64_t size) {
          const Sight cut = sight_of(files);
          const auto kept =
              records_of(ByteSpan(bytes).first(static_cast<std::size_t>(size))).size();
          EXPECT_EQ(cut.log.size(), kept + 3) << "segment " << id << " cut to " << size;
          EXPECT_TRUE(std::ranges::all_of(cut.log, [&](const std::string& line) {
            return std::ranges::count(whole.log, line) == 1;
          }));
          const bool boundary = id == 2 && size >= k_header_bytes && cut.code.empty();
          EXPECT_EQ(cut.verdict == Verdict::clean, boundary) << size;
          return CutLook{std::string(to_text(cut.verdict)), cut.code, cut.log.size()};
        });
    EXPECT_TRUE(
        report
            .table("tay: " + std::string(id == 1 ? "a sealed segment" : "the active segment") +
                   " cut to every size")
            .publish(id == 1 ? "tay-cut-sealed" : "tay-cut-active"));
  }
}

TEST(Bits, OfEachFileAreNoticed) {
  const auto image = two_segments();
  for (const std::string& path :
       {segment_path(1), segment_path(2), std::string(k_root) + "/STORE"}) {
    const BitReport report = every_bit(
        image, path,
        [](io::SimulatedFileSystem& files) {
          const Sight sight = sight_of(files);
          return BitLook{sight.warnings > 0, sight.code, sight.fingerprint()};
        },
        [](std::uint64_t) { return std::string("any"); }, varve::test::scaled_sampling());
    EXPECT_EQ(report.noticed, report.bits) << path;
    EXPECT_GT(report.bits, 200U);
  }
}

}  // namespace
}  // namespace varve::tay::test
