// SPDX-License-Identifier: MIT OR Apache-2.0
// Every document that the program prints fits its schema in docs/json-schema/.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "output/report_json.hpp"
#include "tests/cli/fake_format.hpp"

namespace varve::test {
namespace {

class Schemas : public testing::Test {
 protected:
  Schemas() {
    write_file(scratch_ / "clean", "LINES 1\n10 one\n20 two\n30 three\n");
    write_file(scratch_ / "torn", "LINES 1\n10 one\n20 tw");
    write_file(scratch_ / "hurt", "LINES 1\n10 one\n!!\n30 th\xffree\n!!\n");
    write_file(scratch_ / "newer", "LINES 2\n");
  }
  std::string at(const std::string& name) const { return (scratch_ / name).string(); }

  // Notes documents to be checked all at once; `lines`: each line is one.
  void expect_fit(const std::string& schema, std::string text, bool lines = false) {
    ASSERT_NE(text, "") << schema;
    if (!lines) {
      std::replace(text.begin(), text.end(), '\n', ' ');
    }
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      pairs_ += schema + '\t' + line + '\n';
    }
  }
  void TearDown() override {
    RunOptions options;
    options.input = pairs_;
    const RunResult result =
        run_command({"/usr/bin/python3",
                     std::string(VARVE_TEST_SOURCE_DIR) + "/tests/cli/check_json.py", "--pairs"},
                    options);
    if (result.exit_code == 77) {
      GTEST_SKIP() << "python3-jsonschema is not installed";
    }
    EXPECT_EQ(result.exit_code, 0) << result.err << pairs_;
  }
  std::string pairs_;
  ScratchDirectory scratch_;
};

TEST_F(Schemas, ReadingVerbs) {
  for (const char* verb : {"info", "verify", "explain", "stats"}) {
    for (const char* store : {"clean", "torn", "hurt"}) {
      expect_fit(verb, run_fake({verb, "--json", at(store)}).out);
      expect_fit(verb, run_fake({verb, "--json", "--int64", "string", at(store)}).out);
    }
  }
  expect_fit("verify", run_fake({"verify", "--json", at("newer"), at("hurt"), at("torn")}).out,
             true);
  expect_fit("verify", run_fake({"verify", "--json", "--max-findings", "1", at("hurt")}).out);
  expect_fit("get", run_fake({"get", "--json", at("clean"), "1"}).out);
}

TEST_F(Schemas, Pictures) {
  for (const char* store : {"clean", "torn", "hurt"}) {
    expect_fit("map", run_fake({"map", "--json", at(store)}).out);
    expect_fit("diff", run_fake({"diff", "--json", at(store), at("hurt")}).out, true);
  }
}

TEST_F(Schemas, Torture) {
  expect_fit("torture", run_tool({"torture", "--json", "--rounds", "1", at("scratch")}).out);
}

TEST_F(Schemas, Failures) {
  for (const char* verb : {"info", "verify", "cat", "state", "explain", "stats", "seal"}) {
    expect_fit("error", run_fake({verb, "--json", at("missing")}).out);
  }
  expect_fit("error", run_fake({"info", "--json", at("newer")}).out);
  expect_fit("error", run_fake({"purr", "--json"}).out);
}

TEST_F(Schemas, WritingVerbs) {
  expect_fit("write", run_fake({"init", "--json", "--format", "lines", at("new")}).out);
  expect_fit("write", run_fake({"append", "--json", at("new")}, "{\"text\":\"a\"}\n").out);
  expect_fit("acknowledged",
             run_fake({"append", "--ack", "--sync", "each", at("new")},
                      "{\"text\":\"a\"}\n{\"text\":\"b\"}\n")
                 .out,
             true);
  expect_fit("write", run_fake({"backup", "--json", at("new"), "-o", at("copy")}).out);
  expect_fit("backup", read_file(scratch_ / "copy/backup.json"));
}

TEST_F(Schemas, EveryKindOfFinding) {
  FindingList list;
  for (const Severity severity : {Severity::note, Severity::warning, Severity::error}) {
    Finding finding;
    finding.severity = severity;
    finding.code = "probe";
    finding.kind = "physical_corruption";
    finding.stage = "open";
    finding.index = 7;
    finding.expected = Number::decimal(UINT64_MAX);
    finding.actual = Number::hex8(3);
    list.add(finding);
  }
  VerifyReport report;
  report.segments.push_back({"a", Verdict::torn});
  expect_fit("verify", output::verify_json(report, list, 0.5).text());
}

}  // namespace
}  // namespace varve::test
