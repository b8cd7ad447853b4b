// SPDX-License-Identifier: MIT OR Apache-2.0
// The program over addresses: every reading verb prints what it prints of the same archive on disk.
#include "tests/serve/remote_support.hpp"

namespace varve::serve::test {
namespace {

using varve::test::run_tool;
using varve::test::RunOptions;
using varve::test::RunResult;

class RemoteProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(VARVE_TEST_TOOL).empty()) {
      GTEST_SKIP() << "the program is not built";
    }
    make_archive(archive_);
    std::filesystem::remove(archive_ / "seg_0000000004.jss");
    server_ = std::make_unique<ArchiveServer>(archive_);
  }

  // `words` with STORE in place of the store.
  static RunResult run_with(std::vector<std::string> words, const std::string& store,
                            const RunOptions& options = {}) {
    for (std::string& word : words) {
      word = word == "STORE" ? store : word;
    }
    return run_tool(words, options);
  }

  void expect_same(const std::vector<std::string>& words) {
    const RunResult here = run_with(words, archive_.string());
    const RunResult there = run_with(words, server_->url());
    EXPECT_EQ(there.exit_code, here.exit_code) << words[0] << there.err;
    EXPECT_FALSE(here.out.empty()) << words[0];
    EXPECT_EQ(there.out, here.out) << words[0];
  }

  void expect_same_export(const std::vector<std::string>& filter) {
    std::string content[2];
    for (const bool remote : {false, true}) {
      const auto out = scratch_ / "rows.csv";
      std::vector<std::string> words = {"export",  "STORE", "--to",      "csv",
                                        "--force", "-o",    out.string()};
      words.insert(words.end(), filter.begin(), filter.end());
      EXPECT_EQ(run_with(words, remote ? server_->url() : archive_.string()).exit_code, 0);
      content[remote ? 1 : 0] = varve::test::read_file(out);
    }
    EXPECT_FALSE(content[0].empty());
    EXPECT_EQ(content[0], content[1]);
  }

  ScratchDirectory scratch_;
  std::filesystem::path archive_ = scratch_ / "archive";
  std::unique_ptr<ArchiveServer> server_;
};

TEST_F(RemoteProgram, ReadsAsFromDisk) {
  expect_same({"cat", "STORE"});
  expect_same({"cat", "STORE", "--collection", "app.bsky.graph.*", "--kind", "commit"});
  expect_same({"cat", "STORE", "--kind", "identity", "--payload", "none"});
  expect_same({"cat", "STORE", "--seq", "100..1500", "--as", "v2"});
  expect_same({"cat", "STORE", "--reverse", "--limit", "5"});
  expect_same_export({});
  expect_same_export({"--kind", "delete"});
  expect_same(
      {"sql", "STORE", "--csv", "select kind, count(*), min(seq) from log group by 1 order by 1"});
  expect_same({"sql", "STORE", "--csv",
               "select seq, did from log where collection = 'app.bsky.feed.post' and seq > 1000"});
  expect_same({"sql", "STORE", "--csv", "select count(*) from state"});
  expect_same({"sql", "STORE", "--csv", "select count(*) from records"});
  expect_same({"state", "STORE", "--payload", "sha256"});
  expect_same({"get", "STORE", "77"});
  expect_same({"stats", "STORE"});
  expect_same({"explain", "STORE", "seg_0000000001.jss@0"});
  const RunResult map = run_with({"map", "STORE"}, server_->url());
  EXPECT_EQ(map.exit_code, 0) << map.err;
  EXPECT_TRUE(map.out.starts_with("clean"));
}

