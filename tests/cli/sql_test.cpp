// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve sql`: over a format of the tests for the statement and its output, over the shared
// fixtures for the agreement with `cat`, `state`, `verify` and `explain`.
#include <gmock/gmock.h>
#include <simdjson.h>

#include "tests/cli/fake_format.hpp"
#include "tests/cli/fixture_faces.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Sql : public testing::Test {
 protected:
  Sql() {
    write_file(scratch_ / "clean", "LINES 1\n10 one\n20 t,w\"o\n30 three\n");
    write_file(scratch_ / "hurt", "LINES 1\n10 one\n!!\n30 three\n");
    write_file(scratch_ / "torn", "LINES 1\n10 one\n20 tw");
  }
  std::string at(const char* name) const { return (scratch_ / name).string(); }
  RunResult ask(const char* store, const char* statement, const char* option = nullptr) const {
    std::vector<std::string> words = {"sql", at(store), statement};
    if (option != nullptr) {
      words.emplace_back(option);
    }
    return run_fake(words);
  }
  ScratchDirectory scratch_;
};

TEST_F(Sql, TheThreeFormsOfOutput) {
  constexpr const char* k_query =
      "select seq, text, null as n, 1.0 as r, x'0102' as b from log where seq <= 2";
  EXPECT_EQ(ask("clean", k_query).out,
            "seq  text      n    r  b\n"
            "---  -----  ----  ---  -------\n"
            "  1  one    NULL  1.0  x'0102'\n"
            "  2  t,w\"o  NULL  1.0  x'0102'\n");
  EXPECT_EQ(ask("clean", k_query, "--json").out,
            "{\"seq\":1,\"text\":\"one\",\"n\":null,\"r\":1.0,\"b\":{\"$bytes\":\"AQI\"}}\n"
            "{\"seq\":2,\"text\":\"t,w\\\"o\",\"n\":null,\"r\":1.0,\"b\":{\"$bytes\":\"AQI\"}}\n");
  EXPECT_EQ(ask("clean", k_query, "--csv").out,
            "seq,text,n,r,b\r\n1,one,,1.0,AQI\r\n2,\"t,w\"\"o\",,1.0,AQI\r\n");
  EXPECT_EQ(ask("clean", "select '' as e, 9e999 as big", "--csv").out, "e,big\r\n\"\",1e999\r\n");
  EXPECT_EQ(ask("clean", "select seq from log where seq > 9").out, "seq\n---\n");
}

TEST_F(Sql, NamesThatRepeatKeepTheirValues) {
  EXPECT_EQ(ask("clean", "select 1 as a, 2 as a, 3 as \"a:2\", 4 as a", "--json").out,
            "{\"a\":1,\"a:3\":2,\"a:2\":3,\"a:4\":4}\n");
}

TEST_F(Sql, TheStatementMayComeFromStdin) {
  EXPECT_EQ(run_fake({"sql", at("clean")}, "select count(*) as n from log;\n").out, "n\n-\n3\n");
  EXPECT_EQ(run_fake({"sql", at("clean"), "-", "--json"}, "select max(seq) m from log -- all").out,
            "{\"m\":3}\n");
}

TEST_F(Sql, ManyRowsOfATableAreNotHeld) {
  const RunResult rows = ask("clean",
                             "with recursive n(i) as (select 1 union all select i + 1 from n "
                             "where i < 2500) select i, i || 'x' as t from n");
  const auto lines = lines_of(rows.out);
  ASSERT_EQ(lines.size(), 2502U);
  EXPECT_EQ(lines[2], "   1  1x");
  EXPECT_EQ(lines[2501], "2500  2500x");
}

TEST_F(Sql, DamageIsToldAsCatTellsIt) {
  for (const char* store : {"clean", "hurt", "torn"}) {
    const RunResult cat = run_fake({"cat", at(store)});
    const RunResult sql = ask(store, "select line from log", "--csv");
    EXPECT_EQ(sql.err, cat.err);
    EXPECT_EQ(sql.exit_code, cat.exit_code);
    // Twice the same table: each finding once.
    const RunResult twice = ask(store, "select count(*) from log a, log b");
    EXPECT_EQ(twice.err, cat.err);
    EXPECT_EQ(twice.exit_code, cat.exit_code);
  }
  EXPECT_EQ(ask("hurt", "select seq from log limit 1").exit_code, 0) << "what is not read";
  EXPECT_EQ(ask("hurt", "select group_concat(seq) as s from log", "--json").out,
            "{\"s\":\"1,3\"}\n");
  EXPECT_EQ(ask("hurt", "select group_concat(seq) as s from log", "--strict").exit_code, 2);
  const RunResult findings = ask("hurt", "select code, offset from findings", "--json");
  EXPECT_EQ(findings.out, "{\"code\":\"line_checksum\",\"offset\":15}\n");
  EXPECT_EQ(findings.err, "");
  EXPECT_EQ(findings.exit_code, 2);
}

