// SPDX-License-Identifier: MIT OR Apache-2.0
// The view over stores made by hand: structure, generations, damage, payload rules, threads.
#include <gtest/gtest.h>

#include "view_support.hpp"

namespace varve::arena::test {
namespace {

const std::string k_three =
    bytes_json("hello") + bytes_json(journal_text()) + bytes_json("third frame");

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    out += part;
  }
  return out;
}

TEST(Structure, ABareArenaAndAStoreAroundIt) {
  io::SimulatedFileSystem files;
  put(files, "/bare/seg_0.bin", three_frames());
  put(files, "/store/vectors_data.bin/seg_0.bin", three_frames());
  put(files, "/store/vectors_data.bin/format.json", k_manifest_2);
  for (const char* path : {"/bare", "/store", "/store/vectors_data.bin"}) {
    const auto view = open_view(files, path);
    EXPECT_EQ(joined(payloads_of(scan(*view).lines)), k_three);
    EXPECT_EQ(verify(*view).report.verdict, Verdict::clean);
  }
  EXPECT_EQ(verify(files, "/bare").words(), "pre-manifest-store trimmed-copy");
  EXPECT_EQ(verify(files, "/store").words(), "no-schema trimmed-copy no-checksum-sidecar");
  EXPECT_EQ(open_view(files, "/store")->map().segment_path({0, "seg_0.bin", 0, 0}),
            "vectors_data.bin/seg_0.bin");
  EXPECT_FALSE(ArenaView::open(files, "/none", {}).has_value());
}

TEST(Structure, Refusals) {
  struct Row {
    const char* file;
    std::string content;
    Verdict verdict;
    const char* code;
  };
  const auto manifest = [](const char* magic, const char* version, const char* size) {
    return std::string("{\"magic\":\"") + magic + "\",\"version\":" + version +
           ",\"segment_size\":" + size + "}";
  };
  const Row rows[] = {
      {"format.json", manifest("HMS_ARENA", "5", "1073741824"), Verdict::unknown,
       "unsupported-format"},
      {"format.json", manifest("HMS", "2", "1073741824"), Verdict::damaged, "bad-manifest"},
      {"format.json", manifest("HMS_ARENA", "0", "1073741824"), Verdict::damaged, "bad-manifest"},
      {"format.json", manifest("HMS_ARENA", "2", "67108864"), Verdict::damaged,
       "segment-size-mismatch"},
      {"format.json", manifest("HMS_ARENA", "3", "1073741824"), Verdict::damaged,
       "segment-size-mismatch"},
      {"format.json", "{", Verdict::damaged, "bad-manifest"},
      {"CURRENT", "gen-1-2\n", Verdict::damaged, "bad-pointer"},
      {"CURRENT", "gen-../x", Verdict::damaged, "bad-pointer"},
      {"CURRENT", "old-1-2", Verdict::damaged, "bad-pointer"},
      {"CURRENT", "", Verdict::damaged, "bad-pointer"},
      {"CURRENT", "gen-4711-1790000000000000000", Verdict::damaged, "bad-pointer"},
      {"seg_2.bin", three_frames(), Verdict::damaged, "segment-gap"},
      {"documents.ckpt", "x", Verdict::unknown, "checkpoint-unsupported"},
      {"../store.json", R"({"version":6})", Verdict::unknown, "unsupported-schema"},
      {"../store.json", R"({"version":2})", Verdict::damaged, "schema-mismatch"},
  };
  for (const Row& row : rows) {
    io::SimulatedFileSystem files;
    put(files, "/s/vectors_data.bin/seg_0.bin", three_frames());
    const std::string file(row.file);
    put(files, file.starts_with("../") ? "/s/" + file.substr(3) : "/s/vectors_data.bin/" + file,
        row.content);
    const Verified verified = verify(files, "/s");
    EXPECT_EQ(verified.report.verdict, row.verdict) << row.code;
    std::string first;
    for (const Finding& finding : verified.findings.findings()) {
      if (finding.severity == Severity::error && first.empty()) {
        first = finding.code;
      }
    }
    EXPECT_EQ(first, row.code) << row.content;
    const auto view = open_view(files, "/s");
    EXPECT_EQ(view->map().refusal->reason, row.code);
    EXPECT_TRUE(state_of(*view).error.has_value());
  }
}

