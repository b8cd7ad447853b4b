// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/snapshot_plan.hpp"

#include "generated_rows.hpp"
#include "io/simulated.hpp"
#include "jss/log_schema.hpp"
#include "varve/jss.hpp"
#include "view_support.hpp"

namespace varve::jss {
namespace {

struct PlanCase {
  std::string body;
  SnapshotLimits limits;
  std::string answer;  // canonical
  std::optional<std::uint64_t> rows;
};

std::vector<PlanCase> plan_cases() {
  std::vector<PlanCase> out;
  simdjson::dom::parser parser;
  for (const std::string& line : test::lines_of(test::fixture("plan/plan_cases.jsonl"))) {
    const simdjson::dom::element json = parser.parse(line);
    PlanCase c;
    c.body = simdjson::minify(json["request"]);
    c.limits.max_entries = std::uint64_t(json["maxEntries"]);
    c.limits.whole_segment_share = double(json["threshold"]);
    c.answer = test::canonical_json(simdjson::minify(json["response"]));
    std::uint64_t rows = 0;
    if (json["exact_rows_through_plan"].get(rows) == simdjson::SUCCESS) {
      c.rows = rows;
    }
    out.push_back(std::move(c));
  }
  return out;
}

bool is_planned(const SnapshotPlan& plan, std::string_view segment, std::uint32_t block) {
  return std::ranges::any_of(plan.segments, [&](const SnapshotPlan::Segment& s) {
    return s.name == segment &&
           (s.blocks.empty() || std::ranges::any_of(s.blocks, [&](const SnapshotPlan::Blocks& b) {
              return b.first <= block && block <= b.last;
            }));
  });
}

// The rows that fulfil the request up to where the plan goes; each must be in a block it names.
std::uint64_t rows_through(StoreView& view, const SnapshotRequest& request,
                           const SnapshotPlan& plan) {
  class Sink final : public BatchSink {
   public:
    explicit Sink(const SnapshotPlan& plan) : plan_(plan) {}
    Result<bool> consume(Batch batch) override {
      for (std::size_t row = 0; row < batch.rows; ++row) {
        const auto block = batch.columns[k_log_at_block].value<std::uint32_t>(row);
        const auto segment = batch.columns[k_log_at_segment].bytes(row);
        EXPECT_TRUE(is_planned(plan_, segment, block)) << segment << " block " << block;
      }
      rows += batch.rows;
      return true;
    }
    std::uint64_t rows = 0;

   private:
    const SnapshotPlan& plan_;
  } sink(plan);
  ScanRequest scan;
  const auto add = [&](const char* name, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      scan.predicate.terms.push_back({name, value});
    }
  };
  add("kind", request.kinds);
  add("did", request.dids);
  add("collection", request.collections);
  scan.predicate.seq_first = request.after_seq.value_or(0) + 1;
  scan.predicate.seq_last = plan.planned_through_seq;
  FindingList findings;
  EXPECT_TRUE(view.scan(scan, sink, findings));
  return sink.rows;
}

TEST(SnapshotPlan, TheSixtySixPublishedCases) {
  VARVE_REQUIRE_SHARED();
  const std::string directory = test::fixture("plan");
  auto planner = SnapshotPlanner::open(io::posix_file_system(), directory);
  ASSERT_TRUE(planner) << planner.error().text();
  const auto view = test::open_view(directory);
  const std::vector<PlanCase> cases = plan_cases();
  EXPECT_EQ(cases.size(), 66U);
  for (const PlanCase& c : cases) {
    const auto request = SnapshotRequest::parse(c.body);
    const auto plan = request ? planner->plan(*request, c.limits)
                              : Result<SnapshotPlan>(std::unexpected(request.error()));
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::invalid_argument) << c.body;
      EXPECT_EQ(test::canonical_json(R"({"error":")" + plan.error().reason + "\"}"), c.answer);
      continue;
    }
    EXPECT_EQ(test::canonical_json(plan->to_json().text()), c.answer) << c.body;
    EXPECT_EQ(rows_through(*view, *request, *plan), c.rows) << c.body;
  }
}

TEST(SnapshotPlan, AsTheProgramPrintsIt) {
  VARVE_REQUIRE_SHARED();
  if (std::string_view(VARVE_TEST_TOOL).empty()) {
    GTEST_SKIP() << "the program is not built";
  }
  const std::string directory = test::fixture("plan");
  for (const PlanCase& c : plan_cases()) {
    varve::test::RunOptions input;
    input.input = c.body;
    const auto run = varve::test::run_tool(
        {"plan", directory, "--stdin", "--max-entries", std::to_string(c.limits.max_entries),
         "--whole-segment-share", std::to_string(c.limits.whole_segment_share)},
        input);
    EXPECT_EQ(run.exit_code, c.rows ? 0 : 64) << c.body << run.err;
    if (c.rows) {
      EXPECT_EQ(test::canonical_json(run.out), c.answer) << c.body;
    }
  }
  const auto by_options = varve::test::run_tool({"plan", directory, "--collection", "com.example.*",
                                                 "--kind", "commit", "--seq", "1001..1100"});
  varve::test::RunOptions input;
  input.input =
      R"({"collections":["com.example.*"],"kinds":["commit"],"afterSeq":1000,"beforeSeq":1100})";
  EXPECT_EQ(by_options.out, varve::test::run_tool({"plan", directory, "--stdin"}, input).out);
}

