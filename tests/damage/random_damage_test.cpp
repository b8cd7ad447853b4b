// SPDX-License-Identifier: MIT OR Apache-2.0
// Seeded damage on a healthy store of every format. Whatever the damage is, the looks must come
// back, and agree with each other: serial with parallel, one look with the next, strict with not.
// VARVE_DAMAGE_LINES sets how many lines a store gets (default 60), VARVE_DAMAGE_SEED where to
// begin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "tests/damage/case_file.hpp"
#include "tests/damage/random_damage.hpp"
#include "tests/damage/sample_stores.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : parse_number(text).value_or(otherwise);
}

std::string in_words(const Sight& sight) {
  std::string out = std::string(to_text(sight.verdict)) + " " + sight.code + " @" +
                    std::to_string(sight.offset) + ", " + std::to_string(sight.log.size()) +
                    " records, " + std::to_string(sight.state.size()) + " in the state, " +
                    std::to_string(sight.warnings) + " findings";
  return out;
}

// The log as another request delivers it.
std::vector<std::string> log_by(const Format& format, io::FileSystem& files, ScanRequest request) {
  std::vector<std::string> out;
  OpenOptions open;
  open.threads = 1;
  if (auto view = format.open(files, "/store", open)) {
    request.threads = 1;
    FindingList findings;
    LineSink sink(**view, Face::log, out);
    (void)(*view)->scan(request, sink, findings);
  }
  return out;
}

void check_line(const Format& format, const io::simulated::Image& image, const std::string& line,
                const std::vector<ExplainRow>& rows) {
  SCOPED_TRACE(line);
  io::SimulatedFileSystem files(image, {nullptr, false});
  Mutator mutator(files, "/store", [&] { return rows; });
  if (!mutator.apply(line).empty()) {
    return;  // a later step names a place that an earlier one took away
  }
  SightOptions serial;
  const Sight first = look_at(format, files, "/store", serial);
  files.set_hook(nullptr);
  if (line.find("live") != std::string::npos) {
    return;  // the store was not the same for two looks
  }
  const Sight again = look_at(format, files, "/store", serial);
  EXPECT_EQ(in_words(first), in_words(again));
  EXPECT_EQ(first.fingerprint(), again.fingerprint());
  SightOptions parallel;
  parallel.threads = 3;
  const Sight side_by_side = look_at(format, files, "/store", parallel);
  EXPECT_EQ(in_words(first), in_words(side_by_side));
  EXPECT_EQ(first.log, side_by_side.log);
  EXPECT_EQ(first.state, side_by_side.state);
  ScanRequest strictly;
  strictly.strict = true;
  const std::vector<std::string> strict = log_by(format, files, strictly);
  EXPECT_NE(prefix_length(strict, first.log), SIZE_MAX) << "strict rows are not a prefix";
  ScanRequest backwards;
  backwards.reverse = true;
  std::vector<std::string> reversed = log_by(format, files, backwards);
  std::ranges::reverse(reversed);
  EXPECT_EQ(reversed, first.log) << "backwards";
  if (format.has_seq() && !first.log.empty()) {
    // In two halves by sequence, where the log's sequences ascend as they should.
    const auto seq_of = [](const std::string& row) { return std::stoull(row.substr(7)); };
    const bool ascends = std::ranges::is_sorted(first.log, {}, seq_of);
    ScanRequest half;
    half.predicate.seq_last = seq_of(first.log[first.log.size() / 2]);
    std::vector<std::string> halves = log_by(format, files, half);
    half.predicate = {};
    half.predicate.seq_first = seq_of(first.log[first.log.size() / 2]) + 1;
    const std::vector<std::string> rest = log_by(format, files, half);
    halves.insert(halves.end(), rest.begin(), rest.end());
    EXPECT_TRUE(!ascends || halves == first.log) << "in halves";
  }
  if (first.verdict == Verdict::clean) {
    EXPECT_EQ(strict, first.log);
  }
}

class RandomDamageTest : public ::testing::TestWithParam<SampleStore> {};

TEST_P(RandomDamageTest, LooksComeBackAndAgree) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format(GetParam().format);
  const io::simulated::Image image = image_of(GetParam().path);
  io::SimulatedFileSystem healthy(image, {nullptr, false});
  const auto rows = explain_rows(format, healthy, "/store", {});
  ASSERT_TRUE(look_at(format, healthy, "/store").opened);
  RandomDamage damage(from_environment("VARVE_DAMAGE_SEED", 1), healthy, "/store", rows);
  const std::uint64_t lines = from_environment("VARVE_DAMAGE_LINES", small_run() ? 10 : 60);
  for (std::uint64_t i = 0; i < lines && !HasFailure(); ++i) {
    check_line(format, image, damage.line(), rows);
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RandomDamageTest);
INSTANTIATE_TEST_SUITE_P(Damage, RandomDamageTest, ::testing::ValuesIn(sample_stores()),
                         [](const auto& param) { return test_name(param.param.path); });

}  // namespace
}  // namespace varve::test
