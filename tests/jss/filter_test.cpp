// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/filter.hpp"

#include <gtest/gtest.h>

#include "jss/identifiers.hpp"
#include "jss/layout.hpp"

namespace varve::jss {
namespace {

TEST(Nsid, Rules) {
  const std::string label(63, 'a');
  for (const std::string& good :
       {std::string("app.bsky.feed.post"), std::string("a.b.c"), std::string("a-b.0c.d9"),
        "a." + label + ".c", "a.b." + label, std::string("com.example.fooBar")}) {
    EXPECT_TRUE(is_nsid(good)) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("a.b"), std::string("a..c"), std::string(".a.b.c"),
        std::string("a.b.c."), std::string("0a.b.c"), std::string("-a.b.c"), std::string("a.b-.c"),
        std::string("a.-b.c"), std::string("a.b.0c"), std::string("a.b.c-d"), "a." + label + "a.c",
        "a.b." + label + "a", std::string("a.b.c d"), std::string("$account"),
        std::string("a.b.c\xc3\xa4"), std::string("app.bsky.feed.*")}) {
    EXPECT_FALSE(is_nsid(bad)) << bad;
  }
  std::string longest = "a.b";
  while (longest.size() + 64 <= 317 - 2) {
    longest += "." + label;
  }
  longest += "." + std::string(316 - longest.size(), 'x');
  EXPECT_EQ(longest.size(), 317U);
  EXPECT_TRUE(is_nsid(longest));
  EXPECT_FALSE(is_nsid(longest + "x"));
}

TEST(CollectionWildcard, Rules) {
  EXPECT_TRUE(is_collection_wildcard("app.bsky.*"));
  EXPECT_TRUE(is_collection_wildcard("app.bsky.feed.*"));
  for (const std::string_view bad :
       {"app.*", "*", ".*", "app.bsky*", "app.bsky.feed*", "app..*", "app.bsky.*.*", "0a.b.*"}) {
    EXPECT_FALSE(is_collection_wildcard(bad)) << bad;
  }
}

TEST(Did, Rules) {
  for (const std::string_view good :
       {"did:plc:aaaaaaaaaaaaaaaaaaaaaaaa", "did:web:example.net", "did:web:localhost%3A8080",
        "did:x:a:b:c", "did:x:-", "did:x:_"}) {
    EXPECT_TRUE(is_did(good)) << good;
  }
  for (const std::string_view bad :
       {"", "did:", "did:plc", "did:plc:", "did::a", "did:Plc:a", "did:p1c:a", "DID:plc:a",
        "did:plc:a:", "did:plc:a%", "did:plc:a/b", "did:plc:a b"}) {
    EXPECT_FALSE(is_did(bad)) << bad;
  }
  EXPECT_TRUE(is_did("did:x:" + std::string(2042, 'a')));
  EXPECT_FALSE(is_did("did:x:" + std::string(2043, 'a')));
}

TEST(KindNames, RowAndPublic) {
  EXPECT_EQ(kinds_of_name("create"), 1U << 1);
  EXPECT_EQ(kinds_of_name("delete"), 1U << 3);
  EXPECT_EQ(kinds_of_name("create_resync"), 1U << 7);
  EXPECT_EQ(kinds_of_name("sync"), 1U << 6);
  EXPECT_EQ(kinds_of_name("commit"), k_commit_kinds);
  EXPECT_EQ(kinds_of_name(""), std::nullopt);
  EXPECT_EQ(kinds_of_name("Commit"), std::nullopt);
  EXPECT_EQ(kinds_of_public_name("commit"), k_commit_kinds);
  EXPECT_EQ(kinds_of_public_name("account"), 1U << 5);
  EXPECT_EQ(kinds_of_public_name("create"), std::nullopt);
  for (std::uint8_t kind = k_min_kind; kind <= k_max_kind; ++kind) {
    EXPECT_EQ((k_commit_kinds >> kind & 1) != 0, is_commit(kind));
  }
}

RowFilter compiled(const std::vector<std::string>& kinds, const std::vector<std::string>& dids,
                   const std::vector<std::string>& collections) {
  auto filter = RowFilter::compile(kinds, dids, collections);
  EXPECT_TRUE(filter);
  return filter ? *filter : RowFilter();
}

TEST(RowFilter, Section18) {
  const RowFilter all = compiled({}, {}, {});
  EXPECT_TRUE(all.empty());
  EXPECT_TRUE(all.wants(1, "did:x:a", "app.bsky.feed.post"));
  EXPECT_TRUE(all.wants(5, "", ""));

  const RowFilter feed = compiled({}, {}, {"app.bsky.feed.*", "app.bsky.graph.follow"});
  EXPECT_TRUE(feed.wants(1, "did:x:a", "app.bsky.feed.post"));
  EXPECT_TRUE(feed.wants(1, "did:x:a", "app.bsky.feed.post.deeper"));
  EXPECT_FALSE(feed.wants(1, "did:x:a", "app.bsky.feedback.x"));
  EXPECT_TRUE(feed.wants(7, "did:x:a", "app.bsky.graph.follow"));
  EXPECT_FALSE(feed.wants(3, "did:x:a", "app.bsky.graph.followx"));
  EXPECT_TRUE(feed.wants(3, "did:x:a", "")) << "a commit row without a collection passes";
  EXPECT_TRUE(feed.wants(4, "did:x:a", "")) << "markers pass a collection filter";

  const RowFilter commits = compiled({"commit"}, {}, {"app.bsky.feed.*"});
  EXPECT_FALSE(commits.wants(4, "did:x:a", ""));
  EXPECT_TRUE(commits.wants(3, "did:x:a", ""));

  const RowFilter person = compiled({"create", "sync"}, {"did:x:a", "did:x:b", "did:x:a"}, {});
  EXPECT_EQ(person.did_keys().size(), 2U);
  EXPECT_TRUE(person.wants(1, "did:x:b", "a.b.c"));
  EXPECT_FALSE(person.wants(2, "did:x:b", "a.b.c"));
  EXPECT_FALSE(person.wants(1, "did:x:c", "a.b.c"));
  EXPECT_TRUE(person.wants(6, "did:x:a", ""));
}

TEST(RowFilter, RefusesWhatIsNotValid) {
  const auto reason = [](const Result<RowFilter>& filter) {
    return filter ? std::string() : filter.error().reason;
  };
  EXPECT_EQ(reason(RowFilter::compile({"commits"}, {}, {})), "kind");
  EXPECT_EQ(reason(RowFilter::compile({}, {"plc:a"}, {})), "did");
  EXPECT_EQ(reason(RowFilter::compile({}, {}, {"app.*"})), "collection");
  EXPECT_EQ(reason(RowFilter::compile({}, {}, {""})), "collection");
}

}  // namespace
}  // namespace varve::jss