TEST(Structure, ASegmentThatIsNoFileIsNotTakenForNone) {
  io::SimulatedFileSystem files;
  put(files, "/a/format.json", manifest_text({4, std::uint64_t{1} << 30}));
  ASSERT_TRUE(files.add_directory("/a/seg_0.bin").has_value());
  const Verified verified = verify(files, "/a");
  EXPECT_EQ(verified.report.verdict, Verdict::damaged);
  for (const Finding& finding : verified.findings.findings()) {
    EXPECT_NE(finding.code, "no-segment");
  }
}

TEST(Structure, LengthsOfSegments) {
  io::SimulatedFileSystem files;
  put(files, "/s/format.json", R"({"magic":"HMS_ARENA","version":3,"segment_size":67108864})");
  put(files, "/s/seg_0.bin", three_frames());
  put(files, "/s/seg_1.bin", "");
  EXPECT_EQ(verify(files, "/s").words(), "trimmed-copy trimmed-copy no-checksum-sidecar");
  ASSERT_TRUE(files.set_size("/s/seg_0.bin", k_step_bytes).has_value());
  ASSERT_TRUE(files.set_size("/s/seg_1.bin", k_step_bytes).has_value());
  EXPECT_EQ(verify(files, "/s").words(), "no-checksum-sidecar");
  ASSERT_TRUE(files.set_size("/s/seg_0.bin", k_step_bytes + 1).has_value());
  const Verified longer = verify(files, "/s");
  EXPECT_EQ(longer.report.verdict, Verdict::damaged);
  EXPECT_TRUE(longer.words().starts_with("oversized-segment"));
  EXPECT_EQ(longer.report.intact_records, 3U);

  // Without its manifest the arena can still be read, by the lengths of its segments.
  ASSERT_TRUE(files.set_size("/s/seg_0.bin", k_step_bytes).has_value());
  ASSERT_TRUE(files.erase("/s/format.json").has_value());
  const auto view = open_view(files, "/s");
  EXPECT_TRUE(view->map().manifest_lost);
  EXPECT_EQ(view->map().geometry.version, 3U);
  EXPECT_EQ(verify(*view).report.verdict, Verdict::clean);
}

TEST(Structure, GenerationsThroughCurrent) {
  io::SimulatedFileSystem files;
  const std::string arena = "/s/vectors_data.bin/";
  put(files, arena + "format.json", k_manifest_2);
  put(files, arena + "seg_0.bin", frame("old", 0) + marker());
  put(files, arena + "gen-7-1/format.json", k_manifest_2);
  put(files, arena + "gen-7-1/seg_0.bin", frame("new", 0) + marker());
  put(files, arena + "gen-7-2/seg_0.bin", frame("orphan", 0) + marker());
  EXPECT_EQ(joined(payloads_of(scan(*open_view(files, "/s")).lines)), bytes_json("old"));
  put(files, arena + "CURRENT", "gen-7-1");
  const auto view = open_view(files, "/s");
  EXPECT_EQ(joined(payloads_of(scan(*view).lines)), bytes_json("new"));
  EXPECT_EQ(verify(*view).words(),
            "no-schema trimmed-copy orphan-generation orphan-generation no-checksum-sidecar");
  OpenOptions options;
  options.options["generation"] = "gen-7-2";
  EXPECT_EQ(joined(payloads_of(scan(*open_view(files, "/s", options)).lines)),
            bytes_json("orphan"));
  options.options["generation"] = "vectors_data.bin";
  EXPECT_EQ(joined(payloads_of(scan(*open_view(files, "/s", options)).lines)), bytes_json("old"));
  options.options["generation"] = "gen-8";
  EXPECT_EQ(ArenaView::open(files, "/s", options).error().code, ErrorCode::invalid_argument);

  put(files, arena + "gen-7-1/format.json",
      R"({"magic":"HMS_ARENA","version":4,"segment_size":1073741824})");
  EXPECT_EQ(verify(files, "/s").report.verdict, Verdict::damaged);

  // A link is no generation.
  ASSERT_TRUE(files.add_symlink(arena + "gen-9-9", "gen-7-1").has_value());
  put(files, arena + "CURRENT", "gen-9-9");
  EXPECT_TRUE(verify(files, "/s").words(Severity::warning).starts_with("bad-pointer"));
}

