// SPDX-License-Identifier: MIT OR Apache-2.0
// Scans of an archive: any number of threads, both directions, limits, projections and filters give
// the rows that a naive reader gives.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>

#include "fixture_rows.hpp"
#include "jss/log_schema.hpp"
#include "output/json_lines.hpp"
#include "view_support.hpp"

namespace varve::jss::test {
namespace {

fs::path archive() { return fixture("plan"); }

ScanRequest with_threads(unsigned threads) {
  ScanRequest request;
  request.threads = threads;
  return request;
}

TEST(JssScan, ThreadsDoNotChangeTheRows) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(archive());
  const Scanned serial = scan_lines(*view, with_threads(1));
  EXPECT_EQ(serial.lines.size(), 2616U);
  EXPECT_EQ(serial.summary.verdict, Verdict::clean);
  for (const unsigned threads : {2U, 3U, 8U}) {
    EXPECT_EQ(scan_lines(*view, with_threads(threads)).lines, serial.lines) << threads;
  }
}

TEST(JssScan, ThreadsDoNotChangeWhatIsSaidOfDamage) {
  VARVE_REQUIRE_SHARED();
  for (const fs::path& path : fixture_files(false)) {
    const auto view = open_view(path);
    const Scanned serial = scan_lines(*view, with_threads(1));
    const Scanned parallel = scan_lines(*view, with_threads(4));
    EXPECT_EQ(serial.lines, parallel.lines) << path;
    ASSERT_EQ(serial.findings.size(), parallel.findings.size()) << path;
    for (std::size_t i = 0; i < serial.findings.size(); ++i) {
      EXPECT_EQ(serial.findings[i].code, parallel.findings[i].code);
      EXPECT_EQ(serial.findings[i].offset, parallel.findings[i].offset);
    }
    VerifyRequest request;
    request.threads = 1;
    const Verified one = verify_view(*view, request);
    request.threads = 4;
    EXPECT_EQ(verify_view(*view, request).text(), one.text()) << path;
  }
}

TEST(JssScan, ReverseIsTheReverse) {
  VARVE_REQUIRE_SHARED();
  for (const fs::path& path : {archive(), fixture("all_kinds.jss"), fixture("active.jss"),
                               fixture("compacted_empty_blocks.jss")}) {
    const auto view = open_view(path);
    std::vector<std::string> forward = scan_lines(*view).lines;
    ScanRequest request = with_threads(2);
    request.reverse = true;
    std::reverse(forward.begin(), forward.end());
    EXPECT_EQ(scan_lines(*view, request).lines, forward) << path;
  }
}

// Renders on the worker, as `cat` does.
class RenderMapper final : public BatchMapper {
 public:
  explicit RenderMapper(const StoreView& view) : view_(view) {}
  void map(Batch& batch) const override {
    view_.render(Face::log, batch, RenderOptions{}, batch.mapped);
  }

 private:
  const StoreView& view_;
};

class MappedSink final : public BatchSink {
 public:
  Result<bool> consume(Batch batch) override {
    text += batch.mapped;
    return true;
  }
  std::string text;
};

struct TextSink final : output::ByteSink {
  Result<bool> write(std::string_view bytes) override {
    text += bytes;
    return true;
  }
  std::string text;
};

TEST(JssScan, LimitsCutExactly) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(archive());
  const std::vector<std::string> all = scan_lines(*view).lines;
  const RenderMapper mapper(*view);
  for (const std::uint64_t limit : {0ULL, 1ULL, 39ULL, 40ULL, 41ULL, 1000ULL, 2616ULL, 9999ULL}) {
    for (const bool reverse : {false, true}) {
      ScanRequest request = with_threads(2);
      request.limit = limit;
      request.reverse = reverse;
      std::vector<std::string> want = all;
      if (reverse) {
        std::reverse(want.begin(), want.end());
      }
      want.resize(std::min<std::size_t>(want.size(), limit));
      const Scanned scanned = scan_lines(*view, request);
      EXPECT_EQ(scanned.lines, want);
      EXPECT_EQ(scanned.summary.rows, want.size());
      // What the workers rendered is cut likewise.
      request.mapper = &mapper;
      MappedSink sink;
      FindingList findings;
      ASSERT_TRUE(view->scan(request, sink, findings).has_value());
      std::string text;
      for (const std::string& line : want) {
        text += line + '\n';
      }
      EXPECT_EQ(sink.text, text);
      // So is what the program prints: a batch can be rendered twice.
      TextSink out;
      const output::LineRenderer renderer(*view, Face::log, {});
      output::LineSink lines(renderer, out);
      request.mapper = &renderer;
      ASSERT_TRUE(view->scan(request, lines, findings).has_value());
      EXPECT_EQ(out.text, text);
    }
  }
}

