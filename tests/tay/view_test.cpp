// SPDX-License-Identifier: MIT OR Apache-2.0
// The store view over the fixtures: what verify, cat, state, info, get and explain say.
#include "tay/view.hpp"

#include <map>

#include "tests/tay/views.hpp"

namespace varve::tay {
namespace {

using test::json_text;
using test::lines;
using test::open;
using test::Seen;
using test::stores;
using test::text_of;
using test::verify;
using test::word_of;
namespace fs = varve::test::fs;

TEST(ViewVerify, InvalidFixturesGiveTheFindingOfTheirManifests) {
  VARVE_REQUIRE_SHARED();
  const std::map<std::string, Verdict> verdicts = {{"incomplete_tail", Verdict::torn},
                                                   {"unsupported_physical", Verdict::unknown},
                                                   {"unsupported_semantics", Verdict::unknown},
                                                   {"resource_limit", Verdict::unknown}};
  for (const std::string& path : stores("invalid")) {
    SCOPED_TRACE(path);
    simdjson::dom::parser parser;
    const simdjson::dom::element manifest = parser.load(path + ".json");
    const auto expected = manifest["expected"];
    const std::string kind = text_of(expected["kind"]);
    const std::string word = word_of(expected["reason"]);
    for (const unsigned threads : {1U, 2U}) {
      const Seen seen = verify(path, threads);
      if (kind == "ownership_unavailable") {
        EXPECT_EQ(seen.report.verdict, Verdict::clean);
        EXPECT_EQ(seen.findings.warnings(), 1U);
        EXPECT_EQ(seen.findings.findings()[0].code, word);
        EXPECT_EQ(seen.findings.findings()[0].kind, kind);
        continue;
      }
      const Finding* first = seen.first_error();
      ASSERT_NE(first, nullptr);
      EXPECT_EQ(first->code, word);
      EXPECT_EQ(first->kind, kind);
      const auto found = verdicts.find(kind);
      Verdict verdict = found == verdicts.end() ? Verdict::damaged : found->second;
      if (word == "store_v2_requires_v2_recovery") verdict = Verdict::unknown;
      if (path.ends_with("store-missing-genesis")) verdict = Verdict::torn;
      EXPECT_EQ(seen.report.verdict, verdict);
      EXPECT_EQ(first->verdict, verdict);
      const auto offset = expected["offset"];
      EXPECT_EQ(first->offset, offset.is_null() ? 0 : std::uint64_t(offset));
      if (!expected["segment_id"].is_null()) {
        EXPECT_EQ(first->file, "segments/" + segment_name(std::uint64_t(expected["segment_id"])));
      }
    }
  }
}

TEST(ViewVerify, ValidFixturesAreClean) {
  VARVE_REQUIRE_SHARED();
  for (const std::string& path : stores("valid")) {
    SCOPED_TRACE(path);
    const std::string before = varve::test::tree_snapshot(path);
    const Seen seen = verify(path);
    EXPECT_EQ(seen.report.verdict, Verdict::clean);
    EXPECT_EQ(seen.findings.errors() + seen.findings.warnings(), 0U);
    EXPECT_EQ(seen.report.lost_records + seen.report.unknown_records, 0U);
    EXPECT_EQ(varve::test::tree_snapshot(path), before);
  }
  const Seen boundaries = verify((test::fixture("stores/valid/boundaries")).string());
  EXPECT_EQ(boundaries.report.counts.files, 5U);
  EXPECT_EQ(boundaries.report.counts.segments, 3U);
  EXPECT_EQ(boundaries.report.counts.units, 42U);
  EXPECT_EQ(boundaries.report.counts.records, 36U);
  EXPECT_EQ(boundaries.report.counts.bytes, 12293U);
  EXPECT_EQ(boundaries.report.intact_records, 36U);
  // Three staging files and two unrelated ones.
  EXPECT_EQ(verify(test::fixture("stores/valid/highest-sealed").string()).findings.notes(), 5U);
}

TEST(ViewVerify, CountsWhatIsLost) {
  VARVE_REQUIRE_SHARED();
  const auto counts = [](const char* name) {
    const Seen seen = verify(test::fixture(std::string("stores/invalid/") + name).string());
    return std::to_string(seen.report.intact_records) + '/' +
           std::to_string(seen.report.lost_records) + '/' +
           std::to_string(seen.report.unknown_records);
  };
  EXPECT_EQ(counts("record-crc"), "5/1/0");
  EXPECT_EQ(counts("record-length"), "5/1/0");
  EXPECT_EQ(counts("tail-record-checksum"), "5/0/1");
  EXPECT_EQ(counts("tail-footer"), "6/0/0");
  EXPECT_EQ(counts("store-missing"), "6/0/0");
  EXPECT_EQ(counts("semantics-type"), "3/0/0");
}

TEST(ViewVerify, LaterFindingsAreListedAndTheFirstDecides) {
  VARVE_REQUIRE_SHARED();
  const Seen seen = verify(test::fixture("stores/invalid/precedence-physical").string());
  EXPECT_EQ(seen.report.verdict, Verdict::torn);
  ASSERT_EQ(seen.findings.errors(), 2U);
  EXPECT_EQ(seen.findings.findings()[0].code, "incomplete_record");
  EXPECT_EQ(seen.findings.findings()[1].code, "unknown_event_type");
  EXPECT_EQ(seen.findings.findings()[1].verdict, Verdict::unknown);
  const Seen listing = verify(test::fixture("stores/invalid/precedence-listing").string());
  EXPECT_GE(listing.findings.errors(), 2U);
}

TEST(ViewVerify, BudgetsThatAreAskedForAreLimits) {
  VARVE_REQUIRE_SHARED();
  const std::string path = test::fixture("stores/valid/lifecycle").string();
  for (const auto& [name, value, code] :
       {std::tuple{"event-depth", "3", "depth"}, std::tuple{"event-nodes", "30", "output_nodes"},
        std::tuple{"payload-budget", "100", "limit"},
        std::tuple{"retained-jobs", "7", "retained_jobs"}}) {
    const Seen seen = verify(path, 1, {{name, value}});
    EXPECT_EQ(seen.report.verdict, Verdict::unknown) << name;
    ASSERT_NE(seen.first_error(), nullptr) << name;
    EXPECT_EQ(seen.first_error()->code, code);
    EXPECT_EQ(seen.first_error()->kind, "resource_limit");
  }
}

TEST(ViewInfo, DetailHasTheFieldsOfAnInspection) {
  VARVE_REQUIRE_SHARED();
  for (const char* kind : {"valid", "invalid"}) {
    for (const std::string& path : stores(kind)) {
      if (path.ends_with("lock-missing")) {
        continue;  // reading needs no lock: told as a warning
      }
      SCOPED_TRACE(path);
      const auto info = open(path)->info();
      ASSERT_TRUE(info);
      EXPECT_EQ(info->format, "tay");
      EXPECT_EQ(info->version, 1U);
      simdjson::dom::parser parser;
      simdjson::dom::parser ours_parser;
      const simdjson::dom::element manifest = parser.load(path + ".json");
      const simdjson::dom::element detail = ours_parser.parse(info->detail.text());
      for (const auto [key, value] : simdjson::dom::object(manifest["expected"])) {
        if (key == "states") {
          for (const auto [state, count] : simdjson::dom::object(value)) {
            EXPECT_EQ(json_text(detail["states"][state]), json_text(count));
          }
        } else if (key != "physical_kind" || !value.is_null()) {
          EXPECT_EQ(json_text(detail[key]), json_text(value)) << key;
        }
      }
    }
  }
}

TEST(ViewGet, RecordsAndJobs) {
  VARVE_REQUIRE_SHARED();
  const std::string path = test::fixture("stores/valid/lifecycle").string();
  const std::vector<std::string> log = lines(path, {});
  const auto view = open(path);
  FindingList findings;
  const auto text = [&](const std::string& key) {
    auto got = view->get(key, {}, findings);
    return got ? got->document.text() : "error: " + got.error().reason;
  };
  EXPECT_EQ(text("12"), log[11]);
  EXPECT_EQ(text("@2:467"), log[12]);
  EXPECT_EQ(text("@2:500"), log[12]);
  EXPECT_EQ(text("segments/00000000000000000002.tay@467"), log[12]);
  EXPECT_EQ(text("29"), "error: not_found");
  EXPECT_EQ(text("@2:9999"), "error: not_found");
  EXPECT_EQ(text("nonsense"), "error: not_found");
  const std::string job = text("44444444444444444444444444444444");
  EXPECT_TRUE(
      job.starts_with(R"({"job_id":"44444444444444444444444444444444","state":"cancelled")"))
      << job;
  EXPECT_TRUE(job.ends_with("\"history\":[" + log[4] + "," + log[11] + "]}")) << job;
}

// Rows without parts add up to the file, whatever state it is in.
TEST(ViewExplain, LengthsAddUpToEachFile) {
  VARVE_REQUIRE_SHARED();
  class Adder final : public ExplainSink {
   public:
    bool add(ExplainRow row) override {
      if (!row.container) {
        EXPECT_EQ(row.offset, sizes[row.file]) << row.file << ' ' << row.field;
        sizes[row.file] += row.length;
      }
      return true;
    }
    std::map<std::string, std::uint64_t> sizes;
  };
  for (const char* kind : {"valid", "invalid"}) {
    for (const std::string& path : stores(kind)) {
      SCOPED_TRACE(path);
      Adder adder;
      FindingList findings;
      const auto explained = open(path)->explain({}, adder, findings);
      if (!explained) {
        EXPECT_TRUE(path.ends_with("history-missing") || path.ends_with("name"));
        continue;
      }
      for (const auto& [file, size] : adder.sizes) {
        EXPECT_EQ(size, fs::file_size(fs::path(path) / file)) << file;
      }
      EXPECT_FALSE(adder.sizes.empty());
    }
  }
}

TEST(ViewExplain, OneByteOfOneFile) {
  VARVE_REQUIRE_SHARED();
  class Keeper final : public ExplainSink {
   public:
    bool add(ExplainRow row) override {
      rows.push_back(std::move(row));
      return true;
    }
    std::vector<ExplainRow> rows;
  } keeper;
  FindingList findings;
  ExplainRequest request;
  request.file = "00000000000000000002.tay";
  request.offset = 500;
  const auto view = open(test::fixture("stores/valid/lifecycle").string());
  ASSERT_TRUE(view->explain(request, keeper, findings));
  ASSERT_FALSE(keeper.rows.empty());
  EXPECT_EQ(keeper.rows[0].offset, 467U);
  EXPECT_EQ(keeper.rows[0].length, 297U);
  EXPECT_EQ(keeper.rows[0].value, "seq 13, finished");
  EXPECT_EQ(keeper.rows.back().field, "record_crc");
}

TEST(ViewStats, CountsRecordsAndJobs) {
  VARVE_REQUIRE_SHARED();
  FindingList findings;
  const auto stats = open(test::fixture("stores/valid/lifecycle").string())->stats(findings);
  ASSERT_TRUE(stats);
  std::map<std::string, std::uint64_t> counts;
  for (const Distribution& distribution : stats->distributions) {
    std::uint64_t count = distribution.count;
    for (const auto& category : distribution.categories) {
      count += distribution.count == 0 ? category.count : 0;
    }
    counts[distribution.name] = count;
  }
  EXPECT_EQ(counts.at("record size"), 28U);
  EXPECT_EQ(counts.at("records of a segment"), 3U);
  EXPECT_EQ(counts.at("attempt of a job"), 8U);
  EXPECT_EQ(counts.at("args size"), 8U);
}

TEST(ViewDetect, FixturesAreRecognized) {
  VARVE_REQUIRE_SHARED();
  for (const char* kind : {"valid", "invalid"}) {
    for (const std::string& path : stores(kind)) {
      EXPECT_EQ(format().detect(io::posix_file_system(), path), Confidence::by_content) << path;
    }
  }
}

}  // namespace
}  // namespace varve::tay