// Whenever a compaction publishes another generation and removes the one before, a reader finds one
// of them.
TEST(Structure, AGenerationThatIsReplacedWhileNamesAreReadIsNoDamage) {
  const std::string arena = "/s/vectors_data.bin/";
  std::uint64_t calls = 1;
  for (std::uint64_t at = 0; at < calls; ++at) {
    io::SimulatedFileSystem files;
    put(files, arena + "format.json", k_manifest_2);
    put(files, arena + "gen-7-1/format.json", k_manifest_2);
    put(files, arena + "gen-7-1/seg_0.bin", frame("x", 0) + marker());
    put(files, arena + "CURRENT", "gen-7-1");
    calls = 0;
    files.set_hook([&](const io::Call&) {
      if (calls++ == at) {
        put(files, arena + "gen-7-2/format.json", k_manifest_2);
        put(files, arena + "gen-7-2/seg_0.bin", frame("x", 0) + marker());
        put(files, arena + "CURRENT", "gen-7-2");
        ASSERT_TRUE(files.erase(arena + "gen-7-1"));
      }
    });
    const auto view = ArenaView::open(files, "/s", {}, std::nullopt);
    files.set_hook(nullptr);
    ASSERT_TRUE(view.has_value()) << at << ": " << view.error().text();
    EXPECT_EQ(joined(payloads_of(scan(**view).lines)), bytes_json("x")) << at;
  }
  EXPECT_GT(calls, 10U);
}

TEST(Damage, GoesOnBehindIt) {
  struct Row {
    std::size_t at;
    const char* words;
    const char* kept;  // frames printed
    std::uint64_t lost;
  };
  const Row rows[] = {
      {16, "crc@0", "12", 1},   // payload of the first frame: the next is in step
      {25, "lz4@21", "02", 1},  // raw_len: likewise
      {29, "lz4@21", "02", 1},  // comp_len off by one: found by the search
      {32, "raw_len@21", "02", 1},
      {79, "crc@63", "01", 1},  // the last frame; its marker is the proof
  };
  for (const Row& row : rows) {
    io::SimulatedFileSystem files;
    put(files, "/s/seg_0.bin",
        flipped(three_frames(), row.at == 32 ? 28 : row.at, row.at == 32 ? 0x80 : 1));
    const auto view = open_view(files, "/s");
    const Verified verified = verify(*view);
    if (row.at != 32) {
      EXPECT_EQ(verified.words(Severity::warning), row.words) << row.at;
    }
    EXPECT_EQ(verified.report.verdict, Verdict::damaged);
    EXPECT_EQ(verified.report.lost_records, row.lost);
    const Scanned log = scan(*view);
    std::string kept;
    for (const std::string& line : log.lines) {
      kept += line.substr(9, 1);  // {"frame":N
    }
    EXPECT_EQ(kept, row.kept) << row.at;
    EXPECT_EQ(log.verdict, Verdict::damaged);
    ScanRequest strict;
    strict.strict = true;
    EXPECT_EQ(scan(*view, strict).lines.size(), row.kept[0] == '1'   ? 0U
                                                : row.kept[1] == '1' ? 2U
                                                                     : 1U);
  }
}

TEST(Damage, TornTailAndEarlierSegments) {
  io::SimulatedFileSystem files;
  put(files, "/s/format.json", R"({"magic":"HMS_ARENA","version":3,"segment_size":67108864})");
  put(files, "/s/seg_0.bin", three_frames());
  put(files, "/s/seg_1.bin", two_frames().substr(0, 50));
  const auto view = open_view(files, "/s");
  const Verified torn = verify(*view);
  EXPECT_EQ(torn.report.verdict, Verdict::torn);
  EXPECT_EQ(torn.words(Severity::warning), "torn-tail@21");
  EXPECT_EQ(torn.findings.findings().back().kind, "lz4");
  EXPECT_EQ(torn.report.unknown_records, 1U);
  EXPECT_EQ(torn.report.intact_records, 4U);
  EXPECT_EQ(scan(*view).verdict, Verdict::torn);

  // The same bytes in a segment that is not the last are damage, and cost nothing further on.
  put(files, "/s/seg_0.bin", two_frames().substr(0, 50));
  put(files, "/s/seg_1.bin", three_frames());
  const auto earlier = open_view(files, "/s");
  const Verified damaged = verify(*earlier);
  EXPECT_EQ(damaged.report.verdict, Verdict::damaged);
  EXPECT_EQ(damaged.words(Severity::warning), "lz4@21");
  EXPECT_EQ(scan(*earlier).lines.size(), 4U);
  EXPECT_TRUE(scan(*earlier).lines[1].ends_with(
      "\"at\":{\"segment\":1,\"offset\":0,\"global\":67108864}}"));

  // What the format sees first when it opens is the last segment.
  put(files, "/s/seg_1.bin", flipped(three_frames(), 79, 1));
  EXPECT_EQ(verify(files, "/s").words(Severity::warning), "crc@63 lz4@21");
}