struct NaiveRow {
  std::string line;
  std::uint64_t seq;
  std::int64_t witnessed_at;
  std::string kind, did, collection;
};

std::vector<NaiveRow> naive_rows(StoreView& view) {
  std::vector<NaiveRow> out;
  simdjson::dom::parser parser;
  for (const std::string& line : scan_lines(view).lines) {
    const simdjson::padded_string padded(line);
    const simdjson::dom::element json = parser.parse(padded);
    out.push_back({line, json["seq"], json["witnessed_at"],
                   std::string(std::string_view(json["kind"])),
                   std::string(std::string_view(json["did"])),
                   std::string(std::string_view(json["collection"]))});
  }
  return out;
}

// Section 18, written down once more.
bool naively_wanted(const NaiveRow& row, const Predicate& predicate) {
  const bool marker = row.kind == "identity" || row.kind == "account" || row.kind == "sync";
  const auto any = [&](const char* name, const auto& matches) {
    bool given = false;
    bool hit = false;
    for (const FilterTerm& term : predicate.terms) {
      if (term.name == name) {
        given = true;
        hit = hit || matches(term.value);
      }
    }
    return !given || hit;
  };
  const bool kind = any(
      "kind", [&](const std::string& k) { return k == row.kind || (k == "commit" && !marker); });
  const bool did = any("did", [&](const std::string& d) { return d == row.did; });
  const bool collection =
      marker || row.collection.empty() || any("collection", [&](const std::string& c) {
        return c.ends_with(".*") ? row.collection.starts_with(c.substr(0, c.size() - 1))
                                 : c == row.collection;
      });
  return kind && did && collection && (!predicate.seq_first || row.seq >= *predicate.seq_first) &&
         (!predicate.seq_last || row.seq <= *predicate.seq_last) &&
         (!predicate.since_us || row.witnessed_at >= *predicate.since_us) &&
         (!predicate.until_us || row.witnessed_at < *predicate.until_us);
}

class PredicateMaker {
 public:
  PredicateMaker(const std::vector<NaiveRow>& rows, unsigned seed) : rows_(rows), random_(seed) {}

  Predicate make() {
    Predicate p;
    if (chance(3)) p.seq_first = some().seq + random_() % 3;
    if (chance(3)) p.seq_last = some().seq + random_() % 3;
    if (chance(4)) p.since_us = some().witnessed_at;
    if (chance(4)) p.until_us = some().witnessed_at;
    static constexpr const char* k_kinds[] = {"commit",   "create",  "update", "delete",
                                              "identity", "account", "sync",   "create_resync"};
    for (std::size_t n = random_() % 3; n > 0; --n) {
      p.terms.push_back({"kind", k_kinds[random_() % 8]});
    }
    for (std::size_t n = random_() % 3; n > 0; --n) {
      const std::string& did = some().did;
      p.terms.push_back({"did", did.empty() ? "did:plc:nobody" : did});
    }
    for (std::size_t n = random_() % 3; n > 0; --n) {
      const std::string& name = some().collection;
      p.terms.push_back({"collection", name.empty() ? "app.bsky.feed.*"
                                       : chance(3)  ? name.substr(0, name.rfind('.')) + ".*"
                                                    : name});
    }
    return p;
  }

 private:
  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  const NaiveRow& some() { return rows_[random_() % rows_.size()]; }

  const std::vector<NaiveRow>& rows_;
  std::mt19937 random_;
};

