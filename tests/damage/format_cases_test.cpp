// SPDX-License-Identifier: MIT OR Apache-2.0
// The case files of the registered formats.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/damage/case_file.hpp"
#include "tests/damage/sample_stores.hpp"

namespace varve::test {
namespace {

class FormatCases : public ::testing::TestWithParam<std::string> {};

TEST_P(FormatCases, EveryCaseHolds) {
  VARVE_REQUIRE_SHARED();
  std::ifstream in(std::string(VARVE_TEST_SOURCE_DIR) + "/tests/damage/cases/" + GetParam());
  const CaseFile file = read_cases(in);
  ASSERT_EQ(file.problem, "");
  const Format* format = find_format(file.format);
  ASSERT_NE(format, nullptr) << file.format;
  EXPECT_FALSE(file.cases.empty());
  std::map<std::string, io::simulated::Image> images;
  for (const DamageCase& one : file.cases) {
    if (!images.contains(one.store)) {
      images[one.store] = image_of(one.store);
    }
    EXPECT_EQ(run_case(*format, images[one.store], "/store", one, file.options), "")
        << "line " << one.line_number << " of " << GetParam() << ": " << one.damage;
  }
}

std::vector<std::string> case_files() {
  std::vector<std::string> out;
  const fs::path directory = fs::path(VARVE_TEST_SOURCE_DIR) / "tests/damage/cases";
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ifstream in(entry.path());
    const std::string name = entry.path().filename().string();
    if (find_format(read_cases(in).format) != nullptr) {
      out.push_back(name);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FormatCases);
INSTANTIATE_TEST_SUITE_P(Damage, FormatCases, ::testing::ValuesIn(case_files()),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace varve::test
