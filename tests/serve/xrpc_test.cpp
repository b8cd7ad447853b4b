// SPDX-License-Identifier: MIT OR Apache-2.0
// The archive's endpoints over HTTP: the plan cases, a table of statuses, an archive that changes.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <atomic>
#include <thread>

#include "serve/byte_answer.hpp"
#include "serve/context.hpp"
#include "tests/serve/raw_client.hpp"
#include "tests/support.hpp"

namespace varve::serve {
namespace {

using test::RawAnswer;
using test::RawClient;

const std::string k_xrpc = "/xrpc/network.bsky.jetstream.";

// JSON with the keys of each object in order, so that equal values are equal text.
std::string canonical(simdjson::dom::element json) {
  if (json.is_array()) {
    std::string out = "[";
    for (const auto item : json.get_array()) {
      out += canonical(item) + ",";
    }
    return out + "]";
  }
  if (json.is_object()) {
    std::map<std::string, std::string> members;
    for (const auto [key, value] : json.get_object()) {
      members.emplace(key, canonical(value));
    }
    std::string out = "{";
    for (const auto& [key, value] : members) {
      out += key + ":" + value + ",";
    }
    return out + "}";
  }
  return simdjson::minify(json);
}
std::string canonical(const std::string& text) {
  simdjson::dom::parser parser;
  return canonical(parser.parse(text));
}

class XrpcTest : public ::testing::Test {
 protected:
  void SetUp() override { VARVE_REQUIRE_SHARED(); }
  void start(const test::fs::path& path, ServeSettings settings = {}) {
    HttpServerOptions options;
    options.port = 0;
    options.observer = [this](const HttpObservation& seen) { metrics_.record(seen); };
    server_ = std::make_unique<HttpServer>(std::move(options));
    ServeContext context{.server = *server_,
                         .metrics = metrics_,
                         .files = io::posix_file_system(),
                         .settings = settings,
                         .stores = {{"archive", path.string(), "jss"}},
                         .archive = 0};
    ASSERT_TRUE(install_status_pages(context));
    ASSERT_TRUE(install_archive_endpoints(context));
    kept_ = std::move(context.kept);
    ASSERT_TRUE(server_->start());
    while (get("listSegments").status == 503) {
    }
  }
  RawAnswer get(const std::string& call, const std::string& headers = {}) {
    return RawClient(server_->port()).get(k_xrpc + call, headers);
  }
  static test::fs::path plan_archive() { return test::shared_path("fixtures/jss/plan"); }

