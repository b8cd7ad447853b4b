// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing verbs over a store on a real file system.
#include "io/fixed_environment.hpp"
#include "tests/support.hpp"
#include "transactions.hpp"
#include "varve/arena.hpp"
#include "writer_support.hpp"

namespace varve::arena {
namespace {

using namespace test;
using varve::test::read_file;
using varve::test::tree_snapshot;
using varve::test::write_file;
using OptionMap = std::map<std::string, std::string>;

class ArenaVerbs : public ::testing::Test {
 protected:
  std::string path(const char* name) { return (scratch_ / name).string(); }
  std::filesystem::path segment(const char* name) {
    return scratch_ / name / "vectors_data.bin/seg_0.bin";
  }
  static WriteRequest with(const OptionMap& options, bool dry_run = false) {
    WriteRequest request;
    request.options = options;
    request.dry_run = dry_run;
    request.threads = 1;
    return request;
  }
  Result<WriteReport> init(const char* name, const OptionMap& options = {}) {
    return format().init(files_, path(name), with(options));
  }
  Result<std::uint64_t> append(const char* name, const std::vector<std::string>& lines,
                               const OptionMap& options = {}) {
    VARVE_ASSIGN(const auto target, format().open_appender(files_, path(name), with(options)));
    for (const std::string& line : lines) {
      VARVE_TRY(target->append_line(line));
    }
    VARVE_ASSIGN(const std::uint64_t count, target->sync());
    VARVE_TRY(target->close());
    return count;
  }
  std::vector<std::string> log(const std::string& store) {
    return scan(*open_view(files_, store)).lines;
  }
  std::vector<std::string> state(const std::string& store) {
    return state_of(*open_view(files_, store)).lines;
  }
  std::string whats(const Result<WriteReport>& report) {
    if (!report) {
      return "refused: " + report.error().reason;
    }
    std::string out;
    for (const WriteReport::Action& action : report->actions) {
      out += (out.empty() ? "" : ", ") + action.what;
    }
    return out;
  }
  // Puts bytes into the segment at its log's end.
  void at_end(const char* name, const std::string& bytes, std::uint64_t behind = 0) {
    const auto view = open_view(files_, path(name));
    const auto image = view->map().open_segment(0).value();
    const std::uint64_t end = examine_tail(*image, {})->end;
    const auto file = files_.open_file(segment(name).string(), io::OpenMode::read_write).value();
    ASSERT_TRUE(file->write_at(base::as_bytes(bytes), end + behind).has_value());
  }

  varve::test::ScratchDirectory scratch_;
  io::FileSystem& files_ = io::posix_file_system();
};

TEST_F(ArenaVerbs, InitAsAsked) {
  const std::string before = tree_snapshot(scratch_ / ".");
  const auto rehearsed = format().init(files_, path("new"), with({}, true));
  EXPECT_EQ(whats(rehearsed), "create, create, create");
  EXPECT_EQ(tree_snapshot(scratch_ / "."), before);
  ASSERT_TRUE(init("new", {{"format-version", "3"}, {"dimensions", "77"}, {"no-meaning", "1"}}));
  EXPECT_EQ(std::filesystem::file_size(segment("new")), 64U << 20);
  EXPECT_EQ(read_file(scratch_ / "new/store.json"),
            "{\n  \"version\": 2,\n  \"dimensions\": 77,\n"
            "  \"text_encoder\": \"multiscale-words-v1\",\n"
            "  \"vector_encoder\": \"signed-projection-v2\",\n  \"metric\": \"jaccard\",\n"
            "  \"encrypted\": false,\n  \"meaning_enabled\": false,\n"
            "  \"embedding_space\": null\n}");
  EXPECT_EQ(read_file(scratch_ / "new/vectors_data.bin/format.json"),
            "{\n  \"magic\": \"HMS_ARENA\",\n  \"version\": 3,\n  \"segment_size\": 67108864\n}");
  EXPECT_EQ(exit_code(init("new").error()), 73);
  EXPECT_EQ(exit_code(format().init(files_, path("new"), with({}, true)).error()), 73);
  ASSERT_TRUE(init("bare", {{"bare", "1"}, {"format-version", "2"}}));
  EXPECT_EQ(std::filesystem::file_size(scratch_ / "bare/seg_0.bin"), 1U << 30);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "bare/store.json"));
  for (const auto& [name, value] :
       OptionMap{{"format-version", "1"}, {"dimensions", "0"}, {"dimensions ", "x"}}) {
    const auto refused = init("other", {{name.substr(0, name.find(' ')), value}});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(exit_code(refused.error()), 64) << name;
  }
  EXPECT_EQ(exit_code(init("other", {{"format-version", "5"}}).error()), 64);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "other"));
}

