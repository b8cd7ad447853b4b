// SPDX-License-Identifier: MIT OR Apache-2.0
// Both ends together: the client of remote archives against the server of this program.
#include "serve/context.hpp"
#include "serve/mirror.hpp"
#include "tests/serve/remote_support.hpp"

namespace varve::serve::test {
namespace {

class RemoteServed : public ::testing::Test {
 protected:
  void SetUp() override {
    make_archive(archive_);
    std::filesystem::remove(archive_ / "seg_0000000004.jss");
    ServedStore store;
    store.name = "archive";
    store.path = archive_.string();
    context_.stores.push_back(std::move(store));
    context_.archive = 0;
    context_.settings.limits.max_entries = 2;
    ASSERT_TRUE(install_archive_endpoints(context_));
    ASSERT_TRUE(server_.start());
    if (const auto view = open_remote(server_.url(), {}, quick_options());
        !view && view.error().reason == "http-501") {
      GTEST_SKIP() << "the server has no archive endpoints yet";
    }
  }
  void TearDown() override { server_.stop(std::chrono::milliseconds(1000)); }

  ScratchDirectory scratch_;
  std::filesystem::path archive_ = scratch_ / "archive";
  static HttpServerOptions any_port() {
    HttpServerOptions options;
    options.port = 0;
    return options;
  }
  HttpServer server_{any_port()};
  Metrics metrics_;
  ServeContext context_{server_, metrics_, io::posix_file_system(), {}, {}, {}};
};

TEST_F(RemoteServed, RowsAreThoseOfTheDisk) {
  const auto local = jss::test::open_view(archive_);
  const auto remote = open_url(server_.url());
  std::vector<ScanRequest> requests(6);
  requests[1].reverse = true;
  requests[2].predicate.terms = {{"kind", "identity"}};
  requests[3].predicate.terms = {{"collection", "app.bsky.feed.*"}, {"kind", "commit"}};
  requests[4].predicate.seq_first = 590;
  requests[4].predicate.seq_last = 1810;
  requests[5].predicate.since_us = 1'783'000'000'000'000 + 911 * 1000;
  for (const ScanRequest& wanted : requests) {
    const auto there = try_scan(*remote, wanted);
    ASSERT_TRUE(there.summary) << there.summary.error().text();
    EXPECT_EQ(there.lines, jss::test::scan_lines(*local, wanted).lines);
  }
  FindingList findings;
  const auto report = remote->verify({}, findings);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->verdict, Verdict::clean);
  EXPECT_EQ(report->intact_records, 2400U);
}

TEST_F(RemoteServed, AMirrorFollowsCompaction) {
  const std::string copy = (scratch_ / "copy").string();
  const auto mirror = Mirror::open(io::posix_file_system(), io::system_environment(), server_.url(),
                                   copy, quick_options(), {});
  ASSERT_TRUE(mirror) << mirror.error().text();
  const auto first = (*mirror)->round();
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->changes.size(), 4U);
  ASSERT_TRUE(jss::compact(io::posix_file_system(), archive_.string()));
  const auto second = (*mirror)->round();
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_FALSE(second->changes.empty());
  EXPECT_EQ(try_scan(*jss::test::open_view(copy)).lines,
            jss::test::scan_lines(*jss::test::open_view(archive_)).lines);
}

}  // namespace
}  // namespace varve::serve::test
