// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing verbs, and the independent Python reader on what they wrote.
#include <set>

#include "base/text_coding.hpp"
#include "tests/tay/stores.hpp"
#include "tests/tay/views.hpp"
#include "varve/tay.hpp"

namespace varve::tay::test {
namespace {

using varve::test::run_command;
using varve::test::ScratchDirectory;

class Verbs : public ::testing::Test {
 protected:
  std::string path(const char* name) { return (scratch_ / name).string(); }
  Result<WriteReport> init(const char* name, const OptionMap& options = {}) {
    WriteRequest request;
    request.options = options;
    return format().init(files_, path(name), request);
  }
  Result<std::unique_ptr<Appender>> appender(const char* name, const OptionMap& options = {}) {
    WriteRequest request;
    request.options = options;
    return format().open_appender(files_, path(name), request);
  }
  // Appends the log of one store to another; how many lines were taken.
  Result<std::uint64_t> copy_log(const std::string& from, const char* to,
                                 const OptionMap& options = {}) {
    VARVE_ASSIGN(const auto target, appender(to, options));
    for (const std::string& line : lines(from, {})) {
      VARVE_TRY(target->append_line(line));
    }
    VARVE_ASSIGN(const std::uint64_t count, target->sync());
    VARVE_TRY(target->close());
    return count;
  }
  // What the Python reader prints; the store must be one that it accepts.
  std::string oracle(const char* name, const char* option) {
    const auto result =
        run_command({"/usr/bin/python3", VARVE_TEST_SOURCE_DIR "/tests/oracle/read_tay.py", option,
                     path(name)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  static std::string joined(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) {
      out += part + '\n';
    }
    return out;
  }
  static ScanRequest state() {
    ScanRequest request;
    request.face = Face::state;
    return request;
  }
  void expect_oracle_agrees(const char* name) {
    EXPECT_EQ(oracle(name, "--log"), joined(lines(path(name), {})));
    EXPECT_EQ(oracle(name, "--state"), joined(lines(path(name), state())));
  }

  ScratchDirectory scratch_;
  io::FileSystem& files_ = io::posix_file_system();
};

TEST_F(Verbs, CatIntoAppendGivesTheSameBytes) {
  VARVE_REQUIRE_SHARED();
  for (const char* name : {"lifecycle", "boundaries", "highest-sealed", "empty"}) {
    const fs::path source = fixture("stores/valid") / name;
    const Bytes marker = to_bytes(varve::test::read_file(source / "STORE"));
    ASSERT_TRUE(init(name, {{"store-id", base::to_hex(ByteSpan(marker).subspan(8, 16))}}));
    const auto count = copy_log(source.string(), name);
    ASSERT_TRUE(count) << name << ": " << count.error().text();
    EXPECT_EQ(to_bytes(varve::test::read_file(scratch_ / name / "STORE")), marker);
    EXPECT_EQ(lines(path(name), state()), lines(source.string(), state()));
    // The same frames, though all in one segment.
    Bytes want;
    for (std::uint64_t id = 1; fs::exists(source / "segments" / segment_name(id)); ++id) {
      for (const PlainRecord& record :
           records_of(to_bytes(varve::test::read_file(source / "segments" / segment_name(id))))) {
        encode_record(record.type, record.schema, record.sequence, record.payload, want);
      }
    }
    const Bytes got =
        to_bytes(varve::test::read_file(scratch_ / name / "segments" / segment_name(1)));
    EXPECT_EQ(Bytes(got.begin() + k_header_bytes, got.end()), want) << name;
  }
  expect_oracle_agrees("lifecycle");
  expect_oracle_agrees("highest-sealed");
}

TEST_F(Verbs, ThePythonReaderAcceptsWhatTheJobStoreWrote) {
  io::FixedEnvironment environment(1'704'067'200'000'000'000, 1'000'000, 7);
  JobStoreOptions options;
  options.environment = &environment;
  for (int run = 0; run < 3; ++run) {
    auto store = run == 0 ? JobStore::create(files_, path("jobs"), options)
                          : JobStore::open(files_, path("jobs"), options);
    ASSERT_TRUE(store) << store.error().text();
    for (int i = 0; i < 30; ++i) {
      JobDefinition definition;
      definition.worker_key = "worker-" + std::to_string(i % 3);
      definition.args_json = "{\"n\":" + std::to_string(i) + ",\"t\":\"\\u00fc\",\"f\":-0.0}";
      definition.max_attempts = static_cast<std::uint32_t>(1 + i % 3);
      ASSERT_TRUE((*store)->insert((*store)->new_id(), definition));
    }
    for (int i = 0; i < 25; ++i) {
      const auto next = (*store)->start_next("default");
      ASSERT_TRUE(next);
      if (!*next) break;
      if (i % 5 == 4) {
        ASSERT_TRUE((*store)->cancel((*next)->id));
      } else if (i % 5 != 3) {  // some are left executing for the next run to settle
        const auto done = (*store)->finish((*next)->id, *(*next)->execution, Outcome(i % 4));
        ASSERT_TRUE(done) << done.error().text();
        if (done->state == JobState::discarded) {
          ASSERT_TRUE((*store)->retry(done->id));
        }
      }
      environment.advance_ns(400'000'000);
    }
    ASSERT_TRUE((*store)->seal());
  }
  expect_oracle_agrees("jobs");
  EXPECT_EQ(verify(path("jobs")).report.verdict, Verdict::clean);
}

TEST_F(Verbs, AppendChecksUnlessToldOtherwise) {
  ASSERT_TRUE(init("store"));
  const std::string id = "11111111111111111111111111111111";
  const std::string start = R"({"type":"started","event":{"at":1,"attempt":1,"cycle_token":1,)"
                            R"("expected_revision":1,"job_id":")" +
                            id + "\"}}";
  {
    const auto target = appender("store").value();
    const auto refused = [&](const std::string& line, const char* reason) {
      const auto taken = target->append_line(line);
      ASSERT_FALSE(taken) << line;
      EXPECT_EQ(taken.error().code, ErrorCode::invalid_argument) << line;
      EXPECT_EQ(taken.error().reason, reason) << line;
    };
    refused(start, "invalid_transition");
    refused(R"({"seq":2,)" + start.substr(1), "sequence");
    refused(R"({"type":"started","event":{"at":1}})", "invalid_event");
    refused(R"({"type":"started","schema":2,"event":{"at":1}})", "unsupported_payload_schema");
    refused(R"({"type":47,"payload":{"$bytes":""}})", "unknown_event_type");
    refused(R"({"type":1,"payload":{"$bytes":"Aw"}})", "truncated_value");
    for (const char* bad :
         {"", "[]", "{}", R"({"type":"nothing"})", R"({"type":1})", R"({"type":256,"event":{}})",
          R"({"type":1,"event":{},"payload":{"$bytes":""}})", R"({"type":1,"payload":"x"})",
          R"({"type":1,"payload":{"$bytes":"%"}})", R"({"type":47,"event":{}})",
          R"({"type":1,"event":{},"extra":1})"}) {
      refused(bad, "line");
    }
    refused(R"({"type":5,"event":{"job_id":"11"}})", "json");
    EXPECT_EQ(target->sync().value(), 0U);
  }
  {
    const auto target = appender("store", {{"unchecked", "1"}}).value();
    ASSERT_TRUE(target->append_line(start));
    ASSERT_TRUE(target->append_line(R"({"type":254,"schema":9,"payload":{"$bytes":"AP8"}})"));
    EXPECT_EQ(target->append_line(R"({"type":0,"payload":{"$bytes":""}})").error().reason,
              "reserved_type");
    EXPECT_EQ(target->flush().value(), 2U);
    EXPECT_EQ(target->sync().value(), 2U);
  }
  const auto seen = verify(path("store"));
  EXPECT_EQ(seen.report.counts.records, 2U);
  ASSERT_NE(seen.first_error(), nullptr);
  EXPECT_EQ(seen.first_error()->code, "invalid_transition");
  EXPECT_EQ(appender("store").error().reason, "invalid_transition");
  EXPECT_TRUE(appender("store", {{"unchecked", "1"}}));
}

TEST_F(Verbs, SealAndRecover) {
  VARVE_REQUIRE_SHARED();
  varve::test::copy_tree(fixture("stores/valid/highest-sealed"), scratch_ / "half");
  WriteRequest request;
  request.dry_run = true;
  const std::string before = varve::test::tree_snapshot(scratch_ / "half");
  const auto rehearsed = format().recover(files_, path("half"), request);
  ASSERT_TRUE(rehearsed) << rehearsed.error().text();
  ASSERT_EQ(rehearsed->actions.size(), 1U);
  EXPECT_EQ(rehearsed->actions[0].file, "segments/" + segment_name(3));
  EXPECT_EQ(varve::test::tree_snapshot(scratch_ / "half"), before);
  request.dry_run = false;
  EXPECT_EQ(format().recover(files_, path("half"), request)->actions.size(), 1U);
  EXPECT_EQ(format().recover(files_, path("half"), request)->actions.size(), 0U);
  EXPECT_EQ(format().seal(files_, path("half"), request)->actions.size(), 0U);  // empty
  expect_oracle_agrees("half");

  varve::test::copy_tree(fixture("stores/valid/lifecycle"), scratch_ / "whole");
  request.dry_run = true;
  EXPECT_EQ(format().seal(files_, path("whole"), request)->actions.size(), 2U);
  EXPECT_FALSE(fs::exists(scratch_ / "whole/segments" / segment_name(4)));
  request.dry_run = false;
  EXPECT_EQ(format().seal(files_, path("whole"), request)->actions.size(), 2U);
  EXPECT_TRUE(fs::exists(scratch_ / "whole/segments" / segment_name(4)));
  expect_oracle_agrees("whole");
}

// What recovery refuses no verb touches.
TEST_F(Verbs, LeaveARefusedStoreAlone) {
  VARVE_REQUIRE_SHARED();
  std::uint64_t count = 0;
  for (const std::string& store : stores("invalid")) {
    const std::string name = fs::path(store).filename();
    varve::test::copy_tree(store, scratch_ / name);
    const std::string before = varve::test::tree_snapshot(scratch_ / name);
    EXPECT_FALSE(format().recover(files_, path(name.c_str()), {})) << name;
    EXPECT_FALSE(format().seal(files_, path(name.c_str()), {})) << name;
    EXPECT_FALSE(appender(name.c_str())) << name;
    EXPECT_FALSE(JobStore::open(files_, path(name.c_str()))) << name;
    EXPECT_EQ(varve::test::tree_snapshot(scratch_ / name), before) << name;
    ++count;
  }
  EXPECT_EQ(count, 57U);
}

TEST_F(Verbs, BackupColdAndBesideAnOwner) {
  VARVE_REQUIRE_SHARED();
  varve::test::copy_tree(fixture("stores/valid/highest-sealed"), scratch_ / "store");
  const std::string before = varve::test::tree_snapshot(scratch_ / "store");
  ASSERT_TRUE(format().backup(files_, path("store"), path("cold"), {}));
  EXPECT_EQ(varve::test::tree_snapshot(scratch_ / "store"), before);
  const auto content = [](const fs::path& root) {
    std::set<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      out.insert(fs::relative(entry.path(), root).string() +
                 (entry.is_regular_file() ? "=" + varve::test::read_file(entry.path()) : ""));
    }
    return out;
  };
  EXPECT_EQ(content(scratch_ / "cold/store"), content(scratch_ / "store"));  // stages too
  EXPECT_EQ(run_command({"sha256sum", "-c", "--quiet", "SHA256SUMS"},
                        {.input = {}, .environment = {}, .directory = scratch_ / "cold"})
                .exit_code,
            0);