TEST_F(ArenaVerbs, CatIntoAppendCopiesTheLog) {
  VARVE_REQUIRE_SHARED();
  for (const char* name : {"a-plain-zero-end", "b-txn2-format2", "d-stale-resurrected"}) {
    const std::string source = varve::test::shared_path("fixtures/arena").string() + "/" + name;
    const bool bare = !std::filesystem::exists(source + "/store.json");
    ASSERT_TRUE(init(name, bare ? OptionMap{{"bare", "1"}} : OptionMap{}));
    const auto lines = log(source);
    ASSERT_EQ(append(name, lines).value(), lines.size());
    EXPECT_EQ(payloads_of(log(path(name))), payloads_of(lines)) << name;
    if (!bare) {
      EXPECT_EQ(state(path(name)), state(source));
    }
  }
}

TEST_F(ArenaVerbs, AppendRefusesLinesThatAreNoRecords) {
  ASSERT_TRUE(init("store"));
  for (const char* bad :
       {"", "[]", "{}", "x", R"({"payload":{}})", R"({"payload":{"txn":2}})",
        R"({"payload":{"txn":2,"mutations":[]}})", R"({"payload":{"mutations":[{"No":{}}]}})",
        R"({"payload":{"txn":3,"mutations":[{"Delete":{"id":"v"}}]}})",
        R"({"payload":{"$bytes":"%"}})", R"({"payload":{"$bytes":"eA","mutations":[]}})",
        R"({"payload":{"$bytes":"eA"},"payload":{"$bytes":"eA"}})", R"({"hex":"0"})",
        R"({"payload":{"$bytes":"eA"},"extra":1})", R"({"payload":"eA"})", R"({"hex":"78"})",
        R"({"payload":{"$bytes":""}})",
        R"({"payload":{"mutations":[{"Vector":{"id":"v","vector":{"dim":9,"indices":[1]}}}]}})"}) {
    const auto taken = append("store", {bad});
    ASSERT_FALSE(taken) << bad;
    EXPECT_EQ(exit_code(taken.error()), 64) << bad << ": " << taken.error().text();
  }
  EXPECT_EQ(log(path("store")).size(), 0U);
  // White space and the order of keys are the caller's; what is stored is the format's own form.
  ASSERT_TRUE(append("store", {R"( { "at" : {} , "payload" : { "mutations" : [ { "Vector" : )"
                               R"({ "vector" : { "indices" : [ 1 , 2 ] , "dim" : 4096 } , )"
                               R"("id" : "v" } } ] } } )"}));
  EXPECT_EQ(payloads_of(log(path("store")))[0],
            R"({"txn":2,"mutations":[{"Vector":{"id":"v","vector":)"
            R"({"dim":4096,"indices":[1,2]}}}]})");
  // In a bare arena any bytes are a payload.
  ASSERT_TRUE(init("bare", {{"bare", "1"}}));
  EXPECT_EQ(append("bare", {R"({"hex":"78"})", R"({"payload":{"$bytes":"eQ"}})"}).value(), 2U);
  EXPECT_EQ(payloads_of(log(path("bare")))[1], bytes_json("y"));
}