TEST_F(Sql, WhatIsPushedDownIsInThePlan) {
  const auto pushed = [&](const char* where) {
    const RunResult plan =
        ask("clean", (std::string("select text from log where ") + where).c_str(), "--plan");
    simdjson::dom::parser parser;
    const simdjson::dom::element document = parser.parse(plan.out);
    const simdjson::dom::element scan = document.at_pointer("/scans/0");
    return (bool(scan["empty"]) ? "empty " : "") + simdjson::minify(scan["pushed_down"]);
  };
  EXPECT_EQ(pushed("seq between 2 and 5"), "{\"seq_first\":2,\"seq_last\":5}");
  EXPECT_EQ(pushed("seq > 2 and seq < 5"), "{\"seq_first\":3,\"seq_last\":4}");
  EXPECT_EQ(pushed("seq > 2.5 and seq <= 1e3"), "{\"seq_first\":3,\"seq_last\":1000}");
  EXPECT_EQ(pushed("seq = '7'"), "{\"seq_first\":7,\"seq_last\":7}");
  EXPECT_EQ(pushed("seq >= -5"), "{}");
  EXPECT_EQ(pushed("seq > 'x'"), "{}");
  EXPECT_EQ(pushed("seq + 0 > 1"), "{}");
  EXPECT_EQ(pushed("seq > 3 and seq < 2"), "empty {}");
  EXPECT_EQ(pushed("seq < -1"), "empty {}");
  EXPECT_EQ(pushed("seq = (select null)"), "empty {}");
  EXPECT_EQ(pushed("seq > 9223372036854775806"), "{\"seq_first\":9223372036854775807}");
}

TEST_F(Sql, ThePlanSaysWhetherTheDecodersCount) {
  const auto counted = [&](const char* statement) {
    simdjson::dom::parser parser;
    const RunResult plan = ask("clean", statement, "--plan");
    return bool(simdjson::dom::element(parser.parse(plan.out))["counted_by_decoders"]);
  };
  EXPECT_TRUE(counted("select count(*) from log"));
  EXPECT_TRUE(counted("select text, count(*) from log where text > 'a' group by 1"));
  EXPECT_FALSE(counted("select count(seq) from log"));
  EXPECT_FALSE(counted("select text, count(*) from log where text like '%o%' group by seq"));
  EXPECT_FALSE(counted("select * from log"));
}

TEST_F(Sql, OnlyOneReadingStatementOfTheStoresTables) {
  const char* const k_hostile[] = {
      "",
      ";",
      "-- nothing",
      "select",
      "select 1; select 2",
      "select 1; garbage",
      "select \"no such\" from log",
      "select * from nothing",
      "select ?",
      "delete from log",
      "insert into log(seq) values (1)",
      "update log set seq = 1",
      "drop table log",
      "create table t(a)",
      "create temp table t as select 1",
      "attach '/etc/passwd' as x",
      "vacuum into '/tmp/varve-must-not-be-there'",
      "pragma writable_schema = 1",
      "pragma temp_store_directory = '/'",
      "select load_extension('/lib/x')",
      "begin",
      "explain delete from log",
      "select abs(-9223372036854775808)",
      "select json_extract('{', '$')",
      "select zeroblob(9000000000)",
      "select a.seq from log a join log b using (nothing)",
  };
  for (const char* statement : k_hostile) {
    const RunResult result = ask("clean", statement);
    EXPECT_EQ(result.exit_code, 64) << statement << "\n" << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr("sql: ")) << statement;
  }
  EXPECT_FALSE(fs::exists("/tmp/varve-must-not-be-there"));
  EXPECT_EQ(ask("clean", "select name from pragma_table_info('log')", "--csv").out,
            "name\r\nseq\r\ntext\r\n");
  EXPECT_EQ(ask("clean", "select 1", "--csv").exit_code, 0);
  EXPECT_EQ(run_fake({"sql", at("clean"), "select 1", "--csv", "--json"}).exit_code, 64);
  EXPECT_EQ(run_fake({"sql", at("missing"), "select 1"}).exit_code, 66);
}

