// SPDX-License-Identifier: MIT OR Apache-2.0
// `salvage` of the damaged stores among the shared fixtures; each receipt fits its schema.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/damage/salvage_checks.hpp"
#include "tests/damage/sample_stores.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

std::vector<std::string> damaged_fixtures() {
  std::vector<std::string> out;
  if (!shared_present()) {
    return out;
  }
  for (const auto& entry : fs::directory_iterator(shared_path("fixtures/jss/invalid"))) {
    if (entry.path().extension() == ".jss") {
      out.push_back("jss/invalid/" + entry.path().filename().string());
    }
  }
  for (const auto& entry : fs::directory_iterator(shared_path("fixtures/tay/stores/invalid"))) {
    if (entry.is_directory()) {
      out.push_back("tay/stores/invalid/" + entry.path().filename().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(SalvageFixtures, OfEveryDamagedOneWhatTheLogShowsIsKeptOrSetAside) {
  VARVE_REQUIRE_SHARED();
  std::string receipts;
  std::uint64_t salvaged_stores = 0;
  std::set<std::string> refused;
  for (const std::string& path : damaged_fixtures()) {
    SCOPED_TRACE(path);
    const Format& format = *find_format(path.substr(0, 3));
    io::SimulatedFileSystem files(image_of(path), {nullptr, false});
    std::string why;
    const auto salvaged = salvage_and_check(format, files, why);
    if (!salvaged) {
      refused.insert(path + ": " + why.substr(0, why.find(':')));
      continue;
    }
    ++salvaged_stores;
    receipts += "salvage\t" + to_json(salvaged->report).text() + '\n';
    const auto shown = log_of(format, files, "/store");
    EXPECT_TRUE(is_subsequence(salvaged->log, shown));
    EXPECT_LE(shown.size(), salvaged->log.size() + salvaged->report.set_aside.records);
    // The file on disk is the report.
    const auto stored = files.get(salvaged->report.lost_and_found + "/salvage.json");
    ASSERT_TRUE(stored);
    std::string text(base::as_text(*stored));
    std::ranges::replace(text, '\n', ' ');
    receipts += "salvage\t" + text + '\n';
  }
  EXPECT_EQ(refused, (std::set<std::string>{"jss/invalid/version_2.jss: InvalidFooter"}));
  EXPECT_GT(salvaged_stores, 100U);
  RunOptions options;
  options.input = receipts;
  const RunResult result =
      run_command({"/usr/bin/python3",
                   std::string(VARVE_TEST_SOURCE_DIR) + "/tests/cli/check_json.py", "--pairs"},
                  options);
  if (result.exit_code == 77) {
    GTEST_SKIP() << "python3-jsonschema is not installed";
  }
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// jss: where only the footer or the header was hurt, no row is lost.
TEST(SalvageFixtures, WhereOnlyTheFooterIsHurtNothingIsLost) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format("jss");
  for (const char* name :
       {"checksum_flipped", "footer_byte_flipped", "index_entry_flipped", "block_offset_wraps",
        "blocks_overlap", "collection_frame_crc", "segment_bloom_crc", "block_bloom_crc",
        "event_count_wrong", "unique_dids_wrong", "bad_magic", "length_prefix_differs",
        "footer_offset_huge", "sections_out_of_order", "segment_bloom_false_negative"}) {
    SCOPED_TRACE(name);
    io::SimulatedFileSystem files(image_of("jss/invalid/" + std::string(name) + ".jss"),
                                  {nullptr, false});
    std::string why;
    const auto salvaged = salvage_and_check(format, files, why);
    ASSERT_TRUE(salvaged) << why;
    EXPECT_EQ(salvaged->report.kept.records, 12U);
    EXPECT_EQ(salvaged->report.lost.records, 0U);
  }
}

// Of a log with a gap the prefix that replays is kept; renumbered, all that is legal.
TEST(SalvageFixtures, TayKeepsThePrefixOrRenumbers) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format("tay");
  const auto image = image_of("tay/stores/valid/lifecycle");
  const std::string hurt = "/store/segments/00000000000000000002.tay";
  const auto salvaged = [&](io::SimulatedFileSystem& files, const char* option) {
    auto bytes = files.get(hurt).value();
    bytes[100] ^= std::byte{1};
    EXPECT_TRUE(files.put(hurt, bytes));
    std::string why;
    SalvageRequest request;
    if (option != nullptr) request.options[option] = "1";
    auto out = salvage_and_check(format, files, why, request);
    EXPECT_TRUE(out) << why;
    return *std::move(out);
  };
  io::SimulatedFileSystem files(image, {nullptr, false});
  const Salvaged prefix = salvaged(files, nullptr);
  EXPECT_GT(prefix.report.set_aside.records, 0U);
  EXPECT_EQ(prefix.aside.size(), prefix.report.set_aside.records);
  EXPECT_EQ(prefix.report.lost.records, 1U);
  io::SimulatedFileSystem again(image, {nullptr, false});
  const Salvaged renumbered = salvaged(again, "renumber");
  EXPECT_GT(renumbered.report.kept.records, prefix.report.kept.records);
  EXPECT_EQ(renumbered.report.kept.records + renumbered.report.set_aside.records,
            prefix.report.kept.records + prefix.report.set_aside.records);
  EXPECT_TRUE(again.get(renumbered.report.lost_and_found + "/renumbered.jsonl"));
}

}  // namespace
}  // namespace varve::test