TEST_F(ArenaVerbs, RecoverMarksAndClearsAndSaysSo) {
  ASSERT_TRUE(init("store"));
  ASSERT_TRUE(append("store", {R"({"payload":{"mutations":[{"Delete":{"id":"v"}}]}})"}));
  EXPECT_EQ(whats(format().recover(files_, path("store"), with({}))), "");
  at_end("store", raw_frame("unfinished", 1).substr(0, 20));
  const std::string before = tree_snapshot(scratch_ / "store");
  const char* all = "save aside into lost+found, write end marker, clear";
  const auto rehearsed = format().recover(files_, path("store"), with({}, true));
  EXPECT_EQ(whats(rehearsed), all);
  EXPECT_TRUE(rehearsed->dry_run);
  EXPECT_EQ(tree_snapshot(scratch_ / "store"), before);
  const auto done = format().recover(files_, path("store"), with({}));
  EXPECT_EQ(whats(done), all);
  EXPECT_EQ(done->detail.text(), rehearsed->detail.text());
  EXPECT_NE(done->detail.text().find("\"torn_reason\":\"crc\",\"torn_bytes\":20"),
            std::string::npos)
      << done->detail.text();
  EXPECT_EQ(verify(files_, path("store")).report.verdict, Verdict::clean);
  EXPECT_EQ(whats(format().recover(files_, path("store"), with({}))), "");
}

TEST_F(ArenaVerbs, FramesBehindTheEndAreKeptUntilDiscarded) {
  ASSERT_TRUE(init("store"));
  const std::string line = R"({"payload":{"mutations":[{"Delete":{"id":"v"}}]}})";
  ASSERT_TRUE(append("store", {line}));
  at_end("store", raw_frame("valid and behind", 7), 40);
  EXPECT_EQ(verify(files_, path("store")).words(Severity::warning).substr(0, 17),
            "frames-behind-end");
  EXPECT_EQ(append("store", {line}).error().reason, "frames-behind-end");
  EXPECT_EQ(whats(format().compact(files_, path("store"), with({}))), "refused: frames-behind-end");
  EXPECT_EQ(whats(format().recover(files_, path("store"), with({}))), "");
  const OptionMap discard{{"discard-frames-behind-end", "1"}};
  EXPECT_EQ(whats(format().recover(files_, path("store"), with(discard, true))),
            "save aside into lost+found, clear");
  EXPECT_EQ(append("store", {line}, discard).value(), 1U);
  EXPECT_EQ(log(path("store")).size(), 2U);
  EXPECT_EQ(verify(files_, path("store")).words(Severity::warning), "");
  std::string saved;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_ / "store/lost+found")) {
    saved += read_file(entry.path());
  }
  EXPECT_NE(saved.find("valid and behind"), std::string::npos);
}

TEST_F(ArenaVerbs, CommittedDamageIsRefusedAndNothingChanges) {
  VARVE_REQUIRE_SHARED();
  varve::test::copy_tree(varve::test::shared_path("fixtures/arena/c-stale-after-overwrite"),
                         scratch_ / "store");
  const std::string before = read_file(segment("store"));
  for (const bool dry_run : {true, false}) {
    const auto refused = format().recover(files_, path("store"), with({}, dry_run));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, "corrupt-committed");
    EXPECT_EQ(exit_code(refused.error()), 2);
  }
  EXPECT_EQ(append("store", {R"({"hex":"78"})"}).error().reason, "corrupt-committed");
  EXPECT_EQ(read_file(segment("store")), before);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "store/lost+found"));
  ASSERT_TRUE(format().backup(files_, path("store"), path("copy"), with({})));
  EXPECT_EQ(read_file(segment("copy/store")), before);
}

TEST_F(ArenaVerbs, CompactKeepsTheStateAndRehearses) {
  ASSERT_TRUE(init("store"));
  Transactions source(11, false);
  {
    const auto journal = Journal::open(files_, path("store"), {}).value();
    for (int i = 0; i < 80; ++i) {
      ASSERT_TRUE(journal->append(base::as_bytes(source.next())));
    }
    EXPECT_EQ(exit_code(format().compact(files_, path("store"), with({})).error()), 75);
  }
  const auto before = state(path("store"));
  const std::string tree = tree_snapshot(scratch_ / "store");
  const auto rehearsed = format().compact(files_, path("store"), with({}, true));
  EXPECT_EQ(whats(rehearsed), "write generation, replace");
  EXPECT_EQ(tree_snapshot(scratch_ / "store"), tree);
  const auto done = format().compact(files_, path("store"), with({}));
  EXPECT_EQ(whats(done), "write generation, replace, remove");
  EXPECT_EQ(done->actions[0].length, rehearsed->actions[0].length);
  EXPECT_EQ(state(path("store")), before);
  ASSERT_TRUE(init("bare", {{"bare", "1"}}));
  EXPECT_EQ(exit_code(format().compact(files_, path("bare"), with({})).error()), 3);
}

