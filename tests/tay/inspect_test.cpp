// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/tay_inspect.hpp"

#include <simdjson.h>

#include "tests/tay/fixtures.hpp"

namespace varve::tay {
namespace {

namespace fs = varve::test::fs;

// The compact text of a member of the manifest, as the library writes JSON.
std::string compact(simdjson::dom::element element) { return simdjson::minify(element); }

std::vector<fs::path> stores(const char* kind) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(test::fixture("stores") / kind)) {
    if (entry.is_directory()) {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

simdjson::dom::element expected_of(simdjson::dom::parser& parser, const fs::path& store) {
  return parser.load(store.string() + ".json")["expected"];
}

class Inspect : public testing::TestWithParam<unsigned> {};

TEST_P(Inspect, ValidFixturesGiveTheFieldsOfTheirManifests) {
  VARVE_REQUIRE_SHARED();
  const auto found = stores("valid");
  EXPECT_EQ(found.size(), 4U);
  for (const fs::path& store : found) {
    SCOPED_TRACE(store.filename());
    varve::test::ScratchDirectory scratch;
    const fs::path copy = varve::test::copy_tree(store, scratch / "store");
    const std::string before = varve::test::tree_snapshot(copy);
    InspectOptions options;
    options.threads = GetParam();
    const auto inspection = inspect(io::posix_file_system(), copy.string(), options);
    ASSERT_TRUE(inspection) << to_json(inspection.error()).text();
    simdjson::dom::parser parser;
    simdjson::dom::parser ours_parser;
    const auto expected = expected_of(parser, store);
    const auto ours = ours_parser.parse(to_json(*inspection).text());
    for (const auto [key, value] : simdjson::dom::object(expected)) {
      if (key != "states") {
        EXPECT_EQ(compact(ours[key]), compact(value)) << key;
      }
    }
    for (const auto [key, value] : simdjson::dom::object(expected["states"])) {
      EXPECT_EQ(compact(ours["states"][key]), compact(value)) << key;
    }
    EXPECT_EQ(varve::test::tree_snapshot(copy), before);
  }
}

TEST_P(Inspect, InvalidFixturesAreRefusedAsTheirManifestsSay) {
  VARVE_REQUIRE_SHARED();
  const auto found = stores("invalid");
  EXPECT_EQ(found.size(), 57U);
  for (const fs::path& store : found) {
    SCOPED_TRACE(store.filename());
    varve::test::ScratchDirectory scratch;
    const fs::path copy = varve::test::copy_tree(store, scratch / "store");
    const std::string before = varve::test::tree_snapshot(copy);
    InspectOptions options;
    options.threads = GetParam();
    const auto inspection = inspect(io::posix_file_system(), copy.string(), options);
    ASSERT_FALSE(inspection);
    simdjson::dom::parser parser;
    simdjson::dom::parser ours_parser;
    const auto expected = expected_of(parser, store);
    const auto ours = ours_parser.parse(to_json(inspection.error()).text());
    for (const auto [key, value] : simdjson::dom::object(expected)) {
      if (key == "physical_kind" && value.is_null()) {
        continue;
      }
      EXPECT_EQ(compact(ours[key]), compact(value)) << key;
    }
    EXPECT_EQ(varve::test::tree_snapshot(copy), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Inspect, testing::Values(1U, 3U));

// A store of the given members, made by the test.
struct SmallStore {
  varve::test::ScratchDirectory scratch;
  fs::path path = scratch / "store";
  explicit SmallStore(const char* from) { varve::test::copy_tree(test::fixture(from), path); }
  std::expected<Inspection, Refusal> inspect(const Budgets& budgets = {}) const {
    InspectOptions options;
    options.budgets = budgets;
    return tay::inspect(io::posix_file_system(), path.string(), options);
  }
};

TEST(InspectBudgets, EachIsReportedByItsLimit) {
  VARVE_REQUIRE_SHARED();
  const SmallStore store("stores/valid/lifecycle");
  const auto word = [&](auto change) {
    Budgets budgets;
    change(budgets);
    const auto result = store.inspect(budgets);
    EXPECT_FALSE(result);
    EXPECT_EQ(to_text(result.error().kind), "resource_limit");
    EXPECT_EQ(result.error().verdict, Verdict::unknown);
    return result.error().word;
  };
  EXPECT_EQ(word([](Budgets& b) { b.payload_bytes = 100; }), "resource_limit");
  EXPECT_EQ(word([](Budgets& b) { b.event.depth = 3; }), "depth");
  EXPECT_EQ(word([](Budgets& b) { b.event.nodes = 30; }), "output_nodes");
  EXPECT_EQ(word([](Budgets& b) { b.event.bytes = 100; }), "binary_bytes");
  EXPECT_EQ(word([](Budgets& b) { b.directory_entries = 2; }), "max_directory_entries");
  EXPECT_EQ(word([](Budgets& b) { b.total_segment_bytes = 7799; }), "max_total_segment_bytes");
  EXPECT_EQ(word([](Budgets& b) { b.replay_records = 27; }), "max_replay_records");
  EXPECT_EQ(word([](Budgets& b) { b.retained_jobs = 7; }), "retained_jobs");
  EXPECT_EQ(word([](Budgets& b) { b.retained_bytes = 36149; }), "retained_bytes");
  EXPECT_EQ(word([](Budgets& b) { b.retained_nodes = 741; }), "retained_nodes");
  Budgets exact;
  exact.directory_entries = 3;
  exact.total_segment_bytes = 7800;
  exact.replay_records = 28;
  exact.retained_jobs = 8;
  exact.retained_bytes = 36150;
  exact.retained_nodes = 742;
  EXPECT_TRUE(store.inspect(exact));
}

TEST(InspectBudgets, NoRecordMayBeReplayedInAnEmptyStore) {
  VARVE_REQUIRE_SHARED();
  Budgets budgets;
  budgets.replay_records = 0;
  EXPECT_TRUE(SmallStore("stores/valid/empty").inspect(budgets));
  EXPECT_FALSE(SmallStore("stores/valid/lifecycle").inspect(budgets));
}

TEST(InspectOwnership, AHeldLockIsBusyAndNothingIsListed) {
  VARVE_REQUIRE_SHARED();
  const SmallStore store("stores/invalid/name-malformed");
  auto lock = io::posix_file_system().open_file((store.path / ".tay-owner.lock").string(),
                                                io::OpenMode::read_write);
  ASSERT_TRUE(lock);
  ASSERT_TRUE((*lock)->lock(io::LockKind::exclusive));
  const auto busy = store.inspect();
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().kind, RefusalKind::ownership_busy);
  EXPECT_EQ(busy.error().word, "store_busy");
  ASSERT_TRUE((*lock)->unlock());
  EXPECT_EQ(store.inspect().error().word, "malformed_segment_name");
}

TEST(InspectOwnership, MissingRootIsUnavailable) {
  const auto result = inspect(io::posix_file_system(), "/nowhere/at/all");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, RefusalKind::ownership_unavailable);
  EXPECT_EQ(result.error().word, "existing_root_or_lock_missing");
}

}  // namespace
}  // namespace varve::tay