TEST(Damage, FramesBehindTheEnd) {
  io::SimulatedFileSystem files;
  put(files, "/s/seg_0.bin", patched(three_frames(), 21, marker()));
  const Verified verified = verify(files, "/s");
  EXPECT_EQ(verified.report.verdict, Verdict::clean);
  EXPECT_EQ(verified.words(Severity::warning), "frames-behind-end@63");
  put(files, "/s/seg_0.bin", three_frames() + zeros(100) + "x");
  EXPECT_EQ(verify(files, "/s").words(Severity::warning), "");
  EXPECT_TRUE(verify(files, "/s").words().ends_with("remains-behind-end@206"));
}

TEST(Payloads, RulesApplyWhereThereIsASchema) {
  const auto txn = [](const std::string& json) { return "HMS-TXN-2" + zeros(1) + json; };
  struct Row {
    std::string payload;
    Verdict verdict;
    const char* words;
  };
  const Row rows[] = {
      {txn(R"([{"Delete":{"id":"v"}}])"), Verdict::clean, ""},
      {txn(R"([{"Delete":{}}])"), Verdict::damaged, "bad-payload@0"},
      {txn(R"([{"Unheard":{}}])"), Verdict::clean, "unsupported-payload@0"},
      {"HMS-TXN-9" + zeros(1), Verdict::clean, "unsupported-payload@0"},
      {"HMS-TXN-3" + zeros(1) + "\x01", Verdict::clean, ""},
      {"anything", Verdict::damaged, "bad-payload@0"},
  };
  for (const Row& row : rows) {
    io::SimulatedFileSystem files;
    put(files, "/s/vectors_data.bin/seg_0.bin", frame(row.payload, 0) + marker());
    put(files, "/s/vectors_data.bin/format.json", k_manifest_2);
    EXPECT_EQ(verify(files, "/s").words(Severity::warning), "");  // an arena alone: any bytes
    put(files, "/s/store.json", k_schema_2);
    const Verified verified = verify(files, "/s");
    EXPECT_EQ(verified.report.verdict, row.verdict) << row.payload;
    EXPECT_EQ(verified.words(Severity::warning), row.words) << row.payload;
  }
}

TEST(Payloads, EncryptedStores) {
  const std::string envelope =
      hex("20 21 22 23 24 25 26 27 28 29 2a 2b 5d 6c d0 bd"
          "73 ed 86 f7 99 c5 da b9 f9 60 ca ce 8a a6 44 5f"
          "22 e6 09 63 ff 07 4d ab d2 c5 e6 72 43 3a 64 8c"
          "93 41 21 6e f5 cc db ca 6c 94 ae 76 96 3b");
  io::SimulatedFileSystem files;
  std::string schema = k_schema_2;
  schema.replace(schema.find("\"encrypted\":false"), 17, "\"encrypted\":true");
  put(files, "/s/store.json", schema);
  put(files, "/s/encryption.salt", hex("000102030405060708090a0b0c0d0e0f"));
  put(files, "/s/vectors_data.bin/seg_0.bin", frame(envelope, 0) + marker());
  put(files, "/key", "correct horse\n");
  put(files, "/wrong", "battery");
  const auto closed = open_view(files, "/s");
  EXPECT_EQ(verify(*closed).report.verdict, Verdict::clean);
  EXPECT_TRUE(verify(*closed).words().ends_with("encrypted"));
  EXPECT_EQ(joined(payloads_of(scan(*closed).lines)),
            R"({"encrypted":true,"$bytes":")" + base::to_base64(base::as_bytes(envelope)) + "\"}");
  EXPECT_EQ(state_of(*closed).error->code, ErrorCode::unsupported);

  OpenOptions options;
  options.options["passphrase-file"] = "/key";
  const auto with_key = open_view(files, "/s", options);
  EXPECT_EQ(joined(payloads_of(scan(*with_key).lines)),
            R"({"txn":2,"mutations":[{"Delete":{"id":"v1"}}]})");
  EXPECT_TRUE(verify(*with_key).words().ends_with("encryption-unconfirmed"));
  EXPECT_FALSE(state_of(*with_key).error.has_value());
  options.options["passphrase-file"] = "/wrong";
  const Verified refused = verify(files, "/s", options);
  EXPECT_EQ(refused.report.verdict, Verdict::unknown);
  EXPECT_EQ(refused.words(Severity::warning), "decrypt-failed@0");
}

