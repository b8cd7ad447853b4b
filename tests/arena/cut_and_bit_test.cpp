// SPDX-License-Identifier: MIT OR Apache-2.0
// A small store of two segments cut at every byte, and with every bit flipped.
#include <algorithm>
#include <array>

#include "arena/fields.hpp"
#include "tests/exhaustive/every_bit.hpp"
#include "tests/exhaustive/every_cut.hpp"
#include "tests/exhaustive/sight.hpp"
#include "transactions.hpp"
#include "writer_support.hpp"

namespace varve::arena {
namespace {

using namespace test;
using varve::test::BitLook;
using varve::test::BitReport;
using varve::test::CutLook;
using varve::test::CutReport;
using varve::test::every_bit;
using varve::test::every_cut;
using varve::test::Sight;

const std::string k_arena = "/store/vectors_data.bin";
const std::string k_live = k_arena + "/gen-7-9";
constexpr std::size_t k_in_first = 2;

// Payloads of which LZ4 shortens some.
std::vector<std::string> payloads() {
  return {txn(R"({"Vector":{"id":"v1","vector":{"dim":4096,"indices":[3,77,1024]}}})"),
          txn(R"({"Relation":{"sourceId":"v1","relationType":"knows","targetId":"v1",)"
              R"("properties":null,"validFrom":1.5,"validTo":0}})"),
          txn(R"({"Delete":{"id":"v2"}})"),
          txn(R"({"Vector":{"id":"v2","vector":{"dim":4096,"indices":[5,6]}}},)"
              R"({"Vector":{"id":"v3","vector":{"dim":4096,"indices":[5,6]}}})")};
}

// A trimmed store of format 3 after a compaction; both segments end with a marker.
io::simulated::Image two_segments() {
  io::SimulatedFileSystem files;
  const std::string manifest = manifest_text({3, k_step_bytes});
  put(files, "/store/store.json", k_schema_2);
  put(files, k_arena + "/format.json", manifest);
  put(files, k_arena + "/CURRENT", "gen-7-9");
  put(files, k_live + "/format.json", manifest);
  std::string first;
  std::string second;
  const auto all = payloads();
  for (std::size_t i = 0; i < all.size(); ++i) {
    (i < k_in_first ? first : second) += frame(all[i], static_cast<std::uint32_t>(i));
  }
  put(files, k_live + "/seg_0.bin", first + marker());
  put(files, k_live + "/seg_1.bin", second + marker());
  files.settle();
  return files.image();
}

// As varve::test::look_at, without the wait before the second look at a tail.
Sight sight_of(io::SimulatedFileSystem& files) {
  Sight sight;
  const auto view = open_view(files, "/store");
  const Verified verified = verify(*view);
  sight.opened = true;
  sight.verdict = verified.report.verdict;
  Scanned log = scan(*view);
  Scanned state = state_of(*view);
  const std::array<const FindingList*, 3> lists = {&verified.findings, &log.findings,
                                                   &state.findings};
  for (const FindingList* findings : lists) {
    sight.warnings += findings->errors() + findings->warnings();
    for (const Finding& finding : findings->findings()) {
      if (finding.severity == Severity::error && sight.code.empty()) {
        sight.code = finding.code;
      }
    }
  }
  sight.warnings += (log.error ? 1 : 0) + (state.error ? 1 : 0);
  sight.log_failed = log.error.has_value();
  sight.state_failed = state.error.has_value();
  sight.log = std::move(log.lines);
  sight.state = std::move(state.lines);
  return sight;
}

struct Extent {
  std::uint64_t begin = 0;
  FrameHeader header;
  std::uint64_t end() const { return begin + header.frame_bytes(); }
};
std::vector<Extent> frames_of(base::ByteSpan segment) {
  std::vector<Extent> out;
  for (std::uint64_t at = 0; at + k_header_bytes < segment.size();) {
    out.push_back({at, decode_header(segment.data() + at)});
    at = out.back().end();
  }
  return out;
}

// Of the cut segment what stays is every frame before the cut; of the other, all. A cut of the last
// segment is never taken for damage, one of an earlier segment in the middle of a frame always.
TEST(ArenaCuts, OfEachSegment) {
  const auto image = two_segments();
  io::SimulatedFileSystem healthy(image, {});
  const Sight whole = sight_of(healthy);
  ASSERT_EQ(whole.verdict, Verdict::clean);
  ASSERT_EQ(whole.log.size(), payloads().size());
  for (const bool final : {false, true}) {
    const std::string path = k_live + (final ? "/seg_1.bin" : "/seg_0.bin");
    const auto extents = frames_of(healthy.get(path).value());
    const CutReport report =
        every_cut(image, path, [&](io::SimulatedFileSystem& files, std::uint64_t size) {
          const Sight cut = sight_of(files);
          const auto kept = static_cast<std::uint64_t>(std::ranges::count_if(
              extents, [&](const Extent& extent) { return extent.end() <= size; }));
          EXPECT_EQ(cut.log.size(), kept + whole.log.size() - extents.size())
              << path << ' ' << size;
          EXPECT_TRUE(std::ranges::all_of(payloads_of(cut.log), [&](const std::string& payload) {
            return std::ranges::count(payloads_of(whole.log), payload) == 1;
          }));
          EXPECT_EQ(cut.verdict == Verdict::clean, cut.code.empty());
          EXPECT_NE(cut.verdict, final ? Verdict::damaged : Verdict::torn) << path << ' ' << size;
          return CutLook{std::string(to_text(cut.verdict)), cut.code, cut.log.size()};
        });
    EXPECT_TRUE(report
                    .table(std::string("arena: the ") + (final ? "last" : "first") +
                           " of two segments cut to every size")
                    .publish(final ? "arena-cut-last" : "arena-cut-first"));
  }
}

std::string field_at(const std::vector<Extent>& extents, std::uint64_t offset) {
  for (const Extent& extent : extents) {
    if (offset < extent.end()) {
      const std::uint64_t within = offset - extent.begin;
      for (const FieldSpec& field : k_frame_fields) {
        if (within < field.offset + (field.length == 0 ? extent.header.comp_len : field.length)) {
          return field.name;
        }
      }
    }
  }
  return "end marker";
}

TEST(ArenaBits, OfEachFile) {
  const auto image = two_segments();
  io::SimulatedFileSystem healthy(image, {});
  BitReport all;
  const auto flip = [&](const std::string& path, const auto& field_of) {
    const BitReport report = every_bit(
        image, path,
        [](io::SimulatedFileSystem& files) {
          const Sight sight = sight_of(files);
          return BitLook{sight.warnings > 0, sight.code, sight.fingerprint()};
        },
        field_of, varve::test::scaled_sampling());
    all.bits += report.bits;
    all.noticed += report.noticed;
    all.invisible += report.invisible;
    all.unprotected.insert(all.unprotected.end(), report.unprotected.begin(),
                           report.unprotected.end());
    for (const auto& [field, count] : report.unprotected_by_field) {
      all.unprotected_by_field[field] += count;
    }
    for (const auto& [field, count] : report.invisible_by_field) {
      all.invisible_by_field[field] += count;
    }
    return report;
  };
  for (const char* name : {"/seg_0.bin", "/seg_1.bin"}) {
    const auto extents = frames_of(healthy.get(k_live + name).value());
    const BitReport report =
        flip(k_live + name, [&](std::uint64_t offset) { return field_at(extents, offset); });
    // Nothing but the counter that nobody reads. Some bits of an LZ4 block choose between two
    // copies of the same bytes: the payload stays what it was.
    EXPECT_EQ(report.unprotected_by_field.size(), 1U) << name;
    EXPECT_TRUE(report.unprotected_by_field.contains("seq")) << name;
    EXPECT_TRUE(report.sampled || report.unprotected.size() == 32 * extents.size()) << name;
    EXPECT_LE(report.invisible_by_field.size(), 1U) << name;
    EXPECT_TRUE(report.invisible == 0 || report.invisible_by_field.contains("data")) << name;
  }
  for (const char* path :
       {"/store/store.json", "/store/vectors_data.bin/format.json",
        "/store/vectors_data.bin/CURRENT", "/store/vectors_data.bin/gen-7-9/format.json"}) {
    const std::string name = std::string(path).substr(7);
    flip(path, [&](std::uint64_t) { return name; });
  }
  EXPECT_FALSE(all.unprotected_by_field.contains("vectors_data.bin/CURRENT"));
  EXPECT_TRUE(all.table("arena: every bit of a small store flipped").publish("arena-every-bit"));
}

}  // namespace
}  // namespace varve::arena
