// SPDX-License-Identifier: MIT OR Apache-2.0
// Remote archives beside the same archives on disk, and what servers do wrong.
#include "serve/remote_scan.hpp"

#include <algorithm>

#include "tests/serve/remote_support.hpp"

namespace varve::serve::test {
namespace {

using jss::test::open_view;
using jss::test::scan_lines;

class RemoteScan : public ::testing::Test {
 protected:
  // Scans both ways; gives the lines.
  std::vector<std::string> expect_same(const ScanRequest& request) {
    const auto local = open_view(sealed_only_);
    const auto remote = open_url(server_.url());
    const auto a = scan_lines(*local, request);
    const auto b = try_scan(*remote, request);
    EXPECT_TRUE(b.summary) << b.summary.error().text();
    EXPECT_EQ(a.lines, b.lines);
    EXPECT_TRUE(b.findings.empty());
    return a.lines;
  }

  ScratchDirectory scratch_;
  std::filesystem::path archive_ = make_archive(scratch_ / "archive");
  // Servers do not list the active segment, so it is not there on disk either.
  std::filesystem::path sealed_only_ = [this] {
    std::filesystem::remove(archive_ / "seg_0000000004.jss");
    return archive_;
  }();
  ArchiveServer server_{archive_};
};

ScanRequest with_terms(std::vector<FilterTerm> terms) {
  ScanRequest request;
  request.predicate.terms = std::move(terms);
  return request;
}

std::string state_of(StoreView& view) {
  class Sink final : public BatchSink {
   public:
    explicit Sink(const StoreView& view) : view_(view) {}
    Result<bool> consume(Batch batch) override {
      view_.render(Face::state, batch, {}, text);
      return true;
    }
    std::string text;

   private:
    const StoreView& view_;
  };
  Sink sink(view);
  FindingList findings;
  ScanRequest request;
  request.face = Face::state;
  EXPECT_TRUE(view.scan(request, sink, findings));
  return sink.text;
}

TEST_F(RemoteScan, EverythingForwardsBackwardsAndLimited) {
  EXPECT_EQ(expect_same({}).size(), 2400U);
  ScanRequest request;
  request.reverse = true;
  expect_same(request);
  request.limit = 77;
  EXPECT_EQ(expect_same(request).size(), 77U);
  request.reverse = false;
  expect_same(request);
  EXPECT_EQ(server_.requests("planSnapshot"), 0U);
}

TEST_F(RemoteScan, FilteredRowsAreThoseOfTheDisk) {
  const auto view = open_view(sealed_only_);
  const std::string line = scan_lines(*view).lines[1234];
  const std::size_t at = line.find("did:plc:");
  const std::string did = line.substr(at, line.find('"', at) - at);

  EXPECT_FALSE(expect_same(with_terms({{"did", did}})).empty());
  EXPECT_FALSE(expect_same(with_terms({{"kind", "identity"}})).empty());
  EXPECT_FALSE(expect_same(with_terms({{"kind", "delete"}, {"did", did}})).empty());
  EXPECT_FALSE(expect_same(with_terms({{"collection", "app.bsky.feed.*"}})).empty());
  expect_same(with_terms({{"collection", "app.bsky.feed.post"}, {"kind", "sync"}}));
  EXPECT_TRUE(expect_same(with_terms({{"did", "did:plc:nobodyofthisname22222222"}})).empty());
  EXPECT_GT(server_.requests("getBlock"), 0U);
  EXPECT_LE(server_.most_at_once(), 64U);

  ScanRequest request;
  request.predicate.seq_first = 590;
  request.predicate.seq_last = 1810;
  EXPECT_EQ(expect_same(request).size(), 1221U);
  request.predicate.seq_first = 5000;
  request.predicate.seq_last.reset();
  EXPECT_TRUE(expect_same(request).empty());
  request = {};
  request.predicate.since_us = 1'783'000'000'000'000 + 911 * 1000;
  request.predicate.until_us = 1'783'000'000'000'000 + 911 * 1100;
  EXPECT_EQ(expect_same(request).size(), 100U);
  request.reverse = true;
  request.predicate.terms = {{"did", did}};
  expect_same(request);
}

TEST_F(RemoteScan, OneSegmentIsAStoreToo) {
  const auto remote = open_url(server_.url() + "/seg_0000000002.jss");
  const auto local = open_view(sealed_only_ / "seg_0000000002.jss");
  EXPECT_EQ(try_scan(*remote).lines, scan_lines(*local).lines);
  EXPECT_EQ(try_scan(*remote, with_terms({{"kind", "create"}})).lines,
            scan_lines(*local, with_terms({{"kind", "create"}})).lines);
}

TEST_F(RemoteScan, InfoVerifyStateAndPlanAreThoseOfTheDisk) {
  const auto remote = open_url(server_.url() + "/");
  const auto local = open_view(sealed_only_);
  const auto a = remote->info();
  const auto b = local->info();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->records, b->records);
  EXPECT_EQ(a->bytes, b->bytes);
  EXPECT_EQ(a->detail.text(), b->detail.text());
  EXPECT_EQ(a->path, server_.url());

