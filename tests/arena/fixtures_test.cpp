// SPDX-License-Identifier: MIT OR Apache-2.0
// The five stores that the original engine's storage code wrote, against their manifest.
#include <gtest/gtest.h>

#include "tests/support.hpp"
#include "view_support.hpp"

namespace varve::arena::test {
namespace {

using varve::test::shared_path;

struct Expected {
  const char* folder;
  const char* opened;
  Verdict verdict;
  std::uint64_t intact;
  const char* errors;
  std::vector<std::uint64_t> offsets;
};

const Expected k_fixtures[] = {
    {"a-plain-zero-end",
     "5 frame(s), log end 394 (zero header), next seq 5",
     Verdict::clean,
     5,
     "",
     {0, 27, 50, 92, 122}},
    {"b-txn2-format2",
     "8 frame(s), log end 6678 (zero header), next seq 8",
     Verdict::clean,
     8,
     "",
     {0, 91, 331, 717, 767, 859, 1046, 6617}},
    {"c-stale-after-overwrite",
     "refused: corrupt-committed at 44, reason raw_len, proof: frame at 63",
     Verdict::damaged,
     3,
     "raw_len@44",
     {0, 21, 63}},
    {"d-stale-resurrected",
     "3 frame(s), log end 90 (zero header), next seq 3",
     Verdict::clean,
     3,
     "",
     {0, 21, 63}},
    {"e-marker-then-old-append",
     "4 frame(s), log end 132 (zero header), next seq 4",
     Verdict::clean,
     4,
     "",
     {0, 21, 63, 90}},
};

TEST(Fixtures, FramesEndsAndVerdicts) {
  VARVE_REQUIRE_SHARED();
  for (const Expected& expected : k_fixtures) {
    SCOPED_TRACE(expected.folder);
    const std::string path = shared_path("fixtures/arena") / expected.folder;
    const std::string before = varve::test::tree_snapshot(path);
    const auto view = open_view(io::posix_file_system(), path);
    ASSERT_TRUE(view);
    const auto image = view->map().open_segment(0);
    ASSERT_TRUE(image.has_value());
    EXPECT_EQ(opened(**image), expected.opened);

    for (const unsigned threads : {1U, 3U}) {
      VerifyRequest request;
      request.threads = threads;
      const Verified verified = verify(*view, request);
      EXPECT_EQ(verified.report.verdict, expected.verdict);
      EXPECT_EQ(verified.report.intact_records, expected.intact);
      EXPECT_EQ(verified.words(Severity::warning), expected.errors);
      EXPECT_NE(verified.words().find("trimmed-copy"), std::string::npos);
      EXPECT_NE(verified.words().find("legacy-zero-terminator"), std::string::npos);
    }
    const Scanned log = scan(*view);
    ASSERT_EQ(log.lines.size(), expected.offsets.size());
    for (std::size_t i = 0; i < log.lines.size(); ++i) {
      const std::string at = std::to_string(expected.offsets[i]);
      EXPECT_TRUE(log.lines[i].ends_with("\"at\":{\"segment\":0,\"offset\":" + at +
                                         ",\"global\":" + at + "}}"))
          << log.lines[i];
    }
    EXPECT_EQ(varve::test::tree_snapshot(path), before);
    EXPECT_EQ(format().detect(io::posix_file_system(), path), Confidence::by_content);
  }
}

TEST(Fixtures, PlainPayloads) {
  VARVE_REQUIRE_SHARED();
  const auto view =
      open_view(io::posix_file_system(), shared_path("fixtures/arena/a-plain-zero-end"));
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) {
    all_bytes += static_cast<char>(i);
  }
  const std::vector<std::string> expected = {bytes_json("hello world"), bytes_json("foo bar"),
                                             bytes_json(journal_text()),
                                             bytes_json("second opening"), bytes_json(all_bytes)};
  EXPECT_EQ(payloads_of(scan(*view).lines), expected);
  EXPECT_EQ(scan(*view).lines[3], R"({"frame":3,"seq":3,"raw_len":14,"comp_len":14,"payload":)" +
                                      bytes_json("second opening") +
                                      R"(,"at":{"segment":0,"offset":92,"global":92}})");

