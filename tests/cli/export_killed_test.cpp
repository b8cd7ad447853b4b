// SPDX-License-Identifier: MIT OR Apache-2.0
// Exports that end badly, on a real file system: killed again and again and resumed, and a disk
// that is full behind SQLite, which writes its files itself.
#include <gtest/gtest.h>

#include "tests/support.hpp"

namespace varve::test {
namespace {

std::string make_archive(const ScratchDirectory& scratch) {
  const std::string archive = (scratch / "archive").string();
  const RunResult made = run_command(
      {"/usr/bin/python3", VARVE_TEST_SOURCE_DIR "/tests/oracle/make_jss.py", "--out", archive,
       "--segments", "3", "--events", small_run() ? "6000" : "20000", "--seed", "3"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return archive;
}

std::ptrdiff_t names_in(const fs::path& directory) {
  const auto entries = fs::directory_iterator(directory);
  return std::distance(begin(entries), end(entries));
}

// What a reader of the file sees. SQLite's own bytes may differ from run to run.
std::string content_of(const std::string& form, const fs::path& file) {
  if (form != "sqlite") {
    return read_file(file);
  }
  const RunResult dumped = run_command({"/usr/bin/sqlite3", file.string(), ".dump"});
  EXPECT_EQ(dumped.exit_code, 0) << dumped.err;
  return dumped.out;
}

class KilledExport : public testing::TestWithParam<const char*> {};

TEST_P(KilledExport, GivesTheSameOutputOnceItIsLetThrough) {
  const ScratchDirectory scratch;
  const std::string form = GetParam();
  const std::string archive = make_archive(scratch);
  const fs::path whole = scratch / "whole";
  const fs::path part = scratch / "part";
  ASSERT_EQ(run_tool({"export", archive, "--to", form, "-o", whole.string()}).exit_code, 0);
  const std::string command = std::string("'") + VARVE_TEST_TOOL + "' export '" + archive +
                              "' --to " + form + " --resume -o '" + part.string() + "'";
  int kills = 0;
  // Later and later, so that the first is certain to meet it at work and some meet it half done.
  for (double pause = 0.002; pause < 0.5 && !fs::exists(part); pause *= 1.7) {
    const RunResult killed =
        run_command({"/bin/sh", "-c",
                     command + " & child=$!; sleep " + std::to_string(pause) +
                         "; kill -9 $child 2>/dev/null; wait $child 2>/dev/null; exit 0"});
    EXPECT_EQ(killed.exit_code, 0);
    kills += fs::exists(part) ? 0 : 1;
  }
  EXPECT_GT(kills, 0);
  if (!fs::exists(part)) {
    const RunResult last = run_command({"/bin/sh", "-c", command});
    EXPECT_EQ(last.exit_code, 0) << last.err;
  }
  EXPECT_TRUE(content_of(form, part) == content_of(form, whole));
  EXPECT_EQ(names_in(scratch.path()), 3)
      << "something is left beside the archive and the two files";
}

INSTANTIATE_TEST_SUITE_P(Forms, KilledExport, testing::Values("jsonl", "csv", "sqlite"),
                         [](const auto& chosen) { return std::string(chosen.param); });

// A file-size limit stands for the full disk: the system refuses to let a file grow.
TEST(SqliteExportOnAFullDisk, IsToldAndLeavesNothing) {
  const ScratchDirectory scratch;
  const std::string archive = make_archive(scratch);
  const std::string out = (scratch / "rows.db").string();
  const RunResult full =
      run_command({"/bin/sh", "-c",
                   std::string("trap '' XFSZ; ulimit -f 256; exec '") + VARVE_TEST_TOOL +
                       "' export '" + archive + "' --to sqlite -o '" + out + "'"});
  EXPECT_EQ(full.exit_code, 74) << full.err;
  EXPECT_NE(full.err.find("rows.db"), std::string::npos) << full.err;
  EXPECT_FALSE(fs::exists(out));
  EXPECT_EQ(names_in(scratch.path()), 1) << "something is left beside the archive";
}

}  // namespace
}  // namespace varve::test