// Values of a JSON line against a row of `select *`; gives the number compared.
std::size_t compare_row(const simdjson::dom::element& row, const simdjson::dom::element& line) {
  std::size_t compared = 0;
  for (const auto [name, value] : simdjson::dom::object(row)) {
    std::string pointer = "/" + std::string(name);
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    simdjson::dom::element expected;
    if (line.at_pointer(pointer).get(expected) != simdjson::SUCCESS || expected.is_array() ||
        (expected.is_object() && value.is_string())) {
      continue;  // JSON that the column holds as text
    }
    if (expected.is_object() && expected["$bytes"].error() != simdjson::SUCCESS) {
      continue;  // a decoded payload that the column holds as bytes
    }
    // A whole number of more than 63 bits is text in SQL; booleans are 0 and 1.
    const std::string text = value.is_string() && expected.is_uint64()
                                 ? std::string(std::string_view(value))
                             : expected.is_bool() ? (bool(expected) ? "1" : "0")
                                                  : simdjson::minify(expected);
    EXPECT_EQ(value.is_string() && expected.is_uint64() ? text : simdjson::minify(value), text)
        << name << " of " << simdjson::minify(line);
    ++compared;
  }
  return compared;
}

class SqlOfFixtures : public testing::TestWithParam<const char*> {};

TEST_P(SqlOfFixtures, EqualsCatStateAndVerify) {
  VARVE_REQUIRE_SHARED();
  std::size_t compared = 0;
  for_each_fixture_face(GetParam(), [&](const std::string& store, const std::string& face,
                                        const RunResult& cat) {
    const RunResult rows = run_real({"sql", store, "select *, line from " + face, "--json"});
    EXPECT_EQ(rows.err, cat.err);
    EXPECT_EQ(rows.exit_code, cat.exit_code);
    if (cat.out.empty() && rows.out.starts_with("{\"schema\":\"varve.error/1\"")) {
      return;  // a log that its format refuses
    }
    const auto records = lines_of(cat.out);
    const auto found = lines_of(rows.out);
    EXPECT_EQ(found.size(), records.size());
    simdjson::dom::parser parser;
    simdjson::dom::parser line_parser;
    for (std::size_t i = 0; i < std::min(found.size(), records.size()); ++i) {
      const simdjson::dom::element row = parser.parse(found[i]);
      EXPECT_EQ(std::string_view(row["line"]), records[i]);
      compared += compare_row(row, line_parser.parse(records[i]));
    }
    const RunResult count = run_real({"sql", store, "select count(*) as n from " + face, "--csv"});
    EXPECT_EQ(count.out, "n\r\n" + std::to_string(records.size()) + "\r\n");
    EXPECT_EQ(count.err, cat.err);
  });
  for (const auto& entry : fs::directory_iterator(shared_path("fixtures") / GetParam())) {
    const std::string store = entry.path().string();
    const RunResult verify = run_real({"verify", "--json", store});
    if (verify.exit_code <= 4) {
      simdjson::dom::parser parser;
      const simdjson::dom::element report = parser.parse(verify.out);
      const RunResult findings =
          run_real({"sql", store, "select count(*) as n from findings", "--csv"});
      EXPECT_EQ(findings.out,
                "n\r\n" + std::to_string(simdjson::dom::array(report["findings"]).size()) + "\r\n")
          << store;
      EXPECT_EQ(findings.exit_code, verify.exit_code) << store;
    }
  }
  EXPECT_GT(compared, 20U);
}

INSTANTIATE_TEST_SUITE_P(Formats, SqlOfFixtures,
                         testing::Values("jss", "jss/invalid", "tay/stores/valid",
                                         "tay/stores/invalid", "arena", "kladde", "kladde/edge"),
                         folder_name);