TEST(JssScan, FiltersAgreeWithANaiveReader) {
  VARVE_REQUIRE_SHARED();
  for (const fs::path& path :
       {archive(), fixture("all_kinds.jss"), fixture("active.jss"),
        fixture("compacted_empty_blocks.jss"), fixture("legacy_fixed4096_blooms.jss")}) {
    const auto view = open_view(path);
    const std::vector<NaiveRow> rows = naive_rows(*view);
    PredicateMaker maker(rows, 7);
    for (int i = 0; i < 300; ++i) {
      ScanRequest request = with_threads(1 + i % 2);
      request.predicate = maker.make();
      std::vector<std::string> want;
      for (const NaiveRow& row : rows) {
        if (naively_wanted(row, request.predicate)) {
          want.push_back(row.line);
        }
      }
      request.reverse = i % 5 == 0;
      if (request.reverse) {
        std::reverse(want.begin(), want.end());
      }
      ASSERT_EQ(scan_lines(*view, request).lines, want) << path << " " << i;
    }
  }
}

// Rows of commits without a collection pass each collection filter although no name stands for
// them.
TEST(JssScan, RowsWithoutACollectionAreNotHidden) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(fixture("sparse_strings.jss"));
  const std::vector<NaiveRow> rows = naive_rows(*view);
  ScanRequest request;
  request.predicate.terms = {{"collection", "app.bsky.feed.post"}};
  std::size_t want = 0;
  for (const NaiveRow& row : rows) {
    want += naively_wanted(row, request.predicate) ? 1 : 0;
  }
  EXPECT_GT(want, 0U);
  EXPECT_EQ(scan_lines(*view, request).lines.size(), want);
}

TEST(JssScan, PushdownReadsLess) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(archive());
  const auto blocks = [&](const Predicate& predicate) {
    ScanRequest request;
    request.predicate = predicate;
    const auto plan = view->plan(request);
    EXPECT_TRUE(plan.has_value());
    return *plan->find("blocks_to_read")->as_uint64();
  };
  const std::uint64_t all = blocks({});
  EXPECT_EQ(all, 69U);  // 65 + 6 blocks, of which two are empty
  Predicate one;
  one.seq_first = one.seq_last = 100;
  EXPECT_EQ(blocks(one), 1U);
  Predicate nobody;
  nobody.terms = {{"did", "did:plc:nobodynobodynobodynobody"}};
  EXPECT_LT(blocks(nobody), 3U);
  Predicate identity;
  identity.terms = {{"kind", "identity"}};
  EXPECT_LT(blocks(identity), all);
}

class BatchCollector final : public BatchSink {
 public:
  Result<bool> consume(Batch batch) override {
    batches.push_back(std::move(batch));
    return true;
  }
  std::vector<Batch> batches;
};

TEST(JssScan, ProjectionsFillOnlyWhatIsNamed) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(fixture("all_kinds.jss"));
  ScanRequest request;
  request.columns = {"seq", "cid", "record"};
  BatchCollector sink;
  FindingList findings;
  ASSERT_TRUE(view->scan(request, sink, findings).has_value());
  const auto events = lines_of(fixture("all_kinds.events.jsonl"));
  std::size_t at = 0;
  simdjson::dom::parser parser;
  for (const Batch& batch : sink.batches) {
    for (std::size_t i = 0; i < k_log_columns; ++i) {
      const bool wanted = i == k_log_seq || i == k_log_cid || i == k_log_record;
      EXPECT_EQ(batch.columns[i].layout != Column::Layout::absent, wanted) << i;
    }
    for (std::size_t row = 0; row < batch.rows; ++row, ++at) {
      const simdjson::dom::element event = parser.parse(events[at]);
      std::string_view cid;
      const bool has_cid = event["cid"].get(cid) == simdjson::SUCCESS;
      EXPECT_EQ(batch.columns[k_log_cid].is_null(row), !has_cid);
      EXPECT_EQ(batch.columns[k_log_cid].bytes(row), cid);
      simdjson::dom::element value;
      const bool has_value = event["value"].get(value) == simdjson::SUCCESS;
      EXPECT_EQ(batch.columns[k_log_record].is_null(row), !has_value);
      if (has_value) {
        EXPECT_EQ(canonical_json(batch.columns[k_log_record].bytes(row)),
                  canonical_json(simdjson::minify(value)));
      }
    }
  }
  EXPECT_EQ(at, events.size());
  request.columns = {"nonsense"};
  EXPECT_FALSE(view->scan(request, sink, findings).has_value());
}

