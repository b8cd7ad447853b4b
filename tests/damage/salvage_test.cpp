// SPDX-License-Identifier: MIT OR Apache-2.0
// `salvage` of every format on damaged stores: whatever the log still shows is kept or set aside,
// the new store is clean, the source is not touched.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <set>

#include "tests/damage/case_file.hpp"
#include "tests/damage/random_damage.hpp"
#include "tests/damage/salvage_checks.hpp"
#include "tests/damage/sample_stores.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : parse_number(text).value_or(otherwise);
}

// What a salvage of a store owes: each line that `cat` prints of it, kept or set aside.
// Where it proves units that `cat` does not look for, they are still those of the whole store.
void expect_nothing_forgotten(const Salvaged& salvaged, const std::vector<std::string>& shown,
                              const std::vector<std::string>& whole) {
  EXPECT_TRUE(is_subsequence(salvaged.log, shown) || is_subsequence(salvaged.log, whole))
      << "a record that the log does not show";
  std::multiset<std::string> got(salvaged.log.begin(), salvaged.log.end());
  got.insert(salvaged.aside.begin(), salvaged.aside.end());
  std::uint64_t missing = 0;
  for (const std::string& line : shown) {
    const auto found = got.find(line);
    missing += found == got.end() ? 1 : 0;
    if (found != got.end()) got.erase(found);
  }
  // What is set aside as raw bytes stands in no lines.
  EXPECT_LE(missing, salvaged.report.set_aside.records);
}

class SalvageOf : public ::testing::TestWithParam<SampleStore> {};

TEST_P(SalvageOf, AHealthyStoreIsACopy) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format(GetParam().format);
  io::SimulatedFileSystem files(image_of(GetParam().path), {nullptr, false});
  std::string why;
  const auto salvaged = salvage_and_check(format, files, why);
  ASSERT_TRUE(salvaged) << why;
  EXPECT_EQ(salvaged->log, log_of(format, files, "/store"));
  EXPECT_EQ(salvaged->report.missing_bytes(), 0U);
  EXPECT_EQ(look_at(format, files, "/store").state, look_at(format, files, "/new").state);
}

TEST_P(SalvageOf, RandomlyDamagedStoresForgetsNothing) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format(GetParam().format);
  const io::simulated::Image image = image_of(GetParam().path);
  io::SimulatedFileSystem healthy(image, {nullptr, false});
  const auto rows = explain_rows(format, healthy, "/store", {});
  const std::vector<std::string> whole = log_of(format, healthy, "/store");
  RandomDamage damage(from_environment("VARVE_DAMAGE_SEED", 1), healthy, "/store", rows);
  const std::uint64_t lines = from_environment("VARVE_DAMAGE_LINES", small_run() ? 10 : 60);
  for (std::uint64_t i = 0; i < lines && !HasFailure(); ++i) {
    const std::string line = damage.line();
    SCOPED_TRACE(line);
    io::SimulatedFileSystem files(image, {nullptr, false});
    Mutator mutator(files, "/store", [&] { return rows; });
    if (line.find("live") != std::string::npos || !mutator.apply(line).empty()) {
      continue;
    }
    std::string why;
    const auto salvaged = salvage_and_check(format, files, why);
    if (salvaged) {
      // Of a format with two headers the world of the older one may be what holds.
      std::map<std::string, std::string> options;
      if (salvaged->report.detail.text().find("\"world\":\"older\"") != std::string::npos) {
        options["world"] = "older";
      }
      expect_nothing_forgotten(*salvaged, log_of(format, files, "/store", options), whole);
    } else {
      EXPECT_EQ(log_of(format, files, "/store"), std::vector<std::string>()) << why;
    }
  }
}

// Whatever call fails: the source is as it was, and there is a whole new store or none.
TEST_P(SalvageOf, AnyCallMayFail) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format(GetParam().format);
  const io::simulated::Image image = image_of(GetParam().path);
  std::uint64_t failed = 0;
  for (std::uint64_t call = 0;; call += small_run() ? 2 : 1) {
    SCOPED_TRACE("call " + std::to_string(call));
    io::SimulatedFileSystem files(image, {nullptr, false});
    const auto before = listing_of(files, "/store");
    io::FixedEnvironment environment(1'704'067'200'000'000'000, 1'000'000, 7);
    SalvageRequest request;
    request.environment = &environment;
    request.threads = 1;
    request.target = "/new";
    FindingList findings;
    files.set_fault(io::Fault{call, io::FaultKind::io_error, false, io::k_changing_calls});
    const auto report = format.salvage(files, "/store", request, findings);
    const bool met = files.faults_met() != 0;
    files.set_fault(std::nullopt);
    EXPECT_EQ(listing_of(files, "/store"), before);
    if (report || files.identity_of("/new")) {
      EXPECT_EQ(to_text(look_at(format, files, "/new").verdict), "clean");
    } else {
      ++failed;
    }
    for (const std::string& name : files.paths("/")) {
      // Where not even an empty directory can be removed it stays.
      const std::size_t staging = name.find("varve-partial");
      EXPECT_TRUE(staging == std::string::npos || (report && name.find('/') + 1 == name.size()))
          << name;
    }
    if (!met || HasFailure()) {
      break;
    }
  }
  EXPECT_GT(failed, 3U);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SalvageOf);
INSTANTIATE_TEST_SUITE_P(Damage, SalvageOf, ::testing::ValuesIn(sample_stores()),
                         [](const auto& param) { return test_name(param.param.path); });

TEST(SalvageLimits, RefusesToLoseMoreThanAllowed) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format("jss");
  io::SimulatedFileSystem files(image_of("jss/invalid/block_bit_flipped.jss"), {nullptr, false});
  FindingList findings;
  SalvageRequest request;
  request.threads = 1;
  const auto all = format.salvage(files, "/store", request, findings);
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_GT(all->missing_bytes(), 0U);
  for (const std::string target : {"", "/new"}) {
    request.target = target;
    request.max_loss = {all->missing_bytes() - 1, std::nullopt};
    const auto refused = format.salvage(files, "/store", request, findings);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, "max_loss");
    request.max_loss = {std::nullopt, 0.5};
    EXPECT_FALSE(format.salvage(files, "/store", request, findings));
    EXPECT_FALSE(files.identity_of("/new"));
  }
  request.max_loss = {all->missing_bytes(), std::nullopt};
  EXPECT_TRUE(format.salvage(files, "/store", request, findings));
  EXPECT_TRUE(files.identity_of("/new"));
  // Nothing is overwritten.
  request.max_loss = {};
  const auto again = format.salvage(files, "/store", request, findings);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().system_errno, EEXIST);
}

}  // namespace
}  // namespace varve::test
