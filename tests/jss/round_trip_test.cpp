// SPDX-License-Identifier: MIT OR Apache-2.0
// What `cat` prints, appended to a new store and sealed, is the same log again; and the writing
// verbs as the registration table offers them.
#include <gtest/gtest.h>

#include "generated_rows.hpp"
#include "io/simulated.hpp"
#include "jss/view.hpp"
#include "tests/support.hpp"
#include "varve/jss.hpp"
#include "view_support.hpp"

namespace varve::jss {
namespace {

namespace fs = std::filesystem;
using varve::test::run_tool;

// A line without its place.
std::string without_place(const std::string& line) {
  return line.substr(0, line.rfind(",\"at\":{"));
}

std::vector<std::string> log_of(io::FileSystem& files, const std::string& path) {
  auto view = format().open(files, path, {});
  if (!view) {
    throw std::runtime_error(view.error().text());
  }
  std::vector<std::string> lines = test::scan_lines(**view).lines;
  std::ranges::transform(lines, lines.begin(), without_place);
  return lines;
}

void append_lines(io::FileSystem& files, const std::string& path,
                  const std::vector<std::string>& lines, WriteRequest request = {}) {
  const auto appender = format().open_appender(files, path, request);
  ASSERT_TRUE(appender) << appender.error().text();
  for (const std::string& line : lines) {
    const auto taken = (*appender)->append_line(line);
    ASSERT_TRUE(taken) << taken.error().text() << "\n" << line;
  }
  ASSERT_TRUE((*appender)->close());
}

TEST(JssRoundTrip, EveryFixtureKeepsItsLog) {
  VARVE_REQUIRE_SHARED();
  std::size_t stores = 0;
  std::vector<fs::path> paths = test::fixture_files(true);
  paths.push_back(varve::test::shared_path("fixtures/jss/plan"));
  for (const fs::path& path : paths) {
    const auto view = test::open_view(path);
    const std::vector<std::string> lines = test::scan_lines(*view).lines;
    for (const std::string target : {"/copy.jss", "/copy"}) {
      io::SimulatedFileSystem files;
      ASSERT_TRUE(format().init(files, target, {}));
      append_lines(files, target, lines, {.options = {{"block-rows", "7"}}});
      ASSERT_TRUE(format().seal(files, target, {}));
      std::vector<std::string> before = lines;
      std::ranges::transform(before, before.begin(), without_place);
      EXPECT_EQ(log_of(files, target), before) << path;
      const auto copy = format().open(files, target, {});
      ASSERT_TRUE(copy);
      const test::Verified verified = test::verify_view(**copy);
      EXPECT_EQ(verified.report.verdict, Verdict::clean) << path << "\n" << verified.text();
    }
    ++stores;
  }
  EXPECT_GT(stores, 20U);
}

// By hand: VARVE_ROUND_TRIP_MB=200 (or 1000) is how many megabytes of payload the archive has.
TEST(JssRoundTrip, AGeneratedArchiveKeepsItsLog) {
  const char* wanted = std::getenv("VARVE_ROUND_TRIP_MB");
  const std::uint64_t bytes = (wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 2) << 20;
  const varve::test::ScratchDirectory scratch;
  const std::string from = scratch / "from";
  const std::string to = scratch / "to";
  io::FileSystem& files = io::posix_file_system();
  ASSERT_TRUE(Writer::create(files, from));
  const std::uint64_t rotation = std::max<std::uint64_t>(bytes / 24, 100'000);
  {
    auto writer = Writer::open(files, from, {.rotation_bytes = rotation});
    ASSERT_TRUE(writer);
    test::RowMaker maker(1);
    for (std::uint64_t made = 0; made < bytes;) {
      const test::Row row = maker.next();
      made += row.payload.size();
      ASSERT_TRUE((*writer)->append(row.event()));
    }
    ASSERT_TRUE((*writer)->close());
  }
  ASSERT_TRUE(format().init(files, to, {}));
  const auto view = test::open_view(from);
  {
    const auto appender = format().open_appender(
        files, to, {.options = {{"rotation-bytes", std::to_string(rotation + 1000)}}});
    ASSERT_TRUE(appender);
    const auto scanned = test::for_each_line(*view, [&](std::string_view line) {
      const auto taken = (*appender)->append_line(line);
      ASSERT_TRUE(taken) << taken.error().text();
    });
    EXPECT_EQ(scanned.summary.verdict, Verdict::clean);
    ASSERT_TRUE((*appender)->close());
  }
  ASSERT_TRUE(format().seal(files, to, {}));
  // Equal line for line, told by one hash each.
  const auto digest = [](StoreView& store) {
    base::Sha256Stream hash;
    std::uint64_t rows = 0;
    test::for_each_line(store, [&](std::string_view line) {
      hash.update(base::as_bytes(line.substr(0, line.rfind(",\"at\":{"))));
      ++rows;
    });
    return base::to_hex(hash.digest()) + " of " + std::to_string(rows) + " rows";
  };
  const auto copy = test::open_view(to);
  EXPECT_EQ(digest(*copy), digest(*view));
  EXPECT_EQ(test::verify_view(*copy).report.verdict, Verdict::clean);
}

TEST(JssVerbs, TheProgramWritesSealsAndBacksUp) {
  if (std::string_view(VARVE_TEST_TOOL).empty()) {
    GTEST_SKIP() << "the program is not built";
  }
  const varve::test::ScratchDirectory scratch;
  const std::string store = scratch / "archive";
  ASSERT_EQ(run_tool({"init", store, "--format", "jss"}).exit_code, 0);
  varve::test::RunOptions input;
  for (int i = 0; i < 50; ++i) {
    input.input += R"({"kind":"create","did":"did:plc:)" + std::to_string(i % 5) +
                   R"(","collection":"app.bsky.feed.post","rkey":")" + std::to_string(i) +
                   R"(","rev":"3mptbypluud22","record":{"n":)" + std::to_string(i) + "}}\n";
  }
  const auto appended = run_tool(
      {"append", store, "--ack", "--batch", "20", "--block-rows", "8", "--rotation-bytes", "900"},
      input);
  ASSERT_EQ(appended.exit_code, 0) << appended.err;
  EXPECT_NE(appended.out.find("{\"acknowledged\":50}"), std::string::npos) << appended.out;
  const auto before = run_tool({"cat", store});
  EXPECT_EQ(std::ranges::count(before.out, '\n'), 50);

