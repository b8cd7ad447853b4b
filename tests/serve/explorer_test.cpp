// SPDX-License-Identifier: MIT OR Apache-2.0
// The explorer on stores of the project's own: pages in both directions, stores that grow, requests
// that nobody should send.
#include <gmock/gmock.h>

#include "serve/context.hpp"
#include "serve/explorer_page.hpp"
#include "tests/serve/explorer_support.hpp"
#include "tests/serve/raw_client.hpp"

namespace varve {
namespace {

using test::ask;
using test::ask_once;
using test::Told;

const Format& jss() { return *find_format("jss"); }

std::string event(int number) {
  return R"({"kind":"create","witnessed_at":)" + std::to_string(1'783'000'000'000'000 + number) +
         R"(,"did":"did:plc:)" + std::string(24, number % 2 == 0 ? 'a' : 'b') +
         R"(","collection":"app.bsky.feed.post","rkey":"3kaaaaaaaa)" +
         std::to_string(100 + number) + R"(","rev":"3kaaaaaaaaaa2","record":{"text":"<b>&)" +
         std::to_string(number) + "\"}}";
}

void append(const std::string& path, int first, int count) {
  WriteRequest request;
  request.options["block-rows"] = "10";
  auto appender = jss().open_appender(io::posix_file_system(), path, request);
  ASSERT_TRUE(appender) << appender.error().text();
  for (int i = first; i < first + count; ++i) {
    const auto taken = (*appender)->append_line(event(i));
    ASSERT_TRUE(taken) << taken.error().text();
  }
  ASSERT_TRUE((*appender)->sync());
  ASSERT_TRUE((*appender)->close());
}

// A jss segment of 95 events with the seqs 1 to 95.
class ExplorerOfJss : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(jss().init(io::posix_file_system(), path_, {}));
    append(path_, 0, 95);
    explorer_ = test::explore(path_);
    ASSERT_NE(explorer_, nullptr);
  }
  Told records(const test::Parameters& parameters) {
    return ask(*explorer_, "/api/events.jss/records", parameters);
  }
  static std::vector<std::string> seqs(const Told& page) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < page.size("/rows"); ++i) {
      out.push_back(page.at("/rows/" + std::to_string(i) + "/record/seq"));
    }
    return out;
  }

  test::ScratchDirectory scratch_;
  std::string path_ = (scratch_ / "events.jss").string();
  std::unique_ptr<serve::Explorer> explorer_;
};

TEST_F(ExplorerOfJss, PagesAreTurnedForwardAndBack) {
  EXPECT_THAT(seqs(records({{"limit", "3"}})), testing::ElementsAre("1", "2", "3"));
  EXPECT_THAT(seqs(records({{"limit", "3"}, {"after", "3"}})), testing::ElementsAre("4", "5", "6"));
  EXPECT_THAT(seqs(records({{"limit", "3"}, {"before", "6"}})),
              testing::ElementsAre("3", "4", "5"));
  EXPECT_THAT(seqs(records({{"limit", "3"}, {"before", "18446744073709551615"}})),
              testing::ElementsAre("93", "94", "95"));
  EXPECT_THAT(seqs(records({{"limit", "3"}, {"reverse", "1"}})),
              testing::ElementsAre("95", "94", "93"));
  EXPECT_THAT(seqs(records({{"limit", "3"}, {"reverse", "1"}, {"after", "93"}})),
              testing::ElementsAre("92", "91", "90"));
  EXPECT_THAT(seqs(records({{"limit", "3"}, {"reverse", "1"}, {"before", "92"}})),
              testing::ElementsAre("95", "94", "93"));
  EXPECT_THAT(seqs(records({{"after", "95"}})), testing::IsEmpty());
  EXPECT_THAT(seqs(records({{"after", "18446744073709551615"}})), testing::IsEmpty());
  EXPECT_THAT(seqs(records({{"before", "0"}})), testing::IsEmpty());
  EXPECT_THAT(seqs(records({{"from", "40"}, {"to", "42"}})),
              testing::ElementsAre("40", "41", "42"));
}

TEST_F(ExplorerOfJss, FiltersAreThoseOfTheFormat) {
  const test::Parameters one = {{"f.did", "did:plc:" + std::string(24, 'b')}, {"limit", "2"}};
  EXPECT_THAT(seqs(records(one)), testing::ElementsAre("2", "4"));
  const Told told = ask(*explorer_, "/api/events.jss/overview");
  EXPECT_EQ(told.at("/store/filters/log/0/name"), "did");
  EXPECT_EQ(records({{"f.nothing", "1"}}).status, 400);
  EXPECT_EQ(records({{"f.kind", "no-such-kind"}}).status, 400);
}