TEST_F(RemoteProgram, SaysTheAddressWhereThePathStands) {
  const RunResult info = run_with({"info", "STORE", "--json"}, server_->url());
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_NE(info.out.find("\"path\":\"" + server_->url() + "\""), std::string::npos);
  EXPECT_EQ(run_with({"verify", "STORE"}, server_->url()).exit_code, 0);
  EXPECT_EQ(run_with({"verify", "--each", "STORE"}, server_->url() + "/").exit_code, 0);
  EXPECT_EQ(run_with({"plan", "STORE", "--kind", "sync"}, server_->url()).exit_code, 0);
  EXPECT_EQ(run_tool({"diff", archive_.string(), server_->url()}).exit_code, 0);
}

TEST_F(RemoteProgram, RefusesToWriteThere) {
  const std::vector<std::vector<std::string>> table = {
      {"append", "STORE"},
      {"seal", "STORE"},
      {"recover", "STORE"},
      {"compact", "STORE"},
      {"salvage", "STORE"},
      {"init", "--format", "jss", "STORE"},
      {"follow", "STORE"},
      {"backup", "STORE", "-o", (scratch_ / "copy").string()},
      {"cat", "--format", "tay", "STORE"},
      {"verify", "STORE", "--receipt", (scratch_ / "r").string()},
  };
  for (const auto& words : table) {
    const RunResult result = run_with(words, server_->url());
    EXPECT_EQ(result.exit_code, 64) << words[0] << result.err;
    EXPECT_EQ(result.out, "") << words[0];
    EXPECT_NE(result.err, "") << words[0];
  }
  EXPECT_FALSE(std::filesystem::exists("http:"));
}

TEST_F(RemoteProgram, TheKeyIsSentAndNeverPrinted) {
  server_->tamper([](const Asked& asked, Answer& answer) {
    if (asked.header("authorization") != "Bearer opensesame") {
      answer = Answer::error(401, "AuthMissing");
    }
  });
  const RunResult without = run_with({"cat", "STORE"}, server_->url());
  EXPECT_EQ(without.exit_code, 77) << without.err;

  varve::test::write_file(scratch_ / "key", "opensesame\n");
  const std::string key = (scratch_ / "key").string();
  const RunResult with = run_with({"cat", "STORE", "--api-key-file", key}, server_->url());
  EXPECT_EQ(with.exit_code, 0) << with.err;
  RunOptions options;
  options.environment = {{"VARVE_API_KEY", "opensesame"}};
  EXPECT_EQ(
      run_with({"sql", "STORE", "select count(*) from log"}, server_->url(), options).exit_code, 0);

  options.environment = {{"VARVE_API_KEY", "somethingelse"}};
  const RunResult wrong = run_with({"info", "--json", "STORE"}, server_->url(), options);
  EXPECT_EQ(wrong.exit_code, 77);
  EXPECT_EQ((wrong.out + wrong.err).find("somethingelse"), std::string::npos);

  varve::test::write_file(scratch_ / "key", "two\nlines\n");
  EXPECT_EQ(run_with({"cat", "STORE", "--api-key-file", key}, server_->url()).exit_code, 64);
}

TEST_F(RemoteProgram, NothingThereIsToldByItsOwnCode) {
  EXPECT_EQ(run_tool({"info", server_->url() + "/elsewhere"}).exit_code, 66);
  EXPECT_EQ(run_tool({"info", server_->url() + "/seg_000000000z.jss"}).exit_code, 66);
  EXPECT_EQ(run_tool({"info", "http://"}).exit_code, 64);
}

// A file that lacks rows for want of a network is not published.
TEST_F(RemoteProgram, AnExportThatFailedLeavesNoFile) {
  server_->tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "getBlock" && asked.query.at("segment") == "seg_0000000002.jss") {
      answer = Answer::error(404, "BlockNotFound");
    }
  });
  const std::string out = (scratch_ / "rows.csv").string();
  const RunResult result =
      run_tool({"export", server_->url(), "--to", "csv", "--kind", "identity", "-o", out});
  EXPECT_EQ(result.exit_code, 66) << result.err;
  EXPECT_NE(result.err.find("remote-read"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace varve::serve::test
