// SPDX-License-Identifier: MIT OR Apache-2.0
// The explorer's interface says what the library's own calls say, of every fixture of every format.
#include <gmock/gmock.h>

#include <algorithm>

#include "output/json_lines.hpp"
#include "output/report_json.hpp"
#include "tests/serve/explorer_support.hpp"

namespace varve {
namespace {

using test::ask;
using test::ask_once;
using test::Told;

// What `cat` or `state` print, with 64-bit integers as text.
std::vector<std::string> lines_of_scan(StoreView& view, Face face, Verdict& verdict) {
  class Lines final : public BatchSink {
   public:
    explicit Lines(const StoreView& view, Face face) : view_(view), face_(face) {}
    Result<bool> consume(Batch batch) override {
      RenderOptions options;
      options.int64_as_string = true;
      view_.render(face_, batch, options, text);
      return true;
    }
    std::string text;

   private:
    const StoreView& view_;
    Face face_;
  };
  Lines lines(view, face);
  FindingList findings;
  ScanRequest request;
  request.face = face;
  const auto summary = view.scan(request, lines, findings);
  verdict = summary ? summary->verdict : Verdict::damaged;
  return test::lines_of(lines.text);
}

// All pages of a list, turned forward.
std::vector<std::string> all_pages(serve::Explorer& explorer, const std::string& id,
                                   test::Parameters parameters, int& status) {
  std::vector<std::string> lines;
  parameters.emplace("limit", "7");
  while (true) {
    const Told page = ask(explorer, "/api/" + id + "/records", parameters);
    status = page.status;
    if (page.status != 200) {
      return lines;
    }
    for (std::size_t i = 0; i < page.size("/rows"); ++i) {
      const std::string at = "/rows/" + std::to_string(i);
      simdjson::dom::element record;
      EXPECT_EQ(page.json.at_pointer(at + "/record").get(record), simdjson::SUCCESS);
      lines.push_back(page.at(at + "/cut_from_bytes") == "(nothing)" ? simdjson::minify(record)
                                                                     : "cut");
    }
    if (page.at("/more") != "true") {
      return lines;
    }
    parameters.erase("after");
    parameters.erase("start");
    if (const std::string last = page.at("/last_seq"); last != "(nothing)") {
      parameters.emplace("after", last);
    } else {
      parameters.emplace("start", std::to_string(lines.size()));
    }
  }
}

std::string minified(const std::string& line) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  EXPECT_EQ(parser.parse(line).get(element), simdjson::SUCCESS) << line;
  return simdjson::minify(element);
}

void expect_same_rows(serve::Explorer& explorer, const std::string& id, const Format& format,
                      const std::string& path, Face face) {
  const auto view = format.open(io::posix_file_system(), path, {});
  if (!view) {
    return;
  }
  Verdict verdict = Verdict::clean;
  const std::vector<std::string> expected = lines_of_scan(**view, face, verdict);
  int status = 0;
  const std::vector<std::string> told =
      all_pages(explorer, id, {{"face", face == Face::log ? "log" : "state"}}, status);
  if (status != 200) {
    EXPECT_NE(verdict, Verdict::clean) << path << " status " << status;
    return;
  }
  ASSERT_EQ(told.size(), expected.size()) << path;
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_TRUE(told[i] == "cut" || told[i] == minified(expected[i])) << path << " row " << i;
  }
}

void expect_same_check(serve::Explorer& explorer, const std::string& id, const Format& format,
                       const std::string& path) {
  const Told overview = test::ask_checked(explorer, id);
  const auto view = format.open(io::posix_file_system(), path, {});
  FindingList findings;
  const auto report =
      view ? (*view)->verify({}, findings) : Result<VerifyReport>(std::unexpected(view.error()));
  if (!report) {
    EXPECT_NE(overview.at("/check/error"), "null") << path;
    EXPECT_NE(overview.at("/check/report/verdict"), "clean") << path;
    return;
  }
  EXPECT_EQ(overview.at("/check/report/verdict"), to_text(report->verdict)) << path;
  EXPECT_EQ(overview.at("/check/report/counts/bytes"), std::to_string(report->counts.bytes));
  EXPECT_EQ(overview.at("/check/errors"), std::to_string(findings.errors()));
  const Told told = ask(explorer, "/api/" + id + "/findings", {{"limit", "500"}});
  ASSERT_EQ(told.status, 200);
  ASSERT_EQ(told.size("/findings"), std::min<std::size_t>(500, findings.findings().size()));
  for (std::size_t i = 0; i < told.size("/findings"); ++i) {
    simdjson::dom::element element;
    ASSERT_EQ(told.json.at_pointer("/findings/" + std::to_string(i)).get(element),
              simdjson::SUCCESS);
    EXPECT_EQ(simdjson::minify(element),
              minified(output::finding_json(findings.findings()[i]).text(true)));
  }
  if (const auto info = (*view)->info()) {
    EXPECT_EQ(overview.at("/store/info/bytes"), std::to_string(info->bytes));
    EXPECT_EQ(overview.at("/store/info/segments"), std::to_string(info->segments));
  }
}

// Stretches follow each other without gap, and add up to each file.
void expect_whole_map(serve::Explorer& explorer, const std::string& id) {
  const Told map = ask(explorer, "/api/" + id + "/map");
  ASSERT_EQ(map.status, 200) << map.text;
  for (std::size_t i = 0; i < map.size("/files"); ++i) {
    const std::string file = "/files/" + std::to_string(i);
    std::uint64_t place = 0;
    for (std::size_t k = 0; k < map.size(file + "/stretches"); ++k) {
      const std::string stretch = file + "/stretches/" + std::to_string(k);
      EXPECT_EQ(map.at(stretch + "/0"), std::to_string(place));
      place += std::stoull(map.at(stretch + "/1"));
    }
    EXPECT_EQ(map.at(file + "/bytes"), std::to_string(place));
    const Told bytes = ask(explorer, "/api/" + id + "/explain",
                           {{"file", map.at(file + "/name")}, {"offset", "0"}});
    EXPECT_EQ(bytes.status, place == 0 ? bytes.status : 200) << bytes.text;
    EXPECT_TRUE(place == 0 || bytes.size("/rows") > 0) << bytes.text;
  }
}

class ExplorerOfFixtures : public testing::TestWithParam<const char*> {};

TEST_P(ExplorerOfFixtures, SaysWhatTheProgramSays) {
  VARVE_REQUIRE_SHARED();
  std::size_t stores = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::shared_path("fixtures") / GetParam())) {
    const std::string path = entry.path().string();
    const auto explorer = test::explore(path);
    if (explorer == nullptr) {
      continue;
    }
    SCOPED_TRACE(path);
    ++stores;
    const std::string id = test::only_id(*explorer);
    const Format& format = *find_format(ask(*explorer, "/api/stores").at("/stores/0/format"));
    expect_same_check(*explorer, id, format, path);
    expect_whole_map(*explorer, id);
    expect_same_rows(*explorer, id, format, path, Face::log);
    expect_same_rows(*explorer, id, format, path, Face::state);
    const int stats = ask(*explorer, "/api/" + id + "/stats").status;
    EXPECT_TRUE(stats == 200 || stats == 422) << stats;
  }
  EXPECT_GT(stores, 0U);
}

INSTANTIATE_TEST_SUITE_P(Formats, ExplorerOfFixtures,
                         testing::Values("arena", "kladde", "kladde/edge", "tay/stores/valid",
                                         "tay/stores/invalid", "jss", "jss/invalid"),
                         [](const auto& chosen) {
                           std::string name = chosen.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace varve
