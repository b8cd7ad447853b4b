// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing verbs of the built program: init, append, recover, compact, backup; copies by cat
// --full.
#include <gmock/gmock.h>

#include "tests/kladde/helpers.hpp"

namespace varve::kladde::test {
namespace {

using testing::HasSubstr;
using varve::test::run_tool;
using varve::test::RunOptions;
using varve::test::RunResult;
using varve::test::ScratchDirectory;

class Verbs : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_ / name).string(); }
  std::string fixture(const std::string& name) const {
    return varve::test::copy_tree(fixture_path(name), scratch_ / (name + ".kladde")).string();
  }
  static RunResult run(std::vector<std::string> arguments, const std::string& input = {}) {
    RunOptions options;
    options.input = input;
    return run_tool(std::move(arguments), options);
  }
  static std::string out(std::vector<std::string> arguments) {
    const RunResult result = run(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  ScratchDirectory scratch_;
};

TEST_F(Verbs, InitMakesAnEmptyStore) {
  EXPECT_EQ(run({"init", "--format", "kladde", path("s")}).exit_code, 0);
  EXPECT_EQ(std::filesystem::file_size(path("s")), 2 * k_page_bytes);
  EXPECT_EQ(out({"state", path("s")}), "");
  EXPECT_EQ(run({"init", "--format", "kladde", path("s")}).exit_code, 73);
  EXPECT_EQ(run({"verify", path("s")}).exit_code, 0);
}

TEST_F(Verbs, CatFullIntoAppendCopiesTheStore) {
  VARVE_REQUIRE_SHARED();
  for (const std::string name : {"03-consolidator-state", "04-journal-all-records", "07-reuse",
                                 "09-table-leaves", "18-vector"}) {
    SCOPED_TRACE(name);
    const std::string source = fixture(name);
    const std::string copy = path(name + "-copy");
    out({"init", "--format", "kladde", copy});
    const RunResult appended = run({"append", "--ack", copy}, out({"cat", "--full", source}));
    EXPECT_EQ(appended.exit_code, 0) << appended.err;
    EXPECT_THAT(appended.err, HasSubstr("all durable"));
    EXPECT_EQ(out({"state", copy}), out({"state", source}));
    const auto header = [&](const std::string& store) {
      const std::string text = out({"cat", "--full", store});
      return text.substr(0, text.find('\n'));
    };
    EXPECT_EQ(header(copy), header(source));
    EXPECT_EQ(out({"cat", copy}), "");  // folded when it closed
  }
}

TEST_F(Verbs, AppendKeepsTransactionsWhole) {
  out({"init", "--format", "kladde", path("s")});
  const std::string two = R"({"txn":0,"op":"write","id":1,"offset":0,"bytes":{"$bytes":"YWJj"}})"
                          "\n"
                          R"({"txn":0,"op":"splice","id":1,"offset":1,"old_len":1,"hex":"5859"})"
                          "\n"
                          R"({"op":"resize","id":2,"size":3})"
                          "\n";
  const RunResult done = run({"append", "--sync", "each", "--ack", path("s")}, two);
  // The third line ends the first transaction and is one of its own.
  EXPECT_EQ(done.out, "{\"acknowledged\":3}\n");
  EXPECT_EQ(out({"state", path("s")}),
            "{\"id\":1,\"size\":4,\"bytes\":{\"$bytes\":\"YVhZYw\"}}\n"
            "{\"id\":2,\"size\":3,\"bytes\":{\"$bytes\":\"AAAA\"}}\n");
  // A bad line in a transaction takes the whole transaction with it.
  const RunResult bad = run({"append", path("s")}, R"({"txn":5,"op":"free","id":1})"
                                                   "\n"
                                                   R"({"txn":5,"op":"fly","id":1})"
                                                   "\n");
  EXPECT_EQ(bad.exit_code, 64);
  EXPECT_THAT(bad.err, HasSubstr("line 2"));
  EXPECT_THAT(out({"state", path("s")}), HasSubstr("{\"id\":1,"));
}

TEST_F(Verbs, RecoverFoldsTheJournal) {
  VARVE_REQUIRE_SHARED();
  const std::string store = fixture("04-journal-all-records");
  const std::string state = out({"state", store});
  const std::string before = varve::test::tree_snapshot(store);
  EXPECT_THAT(out({"recover", "--dry-run", store}), HasSubstr("fold the journal into epoch 2"));
  EXPECT_EQ(varve::test::tree_snapshot(store), before);
  EXPECT_THAT(out({"recover", store}), HasSubstr("wrote"));
  EXPECT_EQ(out({"state", store}), state);
  EXPECT_EQ(out({"cat", store}), "");
  EXPECT_THAT(out({"recover", store}), HasSubstr("nothing needed writing"));
  EXPECT_EQ(run({"recover", fixture("edge/b13-data-page-bit")}).exit_code, 2);
}

TEST_F(Verbs, BackupCopiesAStoreWithItsJournal) {
  VARVE_REQUIRE_SHARED();
  const std::string store = fixture("16-runs");
  out({"backup", store, "-o", path("copy")});
  EXPECT_EQ(varve::test::read_file(scratch_ / "copy/16-runs.kladde"),
            varve::test::read_file(store));
  EXPECT_EQ(out({"state", path("copy")}), out({"state", store}));
}

TEST_F(Verbs, CompactLeavesAShorterFileThatDiffFindsTheSame) {
  for (const std::string dialect : {"a", "b"}) {
    SCOPED_TRACE(dialect);
    const std::string store = path("s" + dialect);
    const std::string copy = path("copy" + dialect);
    const std::vector<std::string> both = {"--dialect", dialect};
    const auto with = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.end(), both.begin(), both.end());
      return arguments;
    };
    out(with({"init", "--format", "kladde", store}));
    std::string lines;
    const auto write = [&](int id, const std::string& hex) {
      lines +=
          R"({"op":"write","id":)" + std::to_string(id) + R"(,"offset":0,"hex":")" + hex + "\"}\n";
    };
    for (int id = 1; id <= 300; ++id) {
      write(id, std::string(1800, id % 2 == 0 ? 'a' : 'b'));
    }
    for (int id = 1; id <= 300; ++id) {
      if (id % 3 != 0) {
        lines += R"({"op":"free","id":)" + std::to_string(id) + "}\n";
      }
    }
    write(3, "00112233");
    // One flush after the first half, so that what is freed then was in pages.
    const std::size_t half = lines.find(R"({"op":"free")");
    EXPECT_EQ(run(with({"append", store}), lines.substr(0, half)).exit_code, 0);
    EXPECT_EQ(run(with({"append", store}), lines.substr(half)).exit_code, 0);
    std::filesystem::copy_file(store, copy);
    EXPECT_THAT(out(with({"compact", "--dry-run", store})), HasSubstr("rewrite sparse pages"));
    EXPECT_EQ(varve::test::read_file(store), varve::test::read_file(copy));
    out(with({"compact", store}));
    EXPECT_LT(std::filesystem::file_size(store) * 2, std::filesystem::file_size(copy));
    EXPECT_EQ(out(with({"state", store})), out(with({"state", copy})));
    const RunResult same = run(with({"diff", copy, store}));
    EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
    EXPECT_EQ(run(with({"verify", store})).exit_code, 0);
    // A diff that could tell.
    EXPECT_EQ(run(with({"append", store}), "{\"op\":\"free\",\"id\":3}\n").exit_code, 0);
    EXPECT_EQ(run(with({"diff", copy, store})).exit_code, 4);
  }
}