// A batch that a consumer keeps stays good while others pass.
TEST(JssScan, KeptBatchesKeepTheirMemory) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(archive());
  BatchCollector sink;
  FindingList findings;
  ASSERT_TRUE(view->scan(with_threads(2), sink, findings).has_value());
  std::string kept;
  for (const Batch& batch : sink.batches) {
    view->render(Face::log, batch, {}, kept);
  }
  std::string direct;
  for (const std::string& line : scan_lines(*view).lines) {
    direct += line + '\n';
  }
  EXPECT_EQ(kept, direct);
}

TEST(JssScan, StrictStopsAtTheFirstFault) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(fixture("invalid/kind_8.jss"));
  ScanRequest request;
  request.strict = true;
  const Scanned strict = scan_lines(*view, request);
  const Scanned lenient = scan_lines(*view);
  EXPECT_EQ(strict.findings.size(), 1U);
  EXPECT_LT(strict.lines.size(), lenient.lines.size());
  EXPECT_EQ(strict.summary.verdict, Verdict::damaged);
}

TEST(JssScan, PayloadForms) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(fixture("one_event.jss"));
  const auto line = [&](PayloadForm form, bool int64_as_string = false) {
    RenderOptions options;
    options.payload = form;
    options.int64_as_string = int64_as_string;
    return scan_lines(*view, {}, options).lines.at(0);
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(line(PayloadForm::json), "\"seq\":1,\"witnessed_at\":1783000000000000,"));
  EXPECT_TRUE(has(line(PayloadForm::json, true), "\"seq\":\"1\",\"witnessed_at\":\"1783"));
  EXPECT_TRUE(has(line(PayloadForm::hex), "\"hex\":\"a464746578746178"));
  EXPECT_TRUE(has(line(PayloadForm::base64), "\"payload\":{\"$bytes\":\"pGR0ZXh0"));
  const std::string none = line(PayloadForm::none);
  EXPECT_FALSE(has(none, "record") || has(none, "payload"));
  EXPECT_TRUE(has(none, "\"cid\":\"bafyrei"));
  const Row row = fixture_rows("one_event").at(0);
  EXPECT_TRUE(has(line(PayloadForm::sha256),
                  base::to_hex(base::sha256(base::as_bytes(row.payload))).c_str()));
}

TEST(JssGet, FindsBySeqPathAndOffset) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(fixture("all_kinds.jss"));
  FindingList findings;
  const auto by_seq = view->get("2", {}, findings);
  ASSERT_TRUE(by_seq.has_value());
  EXPECT_EQ(by_seq->document.text(), scan_lines(*view).lines.at(1));
  EXPECT_EQ(by_seq->raw, fixture_rows("all_kinds").at(1).payload);
  const auto by_path = view->get(
      "at://did:plc:aaaaaaaaaaaaaaaaaaaaaaaa/app.bsky.feed.post/3mptbyplj5d2a", {}, findings);
  ASSERT_TRUE(by_path.has_value());
  EXPECT_NE(by_path->document.find("history"), nullptr);
  const auto by_offset = view->get("@256", {}, findings);
  ASSERT_TRUE(by_offset.has_value());
  EXPECT_EQ(*by_offset->document.find("unit")->as_text(), "block");
  for (const char* bad : {"0", "99", "@99999999", "at://did:plc:x/y", "no"}) {
    EXPECT_FALSE(view->get(bad, {}, findings).has_value()) << bad;
  }
}

TEST(JssStats, CountsWhatIsThere) {
  VARVE_REQUIRE_SHARED();
  const auto view = open_view(archive());
  FindingList findings;
  const auto stats = view->stats(findings);
  ASSERT_TRUE(stats.has_value());
  for (const Distribution& d : stats->distributions) {
    if (d.name == "kinds" || d.name == "payload size" || d.name == "rate by hour") {
      EXPECT_EQ(d.count, 2616U) << d.name;
    }
    EXPECT_LE(d.minimum, d.p50);
    EXPECT_LE(d.p50, d.p90);
    EXPECT_LE(d.p90, d.p99);
    EXPECT_LE(d.p99, d.maximum);
  }
}

}  // namespace
}  // namespace varve::jss::test
