// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/damage/mutation.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/damage/case_file.hpp"
#include "tests/damage/random_damage.hpp"
#include "tests/damage/toy_format.hpp"

namespace varve::test {
namespace {

// The bytes "0123456789" in member "a" after a line.
std::string after(const std::string& line) {
  io::SimulatedFileSystem files;
  (void)files.put("/s/a", base::as_bytes("0123456789"));
  Mutator mutator(files, "/s", [] { return std::vector<ExplainRow>{}; });
  const std::string problem = mutator.apply(line);
  if (!problem.empty()) {
    return "problem: " + problem;
  }
  const auto bytes = files.get("/s/a");
  return bytes ? std::string(base::as_text(*bytes)) : "gone";
}

TEST(Mutation, ChangesBytesAsItSays) {
  using namespace std::string_literals;
  EXPECT_EQ(after("cut a 4"), "0123");
  EXPECT_EQ(after("cut a -4"), "012345");
  EXPECT_EQ(after("cut a 50%+1"), "012345");
  EXPECT_EQ(after("zero a 1 2"), "0\0\0003456789"s);
  EXPECT_EQ(after("zero-tail a 2"), "01234567\0\0"s);
  EXPECT_EQ(after("extend-zero a 2"), "0123456789\0\0"s);
  EXPECT_EQ(after("append a text:xy"), "0123456789xy");
  EXPECT_EQ(after("write a 9 text:xy"), "012345678xy");
  EXPECT_EQ(after("flip a 1.1"), "0323456789");
  EXPECT_EQ(after("stale-tail a 2 3"), "0123456789234");
  EXPECT_EQ(after("dup a 2 3"), "0123423456789");
  EXPECT_EQ(after("drop a 2 rest"), "01");
  EXPECT_EQ(after("swap a 1 7 2"), "0783456129");
  EXPECT_EQ(after("empty a"), "");
  EXPECT_EQ(after("rm a"), "gone");
  EXPECT_EQ(after("rename a b"), "gone");
  EXPECT_EQ(after("copy a b; cut a 1; rename b a"), "0123456789");
  EXPECT_EQ(after("drop a 0 4; dup a 0 1"), "4456789");
  EXPECT_EQ(after("garbage a 0 rest 5"), after("garbage a 0 10 5"));
  EXPECT_NE(after("garbage a 0 rest 5"), after("garbage a 0 rest 6"));
}

TEST(Mutation, RefusesLinesThatMeanNothing) {
  for (const std::string line :
       {"cut a", "cut a 11", "cut b 1", "frobnicate a", "flip a 10", "flip a 1.8", "swap a 1 2 3",
        "set a field 1", "write a 0 xyz", "live x cut a 1", "zero a -11 1", "garbage a 0 1 x",
        "cut a 1 2", "cut a @frame"}) {
    EXPECT_TRUE(after(line).starts_with("problem: ")) << line << " gave " << after(line);
  }
}

TEST(FieldValues, FitTheirField) {
  const base::Bytes old = {std::byte{0xFF}, std::byte{0x01}};
  const auto hex = [&](const std::string& text) {
    const auto bytes = parse_value(text, old);
    return bytes ? base::to_hex(*bytes) : "none";
  };
  EXPECT_EQ(hex("0x1234"), "3412");
  EXPECT_EQ(hex("0x1234:be"), "1234");
  EXPECT_EQ(hex("258be"), "0102");
  EXPECT_EQ(hex("+1"), "0002");
  EXPECT_EQ(hex("+1be"), "ff02");
  EXPECT_EQ(hex("-1"), "fe01");
  EXPECT_EQ(hex("hex:abcd"), "abcd");
  EXPECT_EQ(hex("text:no"), "6e6f");
  EXPECT_EQ(hex("hex:ab"), "none");
  EXPECT_EQ(hex("65536"), "none");
  EXPECT_EQ(hex("words"), "none");
}

// What the case file is about.
io::simulated::Image toy_image() {
  io::SimulatedFileSystem files;
  (void)files.put("/store", toy_store(5));
  files.settle();
  return files.image();
}

TEST(CaseFile, EveryToyCaseHolds) {
  std::ifstream in(std::string(VARVE_TEST_SOURCE_DIR) + "/tests/damage/cases/toy.cases");
  const CaseFile file = read_cases(in);
  ASSERT_EQ(file.problem, "");
  EXPECT_EQ(file.format, "toy");
  EXPECT_GT(file.cases.size(), 25U);
  for (const DamageCase& one : file.cases) {
    EXPECT_EQ(run_case(ToyFormat(), toy_image(), "/store", one, {}), "")
        << "line " << one.line_number << ": " << one.damage;
  }
}

TEST(CaseFile, SaysWhatDiffers) {
  DamageCase one;
  one.damage = "cut . -1";
  ASSERT_TRUE(parse_expectation("damaged crc @7 records=9", one));
  EXPECT_EQ(
      run_case(ToyFormat(), toy_image(), "/store", one, {}),
      "the verdict is torn, not damaged; the code is torn-tail, not crc; the offset is 72, not "
      "7; the number of records is 4, not 9");
  one.damage = "cut . 1000";
  EXPECT_EQ(run_case(ToyFormat(), toy_image(), "/store", one, {}),
            "no such position in \"cut . 1000\"");
}

TEST(CaseFile, RefusesWhatIsNoCase) {
  for (const std::string text :
       {"store s\ncut a 1\n", "cut a 1 -> torn x\n", "store s\ncut a 1 -> torn\n",
        "store s\ncut a 1 -> torn x y\n", "store s\ncut a 1 -> torn x @y\n"}) {
    std::istringstream in(text);
    EXPECT_NE(read_cases(in).problem, "") << text;
  }
}

TEST(RandomDamage, RepeatsWithItsSeedAndIsAlwaysALine) {
  io::SimulatedFileSystem healthy(toy_image(), {});
  const auto rows = explain_rows(ToyFormat(), healthy, "/store", {});
  EXPECT_EQ(rows.size(), 21U);
  RandomDamage first(11, healthy, "/store", rows);
  RandomDamage again(11, healthy, "/store", rows);
  int applied = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string line = first.line();
    EXPECT_EQ(line, again.line());
    io::SimulatedFileSystem files(toy_image(), {nullptr, false});
    Mutator mutator(files, "/store", [] { return std::vector<ExplainRow>{}; });
    // A later step may name a place that an earlier one took away; the first never does.
    const std::string problem = mutator.apply(line.substr(0, line.find(';')));
    EXPECT_EQ(problem, "") << line;
    applied += problem.empty() ? 1 : 0;
    (void)look_at(ToyFormat(), files, "/store");
    files.set_hook(nullptr);
  }
  EXPECT_EQ(applied, 500);
}

}  // namespace
}  // namespace varve::test
