// SPDX-License-Identifier: MIT OR Apache-2.0
// The store view on every fixture: verdicts, log, state, explain; and reading changes nothing.
#include "kladde/view.hpp"
#include "tests/exhaustive/sight.hpp"
#include "tests/kladde/helpers.hpp"
#include "varve/kladde_store.hpp"

namespace varve::kladde::test {
namespace {

std::map<std::string, std::string> options_of(const std::string& folder) {
  return folder == "dialect-b" ? std::map<std::string, std::string>{{"dialect", "b"}}
                               : std::map<std::string, std::string>{};
}

std::unique_ptr<StoreView> open(io::FileSystem& files,
                                const std::map<std::string, std::string>& o) {
  OpenOptions options;
  options.threads = 1;
  options.options = o;
  return must(format().open(files, k_path, options));
}

// Sums the leaves and checks that they follow each other without a gap.
class SumSink final : public ExplainSink {
 public:
  bool add(ExplainRow row) override {
    if (!row.container) {
      EXPECT_EQ(row.offset, end) << row.field;
      end = row.offset + row.length;
    } else {
      EXPECT_EQ(row.offset, end) << row.field;
    }
    return true;
  }
  std::uint64_t end = 0;
};

std::string scan_lines(StoreView& view, Face face, ScanRequest request = {},
                       RenderOptions render = {}) {
  class Sink final : public BatchSink {
   public:
    Sink(const StoreView& view, Face face, const RenderOptions& render)
        : view_(view), face_(face), render_(render) {}
    Result<bool> consume(Batch batch) override {
      view_.render(face_, batch, render_, text);
      return true;
    }
    std::string text;

   private:
    const StoreView& view_;
    Face face_;
    RenderOptions render_;
  };
  Sink sink(view, face, render);
  request.face = face;
  FindingList findings;
  must(view.scan(request, sink, findings));
  return sink.text;
}

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

class KladdeView : public ::testing::TestWithParam<std::string> {};

TEST_P(KladdeView, AgreesWithTheManifests) {
  VARVE_REQUIRE_SHARED();
  for (const std::string& name : fixture_names(GetParam())) {
    SCOPED_TRACE(name);
    const Manifest manifest(name);
    const auto files = memory(base::as_bytes(fixture_bytes(name)));
    const auto view = open(*files, options_of(GetParam()));
    FindingList findings;
    const VerifyReport report = must(view->verify({}, findings));
    SumSink sum;
    FindingList ignored;
    must(view->explain({}, sum, ignored));
    EXPECT_EQ(sum.end, fixture_bytes(name).size());
    if (!manifest.opens()) {
      EXPECT_NE(report.verdict, Verdict::clean);
      EXPECT_GT(findings.errors(), 0U);
      continue;
    }
    EXPECT_EQ(findings.errors() == 0, report.verdict == Verdict::clean);
    EXPECT_NE(report.verdict, Verdict::damaged);
    const StoreInfo info = must(view->info());
    EXPECT_EQ(info.detail.find("epoch")->as_uint64() != nullptr
                  ? *info.detail.find("epoch")->as_uint64()
                  : 0,
              std::uint64_t(manifest.root()["header"]["epoch"]));
    std::uint64_t records = 0;
    for (const auto& [kind, count] : simdjson::dom::object(manifest.root()["journal"]["records"])) {
      records += std::uint64_t(count);
    }
    EXPECT_EQ(lines_in(scan_lines(*view, Face::log)), records);
    EXPECT_EQ(report.counts.records, records);
    RenderOptions sha;
    sha.payload = PayloadForm::sha256;
    const simdjson::dom::element recovered = manifest.root()["recovered"];
    const simdjson::dom::object expected =
        recovered.is_object() ? recovered : manifest.root()["flushed"];
    std::map<Id, std::string> lines;
    for (const auto& [key, value] : expected) {
      const std::string id(key);
      lines[static_cast<Id>(std::stoul(id))] =
          "{\"id\":" + id + ",\"size\":" + std::to_string(std::uint64_t(value["size"])) +
          ",\"sha256\":\"" + std::string(std::string_view(value["sha256"])) + "\"}\n";
    }
    std::string all;
    for (const auto& [id, line] : lines) {
      all += line;
    }
    EXPECT_EQ(scan_lines(*view, Face::state, {}, sha), all);
    EXPECT_EQ(base::as_text(*files->get(k_path)), fixture_bytes(name));
  }
}
INSTANTIATE_TEST_SUITE_P(All, KladdeView, ::testing::Values(".", "edge", "dialect-b"),
                         [](const auto& tested) {
                           return tested.param == "."      ? std::string("Files")
                                  : tested.param == "edge" ? std::string("Edge")
                                                           : std::string("DialectB");
                         });

TEST(KladdeVerify, TailsAreToldApart) {
  VARVE_REQUIRE_SHARED();
  const auto verdict_of = [](const std::string& name, FindingList& findings) {
    const auto files = memory(base::as_bytes(fixture_bytes(name)));
    return must(open(*files, {})->verify({}, findings)).verdict;
  };
  FindingList torn;
  EXPECT_EQ(verdict_of("15-journal-hole", torn), Verdict::torn);
  EXPECT_EQ(torn.findings().front().code, word::torn_tail);
  FindingList unproven;
  EXPECT_EQ(verdict_of("13-torn-tail", unproven), Verdict::clean);
  EXPECT_EQ(unproven.findings().front().code, word::unproven_tail);
  EXPECT_EQ(unproven.findings().front().severity, Severity::note);
}

TEST(KladdeVerify, SaysWhenTheOtherDialectWouldParse) {
  // In dialect A the Size statements of these allocations are Inline payloads past the content.
  io::SimulatedFileSystem files;
  must(Store::create(files, k_path));
  StoreOptions options;
  options.dialect = Dialect::b;
  const auto store = must(Store::open(files, k_path, options));
  Transaction transaction;
  for (Id id = 1; id <= 40; ++id) {
    transaction.write(id, 3, base::as_bytes("abc"));
  }
  must(store->commit(transaction));
  must(store->flush());
  FindingList findings;
  EXPECT_EQ(must(open(files, {})->verify({}, findings)).verdict, Verdict::damaged);
  EXPECT_NE(findings.findings().front().message.find("--dialect b"), std::string::npos)
      << findings.findings().front().message;
  FindingList none;
  EXPECT_EQ(must(open(files, {{"dialect", "b"}})->verify({}, none)).verdict, Verdict::clean);
}

TEST(KladdeLog, LinesAreThoseOfTheContract) {
  VARVE_REQUIRE_SHARED();
  const auto files = memory(base::as_bytes(fixture_bytes("18-vector")));
  const auto view = open(*files, {});
  EXPECT_EQ(scan_lines(*view, Face::log),
            R"({"txn":0,"index":0,"op":"write","id":2,"offset":5,"len":6,)"
            R"("bytes":{"$bytes":"IHdvcmxk"},"at":{"page":2,"offset":1}})"
            "\n"
            R"({"txn":1,"index":0,"op":"write","id":1,"offset":98,"len":4,)"
            R"("bytes":{"$bytes":"3q2+7w"},"at":{"page":2,"offset":16}})"
            "\n"
            R"({"txn":1,"index":1,"op":"resize","id":3,"size":3,"at":{"page":2,"offset":24}})"
            "\n"
            R"({"txn":2,"index":0,"op":"copy","src":2,"src_offset":0,"len":5,"dst":4,)"
            R"("dst_offset":0,"at":{"page":2,"offset":32}})"
            "\n");
  ScanRequest backwards;
  backwards.reverse = true;
  backwards.limit = 1;
  EXPECT_TRUE(scan_lines(*view, Face::log, backwards).starts_with(R"({"txn":2,"index":0,)"));
  ScanRequest of_two;
  of_two.predicate.terms = {{"id", "2"}};
  EXPECT_EQ(lines_in(scan_lines(*view, Face::log, of_two)), 2U);  // the write, the copy from it
  ScanRequest full;
  full.options = {{"full", "1"}};
  RenderOptions none;
  none.payload = PayloadForm::none;
  const std::string text = scan_lines(*view, Face::log, full, none);
  EXPECT_TRUE(text.starts_with(
      R"({"header":{"root_allocation":1,"schema_table":0,"consolidator_state":0,)"
      R"("root_fingerprint":"000102030405060708090a0b0c0d0e0f"}})"
      "\n"
      R"({"txn":-1,"index":0,"op":"resize","id":1,"size":100,"at":{"page":1,"offset":0}})"
      "\n"
      R"({"txn":-1,"index":1,"op":"write","id":1,"offset":0,"len":100,"at":{"page":3,)"
      R"("offset":11}})"))
      << text;
}

TEST(KladdeGet, GivesAllocationsRootsAndOwners) {
  VARVE_REQUIRE_SHARED();
  const auto files = memory(base::as_bytes(fixture_bytes("18-vector")));
  FindingList findings;
  const GetResult two = must(open(*files, {})->get("2", {}, findings));
  EXPECT_EQ(two.raw, "hello world");
  EXPECT_EQ(two.document.find("size")->text(), "11");
  const GetResult root = must(open(*files, {{"root", "1"}})->get("", {}, findings));
  EXPECT_EQ(root.document.find("type_missing")->text(), "\"the header names no schema table\"");
  const GetResult owner = must(open(*files, {})->get("@12300", {}, findings));
  EXPECT_EQ(owner.document.find("owner")->text(), "\"allocation 1\"");
  EXPECT_EQ(open(*files, {})->get("99", {}, findings).error().reason, "not_found");
  EXPECT_EQ(open(*files, {})->get("nonsense", {}, findings).error().reason, "key");
}

TEST(KladdeOlderWorld, IsTheOneBeforeTheLastFlush) {
  io::SimulatedFileSystem files;
  must(Store::create(files, k_path));
  const auto store = must(Store::open(files, k_path));
  const auto put = [&](std::string_view text) {
    Transaction transaction;
    transaction.write(1, 0, base::as_bytes(text));
    must(store->commit(transaction));
  };
  put("first, in a page of its own: " + std::string(100, '1'));
  must(store->flush());
  put("second");
  must(store->flush());
  put("third!");
  const std::map<std::string, std::string> older = {{"world", "older"}};
  const auto text_of = [&](const std::map<std::string, std::string>& options) {
    FindingList findings;
    return must(open(files, options)->get("1", {}, findings)).raw.value_or("");
  };
  EXPECT_EQ(must(open(files, older)->info()).detail.find("epoch")->text(), "1");
  EXPECT_EQ(must(open(files, {})->info()).detail.find("epoch")->text(), "2");
  // The journal of the older world is the one that the newer header folded.
  EXPECT_TRUE(text_of(older).starts_with("second in a page"));
  EXPECT_TRUE(text_of({}).starts_with("third! in a page"));
  // Damage to the newer world leaves the older one readable; with one header there is no older one.
  auto bytes = *files.get(k_path);
  bytes[20] ^= std::byte{1};
  must(files.put(k_path, bytes));
  const auto only = open(files, older);
  FindingList findings;
  EXPECT_FALSE(only->get("1", {}, findings));
}

TEST(KladdeReading, ChangesNothing) {
  VARVE_REQUIRE_SHARED();
  const varve::test::ScratchDirectory scratch;
  for (const std::string folder : {".", "edge", "dialect-b"}) {
    for (const std::string& name : fixture_names(folder)) {
      for (const char* world : {"newer", "older"}) {
        const std::string path =
            varve::test::copy_tree(fixture_path(name), scratch / "x.kladde").string();
        const std::string before = varve::test::tree_snapshot(path);
        OpenOptions options;
        options.options = options_of(folder);
        options.options["world"] = world;
        const auto view = must(format().open(io::posix_file_system(), path, options));
        varve::test::SightOptions look;
        look.options = options.options;
        (void)varve::test::look_at(format(), io::posix_file_system(), path, look);
        FindingList findings;
        SumSink sum;
        (void)view->info();  // what they say is tested elsewhere
        (void)view->explain({}, sum, findings);
        (void)view->stats(findings);
        (void)view->get("1", {}, findings);
        EXPECT_EQ(varve::test::tree_snapshot(path), before) << name;
        std::filesystem::remove(path);
      }
    }
  }
}

TEST(KladdeStats, CountEveryPageOnce) {
  VARVE_REQUIRE_SHARED();
  for (const std::string& name : fixture_names(".")) {
    const auto files = memory(base::as_bytes(fixture_bytes(name)));
    FindingList findings;
    const StatsReport report = must(open(*files, {})->stats(findings));
    for (const Distribution& distribution : report.distributions) {
      if (distribution.name == "page use") {
        std::uint64_t pages = 0;
        for (const Distribution::Category& category : distribution.categories) {
          pages += category.count;
        }
        EXPECT_EQ(pages, fixture_bytes(name).size() / k_page_bytes) << name;
      }
    }
  }
}

}  // namespace
}  // namespace varve::kladde::test
