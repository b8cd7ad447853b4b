// SPDX-License-Identifier: MIT OR Apache-2.0
// The live records against the rules of section 14.3 applied row by row, in memory and spilled.
#include "jss/state.hpp"

#include <map>

#include "generated_rows.hpp"
#include "io/simulated.hpp"
#include "jss/dag_cbor.hpp"
#include "jss/live_records.hpp"
#include "varve/jss.hpp"
#include "view_support.hpp"

namespace varve::jss {
namespace {

using test::Row;
using Path = std::tuple<std::string, std::string, std::string>;

// The definition: a create or update lives if nothing of a greater seq ends or replaces it.
std::map<Path, Row> live_rows(const std::vector<Row>& rows) {
  std::map<Path, Row> out;
  for (const Row& row : rows) {
    if (!is_materialization(row.kind)) {
      continue;
    }
    const bool ended = std::ranges::any_of(rows, [&](const Row& later) {
      const bool same_path = later.collection == row.collection && later.rkey == row.rkey;
      return later.seq > row.seq && later.did == row.did &&
             (later.kind == 6 ||
              (later.kind == 5 && is_account_deletion(base::as_bytes(later.payload))) ||
              (is_commit(later.kind) && same_path));
    });
    if (!ended) {
      out[{row.did, row.collection, row.rkey}] = row;
    }
  }
  return out;
}

std::vector<std::string> state_lines(StoreView& view, const ScanRequest& base = {},
                                     RenderOptions options = {}) {
  class Sink final : public BatchSink {
   public:
    Sink(const StoreView& view, const RenderOptions& options) : view_(view), options_(options) {}
    Result<bool> consume(Batch batch) override {
      std::string text;
      view_.render(Face::state, batch, options_, text);
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
      }
      return true;
    }
    std::vector<std::string> lines;

   private:
    const StoreView& view_;
    const RenderOptions& options_;
  } sink(view, options);
  ScanRequest request = base;
  request.face = Face::state;
  FindingList findings;
  const auto summary = view.scan(request, sink, findings);
  EXPECT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary ? summary->rows : 0, sink.lines.size());
  return sink.lines;
}

std::string expected_line(const Row& row) {
  return "{\"did\":\"" + row.did + "\",\"collection\":\"" + row.collection + "\",\"rkey\":\"" +
         row.rkey + "\",\"rev\":\"" + row.rev + "\"";
}

struct Made {
  io::SimulatedFileSystem files;
  std::vector<Row> rows;
  std::unique_ptr<StoreView> view;

