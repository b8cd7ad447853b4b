// SPDX-License-Identifier: MIT OR Apache-2.0
// `export --to sqlite`, and `--resume` of the forms that have it.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "base/bytes.hpp"
#include "base/json_writer.hpp"
#include "cli/interrupt.hpp"
#include "tests/cli/fake_format.hpp"
#include "tests/cli/fixture_faces.hpp"
#include "verbs/export_resume.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;

// The rows of a query as `varve sql --json` prints them.
std::string rows_of(const fs::path& database, const std::string& query) {
  sqlite3* connection = nullptr;
  EXPECT_EQ(sqlite3_open_v2(database.c_str(), &connection, SQLITE_OPEN_READONLY, nullptr),
            SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(connection, query.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  std::string out;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      out += i == 0 ? '{' : ',';
      base::append_json_text_or_bytes(out, sqlite3_column_name(statement, i));
      out += ':';
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, i));
      const std::string_view value(bytes == nullptr ? "" : bytes,
                                   static_cast<std::size_t>(sqlite3_column_bytes(statement, i)));
      switch (sqlite3_column_type(statement, i)) {
        case SQLITE_INTEGER:
          out += std::to_string(sqlite3_column_int64(statement, i));
          break;
        case SQLITE_TEXT:
          base::append_json_text_or_bytes(out, value);
          break;
        case SQLITE_BLOB:
          base::append_json_bytes(out, base::as_bytes(value));
          break;
        default:
          out += "null";
          break;
      }
    }
    out += "}\n";
  }
  sqlite3_finalize(statement);
  sqlite3_close(connection);
  return out;
}

class SqliteExportOfFixtures : public testing::TestWithParam<const char*> {};

TEST_P(SqliteExportOfFixtures, EqualsVarveSql) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const std::string database = (scratch / "out.db").string();
  std::size_t rows = 0;
  for_each_fixture_face(
      GetParam(), [&](const std::string& store, const std::string& face, const RunResult& cat) {
        fs::remove(database);
        const RunResult exported =
            run_real({"export", "--to", "sqlite", "--face", face, store, "-o", database});
        EXPECT_EQ(exported.err, cat.err);
        EXPECT_EQ(exported.exit_code, cat.exit_code);
        if (!fs::exists(database)) {
          EXPECT_EQ(cat.out, "");  // a log that its format refuses
          return;
        }
        const std::string found = rows_of(database, "select * from " + face);
        EXPECT_EQ(found, run_real({"sql", store, "select * from " + face, "--json"}).out);
        rows += lines_of(found).size();
      });
  EXPECT_GT(rows, 5U);
}

INSTANTIATE_TEST_SUITE_P(Formats, SqliteExportOfFixtures,
                         testing::Values("jss", "tay/stores/valid", "arena", "kladde"),
                         folder_name);