  const std::string copy = scratch / "copy";
  ASSERT_EQ(run_tool({"backup", store, "-o", copy}).exit_code, 0);
  EXPECT_EQ(run_tool({"cat", copy}).out, before.out);
  EXPECT_EQ(run_tool({"verify", copy}).exit_code, 0);

  EXPECT_EQ(run_tool({"seal", store, "--json"}).exit_code, 0);
  EXPECT_EQ(run_tool({"cat", store}).out, before.out);
  EXPECT_EQ(run_tool({"recover", store}).exit_code, 0);
  EXPECT_EQ(run_tool({"init", store, "--format", "jss"}).exit_code, 73);
  EXPECT_EQ(run_tool({"append", store, "--block-rows", "0"}).exit_code, 64);
}

TEST(JssBackup, LeavesOutWhatIsNotProvenAndWhatASealWrites) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  auto writer = Writer::open(files, "/a", {.block_rows = 4, .rotation_bytes = 500});
  ASSERT_TRUE(writer);
  test::RowMaker maker(2);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE((*writer)->append(maker.next().event()));
  }
  ASSERT_TRUE((*writer)->seal());
  ASSERT_TRUE((*writer)->append(maker.next().event()));
  ASSERT_TRUE((*writer)->close());
  const std::vector<std::string> lines = log_of(files, "/a");
  const std::string active = "/a/" + files.paths("/a").back();
  base::Bytes torn = files.get(active).value();
  torn.resize(torn.size() + 11, std::byte{7});
  ASSERT_TRUE(files.put(active, torn));
  const auto report = format().backup(files, "/a", "/backup", {});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(log_of(files, "/backup/a"), lines);
  const auto copy = format().open(files, "/backup/a", {});
  const test::Verified verified = test::verify_view(**copy);
  EXPECT_EQ(verified.report.verdict, Verdict::clean) << verified.text();
  // A single file, with a damaged frame: that is copied as it is.
  base::Bytes hurt = files.get(active).value();
  hurt[300] ^= std::byte{1};
  ASSERT_TRUE(files.put("/b.jss", hurt));
  ASSERT_TRUE(format().backup(files, "/b.jss", "/backup-b", {}));
  EXPECT_TRUE(files.get("/backup-b/b.jss").has_value());
}

}  // namespace
}  // namespace varve::jss