  explicit Made(int count) {
    EXPECT_TRUE(Writer::create(files, "/a"));
    auto writer = Writer::open(files, "/a", {.block_rows = 64, .rotation_bytes = 20'000});
    EXPECT_TRUE(writer);
    test::RowMaker maker(5, 40);
    for (int i = 0; i < count; ++i) {
      rows.push_back(maker.next());
      rows.back().seq = (*writer)->append(rows.back().event()).value();
    }
    EXPECT_TRUE((*writer)->close());
    view = std::move(*format().open(files, "/a", {}));
  }
};

TEST(JssState, IsWhatTheRulesLeave) {
  Made made(3000);
  const auto live = live_rows(made.rows);
  ASSERT_GT(live.size(), 500U);
  ASSERT_LT(live.size(), 2500U);
  const std::vector<std::string> lines = state_lines(*made.view);
  ASSERT_EQ(lines.size(), live.size());
  std::size_t i = 0;
  for (const auto& [path, row] : live) {
    EXPECT_TRUE(lines[i].starts_with(expected_line(row))) << lines[i];
    EXPECT_TRUE(lines[i].ends_with(",\"seq\":" + std::to_string(row.seq) + "}")) << lines[i];
    ++i;
  }
}

TEST(JssState, SpillsWithTheSameResult) {
  Made made(3000);
  const std::vector<std::string> lines = state_lines(*made.view);
  ScanRequest small;
  small.max_memory_bytes = 100'000;
  EXPECT_EQ(state_lines(*made.view, small), lines);
  // Far too little, row after row through the database.
  LiveRecords records(1);
  for (const Row& row : made.rows) {
    if (is_materialization(row.kind)) {
      ASSERT_TRUE(records.put({row.did, row.collection, row.rkey, row.seq, row.witnessed_at,
                               row.kind, row.rev, row.payload}));
    } else if (row.kind == 3) {
      ASSERT_TRUE(records.remove(row.did, row.collection, row.rkey));
    } else if (row.kind == 6 ||
               (row.kind == 5 && is_account_deletion(base::as_bytes(row.payload)))) {
      ASSERT_TRUE(records.remove_account(row.did));
    }
  }
  EXPECT_TRUE(records.spilled());
  const auto live = live_rows(made.rows);
  auto next = live.begin();
  ASSERT_TRUE(records.visit([&](const LiveRecord& record) -> Result<bool> {
    EXPECT_NE(next, live.end());
    const Row& row = next->second;
    EXPECT_EQ(record.did, row.did);
    EXPECT_EQ(record.collection, row.collection);
    EXPECT_EQ(record.rkey, row.rkey);
    EXPECT_EQ(record.seq, row.seq);
    EXPECT_EQ(record.witnessed_at, row.witnessed_at);
    EXPECT_EQ(record.kind, row.kind);
    EXPECT_EQ(record.rev, row.rev);
    EXPECT_EQ(record.payload, row.payload);
    return ++next != live.end();
  }));
  EXPECT_EQ(next, live.end());
}

TEST(JssState, FiltersWhatIsLeftNotWhatIsFolded) {
  Made made(2000);
  const auto live = live_rows(made.rows);
  const auto expect = [&](const ScanRequest& request, auto wanted) {
    std::vector<std::string> lines = state_lines(*made.view, request);
    std::size_t i = 0;
    for (const auto& [path, row] : live) {
      if (wanted(row)) {
        ASSERT_LT(i, lines.size());
        EXPECT_TRUE(lines[i].starts_with(expected_line(row)));
        ++i;
      }
    }
    EXPECT_EQ(i, lines.size());
    EXPECT_GT(i, 0U);
  };
  ScanRequest request;
  const std::string did = live.begin()->second.did;
  request.predicate.terms = {{"did", did}};
  expect(request, [&](const Row& row) { return row.did == did; });
  request.predicate.terms = {{"collection", "app.bsky.feed.*"}, {"kind", "update"}};
  expect(request, [](const Row& row) {
    return row.kind == 2 && row.collection.starts_with("app.bsky.feed.");
  });
  request.predicate.terms.clear();
  request.predicate.seq_last = 700;
  expect(request, [](const Row& row) { return row.seq <= 700; });
  request.predicate.seq_last.reset();
  request.limit = 3;
  EXPECT_EQ(state_lines(*made.view, request).size(), 3U);
}

TEST(JssState, ComputedColumnsAndPayloadForms) {
  VARVE_REQUIRE_SHARED();
  const auto view = test::open_view(test::fixture("all_kinds.jss"));
  const auto live = live_rows(test::fixture_rows("all_kinds"));
  const std::vector<std::string> lines = state_lines(*view);
  ASSERT_EQ(lines.size(), live.size());
  // The record and its CID are those that the log shows for the same row.
  const std::vector<std::string> log = test::scan_lines(*view).lines;
  std::size_t i = 0;
  for (const auto& [path, row] : live) {
    const auto from = std::ranges::find_if(log, [&](const std::string& line) {
      return line.starts_with("{\"seq\":" + std::to_string(row.seq) + ",");
    });
    ASSERT_NE(from, log.end());
    const std::size_t at = from->find(",\"cid\":");
    const std::string record = from->substr(at, from->rfind(",\"at\":") - at);
    EXPECT_NE(lines[i].find(record), std::string::npos) << lines[i] << "\n" << record;
    ++i;
  }
  RenderOptions none;
  none.payload = PayloadForm::none;
  EXPECT_EQ(state_lines(*view, {}, none).at(0).find("record"), std::string::npos);
}

TEST(JssState, RefusesALogWithAHole) {
  Made made(500);
  const std::string path = "/a/" + made.files.paths("/a").front();
  base::Bytes hurt = made.files.get(path).value();
  hurt[300] ^= std::byte{1};
  ASSERT_TRUE(made.files.put(path, hurt));
  const auto view = std::move(*format().open(made.files, "/a", {}));
  class Count final : public BatchSink {
   public:
    Result<bool> consume(Batch batch) override {
      rows += batch.rows;
      return true;
    }
    std::size_t rows = 0;
  } sink;
  ScanRequest request;
  request.face = Face::state;
  FindingList findings;
  const auto refused = view->scan(request, sink, findings);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::damaged);
  EXPECT_EQ(sink.rows, 0U);
  EXPECT_FALSE(findings.findings().empty());
  request.partial = true;
  const auto partial = view->scan(request, sink, findings);
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->verdict, Verdict::damaged);
  EXPECT_GT(sink.rows, 0U);
}

}  // namespace
}  // namespace varve::jss