TEST(SnapshotPlan, RefusesWhatIsNoRequest) {
  VARVE_REQUIRE_SHARED();
  auto planner = SnapshotPlanner::open(io::posix_file_system(), test::fixture("plan"));
  ASSERT_TRUE(planner);
  const std::string many_dids = [] {
    std::string out = R"({"dids":[)";
    for (int i = 0; i <= 10'000; ++i) {
      out += (i == 0 ? "" : ",") + std::string(R"("did:plc:a")");
    }
    return out + "]}";
  }();
  for (const std::string& body : std::initializer_list<std::string>{
           "[]", "{", "{}x", R"({"kinds":"commit"})", R"({"kinds":[1]})", R"({"kinds":["create"]})",
           R"({"kinds":["commit","commit","commit","commit","commit"]})", R"({"afterSeq":-1})",
           R"({"afterSeq":"1"})", R"({"afterSeq":1.5})", R"({"afterSeq":9223372036854775808})",
           R"({"dids":["x"]})", R"({"collections":["app.*"]})", R"({"collections":["$sync"]})",
           R"({"afterSeq":3,"beforeSeq":3})", many_dids}) {
    const auto request = SnapshotRequest::parse(body);
    const auto plan =
        request ? planner->plan(*request) : Result<SnapshotPlan>(std::unexpected(request.error()));
    ASSERT_FALSE(plan) << body.substr(0, 80);
    EXPECT_EQ(plan.error().reason, "InvalidRequest") << body.substr(0, 80);
  }
  SnapshotRequest one;
  one.dids = {"did:plc:a"};
  EXPECT_FALSE(planner->plan(one, {.max_dids = 0}));
  for (const char* body : {"", " \n", "{}", R"({"kinds":null,"what":[{}]})"}) {
    const auto request = SnapshotRequest::parse(body);
    ASSERT_TRUE(request) << body;
    EXPECT_EQ(planner->plan(*request)->entries, 6U);
  }
}

// The loop of section 17.5 with pages of one entry finds each row once, whatever is filtered.
TEST(SnapshotPlan, PagesLeadThroughTheArchive) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  {
    auto writer = Writer::open(files, "/a", {.block_rows = 16, .rotation_bytes = 4000});
    ASSERT_TRUE(writer);
    test::RowMaker maker(3, 60);
    for (int i = 0; i < 1500; ++i) {
      ASSERT_TRUE((*writer)->append(maker.next().event()));
    }
    ASSERT_TRUE((*writer)->seal());
  }
  auto planner = SnapshotPlanner::open(files, "/a");
  auto view = format().open(files, "/a", {});
  ASSERT_TRUE(planner && view);
  SnapshotRequest request;
  request.collections = {"app.bsky.graph.follow"};
  for (const bool with_kinds : {false, true}) {
    request.kinds = with_kinds ? std::vector<std::string>{"commit"} : std::vector<std::string>{};
    request.after_seq.reset();
    request.before_seq.reset();
    SnapshotPlan whole = *planner->plan(request);
    EXPECT_EQ(whole.planned_through_seq, 1500U);
    const std::uint64_t rows = rows_through(**view, request, whole);
    EXPECT_GT(rows, 100U);
    std::uint64_t paged = 0;
    int pages = 0;
    request.before_seq = whole.sealed_tip_seq;
    for (std::uint64_t cursor = 0; cursor < whole.sealed_tip_seq; ++pages) {
      request.after_seq = cursor;
      const SnapshotPlan page = *planner->plan(request, {.max_entries = 1});
      ASSERT_GT(page.planned_through_seq, cursor);
      paged += rows_through(**view, request, page);
      cursor = page.planned_through_seq;
    }
    EXPECT_EQ(paged, rows);
    EXPECT_GT(pages, 5);
  }
}

TEST(SnapshotPlan, SeesARewrittenSegmentAndRefusesDamage) {
  VARVE_REQUIRE_SHARED();
  const auto bytes_of = [](const char* name) {
    return varve::test::read_file(test::fixture(name));
  };
  io::SimulatedFileSystem files;
  const std::string path = "/a/seg_0000000000.jss";
  ASSERT_TRUE(files.put(path, base::as_bytes(bytes_of("before_rewrite.jss"))));
  auto planner = SnapshotPlanner::open(files, "/a");
  ASSERT_TRUE(planner);
  const auto before = planner->plan({});
  ASSERT_TRUE(before);
  ASSERT_TRUE(files.put("/a/next", base::as_bytes(bytes_of("after_rewrite_by_upstream.jss"))));
  const auto directory = files.open_directory("/a");
  ASSERT_TRUE((*directory)->rename("next", **directory, "seg_0000000000.jss"));
  const auto after = planner->plan({});
  ASSERT_TRUE(after);
  EXPECT_NE(after->segments.at(0).checksum, before->segments.at(0).checksum);

  std::string hurt = bytes_of("before_rewrite.jss");
  hurt[30] = static_cast<char>(hurt[30] ^ 1);
  ASSERT_TRUE(files.put(path, base::as_bytes(hurt)));
  auto again = SnapshotPlanner::open(files, "/a");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->plan({}).error().code, ErrorCode::damaged);
  // Two segments with the same rows do not ascend.
  ASSERT_TRUE(files.put(path, base::as_bytes(bytes_of("all_kinds.jss"))));
  ASSERT_TRUE(files.put("/a/seg_0000000001.jss", base::as_bytes(bytes_of("all_kinds.jss"))));
  again = SnapshotPlanner::open(files, "/a");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->plan({}).error().reason, "segment-overlap");
}

}  // namespace
}  // namespace varve::jss
