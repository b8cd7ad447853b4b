// SPDX-License-Identifier: MIT OR Apache-2.0
// The program over the fixtures: exit codes and documents of verify and state.
#include <map>

#include "tests/tay/views.hpp"

namespace varve::tay {
namespace {

using varve::test::run_tool;

// CONTRACT sections 2 and 4: the exit code that a kind of refusal leads to.
int exit_code_of(const std::string& store, const std::string& kind) {
  if (store.ends_with("store-missing-genesis")) return 1;
  if (store.ends_with("store-v2-root")) return 3;
  static const std::map<std::string, int> k_codes = {{"incomplete_tail", 1},
                                                     {"unsupported_physical", 3},
                                                     {"unsupported_semantics", 3},
                                                     {"resource_limit", 3},
                                                     {"ownership_unavailable", 0}};
  const auto found = k_codes.find(kind);
  return found == k_codes.end() ? 2 : found->second;
}

TEST(Program, InvalidFixturesGiveTheExitCodesOfTheContract) {
  VARVE_REQUIRE_SHARED();
  const std::map<int, std::string> verdicts = {
      {0, "clean"}, {1, "torn"}, {2, "damaged"}, {3, "unknown"}};
  std::size_t count = 0;
  for (const std::string& store : test::stores("invalid")) {
    SCOPED_TRACE(store);
    simdjson::dom::parser manifest_parser;
    const simdjson::dom::element manifest = manifest_parser.load(store + ".json");
    const int code = exit_code_of(store, test::text_of(manifest["expected"]["kind"]));
    const auto verified = run_tool({"verify", "--json", store});
    EXPECT_EQ(verified.exit_code, code);
    simdjson::dom::parser parser;
    const simdjson::dom::element document = parser.parse(verified.out);
    EXPECT_EQ(test::text_of(document["verdict"]), verdicts.at(code));
    // A log that the format refuses has no state, torn ones included.
    EXPECT_EQ(run_tool({"state", store}).exit_code, code == 1 ? 2 : code);
    ++count;
  }
  EXPECT_EQ(count, 57U);
}

TEST(Program, ValidFixturesAreClean) {
  VARVE_REQUIRE_SHARED();
  for (const std::string& store : test::stores("valid")) {
    EXPECT_EQ(run_tool({"verify", store}).exit_code, 0) << store;
    EXPECT_EQ(run_tool({"state", store}).exit_code, 0) << store;
  }
}

}  // namespace
}  // namespace varve::tay