TEST(Payloads, PrintedDecodedOnlyIfTheBytesComeBack) {
  io::SimulatedFileSystem files;
  const std::string magic = "HMS-TXN-2" + zeros(1);
  const std::string plain = magic + R"([{"Delete":{"id":"v"}}])";
  const std::string spaced = magic + R"([{"Delete": {"id":"v"}}])";
  const std::string extra = magic + R"([{"Delete":{"id":"v","more":1}}])";
  const std::string three = "HMS-TXN-3" + zeros(1) + "x";
  put(files, "/s/seg_0.bin",
      frame(plain, 0) + frame(spaced, 1) + frame(extra, 2) + frame(three, 3) + marker());
  const std::vector<std::string> expected = {R"({"txn":2,"mutations":[{"Delete":{"id":"v"}}]})",
                                             bytes_json(spaced), bytes_json(extra),
                                             R"({"txn":3,)" + bytes_json(three).substr(1)};
  const auto view = open_view(files, "/s");
  EXPECT_EQ(payloads_of(scan(*view).lines), expected);
  RenderOptions hex_form;
  hex_form.payload = varve::PayloadForm::hex;
  EXPECT_NE(scan(*view, {}, hex_form).lines[3].find("\"hex\":\"484d532d54584e2d330078\",\"at\""),
            std::string::npos);
}

// Whatever the number of threads: the same findings, rows and counts, on healthy and hurt files.
TEST(Threads, AgreeWithTheSerialReading) {
  std::string healthy;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    healthy += frame("record " + std::to_string(i) + std::string(i % 90, 'r'), i);
  }
  ASSERT_GT(healthy.size(), std::size_t{2} << 20);
  for (const std::size_t hurt : {std::size_t{0}, std::size_t{5}, std::size_t{300'017},
                                 std::size_t{1'000'003}, healthy.size() - 3}) {
    io::SimulatedFileSystem files;
    put(files, "/s/seg_0.bin", (hurt == 0 ? healthy : flipped(healthy, hurt, 4)) + marker());
    const auto view = open_view(files, "/s");
    std::vector<std::string> lines;
    std::string words;
    std::uint64_t intact = 0;
    for (const unsigned threads : {1U, 2U, 5U}) {
      VerifyRequest request;
      request.threads = threads;
      const Verified verified = verify(*view, request);
      ScanRequest scan_request;
      scan_request.threads = threads;
      const Scanned log = scan(*view, scan_request);
      scan_request.reverse = true;
      Scanned backwards = scan(*view, scan_request);
      std::ranges::reverse(backwards.lines);
      if (threads == 1) {
        lines = log.lines;
        words = verified.words();
        intact = verified.report.intact_records;
        EXPECT_GE(intact, hurt == 0 ? 60'000U : 59'999U);
      }
      EXPECT_EQ(log.lines, lines);
      EXPECT_EQ(backwards.lines, lines);
      EXPECT_EQ(verified.words(), words);
      EXPECT_EQ(verified.report.intact_records, intact);
    }
  }
}

TEST(Limits, AFrameAboveTheMemoryLimitIsAFinding) {
  io::SimulatedFileSystem files;
  put(files, "/s/seg_0.bin",
      frame("small", 0) + raw_frame(std::string(200'000, 'x'), 1) + frame("last", 2) + marker());
  OpenOptions options;
  options.max_memory_bytes = 100'000;
  const auto view = open_view(files, "/s", options);
  const Verified verified = verify(*view);
  EXPECT_EQ(verified.report.verdict, Verdict::unknown);
  EXPECT_EQ(verified.words(Severity::warning), "limit@21");
  EXPECT_EQ(joined(payloads_of(scan(*view).lines)), bytes_json("small") + bytes_json("last"));
}

}  // namespace
}  // namespace varve::arena::test