// A file that may not grow further is an error that is told, and nothing that was acknowledged is
// lost.
TEST(ArenaProgram, AFileSizeLimitIsAnErrorAndNoSignal) {
  if (std::string_view(VARVE_TEST_TOOL).empty()) {
    GTEST_SKIP() << "the program is not built";
  }
  const varve::test::ScratchDirectory scratch;
  const std::string store = (scratch / "store").string();
  ASSERT_EQ(varve::test::run_tool({"init", store, "--format", "arena", "--bare"}).exit_code, 0);
  varve::test::RunOptions input;
  for (std::uint64_t i = 0; i < 70; ++i) {
    input.input += "{\"hex\":\"" + base::to_hex(base::as_bytes(noise(20'000, 1 + i))) + "\"}\n";
  }
  const auto done = varve::test::run_command(
      {"/bin/bash", "-c", "ulimit -f 1100; exec \"$0\" append --ack --batch 10 \"$1\"",
       VARVE_TEST_TOOL, store},
      input);
  EXPECT_EQ(done.exit_code, 74) << done.err;
  EXPECT_TRUE(done.out.ends_with("{\"acknowledged\":50}\n")) << done.out;
  EXPECT_NE(done.err.find("50 records durable; what is in the store of 10 more is unknown"),
            std::string::npos)
      << done.err;
  const auto rows = varve::test::run_tool({"cat", "--payload", "none", store});
  EXPECT_EQ(rows.exit_code, 0);
  EXPECT_GE(std::ranges::count(rows.out, '\n'), 50);
  input.input = "{\"hex\":\"00\"}\n";
  EXPECT_EQ(varve::test::run_tool({"append", store}, input).exit_code, 0);
}

TEST_F(ArenaVerbs, BackupColdAndBesideAWriter) {
  ASSERT_TRUE(init("store", {{"format-version", "3"}}));
  Transactions source(12, false);
  const auto fill = [&](Journal& journal, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(journal.append(base::as_bytes(source.next())));
    }
  };
  {
    const auto journal = Journal::open(files_, path("store"), {}).value();
    fill(*journal, 40);
    ASSERT_TRUE(journal->compact());
    fill(*journal, 10);
    write_file(scratch_ / "store/indices.json", "{}");
    const auto live = format().backup(files_, path("store"), path("live"), with({}));
    ASSERT_TRUE(live) << live.error().text();
    EXPECT_NE(read_file(scratch_ / "live/backup.json").find("busy"), std::string::npos);
    fill(*journal, 5);
  }
  EXPECT_EQ(log(path("live/store")).size() + 5, log(path("store")).size());
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "live/store/indices.json"));
  EXPECT_EQ(verify(files_, path("live/store")).report.verdict, Verdict::clean);
  EXPECT_TRUE(Journal::open(files_, path("live/store"), {}));
  const std::string before = tree_snapshot(scratch_ / "store");
  ASSERT_TRUE(format().backup(files_, path("store"), path("cold"), with({})));
  EXPECT_EQ(tree_snapshot(scratch_ / "store"), before);
  EXPECT_EQ(log(path("cold/store")), log(path("store")));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "cold/store/indices.json"));
  EXPECT_EQ(
      varve::test::run_command({"sha256sum", "-c", "--quiet", "SHA256SUMS"},
                               {.input = {}, .environment = {}, .directory = scratch_ / "cold"})
          .exit_code,
      0);
  std::filesystem::create_symlink("seg_0.bin", scratch_ / "store/vectors_data.bin/link");
  EXPECT_EQ(format().backup(files_, path("store"), path("link"), with({})).error().reason,
            "symbolic-link");
}

}  // namespace
}  // namespace varve::arena