// What is pushed down changes what is read, never what is found: the same conditions, hidden from
// the planner behind a plus sign, give the same rows.
TEST(SqlPushdown, FindsWhatSqliteFinds) {
  VARVE_REQUIRE_SHARED();
  const struct {
    const char* store;
    const char* table;
    const char* column;
    const char* comparison;
  } k_cases[] = {
      {"jss/plan", "log", "did", "in (select did from log where seq % 7 = 0)"},
      {"jss/plan", "log", "did", "= 'not a did'"},
      {"jss/plan", "log", "did", "= 5"},
      {"jss/plan", "log", "did", "in ('did:plc:a', null, x'00')"},
      {"jss/plan", "log", "collection", "glob 'app.bsky.*'"},
      {"jss/plan", "log", "collection", "glob 'app.*.post'"},
      {"jss/plan", "log", "collection", "like 'APP.bsky.%'"},
      {"jss/plan", "log", "collection", "= ''"},
      {"jss/plan", "log", "kind", "= 'create'"},
      {"jss/plan", "log", "kind", "= 'commit'"},
      {"jss/plan", "log", "kind", "in ('identity', 'account', 'nonsense')"},
      {"jss/plan", "log", "kind", "= 'CREATE' collate nocase"},
      {"jss/plan", "log", "seq", "in (1, 5, '7', 8.0, null)"},
      {"jss/plan", "log", "seq", "between 3 and 11"},
      {"jss/plan", "log", "witnessed_at", "> (select avg(witnessed_at) from log)"},
      {"jss/plan", "log", "witnessed_at", "<= (select min(witnessed_at) from log)"},
      {"jss/plan", "state", "collection", "glob 'app.bsky.*'"},
      {"jss/plan", "state", "did", "= (select min(did) from state)"},
      {"tay/stores/valid/boundaries", "log", "type", "= 'inserted'"},
      {"tay/stores/valid/boundaries", "log", "type", "= '200'"},
      {"tay/stores/valid/boundaries", "log", "job_id", "= '0000000000000000000000000000beef'"},
      {"tay/stores/valid/boundaries", "log", "job_id", "= '0000000000000000000000000000BEEF'"},
      {"tay/stores/valid/boundaries", "log", "job_id", "> '0'"},
      {"tay/stores/valid/boundaries", "log", "time", ">= 5000"},
      {"tay/stores/valid/boundaries", "state", "state", "in ('available', 'nonsense')"},
      {"tay/stores/valid/boundaries", "state", "queue_key", "= 'q'"},
      {"arena/b-txn2-format2", "state", "id", "= 'v1'"},
      {"kladde/04-journal-all-records.kladde", "log", "id", "= 1"},
      {"kladde/04-journal-all-records.kladde", "log", "id", "between 1 and 2"},
      {"kladde/04-journal-all-records.kladde", "log", "id", "in (1, 2.0, 'x', null)"},
      {"kladde/04-journal-all-records.kladde", "state", "id", "> 1.5"},
  };
  std::size_t found = 0;
  for (const auto& c : k_cases) {
    const std::string store = (shared_path("fixtures") / c.store).string();
    // The unary plus takes the column's affinity away too, which counts where a text is a number.
    const std::string hidden =
        c.column == std::string("seq") ? "cast(seq as integer)" : "+" + std::string(c.column);
    const std::string rows = std::string("select line from ") + c.table + " where ";
    const RunResult pushed =
        run_real({"sql", store, rows + c.column + " " + c.comparison, "--csv"});
    const RunResult plain = run_real({"sql", store, rows + hidden + " " + c.comparison, "--csv"});
    EXPECT_EQ(pushed.out, plain.out) << c.table << "." << c.column << " " << c.comparison;
    EXPECT_EQ(pushed.exit_code, 0) << pushed.err;
    found += lines_of(pushed.out).size() - 1;
  }
  EXPECT_GT(found, 50U);
}