TEST(SqliteExport, HasIndexesAndSaysWhereItIsFrom) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const std::string database = (scratch / "out.db").string();
  const std::string store = shared_path("fixtures/jss/plan").string();
  EXPECT_EQ(run_real({"export", "--to", "sqlite", store, "-o", database}).exit_code, 0);
  EXPECT_EQ(rows_of(database,
                    "select group_concat(name) as n from (select name from sqlite_schema "
                    "where type = 'index' and sql is not null order by 1)"),
            "{\"n\":\"log_collection,log_did,log_kind,log_seq,log_witnessed_at\"}\n");
  EXPECT_EQ(rows_of(database,
                    "select value from varve_export where name in ('varve.format', "
                    "'varve.table', 'varve.verdict') order by name"),
            "{\"value\":\"jss\"}\n{\"value\":\"log\"}\n{\"value\":\"clean\"}\n");
  EXPECT_EQ(rows_of(database, "pragma integrity_check"), "{\"integrity_check\":\"ok\"}\n");
  EXPECT_EQ(run_real({"export", "--to", "sqlite", store, "-o", database}).exit_code, 73);
  EXPECT_EQ(run_real({"export", "--to", "sqlite", store}).exit_code, 64);
  EXPECT_EQ(run_real({"export", "--to", "sqlite", "--columns", "did,seq", "--limit", "1", "--force",
                      store, "-o", database})
                .exit_code,
            0);
  EXPECT_EQ(rows_of(database, "select * from log"),
            run_real({"sql", store, "select did, seq from log limit 1", "--json"}).out);
  const auto entries = fs::directory_iterator(scratch.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

class Resume : public testing::TestWithParam<const char*> {
 protected:
  Resume() {
    write_file(scratch_ / "store", "LINES 1\n1 one\n!!\n3 t,w\"o\n4 interrupt\n5 five\n6 six\n");
  }
  std::string at(const char* name) const { return (scratch_ / name).string(); }
  std::vector<std::string> words(const char* out, std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"export", "--to", GetParam(), at("store"), "-o", at(out)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // In a process of its own, where the row "interrupt" sends SIGINT.
  int run_interrupted(const std::vector<std::string>& arguments) const {
    const pid_t child = ::fork();
    if (child == 0) {
      cli::set_up_signals();
      ::_exit(run_fake(arguments).exit_code);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static int run_ignoring(const std::vector<std::string>& arguments) {
    const auto old_handler = std::signal(SIGINT, SIG_IGN);
    const int code = run_fake(arguments).exit_code;
    std::signal(SIGINT, old_handler);
    return code;
  }
  std::string content(const char* name) const {
    return GetParam() == std::string("sqlite")
               ? rows_of(at(name), "select * from log") +
                     rows_of(at(name), "select * from varve_export") +
                     rows_of(at(name), "select type, name, sql from sqlite_schema")
               : read_file(at(name));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(scratch_.path())) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  ScratchDirectory scratch_;
};

TEST_P(Resume, GivesTheSameOutput) {
  EXPECT_EQ(run_ignoring(words("whole")), 2);
  EXPECT_EQ(run_interrupted(words("part", {"--resume"})), 130);
  EXPECT_FALSE(fs::exists(at("part")));
  ASSERT_TRUE(fs::exists(at(".part.partial")));
  // What was written is not written again.
  const auto written = fs::file_size(at(".part.partial"));
  EXPECT_GT(written, 0U);
  EXPECT_EQ(run_ignoring(words("part", {"--resume", "--limit", "4"})), 64) << "another export";
  EXPECT_EQ(fs::file_size(at(".part.partial")), written);
  EXPECT_EQ(run_ignoring(words("part", {"--resume"})), 2);
  EXPECT_EQ(content("part"), content("whole"));
  EXPECT_EQ(names(), (std::vector<std::string>{"part", "store", "whole"}));
}

TEST_P(Resume, RefusesAStoreThatHasChanged) {
  EXPECT_EQ(run_interrupted(words("part", {"--resume"})), 130);
  write_file(scratch_ / "store", "LINES 1\n1 one\n!!\n3 t,w\"o\n4 other\n5 five\n");
  EXPECT_EQ(run_ignoring(words("part", {"--resume"})), 64);
  write_file(scratch_ / "store", "LINES 1\n1 one\n");
  EXPECT_EQ(run_ignoring(words("part", {"--resume"})), 64) << "fewer rows than were written";
  EXPECT_FALSE(fs::exists(at("part")));
}

TEST_P(Resume, WithForceBeginsAnewWhereItMust) {
  EXPECT_EQ(run_interrupted(words("part", {"--resume"})), 130);
  EXPECT_EQ(run_ignoring(words("part", {"--resume", "--limit", "2", "--force"})), 2);
  EXPECT_EQ(run_ignoring(words("whole", {"--limit", "2"})), 2);
  EXPECT_EQ(content("part"), content("whole"));
}

INSTANTIATE_TEST_SUITE_P(Forms, Resume, testing::Values("jsonl", "csv", "sqlite"),
                         [](const auto& chosen) { return std::string(chosen.param); });

TEST(ResumeUsage, NeedsAFileAndAFormThatHasIt) {
  const ScratchDirectory scratch;
  const std::string store = (scratch / "store").string();
  write_file(store, "LINES 1\n1 one\n");
  const std::string out = (scratch / "out").string();
  EXPECT_EQ(run_fake({"export", "--to", "csv", store, "--resume"}).exit_code, 64);
  EXPECT_EQ(run_fake({"export", "--to", "arrow", store, "--resume", "-o", out}).exit_code, 64);
  // A mark that is garbage is none, and what it stood beside is written anew.
  write_file(scratch / ".out.partial", "garbage");
  write_file(scratch / ".out.partial.mark", "garbage");
  EXPECT_EQ(run_fake({"export", "--to", "csv", store, "--resume", "--force", "-o", out}).exit_code,
            0);
  EXPECT_EQ(read_file(out), "seq,text\r\n1,one\r\n");
}

// An earlier run's last row may lie within a batch of this one.
TEST(ResumingSink, CutsABatch) {
  const Schema schema{{{"n", ColumnType::uint32, true}, {"t", ColumnType::text, true}}};
  const auto batch_of = [&](int rows) {
    BatchBuilder builder(schema);
    for (int i = 0; i < rows; ++i) {
      if (i % 2 == 0) {
        builder.add_u64(0, static_cast<std::uint64_t>(i));
      }
      if (i % 3 != 0) {
        builder.add_bytes(1, "t" + std::to_string(i));
      }
      builder.end_row();
    }
    return builder.finish();
  };
  struct Collect final : BatchSink {
    std::string rows;
    Result<bool> consume(Batch batch) override {
      for (std::size_t row = 0; row < batch.rows; ++row) {
        const Column& n = batch.columns[0];
        const Column& t = batch.columns[1];
        rows += n.is_null(row) ? "-" : std::to_string(n.value<std::uint32_t>(row));
        rows += t.is_null(row) ? "-" : std::string(t.bytes(row));
        rows += ' ';
      }
      return true;
    }
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child != 0) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return;
  }
  cli::set_up_signals();
  cli::ExportMark mark;
  Collect first;
  ScanRequest request;
  {
    const cli::SignalGuard guard;
    std::raise(SIGINT);
    cli::ResumingSink sink(first, request,
                           {.from = cli::ExportMark{}, .keep = [&](const cli::ExportMark& kept) {
                              mark = kept;
                              return Result<void>();
                            }});
    EXPECT_FALSE(*sink.consume(batch_of(5)));
    EXPECT_EQ(sink.interrupted(), SIGINT);
  }
  EXPECT_EQ(mark.rows, 5U);
  Collect second;
  const cli::SignalGuard guard;
  ScanRequest again;
  cli::ResumingSink sink(second, again, {.from = mark, .keep = {}});
  EXPECT_TRUE(*sink.consume(batch_of(14)));
  EXPECT_TRUE(sink.end());
  Collect whole;
  EXPECT_TRUE(*whole.consume(batch_of(14)));
  EXPECT_EQ(first.rows + second.rows, whole.rows);
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace
}  // namespace varve::test