  test::ScratchDirectory scratch_;
  Metrics metrics_;
  std::vector<std::shared_ptr<void>> kept_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(XrpcTest, ThePlanCases) {
  simdjson::dom::parser parser;
  int cases = 0;
  for (const std::string& line :
       test::lines_of(test::read_file(plan_archive() / "plan_cases.jsonl"))) {
    const simdjson::dom::element json = parser.parse(line);
    ServeSettings settings;
    settings.limits.max_entries = std::uint64_t(json["maxEntries"]);
    settings.limits.whole_segment_share = double(json["threshold"]);
    start(plan_archive(), settings);
    const RawAnswer answer =
        RawClient(server_->port()).post(k_xrpc + "planSnapshot", simdjson::minify(json["request"]));
    std::string_view error;  // its message is ours
    if (json["response"]["error"].get(error) == simdjson::SUCCESS) {
      EXPECT_EQ(answer.status, 400) << line;
      EXPECT_NE(answer.body.find("\"error\":\"" + std::string(error) + "\""), std::string::npos);
    } else {
      EXPECT_EQ(answer.status, 200) << line;
      EXPECT_EQ(canonical(answer.body), canonical(json["response"])) << line;
    }
    server_.reset();
    ++cases;
  }
  EXPECT_EQ(cases, 66);
}

TEST_F(XrpcTest, TheListIsPaged) {
  start(plan_archive());
  EXPECT_EQ(canonical(get("listSegments").body),
            canonical(test::read_file(plan_archive() / "listSegments.json")));
  const RawAnswer first = get("listSegments?limit=4");
  EXPECT_NE(first.body.find("\"cursor\":\"4\""), std::string::npos);
  const RawAnswer second = get("listSegments?limit=4&cursor=4");
  EXPECT_EQ(second.body.find("cursor"), std::string::npos);
  EXPECT_NE(second.body.find("seg_0000000005.jss"), std::string::npos);
  EXPECT_EQ(second.body.find("seg_0000000003.jss"), std::string::npos);
}

TEST_F(XrpcTest, StatusesOfTheProtocol) {
  const test::fs::path archive = test::copy_tree(plan_archive(), scratch_ / "archive");
  test::copy_tree(test::shared_path("fixtures/jss/active.jss"), archive / "seg_0000000006.jss");
  start(archive);
  struct Case {
    std::string call;
    int status;
    std::string error;
  };
  for (const Case& c : std::vector<Case>{
           {"listSegments?limit=0", 400, "InvalidRequest"},
           {"listSegments?limit=-1", 400, "InvalidRequest"},
           {"listSegments?limit=x", 400, "InvalidRequest"},
           {"listSegments?limit=5000", 200, ""},
           {"listSegments?limit=99999999999999999999", 200, ""},
           {"listSegments?cursor=x", 400, "InvalidRequest"},
           {"listSegments?cursor=", 200, ""},
           {"getSegment", 400, "InvalidRequest"},
           {"getSegment?name=../etc/passwd", 400, "InvalidRequest"},
           {"getSegment?name=seg_000000000A.jss", 400, "InvalidRequest"},
           {"getSegment?name=seg_0000000009.jss", 404, "SegmentNotFound"},
           {"getSegment?name=seg_0000000006.jss", 404, "SegmentNotFound"},
           {"getBlock?segment=seg_0000000000.jss", 400, "InvalidRequest"},
           {"getBlock?segment=seg_0000000000.jss&blockIndex=-1", 400, "InvalidRequest"},
           {"getBlock?segment=seg_0000000000.jss&blockIndex=1.5", 400, "InvalidRequest"},
           {"getBlock?segment=x&blockIndex=0", 400, "InvalidRequest"},
           {"getBlock?segment=seg_0000000009.jss&blockIndex=0", 404, "SegmentNotFound"},
           {"getBlock?segment=seg_0000000000.jss&blockIndex=9999", 404, "BlockNotFound"},
           {"planSnapshot", 405, "MethodNotAllowed"},
           {"planBackfill", 501, "MethodNotImplemented"},
       }) {
    const RawAnswer answer = get(c.call);
    EXPECT_EQ(answer.status, c.status) << c.call;
    if (!c.error.empty()) {
      EXPECT_NE(answer.body.find("{\"error\":\"" + c.error + "\""), std::string::npos) << c.call;
    }
  }
  const auto plan = [&](const std::string& body) {
    return RawClient(server_->port()).post(k_xrpc + "planSnapshot", body).status;
  };
  EXPECT_EQ(plan(""), 200);
  EXPECT_EQ(plan("{"), 400);
  EXPECT_EQ(plan("[]"), 400);
  EXPECT_EQ(plan("{\"kinds\":[\"x\"]}"), 400);
  EXPECT_EQ(plan("{\"kinds\":[\"sync\"],\"collections\":[\"a.b.c\"]}"), 400);
  EXPECT_EQ(plan("{\"afterSeq\":5,\"beforeSeq\":5}"), 400);
  EXPECT_EQ(plan("{\"afterSeq\":-5}"), 400);
  EXPECT_EQ(plan(std::string((2 << 20) + 1, ' ')), 413);
  RawClient head(server_->port());
  head.send("HEAD " + k_xrpc + "listSegments HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(head.answer(true).status, 405);
}

TEST_F(XrpcTest, SegmentsHaveValidatorsAndRanges) {
  start(plan_archive(),
        {.cache_age_s = 60, .limits = {}, .zstd_dictionaries = {}, .cross_origin = true});
  const std::string content = test::read_file(plan_archive() / "seg_0000000000.jss");
  const std::string size = std::to_string(content.size());
  const std::string call = "getSegment?name=seg_0000000000.jss";
  const RawAnswer whole = get(call);
  EXPECT_TRUE(whole.body == content);
  EXPECT_EQ(whole.header("ETag"), "\"324e084c7505d185\"");
  EXPECT_EQ(whole.header("Cache-Control"), "public, max-age=60");
  EXPECT_EQ(whole.header("Accept-Ranges"), "bytes");
  EXPECT_EQ(whole.header("Content-Type"), "application/octet-stream");
  EXPECT_EQ(whole.header("Access-Control-Allow-Origin"), "*");
  const std::string modified = whole.header("Last-Modified");

  const RawAnswer part = get(call, "Range: bytes=10-19\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.header("Content-Range"), "bytes 10-19/" + size);
  EXPECT_EQ(part.body, content.substr(10, 10));
  EXPECT_EQ(get(call, "Range: bytes=-7\r\n").body, content.substr(content.size() - 7));
  EXPECT_TRUE(get(call, "Range: bytes=256-\r\n").body == content.substr(256));
  const RawAnswer beyond = get(call, "Range: bytes=" + size + "-\r\n");
  EXPECT_EQ(beyond.status, 416);
  EXPECT_EQ(beyond.header("Content-Range"), "bytes */" + size);
  const RawAnswer several = get(call, "Range: bytes=0-3, 10-19\r\n");
  EXPECT_EQ(several.status, 206);
  EXPECT_NE(several.header("Content-Type").find("multipart/byteranges; boundary="),
            std::string::npos);
  EXPECT_NE(several.body.find("Content-Range: bytes 0-3/" + size + "\r\n\r\njss0\r\n--"),
            std::string::npos);
  EXPECT_NE(several.body.find("\r\n\r\n" + content.substr(10, 10) + "\r\n--"), std::string::npos);
  EXPECT_TRUE(several.body.ends_with("--\r\n"));
  EXPECT_EQ(get(call, "Range: lines=0-3\r\n").status, 200);

  EXPECT_EQ(get(call, "If-None-Match: \"324e084c7505d185\"\r\n").status, 304);
  EXPECT_EQ(get(call, "If-None-Match: \"x\", W/\"324e084c7505d185\"\r\n").status, 304);
  EXPECT_EQ(get(call, "If-None-Match: \"x\"\r\nIf-Modified-Since: " + modified + "\r\n").status,
            200);
  EXPECT_EQ(get(call, "If-Modified-Since: " + modified + "\r\n").status, 304);
  EXPECT_EQ(get(call, "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n").status, 200);
  const std::string range = "Range: bytes=0-3\r\nIf-Range: ";
  EXPECT_EQ(get(call, range + "\"324e084c7505d185\"\r\n").status, 206);
  EXPECT_EQ(get(call, range + "\"other\"\r\n").status, 200);
  EXPECT_EQ(get(call, range + "W/\"324e084c7505d185\"\r\n").status, 200);
}

TEST_F(XrpcTest, ABlockIsItsFrameWithoutThePrefix) {
  start(plan_archive());
  const std::string content = test::read_file(plan_archive() / "seg_0000000000.jss");
  const RawAnswer block = get("getBlock?segment=seg_0000000000.jss&blockIndex=0");
  EXPECT_EQ(block.header("ETag"), "\"324e084c7505d185:0\"");
  EXPECT_EQ(block.header("Cache-Control"), "public, no-cache");
  EXPECT_TRUE(block.body.starts_with("\x28\xB5\x2F\xFD"));
  EXPECT_TRUE(block.body == content.substr(264, block.body.size()));
  EXPECT_EQ(get("getBlock?segment=seg_0000000000.jss&blockIndex=0", "Range: bytes=0-3\r\n").body,
            block.body.substr(0, 4));
}

TEST_F(XrpcTest, SegmentsThatComeLaterAreSeen) {
  const test::fs::path archive = scratch_ / "archive";
  test::copy_tree(plan_archive() / "seg_0000000000.jss", archive / "seg_0000000000.jss");
  start(archive);
  const auto tip = [&] {
    const RawAnswer plan = RawClient(server_->port()).post(k_xrpc + "planSnapshot", "{}");
    simdjson::dom::parser parser;
    return std::uint64_t(parser.parse(plan.body)["sealedTipSeq"]);
  };
  EXPECT_EQ(tip(), 600U);
  test::copy_tree(plan_archive() / "seg_0000000001.jss", archive / "seg_0000000001.jss");
  EXPECT_EQ(tip(), 1160U);
  EXPECT_NE(get("listSegments").body.find("seg_0000000001.jss"), std::string::npos);
  EXPECT_NE(RawClient(server_->port()).get("/metrics").body.find("varve_archive_segments 2\n"),
            std::string::npos);
}

// Twenty clients load a segment in parts while it is rewritten again and again: what they put
// together is one of the generations, or they are told to begin anew.
TEST_F(XrpcTest, NoDownloadIsASpliceOfGenerations) {
  const test::fs::path archive = scratch_ / "archive";
  const std::string before = test::read_file(test::shared_path("fixtures/jss/before_rewrite.jss"));
  const std::string after =
      test::read_file(test::shared_path("fixtures/jss/after_rewrite_by_upstream.jss"));
  test::fs::create_directories(archive);
  test::write_file(archive / "seg_0000000000.jss", before);
  start(archive);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int i = 0; !done; ++i) {
      test::write_file(archive / "seg_0000000000.jss.tmp", i % 2 == 0 ? after : before);
      test::fs::rename(archive / "seg_0000000000.jss.tmp", archive / "seg_0000000000.jss");
    }
  });
  std::atomic<int> whole = 0;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 20; ++i) {
      clients.emplace_back([&] {
        RawClient client(server_->port());
        const std::string call = k_xrpc + "getSegment?name=seg_0000000000.jss";
        for (int round = 0; round < 20; ++round) {
          const RawAnswer first = client.get(call, "Range: bytes=0-499\r\n");
          const RawAnswer rest =
              client.get(call, "Range: bytes=500-\r\nIf-Range: " + first.header("ETag") + "\r\n");
          const std::string all = rest.status == 206 ? first.body + rest.body : rest.body;
          (all == before || all == after ? whole : wrong) += 1;
        }
      });
    }
  }
  done = true;
  EXPECT_EQ(whole, 400);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace varve::serve
