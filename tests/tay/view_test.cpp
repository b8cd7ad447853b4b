// SPDX-License-Identifier: MIT OR Apache-2.0
// The store view over the fixtures: what verify, cat, state, info, get and explain say.
#include "tay/view.hpp"

#include <simdjson.h>

#include <map>

#include "tests/exhaustive/sight.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay {
namespace {

namespace fs = varve::test::fs;
using varve::test::LineSink;

std::vector<std::string> stores(const char* kind) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(test::fixture("stores") / kind)) {
    if (entry.is_directory()) {
      out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::unique_ptr<StoreView> open(const std::string& path, const OptionMap& options = {}) {
  OpenOptions open_options;
  open_options.options = options;
  auto view = format().open(io::posix_file_system(), path, open_options);
  EXPECT_TRUE(view) << view.error().text();
  return *std::move(view);
}

struct Seen {
  VerifyReport report;
  FindingList findings;
  const Finding* first_error() const {
    for (const Finding& finding : findings.findings()) {
      if (finding.severity == Severity::error) {
        return &finding;
      }
    }
    return nullptr;
  }
};

Seen verify(const std::string& path, unsigned threads = 1, const OptionMap& options = {}) {
  Seen seen;
  VerifyRequest request;
  request.threads = threads;
  auto report = open(path, options)->verify(request, seen.findings);
  EXPECT_TRUE(report);
  seen.report = *std::move(report);
  return seen;
}

std::vector<std::string> lines(const std::string& path, ScanRequest request,
                               Verdict* verdict = nullptr) {
  const auto view = open(path);
  std::vector<std::string> out;
  LineSink sink(*view, request.face, out);
  FindingList findings;
  const auto summary = view->scan(request, sink, findings);
  EXPECT_TRUE(summary);
  if (verdict != nullptr && summary) {
    *verdict = summary->verdict;
  }
  return out;
}

std::string json_text(simdjson::dom::element element) { return simdjson::minify(element); }

std::string text_of(simdjson::dom::element element) {
  return std::string(element.get_string().value());
}

// The reason word of a manifest: of a list the word, not the class before it.
std::string word_of(simdjson::dom::element reason) {
  if (reason.is_string()) {
    return text_of(reason);
  }
  const auto list = simdjson::dom::array(reason);
  const std::string first = text_of(list.at(0));
  if (first != "corrupt" && first != "unsupported") {
    return first;
  }
  return word_of(list.at(1));
}

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

TEST(ViewScan, LogOfTheValidFixturesIsTheirManifests) {
  VARVE_REQUIRE_SHARED();
  for (const std::string& path : stores("valid")) {
    SCOPED_TRACE(path);
    simdjson::dom::parser parser;
    const simdjson::dom::element manifest = parser.load(path + ".json");
    const auto records = simdjson::dom::array(manifest["records"]);
    const std::vector<std::string> log = lines(path, {});
    ASSERT_EQ(log.size(), records.size());
    std::size_t i = 0;
    for (const auto record : records) {
      simdjson::dom::parser line_parser;
      const simdjson::dom::element line = line_parser.parse(log[i++]);
      EXPECT_EQ(std::uint64_t(line["seq"]), std::uint64_t(record["sequence"]));
      EXPECT_EQ(json_text(line["type"]), json_text(record["event"]));
      EXPECT_EQ(std::uint64_t(line["schema"]), std::uint64_t(record["schema"]));
      EXPECT_EQ(std::uint64_t(line["at"]["segment"]), std::uint64_t(record["segment_id"]));
      EXPECT_EQ(std::uint64_t(line["at"]["offset"]), std::uint64_t(record["offset"]));
      EXPECT_EQ(std::uint64_t(line["at"]["length"]), std::uint64_t(record["frame_bytes"]));
      EXPECT_EQ(json_text(line["event"]["job_id"]), json_text(record["job_id"]));
      EXPECT_EQ(std::uint64_t(line["event"]["at"]), std::uint64_t(record["at"]));
    }
  }
}

TEST(ViewScan, StateOfTheValidFixturesIsTheirManifestsToTheByte) {
  VARVE_REQUIRE_SHARED();
  for (const std::string& path : stores("valid")) {
    SCOPED_TRACE(path);
    simdjson::dom::parser parser;
    const simdjson::dom::element manifest = parser.load(path + ".json");
    const auto jobs = simdjson::dom::array(manifest["jobs"]);
    ScanRequest request;
    request.face = Face::state;
    const std::vector<std::string> state = lines(path, request);
    ASSERT_EQ(state.size(), jobs.size());
    std::size_t i = 0;
    for (const auto job : jobs) {
      EXPECT_EQ(state[i++], json_text(job));
    }
  }
}

TEST(ViewScan, APayloadThatIsNoEventIsPrintedAsBytes) {
  VARVE_REQUIRE_SHARED();
  const auto line = lines(test::fixture("stores/invalid/semantics-type").string(), {}).back();
  EXPECT_TRUE(
      line.starts_with(R"({"seq":3,"type":47,"schema":3,"event":null,"payload":{"$bytes":")"))
      << line;
  const auto extra = lines(test::fixture("stores/invalid/payload-extra-key").string(), {})[1];
  EXPECT_TRUE(extra.starts_with(
      R"({"seq":2,"type":"cancelled","schema":1,"event":null,"payload":{"$bytes":")"))
      << extra;
}

TEST(ViewScan, DamageInTheMiddleHidesNothingElse) {
  VARVE_REQUIRE_SHARED();
  Verdict verdict = Verdict::clean;
  const std::string path = test::fixture("stores/invalid/record-crc").string();
  EXPECT_EQ(lines(path, {}, &verdict).size(), 5U);
  EXPECT_EQ(verdict, Verdict::damaged);
  ScanRequest strict;
  strict.strict = true;
  EXPECT_EQ(lines(path, strict, &verdict).size(), 2U);
  EXPECT_EQ(
      lines(test::fixture("stores/invalid/tail-record-payload").string(), {}, &verdict).size(), 5U);
  EXPECT_EQ(verdict, Verdict::torn);
}

TEST(ViewScan, StateOfARefusedLogIsRefusedUnlessPartial) {
  VARVE_REQUIRE_SHARED();
  const std::string torn = test::fixture("stores/invalid/tail-record-payload").string();
  ScanRequest request;
  request.face = Face::state;
  Verdict verdict = Verdict::clean;
  EXPECT_TRUE(lines(torn, request, &verdict).empty());
  EXPECT_EQ(verdict, Verdict::damaged);
  request.partial = true;
  EXPECT_EQ(lines(torn, request, &verdict).size(), 1U);
  EXPECT_EQ(verdict, Verdict::torn);
}

TEST(ViewScan, FiltersAndOrder) {
  VARVE_REQUIRE_SHARED();
  const std::string path = test::fixture("stores/valid/lifecycle").string();
  const std::vector<std::string> all = lines(path, {});
  const auto with = [&](auto change) {
    ScanRequest request;
    change(request);
    return lines(path, request);
  };
  const auto part = [&](std::size_t first, std::size_t last) {
    return std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(first - 1),
                                    all.begin() + static_cast<std::ptrdiff_t>(last));
  };
  EXPECT_EQ(with([](ScanRequest& r) {
              r.predicate.seq_first = 11;
              r.predicate.seq_last = 13;
            }),
            part(11, 13));
  EXPECT_EQ(with([](ScanRequest& r) { r.predicate.seq_first = 22; }), part(22, 28));
  EXPECT_EQ(with([](ScanRequest& r) { r.predicate.seq_last = 9; }), part(1, 9));
  EXPECT_EQ(with([](ScanRequest& r) { r.predicate.seq_first = 29; }).size(), 0U);
  EXPECT_EQ(with([](ScanRequest& r) { r.limit = 10; }), part(1, 10));
  EXPECT_EQ(with([](ScanRequest& r) { r.threads = 3; }), all);
  std::vector<std::string> backwards = all;
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(with([](ScanRequest& r) { r.reverse = true; }), backwards);
  EXPECT_EQ(with([](ScanRequest& r) {
              r.reverse = true;
              r.limit = 1;
            }),
            part(28, 28));
  EXPECT_EQ(with([](ScanRequest& r) { r.predicate.terms = {{"type", "retried"}}; }).size(), 2U);
  EXPECT_EQ(
      with([](ScanRequest& r) { r.predicate.terms = {{"type", "retried"}, {"type", "5"}}; }).size(),
      4U);
  EXPECT_EQ(with([](ScanRequest& r) {
              r.predicate.terms = {{"job", "44444444444444444444444444444444"}};
            }).size(),
            2U);
  EXPECT_EQ(with([](ScanRequest& r) { r.predicate.since_us = 80'000'000; }).size(), 4U);
  EXPECT_EQ(with([](ScanRequest& r) { r.predicate.until_us = 1'002'000; }).size(), 2U);
}

TEST(ViewScan, StateFilters) {
  VARVE_REQUIRE_SHARED();
  const std::string path = test::fixture("stores/valid/lifecycle").string();
  ScanRequest request;
  request.face = Face::state;
  request.predicate.terms = {{"state", "cancelled"}};
  EXPECT_EQ(lines(path, request).size(), 2U);
  request.predicate.terms = {{"queue", "slow"}};
  EXPECT_EQ(lines(path, request).size(), 1U);
  request.predicate.terms = {{"queue", "slow"}, {"state", "cancelled"}};
  EXPECT_EQ(lines(path, request).size(), 0U);
  request.predicate.terms = {};
  request.limit = 3;
  EXPECT_EQ(lines(path, request).size(), 3U);
}

TEST(ViewScan, PayloadForms) {
  VARVE_REQUIRE_SHARED();
  const auto view = open(test::fixture("stores/invalid/tail-ambiguous").string());
  class Capture final : public BatchSink {
   public:
    Result<bool> consume(Batch batch) override {
      batches.push_back(std::move(batch));
      return true;
    }
    std::vector<Batch> batches;
  } capture;
  FindingList findings;
  ScanRequest request;
  request.limit = 2;
  ASSERT_TRUE(view->scan(request, capture, findings));
  const auto render = [&](PayloadForm form, bool wide = false) {
    RenderOptions options;
    options.payload = form;
    options.int64_as_string = wide;
    std::string out;
    view->render(Face::log, capture.batches[0], options, out);
    return out.substr(out.find('\n') + 1);
  };
  EXPECT_EQ(render(PayloadForm::json),
            R"({"seq":2,"type":"available","schema":1,"event":{"at":10,"due_at":10,)"
            R"("expected_revision":1,"job_id":"00000000000000000000000000000001"},)"
            R"("at":{"segment":1,"offset":476,"length":132}})"
            "\n");
  EXPECT_EQ(
      render(PayloadForm::none),
      R"({"seq":2,"type":"available","schema":1,"at":{"segment":1,"offset":476,"length":132}})"
      "\n");
  EXPECT_NE(render(PayloadForm::json, true).find(R"("seq":"2")"), std::string::npos);
  EXPECT_NE(render(PayloadForm::json, true).find(R"("due_at":"10")"), std::string::npos);
  EXPECT_NE(render(PayloadForm::hex).find(R"("hex":"0900000004)"), std::string::npos);
  EXPECT_NE(render(PayloadForm::base64).find(R"("payload":{"$bytes":"CQ)"), std::string::npos);
  EXPECT_NE(render(PayloadForm::sha256).find(R"("sha256":")"), std::string::npos);
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
