// SPDX-License-Identifier: MIT OR Apache-2.0
// What cat and state print.
#include "tests/tay/views.hpp"

namespace varve::tay {
namespace {

using test::json_text;
using test::lines;
using test::open;
using test::stores;

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

}  // namespace
}  // namespace varve::tay
