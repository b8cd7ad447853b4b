// SPDX-License-Identifier: MIT OR Apache-2.0
// The loadable extension inside the stock sqlite3 shell: the same rows as `varve sql`, damage that
// is not passed over, hostile arguments.
#include <gmock/gmock.h>

#include "tests/cli/fake_format.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;

fs::path extension() {
  return fs::path(VARVE_TEST_TOOL).parent_path() / "../../bindings/sqlite/varve_sqlite.so";
}

// Runs the shell over a script that follows the loading of the extension.
RunResult shell(const std::string& script, const std::string& database = ":memory:") {
  RunOptions options;
  options.input = ".bail on\n.load " + extension().string() + "\n" + script;
  return run_command({"sqlite3", "-batch", "-init", "/dev/null", database}, options);
}

class SqliteExtension : public testing::Test {
 protected:
  void SetUp() override {
    VARVE_REQUIRE_SHARED();
    if (!fs::exists(extension())) {
      GTEST_SKIP() << "the extension was not built";
    }
    if (run_command({"sqlite3", "-version"}).exit_code != 0) {
      GTEST_SKIP() << "there is no sqlite3 shell";
    }
  }
  static std::string fixture(const char* path) { return (shared_path("fixtures") / path).string(); }
};

TEST_F(SqliteExtension, GivesTheRowsOfVarveSql) {
  const struct {
    const char* store;
    const char* table;
    const char* query;
  } k_cases[] = {
      {"jss/plan", "log", "select seq, did, record from e where seq between 2 and 40"},
      {"jss/plan", "log", "select collection, count(*) as n from e group by 1"},
      {"jss/plan", "state",
       "select did, count(*) as n from e group by 1 order by 2 desc, 1 limit 5"},
      {"jss/plan", "segments", "select name, bytes from e"},
      {"tay/stores/valid/boundaries", "log", "select line from e where type = 'inserted'"},
      {"tay/stores/valid/boundaries", "units", "select unit, count(*) as n from e group by 1"},
      {"arena/b-txn2-format2", "log", "select line from e where id in ('v1', 'v2')"},
      {"kladde/04-journal-all-records.kladde", "log", "select line, bytes is null as n from e"},
      {"jss/invalid/block_bit_flipped.jss", "findings", "select code, offset, message from e"},
  };
  for (const auto& c : k_cases) {
    const std::string store = fixture(c.store);
    std::string query = c.query;
    const RunResult host = shell(".mode csv\n.headers on\ncreate virtual table e using varve('" +
                                 store + "', '" + c.table + "');\n" + query + ";\n");
    EXPECT_EQ(host.exit_code, 0) << host.err;
    query.replace(query.find(" from e") + 6, 1, c.table);
    const RunResult ours = run_real({"sql", store, query, "--csv"});
    EXPECT_EQ(host.out, ours.out) << query;
    EXPECT_GT(lines_of(host.out).size(), 1U) << query;
  }
}

TEST_F(SqliteExtension, DamageEndsAQueryUnlessItIsToBeSkipped) {
  const std::string store = fixture("jss/invalid/block_bit_flipped.jss");
  const std::string count = "select count(*) from e;\n";
  const RunResult refused = shell("create virtual table e using varve('" + store + "');\n" + count);
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("'skip damage'"));
  const RunResult skipped =
      shell("create virtual table e using varve('" + store + "', 'log', 'skip damage');\n" + count);
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_EQ(skipped.out, std::to_string(lines_of(run_real({"cat", store}).out).size()) + "\n");
  // A torn tail is what a live store has.
  const std::string torn = fixture("jss/active_torn_body.jss");
  const RunResult live = shell("create virtual table e using varve('" + torn + "');\n" + count);
  EXPECT_EQ(live.exit_code, 0) << live.err;
  EXPECT_EQ(live.out, std::to_string(lines_of(run_real({"cat", torn}).out).size()) + "\n");
}

TEST_F(SqliteExtension, HostileArguments) {
  const std::string store = fixture("jss/one_event.jss");
  const std::string k_arguments[] = {
      "",
      "''",
      "'/no/such/path'",
      "'/etc/passwd'",
      "'" + store + "', 'nothing'",
      "'" + store + "', 'log', 'skip'",
      "'" + store + "', 'log', 'skip damage', 'more'",
      "'" + store + "', 'log\"; drop table x; --'",
      "''''''",
      "'" + std::string(100'000, 'x') + "'",
  };
  for (const std::string& arguments : k_arguments) {
    const RunResult result = shell("create virtual table e using varve(" + arguments +
                                   ");\nselect 'made' from sqlite_schema;\n");
    EXPECT_NE(result.exit_code, 0) << arguments.substr(0, 100);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("varve: ")) << arguments.substr(0, 100);
  }
  const RunResult written = shell("create virtual table e using varve('" + store +
                                  "');\ninsert into e(seq) values (1);\n");
  EXPECT_NE(written.exit_code, 0);
}

// The table is part of a database; a view of that database, which may be a stranger's, cannot reach
// the files that it names.
TEST_F(SqliteExtension, IsKeptInADatabaseButOutOfItsViews) {
  const ScratchDirectory scratch;
  const std::string database = (scratch / "kept.db").string();
  const std::string store = fixture("jss/one_event.jss");
  EXPECT_EQ(shell("create virtual table e using varve('" + store +
                      "');\ncreate view v as select * from e;\n",
                  database)
                .exit_code,
            0);
  EXPECT_EQ(shell("select count(*) from e;\n", database).out, "1\n");
  const RunResult through_view = shell("select count(*) from v;\n", database);
  EXPECT_NE(through_view.exit_code, 0);
  EXPECT_THAT(through_view.err, HasSubstr("unsafe use of virtual table"));
  EXPECT_EQ(shell("drop view v; drop table e; select count(*) from sqlite_schema;\n", database).out,
            "0\n");
}

}  // namespace
}  // namespace varve::test