  ScanRequest newest;
  newest.reverse = true;
  newest.limit = 2;
  EXPECT_EQ(payloads_of(scan(*view, newest).lines),
            (std::vector<std::string>{expected[4], expected[3]}));
}

TEST(Fixtures, StateAfterReplay) {
  VARVE_REQUIRE_SHARED();
  const auto view =
      open_view(io::posix_file_system(), shared_path("fixtures/arena/b-txn2-format2"));
  std::string thirds;
  for (int i = 0; i < 4096; i += 3) {
    thirds += (i == 0 ? "" : ",") + std::to_string(i);
  }
  const std::string v2 = R"("id":"v2","dim":4096,"indices":[)" + thirds + "]}";
  const auto composed = [](const char* kind, const char* id) {
    return std::string(R"({"kind":")") + kind + R"(","id":")" + id +
           R"(","dim":4096,"indices":null})";
  };
  const std::vector<std::string> expected = {
      composed("vector", "t1"),
      R"({"kind":"vector",)" + v2,
      composed("atom", "capital_of"),
      composed("atom", "france"),
      composed("atom", "paris"),
      R"({"kind":"atom",)" + v2,
      composed("composite", "t1"),
      R"({"kind":"triple","composite_id":"t1","subject_id":"paris","relation_id":"capital_of",)"
      R"("object_id":"france"})",
      R"({"kind":"relation_type","name":"knows","transitive":false,"symmetric":true})",
      R"({"kind":"rule","name":"grandparent","input_relations":["father","father"],)"
      R"("output_relation":"grandfather"})",
  };
  EXPECT_EQ(state_of(*view).lines, expected);

  FindingList findings;
  const auto triple = view->get("t1", {}, findings);
  ASSERT_TRUE(triple.has_value());
  EXPECT_EQ(triple->document.find("state")->as_array()->size(), 3U);
  const auto frame = view->get("@717", {}, findings);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(*frame->document.find("frame")->as_uint64(), 3U);
  EXPECT_EQ(*frame->raw, std::string("HMS-TXN-2\0[{\"Delete\":{\"id\":\"v1\"}}]", 34));
  EXPECT_EQ(view->get("3", {}, findings)->document.text(), frame->document.text());
  EXPECT_EQ(view->get("nobody", {}, findings).error().reason, "not_found");
  EXPECT_EQ(view->get("@718", {}, findings).error().code, ErrorCode::damaged);

  ScanRequest mentions;
  mentions.predicate.terms = {{"id", "v1"}};
  EXPECT_EQ(scan(*view, mentions).lines.size(), 4U);
}

TEST(Fixtures, ExplainAddsUpToEachFile) {
  VARVE_REQUIRE_SHARED();
  class Sink final : public ExplainSink {
   public:
    bool add(ExplainRow row) override {
      if (!row.container) {
        EXPECT_EQ(row.offset, lengths[row.file]) << row.field;
        lengths[row.file] += row.length;
      }
      return true;
    }
    std::map<std::string, std::uint64_t> lengths;
  };
  for (const Expected& expected : k_fixtures) {
    const std::filesystem::path path = shared_path("fixtures/arena") / expected.folder;
    const auto view = open_view(io::posix_file_system(), path);
    Sink sink;
    FindingList findings;
    ASSERT_TRUE(view->explain({}, sink, findings).has_value());
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) {
        EXPECT_EQ(sink.lengths[std::filesystem::relative(entry.path(), path)], entry.file_size());
        ++files;
      }
    }
    EXPECT_EQ(sink.lengths.size(), files);
  }
}

}  // namespace
}  // namespace varve::arena::test
