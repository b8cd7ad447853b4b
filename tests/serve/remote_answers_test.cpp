// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include "serve/remote_entries.hpp"
#include "serve/remote_scan.hpp"

namespace varve::serve {
namespace {

std::string plan_with(const std::string& entry) {
  return R"({"plannedThroughSeq":5,"sealedTipSeq":9,"segments":[)" + entry + "]}";
}
std::string entry_with(const std::string& rest) {
  return R"({"name":"seg_0000000001.jss","index":1,"checksum":"00000000000000aa",)" + rest + "}";
}

TEST(RemoteAnswers, APlanIsRead) {
  const auto plan =
      parse_plan(plan_with(entry_with(R"("minSeq":1,"maxSeq":4,"mode":"blocks",)"
                                      R"("blocks":[{"first":2,"last":3},{"first":7,"last":7}])")));
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->planned_through_seq, 5U);
  ASSERT_EQ(plan->segments.size(), 1U);
  EXPECT_EQ(plan->segments[0].checksum, 0xAAU);
  ASSERT_EQ(plan->segments[0].blocks.size(), 2U);
  EXPECT_EQ(plan->segments[0].blocks[1].last, 7U);
}

TEST(RemoteAnswers, PlansThatBreakARuleAreRefused) {
  const std::string seqs = R"("minSeq":1,"maxSeq":4,)";
  const std::string table[] = {
      "",
      "[]",
      "{",
      R"({"plannedThroughSeq":5,"sealedTipSeq":9})",
      R"({"plannedThroughSeq":-1,"sealedTipSeq":9,"segments":[]})",
      R"({"plannedThroughSeq":10,"sealedTipSeq":9,"segments":[]})",
      R"({"plannedThroughSeq":1.5,"sealedTipSeq":9,"segments":[]})",
      R"({"plannedThroughSeq":1,"sealedTipSeq":18446744073709551615,"segments":[]})",
      plan_with("7"),
      plan_with(entry_with(R"("minSeq":5,"maxSeq":4,"mode":"segment")")),
      plan_with(entry_with(R"("minSeq":-5,"maxSeq":4,"mode":"segment")")),
      plan_with(entry_with(seqs + R"("mode":"pieces")")),
      plan_with(entry_with(seqs + R"("mode":"blocks")")),
      plan_with(entry_with(seqs + R"("mode":"blocks","blocks":[])")),
      plan_with(entry_with(seqs + R"("mode":"blocks","blocks":[{"first":3,"last":2}])")),
      plan_with(entry_with(seqs + R"("mode":"blocks","blocks":[{"first":0,"last":4294967295}])")),
      plan_with(entry_with(
          seqs + R"("mode":"blocks","blocks":[{"first":3,"last":4},{"first":1,"last":1}])")),
      plan_with(R"({"name":"../x","index":1,"checksum":"00000000000000aa","minSeq":1,"maxSeq":4,)"
                R"("mode":"segment"})"),
      plan_with(R"({"name":"seg_0000000002.jss","index":1,"checksum":"00000000000000aa",)"
                R"("minSeq":1,"maxSeq":4,"mode":"segment"})"),
      plan_with(R"({"name":"seg_0000000001.jss","index":1,"checksum":"aa","minSeq":1,"maxSeq":4,)"
                R"("mode":"segment"})"),
  };
  for (const std::string& json : table) {
    const auto plan = parse_plan(json);
    ASSERT_FALSE(plan) << json;
    EXPECT_EQ(plan.error().reason, "remote-answer");
  }
}

TEST(RemoteAnswers, PagesOfSegmentsAscend) {
  const auto segment = [](const char* name, const char* index) {
    return std::string(R"({"name":")") + name + R"(","index":)" + index +
           R"(,"sizeBytes":300,"checksum":"00000000000000aa"})";
  };
  const std::string one = segment("seg_0000000001.jss", "1");
  const std::string two = segment("seg_0000000002.jss", "2");
  const auto page = parse_segment_page(R"({"cursor":"3","segments":[)" + one + "," + two + "]}");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->cursor, "3");
  EXPECT_EQ(page->segments.size(), 2U);
  EXPECT_FALSE(parse_segment_page(R"({"segments":[)" + two + "," + one + "]}"));
  EXPECT_FALSE(parse_segment_page(R"({"cursor":"3","segments":[]})"));
  EXPECT_FALSE(parse_segment_page("<html>"));
}

TEST(RemoteAnswers, ContentRanges) {
  const auto range = parse_content_range("bytes 0-99/1000");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->last, 99U);
  EXPECT_EQ(range->size, 1000U);
  for (const char* text : {"", "bytes", "bytes 0-99/*", "bytes */5", "bytes 5-4/10",
                           "bytes 0-10/10", "bytes 0-9/10x", "items 0-9/10", "bytes 0 -9/10"}) {
    EXPECT_FALSE(parse_content_range(text)) << text;
  }
}

TEST(RemoteAnswers, AddressesAreTakenApart) {
  const auto plain = RemoteAddress::parse("http://127.0.0.1:8080/");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->archive_url(), "http://127.0.0.1:8080");
  const auto deep = RemoteAddress::parse("https://example.org/a/b/seg_000000000z.jss");
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->archive_url(), "https://example.org/a/b");
  EXPECT_EQ(deep->segment, "seg_000000000z.jss");
  for (const char* url : {"http://", "http:///x", "http://:80", "http://user:word@host/",
                          "http://host/?a=b", "http://host/#x", "http://host/a b", "ftp://host"}) {
    EXPECT_FALSE(RemoteAddress::parse(url)) << url;
  }
}

TEST(RemoteAnswers, APlanIsAskedForWhatTheProtocolCanSay) {
  Predicate predicate;
  EXPECT_FALSE(plan_request_of(predicate));
  predicate.since_us = 5;
  EXPECT_FALSE(plan_request_of(predicate));
  predicate.terms = {{"kind", "create"}, {"kind", "delete"}, {"collection", "a.b.c"}};
  predicate.seq_first = 10;
  auto request = plan_request_of(predicate);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kinds, std::vector<std::string>{"commit"});
  EXPECT_EQ(request->after_seq, 9U);
  EXPECT_EQ(request->collections.size(), 1U);
  // Collections without commits are an error to a server, and mean nothing to a filter.
  predicate.terms = {{"kind", "sync"}, {"collection", "a.b.c"}};
  request = plan_request_of(predicate);
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->collections.empty());
  // More than a server takes: asked without, filtered here.
  predicate = {};
  for (int i = 0; i < 10'001; ++i) {
    predicate.terms.push_back({"did", "did:plc:" + std::to_string(i)});
  }
  EXPECT_FALSE(plan_request_of(predicate));
}

}  // namespace
}  // namespace varve::serve