  FindingList findings;
  const auto report = remote->verify({}, findings);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict, Verdict::clean);
  EXPECT_EQ(report->intact_records, 2400U);

  const std::string here = state_of(*local);
  EXPECT_FALSE(here.empty());
  EXPECT_EQ(state_of(*remote), here);

  const auto plan = remote->snapshot_plan(with_terms({{"kind", "identity"}}), "");
  ASSERT_TRUE(plan);
  EXPECT_NE(plan->find("plannedThroughSeq"), nullptr);
}

TEST_F(RemoteScan, UnderABasePath) {
  ArchiveServer below(archive_, "/mirror/of/it");
  EXPECT_EQ(try_scan(*open_url(below.url() + "/")).lines.size(), 2400U);
  EXPECT_FALSE(open_remote(server_.url() + "/elsewhere", {}, quick_options()));
}

// Each fault strikes some requests of every service; what comes out is what is there.
TEST_F(RemoteScan, WhatPassesIsTriedAgain) {
  using Change = std::function<void(const Asked&, Answer&)>;
  const std::pair<const char*, Change> table[] = {
      {"503", [](const Asked&, Answer& a) { a = Answer::error(503, "ServiceUnavailable"); }},
      {"500", [](const Asked&, Answer& a) { a = Answer::error(500, "InternalServerError"); }},
      {"429 with Retry-After",
       [](const Asked&, Answer& a) {
         a = Answer::error(429, "TooManyRequests");
         a.set("Retry-After", "3000");
       }},
      {"429 with RateLimit-Reset",
       [](const Asked&, Answer& a) {
         a = Answer::error(429, "TooManyRequests");
         a.set("RateLimit-Reset", std::to_string(std::time(nullptr)));
       }},
      {"cut at once", [](const Asked&, Answer& a) { a.cut_after = 0; }},
      {"cut in the middle", [](const Asked&, Answer& a) { a.cut_after = a.body.size() / 2; }},
      {"longer than it is",
       [](const Asked& asked, Answer& a) {
         if (asked.service != "getSegment") {
           a.stated_length = a.body.size() + 10;
           a.cut_after = a.body.size();
         }
       }},
  };
  const auto expected = scan_lines(*open_view(sealed_only_)).lines;
  for (const auto& [name, change] : table) {
    SCOPED_TRACE(name);
    server_.tamper([&](const Asked& asked, Answer& answer) {
      if (asked.number % 3 == 1) {
        change(asked, answer);
      }
    });
    const auto scanned = try_scan(*open_url(server_.url()));
    ASSERT_TRUE(scanned.summary) << scanned.summary.error().text();
    EXPECT_EQ(scanned.lines, expected);
    const auto filtered =
        try_scan(*open_url(server_.url()), with_terms({{"collection", "app.bsky.feed.post"}}));
    EXPECT_TRUE(filtered.summary) << filtered.summary.error().text();
  }
}

TEST_F(RemoteScan, ASilentServerIsGivenUp) {
  server_.tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.stall = std::chrono::seconds(60);
    }
  });
  RemoteOptions options = quick_options();
  options.read_timeout = std::chrono::milliseconds(50);
  options.attempts = 2;
  const auto scanned = try_scan(*open_url(server_.url(), options));
  ASSERT_FALSE(scanned.summary);
  EXPECT_EQ(scanned.summary.error().code, ErrorCode::io);
  EXPECT_NE(scanned.summary.error().text().find(server_.url()), std::string::npos);
}

TEST_F(RemoteScan, RefusalsAreFinal) {
  server_.tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "planSnapshot") {
      answer = Answer::error(400, "InvalidRequest");
    }
  });
  const auto scanned = try_scan(*open_url(server_.url()), with_terms({{"kind", "sync"}}));
  ASSERT_FALSE(scanned.summary);
  EXPECT_NE(scanned.summary.error().message.find("InvalidRequest"), std::string::npos);
  EXPECT_EQ(server_.requests("planSnapshot"), 1U);
}

TEST_F(RemoteScan, AFailedBlockIsToldInItsPlaceAndTheNextOnesFollow) {
  const ScanRequest request = with_terms({{"kind", "identity"}});
  using Place = std::pair<std::string, std::uint64_t>;
  const auto place_of = [](const Asked& asked) {
    return Place(asked.query.at("segment"), std::stoull(asked.query.at("blockIndex")));
  };
  std::vector<Place> places;
  server_.tamper([&](const Asked& asked, Answer&) {
    if (asked.service == "getBlock") {
      places.push_back(place_of(asked));
    }
  });
  const auto all = try_scan(*open_url(server_.url()), request);
  ASSERT_TRUE(all.summary);
  std::ranges::sort(places);
  ASSERT_GT(places.size(), 4U);
  server_.tamper([&](const Asked& asked, Answer& answer) {
    if (asked.service == "getBlock" && place_of(asked) == places[1]) {
      answer = Answer::error(404, "BlockNotFound");
    } else if (asked.service == "getBlock" && place_of(asked) == places[2]) {
      answer.body[answer.body.size() / 2] ^= 0x10;
    }
  });
  const auto some = try_scan(*open_url(server_.url()), request);
  ASSERT_FALSE(some.summary);
  EXPECT_EQ(some.summary.error().system_errno, ENOENT);
  ASSERT_EQ(some.findings.size(), 2U);
  EXPECT_EQ(some.findings[0].code, "remote-read");
  EXPECT_EQ(some.findings[0].file, places[1].first);
  EXPECT_EQ(some.findings[0].index, places[1].second);
  EXPECT_EQ(some.findings[0].verdict, Verdict::unknown);
  EXPECT_EQ(some.findings[1].code, "Decode");
  EXPECT_EQ(some.findings[1].index, places[2].second);
  EXPECT_EQ(some.lines.size(), all.lines.size() - 2);
  EXPECT_EQ(some.lines.back(), all.lines.back());
}