TEST_F(ExplorerOfJss, OneRecordInFullAndItsBytes) {
  const Told record = ask(*explorer_, "/api/events.jss/record", {{"key", "17"}});
  EXPECT_EQ(record.at("/document/record/text"), "<b>&16");
  EXPECT_EQ(ask(*explorer_, "/api/events.jss/record", {{"key", "1700"}}).status, 404);
  test::ask_checked(*explorer_, "events.jss");
  const Told place =
      ask(*explorer_, "/api/events.jss/map", {{"file", ""}, {"kind", "block"}, {"number", "1"}});
  const Told bytes =
      ask(*explorer_, "/api/events.jss/explain", {{"file", ""}, {"offset", place.at("/place")}});
  EXPECT_EQ(bytes.at("/rows/0/field"), "block 1");
}

TEST_F(ExplorerOfJss, AStoreThatGrowsIsNoticedAndSaid) {
  const std::string before = test::ask_checked(*explorer_, "events.jss").at("/generation");
  append(path_, 95, 5);
  while (true) {
    const Told told = ask(*explorer_, "/api/events.jss/overview");
    if (told.at("/generation") != before) {
      EXPECT_EQ(told.at("/check/changed"), "true");
      EXPECT_EQ(told.at("/check/running"), "true") << "a small store is checked again by itself";
      break;
    }
  }
  EXPECT_THAT(seqs(records({{"after", "95"}, {"limit", "2"}})), testing::ElementsAre("96", "97"));
  while (ask(*explorer_, "/api/events.jss/overview").at("/check/changed") == "true") {
  }
  EXPECT_EQ(ask(*explorer_, "/api/events.jss/overview").at("/check/report/intact/records"), "100");
}

TEST_F(ExplorerOfJss, DamageIsFoundWhereItLies) {
  std::string bytes = test::read_file(path_);
  bytes[700] = static_cast<char>(bytes[700] ^ 4);
  test::write_file(path_, bytes);
  explorer_ = test::explore(path_);
  const Told overview = test::ask_checked(*explorer_, "events.jss");
  EXPECT_EQ(overview.at("/check/report/verdict"), "damaged");
  const Told findings = ask(*explorer_, "/api/events.jss/findings", {{"severity", "error"}});
  ASSERT_GE(findings.size("/findings"), 1U);
  const Told unit = ask(*explorer_, "/api/events.jss/explain",
                        {{"file", ""}, {"offset", findings.at("/findings/0/offset")}});
  EXPECT_EQ(unit.at("/verdict"), "damaged");
  const Told map = ask(*explorer_, "/api/events.jss/map");
  EXPECT_EQ(map.at("/files/0/state"), "hurt");
  const Told page = records({{"limit", "500"}});
  EXPECT_EQ(page.at("/verdict"), "damaged");
  EXPECT_EQ(page.size("/rows"), 85U) << "all but the hurt block's";
}

