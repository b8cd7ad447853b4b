// SPDX-License-Identifier: MIT OR Apache-2.0
// The verbs that write, over a format that exists only here.
#include <gmock/gmock.h>

#include "tests/cli/fake_format.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;

TEST(WriteVerbs, InitMakesAndNeverReplaces) {
  const ScratchDirectory scratch;
  const std::string store = (scratch / "new").string();
  EXPECT_EQ(run_fake({"init", store}).exit_code, 64);
  const RunResult rehearsal = run_fake({"init", "--dry-run", "--format", "lines", store});
  EXPECT_EQ(rehearsal.exit_code, 0);
  EXPECT_THAT(rehearsal.out, HasSubstr("would write (nothing was changed)"));
  EXPECT_FALSE(fs::exists(store));
  const RunResult made = run_fake({"init", "--json", "--format", "lines", store});
  EXPECT_EQ(made.exit_code, 0);
  EXPECT_EQ(made.out, "{\"schema\":\"varve.write/1\",\"verb\":\"init\",\"path\":\"" + store +
                          "\",\"format\":\"lines\",\"dry_run\":false,\"actions\":[{\"file\":\"\","
                          "\"what\":\"create\",\"offset\":0,\"length\":8}],\"detail\":{}}\n");
  EXPECT_EQ(run_fake({"init", "--format", "lines", store}).exit_code, 73);
  EXPECT_EQ(run_fake({"init", "--format", "bare", (scratch / "other").string()}).exit_code, 64);
}

class Append : public testing::Test {
 protected:
  Append() { write_file(scratch_ / "store", "LINES 1\n"); }
  RunResult append(std::vector<std::string> options, const std::string& input) {
    options.insert(options.begin(), "append");
    options.push_back((scratch_ / "store").string());
    return run_fake(options, input);
  }
  std::string stored() { return read_file(scratch_ / "store").substr(8); }
  ScratchDirectory scratch_;
};

TEST_F(Append, TakesLinesAndAcknowledgesEverySync) {
  const RunResult each =
      append({"--sync", "each", "--ack"}, "{\"text\":\"a\"}\n\n{\"text\":\"b\"}\n");
  EXPECT_EQ(each.exit_code, 0);
  EXPECT_EQ(each.out, "{\"acknowledged\":1}\n{\"acknowledged\":2}\n");
  EXPECT_THAT(each.err, HasSubstr("appended 2 records, all durable"));
  EXPECT_EQ(stored(), "7 a\n7 b\n");
  const RunResult batch =
      append({"--batch", "2", "--ack"}, "{\"text\":\"c\"}\n{\"text\":\"d\"}\n{\"text\":\"e\"}");
  EXPECT_EQ(batch.out, "{\"acknowledged\":4}\n{\"acknowledged\":5}\n");
  EXPECT_EQ(stored(), "7 a\n7 b\n7 c\n7 d\n7 e\n");
  const RunResult none = append({"--sync", "none", "--ack"}, "{\"text\":\"f\"}\n");
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("appended 1 record, not synced"));
  EXPECT_THAT(stored(), HasSubstr("7 f\n"));
}

TEST_F(Append, ABadLineEndsTheRunAndKeepsWhatCameBefore) {
  const RunResult result =
      append({"--ack"}, "{\"text\":\"a\"}\n\n{\"text\":\"refuse\"}\n{\"text\":\"b\"}\n");
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_EQ(result.out, "{\"acknowledged\":1}\n");
  EXPECT_THAT(result.err, HasSubstr("standard input: line 3: a record has a text"));
  EXPECT_EQ(stored(), "7 a\n");
}

TEST_F(Append, ManyAndLongLines) {
  std::string input;
  std::string wanted;
  for (int i = 0; i < 30'000; ++i) {
    const std::string text(static_cast<std::size_t>(i % 97), 'x');
    input += "{\"text\":\"" + text + "\"}\n";
    wanted += "7 " + text + '\n';
  }
  EXPECT_EQ(append({}, input).exit_code, 0);
  EXPECT_EQ(stored(), wanted);
  const std::string long_line = "{\"text\":\"" + std::string(3 << 20, 'y') + "\"}\n";
  EXPECT_EQ(append({"--max-memory", "1M"}, long_line).exit_code, 3);
  EXPECT_EQ(stored(), wanted);
  EXPECT_EQ(append({"--max-memory", "4M"}, long_line).exit_code, 0);
}

TEST_F(Append, ReportsAsADocument) {
  EXPECT_THAT(append({"--json"}, "{\"text\":\"a\"}\n").out, HasSubstr("\"verb\":\"append\""));
  EXPECT_EQ(append({"--batch", "0"}, "").exit_code, 64);
}

TEST(Backup, CopiesAndOpensAsTheStoreInIt) {
  const ScratchDirectory scratch;
  write_file(scratch / "store", "LINES 1\n10 one\n");
  const std::string store = (scratch / "store").string();
  const std::string copy = (scratch / "copy").string();
  EXPECT_EQ(run_fake({"backup", store}).exit_code, 64);
  EXPECT_EQ(run_fake({"backup", store, "-o", copy}).exit_code, 0);
  EXPECT_EQ(run_fake({"backup", store, "-o", copy}).exit_code, 73);
  EXPECT_EQ(run_fake({"backup", store, "-o", copy + "/no/such"}).exit_code, 73);
  EXPECT_EQ(run_fake({"cat", copy}).out, "{\"seq\":1,\"text\":\"one\"}\n");
  EXPECT_EQ(run_fake({"cat", "--format", "lines", copy}).out, "{\"seq\":1,\"text\":\"one\"}\n");
  // The catalogue cannot lead anywhere else.
  write_file(scratch / "copy/backup.json",
             "{\"schema\":\"varve.backup/1\",\"store\":\"../store\"}");
  EXPECT_EQ(run_fake({"cat", copy}).exit_code, 66);
}

}  // namespace
}  // namespace varve::test