TEST_F(RemoteScan, WithoutETagsOrRangesItIsOneDownload) {
  const auto expected = scan_lines(*open_view(sealed_only_)).lines;
  server_.tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.drop("ETag");
    }
  });
  EXPECT_EQ(try_scan(*open_url(server_.url())).lines, expected);
  server_.tamper([this](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.status = 200;
      answer.drop("Content-Range");
      answer.body = varve::test::read_file(archive_ / asked.query.at("name"));
    }
  });
  EXPECT_EQ(try_scan(*open_url(server_.url())).lines, expected);
}

// Bytes of two generations never come together: each answer but the probe names another one.
TEST_F(RemoteScan, AGenerationThatNeverStaysIsToldAndNotSpliced) {
  server_.tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.set("ETag", '"' + std::to_string(asked.number) + '"');
    }
  });
  const auto scanned = try_scan(*open_url(server_.url()));
  ASSERT_FALSE(scanned.summary);
  EXPECT_TRUE(is_changed_generation(scanned.summary.error()));
  EXPECT_EQ(exit_code(scanned.summary.error()), 75);
  EXPECT_TRUE(scanned.lines.empty());
}

TEST_F(RemoteScan, LiesAboutRangesAreRefused) {
  const std::pair<const char*, std::string> table[] = {
      {"another place", "bytes 1-256/999999"},
      {"another size", "bytes 0-255/1"},
      {"nonsense", "bytes all of it"},
      {"an unknown size", "bytes 0-255/*"},
  };
  for (const auto& [name, range] : table) {
    SCOPED_TRACE(name);
    server_.tamper([&](const Asked& asked, Answer& answer) {
      if (asked.service == "getSegment") {
        answer.set("Content-Range", range);
      }
    });
    const auto scanned = try_scan(*open_url(server_.url()));
    ASSERT_FALSE(scanned.summary);
    EXPECT_EQ(scanned.summary.error().reason, "remote-answer");
    EXPECT_TRUE(scanned.lines.empty());
  }
}

TEST_F(RemoteScan, HugeBodiesAreNotTaken) {
  for (const char* service : {"getSegment", "getBlock"}) {
    SCOPED_TRACE(service);
    server_.tamper([&](const Asked& asked, Answer& answer) {
      if (asked.service == service) {
        answer.stated_length = std::uint64_t{1} << 40;
        answer.cut_after = answer.body.size();
      }
    });
    const bool blocks = std::string_view(service) == "getBlock";
    const auto scanned = try_scan(*open_url(server_.url()),
                                  blocks ? with_terms({{"kind", "identity"}}) : ScanRequest{});
    ASSERT_FALSE(scanned.summary);
    EXPECT_EQ(scanned.summary.error().reason, "remote-answer");
  }
}

TEST_F(RemoteScan, CompactionWhileItIsReadLosesNoOtherRow) {
  const auto before = scan_lines(*open_view(sealed_only_)).lines;
  bool compacted = false;
  server_.tamper([&](const Asked& asked, Answer&) {
    if (asked.service == "getSegment" && asked.number == 8 && !compacted) {
      compacted = true;
      EXPECT_TRUE(jss::compact(io::posix_file_system(), archive_.string()));
    }
  });
  const auto scanned = try_scan(*open_url(server_.url()));
  ASSERT_TRUE(compacted);
  ASSERT_TRUE(scanned.summary) << scanned.summary.error().text();
  EXPECT_TRUE(scanned.findings.empty());
  const auto after = scan_lines(*open_view(sealed_only_)).lines;
  ASSERT_LT(after.size(), before.size());
  // Every row that is still there was delivered, in order, and no row that never was.
  const auto seq_of = [](const std::string& line) {
    return std::stoull(line.substr(line.find(':') + 1));
  };
  std::vector<std::uint64_t> seen;
  for (const std::string& line : scanned.lines) {
    seen.push_back(seq_of(line));
  }
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
  for (const std::string& line : after) {
    EXPECT_TRUE(std::ranges::binary_search(seen, seq_of(line)));
  }
}

}  // namespace
}  // namespace varve::serve::test