TEST_F(Verbs, DialectBIsWrittenAndReadOnlyWhenAskedFor) {
  out({"init", "--format", "kladde", "--dialect", "b", path("s")});
  std::string lines;
  for (int i = 1; i <= 40; ++i) {
    lines += R"({"op":"write","id":)" + std::to_string(i) +
             R"(,"offset":3,"bytes":{"$bytes":"YWJj"}})" + "\n";
  }
  EXPECT_EQ(run({"append", "--dialect", "b", path("s")}, lines).exit_code, 0);
  EXPECT_THAT(out({"state", "--dialect", "b", path("s")}),
              HasSubstr(R"({"id":40,"size":6,"bytes":{"$bytes":"AAAAYWJj"}})"));
  EXPECT_EQ(run({"verify", "--dialect", "b", path("s")}).exit_code, 0);
  const RunResult as_a = run({"verify", path("s")});
  EXPECT_EQ(as_a.exit_code, 2);
  EXPECT_THAT(as_a.out + as_a.err, HasSubstr("--dialect b"));
  EXPECT_EQ(run({"state", "--dialect", "c", path("s")}).exit_code, 64);
}

// A store of dialect A whose statements are all Refs reads as a valid, empty one in dialect B.
TEST_F(Verbs, AStoreOfDialectAIsNotEmptiedByDialectB) {
  out({"init", "--format", "kladde", path("s")});
  std::string lines;
  for (int id = 1; id <= 100; ++id) {
    lines += R"({"op":"write","id":)" + std::to_string(id) + R"(,"offset":0,"hex":")" +
             std::string(1800, 'a') + "\"}\n";
  }
  EXPECT_EQ(run({"append", path("s")}, lines).exit_code, 0);
  const auto before = varve::test::read_file(path("s"));
  const RunResult verified = run({"verify", "--dialect", "b", path("s")});
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_THAT(verified.out, HasSubstr("content-without-size"));
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"compact"}, {"compact", "--dry-run"}, {"recover"}, {"append"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"--dialect", "b", path("s")});
    const RunResult refused = run(arguments, R"({"op":"free","id":1})"
                                             "\n");
    EXPECT_EQ(refused.exit_code, 3) << verb.front();
    EXPECT_THAT(refused.err, HasSubstr("is the store of dialect a?")) << verb.front();
  }
  EXPECT_EQ(varve::test::read_file(path("s")), before);
}

TEST_F(Verbs, ReadingVerbsChangeNothing) {
  VARVE_REQUIRE_SHARED();
  for (const std::string name :
       {"15-journal-hole", "edge/b13-data-page-bit", "dialect-b/16-runs"}) {
    SCOPED_TRACE(name);
    const std::string store =
        varve::test::copy_tree(fixture_path(name), scratch_ / "x.kladde").string();
    const std::string before = varve::test::tree_snapshot(store);
    const std::string dialect = name.starts_with("dialect-b") ? "b" : "a";
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
             {"info"}, {"verify"}, {"cat", "--full"}, {"state"}, {"explain"}, {"stats"}}) {
      std::vector<std::string> arguments = verb;
      arguments.insert(arguments.end(), {"--dialect", dialect, store});
      EXPECT_LE(run(arguments).exit_code, 2) << verb.front();
    }
    EXPECT_LE(run({"get", "--dialect", dialect, store, "@8200"}).exit_code, 2);
    EXPECT_EQ(varve::test::tree_snapshot(store), before);
    std::filesystem::remove(store);
  }
}

}  // namespace
}  // namespace varve::kladde::test