TEST_F(ExplorerOfJss, WhatNobodyShouldSendIsRefused) {
  const std::string api = "/api/events.jss";
  test::ask_checked(*explorer_, "events.jss");
  const std::string long_text(5'000, 'x');
  const std::vector<std::pair<std::string, test::Parameters>> bad = {
      {"/records", {{"after", "-1"}}},
      {"/records", {{"after", "18446744073709551616"}}},
      {"/records", {{"after", "1"}, {"before", "1"}}},
      {"/records", {{"after", "1"}, {"start", "1"}}},
      {"/records", {{"limit", "0"}}},
      {"/records", {{"limit", "501"}}},
      {"/records", {{"face", "both"}}},
      {"/records", {{"face", "state"}, {"after", "1"}}},
      {"/records", {{"reverse", "yes"}}},
      {"/records", {{"since", "yesterday"}}},
      {"/records", {{"did", "did:plc:x"}}},
      {"/records", {{"f.did", long_text}}},
      {"/records", {{"f.did", ""}}},
      {"/record", {}},
      {"/record", {{"key", long_text}}},
      {"/record", {{"key", "@x"}}},
      {"/explain", {{"file", ""}}},
      {"/explain", {{"file", "../../etc/passwd"}, {"offset", "0"}}},
      {"/explain", {{"file", "/etc/passwd"}, {"offset", "0"}}},
      {"/explain", {{"file", ""}, {"offset", "99999999999"}}},
      {"/map", {{"file", "none"}}},
      {"/map", {{"file", ""}, {"from", "10"}, {"to", "5"}}},
      {"/map", {{"file", ""}, {"units", "4001"}}},
      {"/map", {{"file", ""}, {"kind", "nothing"}}},
      {"/findings", {{"severity", "awful"}}},
      {"/findings", {{"limit", "501"}}},
  };
  for (const auto& [path, parameters] : bad) {
    const Told told = ask(*explorer_, api + path, parameters);
    EXPECT_EQ(told.status, 400) << path << ' ' << told.text;
    EXPECT_EQ(told.at("/schema"), "varve.error/1");
  }
  for (const char* path : {"/api/none/overview", "/api/events.jss", "/api/events.jss/",
                           "/api/events.jss/../x", "/api/", "/explorer/", "/explorer/../x", "/x"}) {
    EXPECT_EQ(ask(*explorer_, path).status, 404) << path;
  }
  EXPECT_EQ(ask_once(*explorer_, api + "/records", {}, "POST").status, 405);
  EXPECT_EQ(ask_once(*explorer_, api + "/check", {}, "GET").status, 405);
  EXPECT_EQ(ask_once(*explorer_, "/", {}, "POST").status, 405);
  EXPECT_EQ(ask_once(*explorer_, api + "/check", {}, "POST").status, 200);
}

TEST_F(ExplorerOfJss, PagesOfOtherSitesMayNotLookIn) {
  serve::HttpRequest request;
  request.method = "GET";
  request.path = "/api/stores";
  request.headers.emplace("sec-fetch-site", "cross-site");
  EXPECT_EQ(explorer_->handle(request).status, 403);
}

TEST_F(ExplorerOfJss, ReadingChangesNothing) {
  const std::string before = test::read_file(path_);
  const auto time = std::filesystem::last_write_time(path_);
  test::ask_checked(*explorer_, "events.jss");
  records({});
  ask(*explorer_, "/api/events.jss/stats");
  EXPECT_EQ(test::read_file(path_), before);
  EXPECT_EQ(std::filesystem::last_write_time(path_), time);
}

TEST_F(ExplorerOfJss, StoresOfOneNameHaveDifferentIds) {
  const std::string other = (scratch_ / "other" / "events.jss").string();
  test::copy_tree(path_, other);
  const std::string odd = (scratch_ / "a b'<script>.jss").string();
  test::copy_tree(path_, odd);
  serve::Explorer explorer(io::posix_file_system(),
                           {{&jss(), path_}, {&jss(), other + "/"}, {&jss(), odd}});
  const Told told = ask(explorer, "/api/stores");
  EXPECT_EQ(told.at("/stores/0/id"), "events.jss");
  EXPECT_EQ(told.at("/stores/1/id"), "events.jss-2");
  EXPECT_EQ(told.at("/stores/2/id"), "a-b--script-.jss");
}

TEST_F(ExplorerOfJss, IsOneOfTheServersServices) {
  serve::HttpServerOptions options;
  options.port = 0;
  serve::HttpServer server(options);
  serve::Metrics metrics;
  serve::ServeContext context{server, metrics, io::posix_file_system(), {}, {}, {}};
  context.stores.push_back({"my-events", path_, "jss"});
  ASSERT_TRUE(serve::install_explorer(context));
  ASSERT_TRUE(server.start());
  test::RawClient client(server.port());
  const test::RawAnswer page = client.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.header("Content-Security-Policy"), testing::StartsWith("default-src 'none'"));
  EXPECT_THAT(client.get("/api/stores").body, testing::HasSubstr("\"id\":\"my-events\""));
  EXPECT_EQ(client.get("/api/my-events/records?after=-1").status, 400);
  EXPECT_EQ(client.get("/explorer/%2e%2e/index.html").status, 404);
  EXPECT_EQ(client.post("/api/my-events/check", "").status, 200);
  server.stop(std::chrono::milliseconds(100));
}

TEST(ExplorerPage, LoadsOnlyItsOwnFilesAndNothingInline) {
  test::ScratchDirectory scratch;
  serve::Explorer explorer(io::posix_file_system(), {});
  const Told page = ask(explorer, "/");
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("X-Content-Type-Options"), "nosniff");
  EXPECT_THAT(page.header("Content-Security-Policy"), testing::StartsWith("default-src 'none'"));
  EXPECT_THAT(page.header("Content-Security-Policy"), testing::Not(testing::HasSubstr("unsafe")));
  EXPECT_THAT(page.text,
              testing::Not(testing::ContainsRegex("<style|style=|http:|https:| on[a-z]+=")));
  for (const serve::PageFile& file : serve::page_files()) {
    const Told told = ask(explorer, "/explorer/" + std::string(file.name));
    EXPECT_EQ(told.status, 200) << file.name;
    EXPECT_THAT(told.text, testing::Not(testing::HasSubstr("innerHTML"))) << file.name;
    serve::HttpRequest again;
    again.method = "GET";
    again.path = "/explorer/" + std::string(file.name);
    again.headers.emplace("If-None-Match", told.header("ETag"));
    EXPECT_EQ(explorer.handle(again).status, 304);
  }
}

}  // namespace
}  // namespace varve