  auto owner = JobStore::open(files_, path("store"));
  ASSERT_TRUE(owner);
  ASSERT_TRUE((*owner)->insert({std::byte{1}}, {.worker_key = "w", .scheduled_at_ms = {}}));
  const auto live = format().backup(files_, path("store"), path("live"), {});
  ASSERT_TRUE(live) << live.error().text();
  owner->reset();
  EXPECT_EQ(lines(path("live/store"), {}), lines(path("store"), {}));
  EXPECT_TRUE(JobStore::open(files_, path("live/store")));
}

// A copy proves nothing: damage is copied as it is.
TEST_F(Verbs, BackupOfDamage) {
  VARVE_REQUIRE_SHARED();
  for (const char* name : {"record-crc", "store-missing", "lock-missing", "tail-footer"}) {
    const std::string store = (fixture("stores/invalid") / name).string();
    ASSERT_TRUE(format().backup(files_, store, path(name), {})) << name;
    const fs::path segment = fs::path("segments") / segment_name(1);
    EXPECT_EQ(varve::test::read_file(scratch_ / name / name / segment),
              varve::test::read_file(fs::path(store) / segment));
  }
}

TEST_F(Verbs, InitOptions) {
  EXPECT_EQ(init("a", {{"store-id", "12"}}).error().reason, "store-id");
  WriteRequest request;
  request.dry_run = true;
  EXPECT_EQ(format().init(files_, path("a"), request)->actions.size(), 3U);
  EXPECT_FALSE(fs::exists(scratch_ / "a"));
  ASSERT_TRUE(init("deep/er/a"));
  EXPECT_EQ(init("deep/er/a").error().system_errno, EEXIST);
  fs::create_directory(scratch_ / "b");
  EXPECT_EQ(init("b").error().system_errno, EEXIST);
  EXPECT_TRUE(init("b", {{"existing", "1"}}));
  EXPECT_EQ(appender("b", {{"rotation-target", "16M"}}).error().reason, "rotation-target");
  EXPECT_TRUE(appender("b", {{"rotation-target", "17M"}, {"durability", "write"}}));
}

}  // namespace
}  // namespace varve::tay::test