// Statements that only count take another way than those that nearly do; both give the same.
TEST(SqlCounts, AreThoseOfRowsOneByOne) {
  VARVE_REQUIRE_SHARED();
  const struct {
    const char* counting;
    const char* plain;
  } k_cases[] = {
      {"select count(*) from log", "select count(seq) from log"},
      {"select collection, count(*) from log group by 1",
       "select collection, count(seq) from log group by 1"},
      {"select count(*), did from log group by did having count(*) > 2 order by 1 desc, 2 limit 5",
       "select count(seq), did from log group by did having count(seq) > 2 order by 1 desc, 2 "
       "limit 5"},
      {"select kind, count(*) from log where kind > 'd' group by kind",
       "select kind, count(seq) from log where kind > 'd' group by kind"},
      {"select count(*) from log where collection = 'app.bsky.feed.post'",
       "select count(seq) from log where collection = 'app.bsky.feed.post'"},
      {"select count(*) from log where kind in ('update', 'delete')",
       "select count(seq) from log where kind in ('update', 'delete')"},
      {"select count(*) filter (where kind = 'create'), count(*) from log",
       "select sum(kind = 'create'), count(seq) from log"},
      {"select count(*) from log where did = 'nobody'",
       "select count(seq) from log where did = 'nobody'"},
      {"select kind, count(*) from log group by kind order by kind desc",
       "select kind, count(seq) from log group by kind order by kind desc"},
      {"select upper(kind), count(*) from log group by 1",
       "select upper(kind), count(seq) from log group by 1"},
      {"select count(*) from (select distinct kind from log)",
       "select count(distinct kind) from log"},
      {"select count(*) from (select kind from log group by kind)",
       "select count(distinct kind) from log"},
      {"select distinct count(*) from log group by kind order by 1",
       "select distinct n from (select count(seq) as n from log group by kind) order by 1"},
      {"select kind, count(*) over (partition by kind) as n from log order by 1, 2",
       "select kind, n from log join (select kind as k, count(seq) as n from log group by 1) on k "
       "= "
       "kind order by 1, 2"},
      {"select sum(1), count(*) from log", "select count(seq), count(seq) from log"},
      {"select count(*) from log a, (values (1), (2))", "select 2 * count(seq) from log"},
      {"select count(*), (select count(*) from state) from log",
       "select count(seq), (select count(did) from state) from log"},
      {"select kind collate nocase, count(*) from log group by 1",
       "select kind, count(seq) from log group by kind collate nocase"},
      {"select count(*) from units", "select count(length) from units"},
      {"select code, count(*) from findings group by 1",
       "select code, count(offset) from findings group by 1"},
  };
  for (const char* fixture : {"fixtures/jss/plan", "fixtures/jss/invalid/block_bit_flipped.jss"}) {
    const std::string store = shared_path(fixture).string();
    for (const auto& c : k_cases) {
      const RunResult counting = run_real({"sql", store, c.counting, "--csv"});
      const RunResult plain = run_real({"sql", store, c.plain, "--csv"});
      if (plain.exit_code == 64 || plain.out.empty()) {
        EXPECT_EQ(counting.out, plain.out) << c.counting;
        continue;  // a state that the format refuses
      }
      const auto body = [](const std::string& out) { return out.substr(out.find('\n')); };
      EXPECT_EQ(body(counting.out), body(plain.out)) << c.counting;
      EXPECT_EQ(counting.err, plain.err) << c.counting;
      EXPECT_EQ(counting.exit_code, plain.exit_code) << c.counting;
    }
  }
}

TEST(SqlPushdown, AFilterWithoutAColumnIsAnArgument) {
  VARVE_REQUIRE_SHARED();
  const std::string store = shared_path("fixtures/arena/b-txn2-format2").string();
  const RunResult cat = run_real({"cat", store, "--id", "v1"});
  ASSERT_NE(cat.out, "");
  const auto lines = [&](const char* statement) {
    std::string out;
    simdjson::dom::parser parser;
    for (const std::string& row : lines_of(run_real({"sql", store, statement, "--json"}).out)) {
      out += std::string(std::string_view(parser.parse(row)["line"])) + "\n";
    }
    return out;
  };
  EXPECT_EQ(lines("select line from log where id = 'v1'"), cat.out);
  EXPECT_EQ(lines("select line from log('v1')"), cat.out);
  EXPECT_EQ(lines("select line from log where id in ('v1', 'nobody')"), cat.out);
  EXPECT_EQ(lines("select line from log where id = 'nobody'"), "");
  EXPECT_EQ(lines("select line from log where id = null"), "");
}

TEST(SqlTables, UnitsSegmentsAndRecords) {
  VARVE_REQUIRE_SHARED();
  const std::string store = shared_path("fixtures/jss/plan").string();
  const auto ask = [&](const char* statement) {
    return run_real({"sql", store, statement, "--csv"}).out;
  };
  EXPECT_EQ(ask("select count(*) as n from segments where bytes > 0"), "n\r\n6\r\n");
  EXPECT_EQ(ask("select sum(length) = (select sum(bytes) from segments) as whole from units"),
            "whole\r\n1\r\n");
  EXPECT_EQ(ask("select count(*) = (select count(*) from log where kind in ('create', 'update', "
                "'create_resync')) as same, count(*) > 0 as some from records"),
            "same,some\r\n1,1\r\n");
  EXPECT_THAT(ask("select uri from records limit 1"), StartsWith("uri\r\nat://did:"));
  const std::string damaged = shared_path("fixtures/jss/invalid/block_bit_flipped.jss").string();
  const RunResult units =
      run_real({"sql", damaged, "select count(*) as n from units where checked = 'fails'"});
  EXPECT_NE(units.out, "n\n-\n0\n");
  EXPECT_EQ(units.exit_code, 2);
}

}  // namespace
}  // namespace varve::test
