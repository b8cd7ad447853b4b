// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as an archive has them, made up: many accounts of which a few are busy, records of real
// shapes, updates and deletes of what was created, now and then a marker.
#pragma once

#include <random>
#include <string>

#include "fixture_rows.hpp"
#include "jss/dag_cbor_encode.hpp"

namespace varve::jss::test {

class RowMaker {
 public:
  explicit RowMaker(std::uint64_t seed, std::uint64_t accounts = 2000)
      : random_(seed), accounts_(accounts) {}

  // The next row; its seq is left to the writer.
  Row next() {
    ++count_;
    Row row;
    row.witnessed_at = static_cast<std::int64_t>(1'783'000'000'000'000 + 911 * count_);
    row.did = "did:plc:" + base_32(busy_account() * 0x9E3779B97F4A7C15U, 24);
    const std::uint64_t dice = random_() % 1000;
    if (dice < 12) {
      return marker(std::move(row), dice);
    }
    row.kind = dice < 60 ? 3 : dice < 110 ? 2 : dice < 130 ? 7 : 1;
    row.collection = k_collections[random_() % 4];
    // Few paths an account, so that later rows meet earlier ones.
    row.rkey = "3k" + base_32(row.kind == 1 ? count_ : 1 + random_() % count_, 11);
    row.rev = "3m" + base_32(count_, 11);
    if (row.kind != 3) {
      row.payload = record(row.collection);
    }
    return row;
  }

 private:
  static constexpr const char* k_collections[] = {"app.bsky.feed.like", "app.bsky.feed.post",
                                                  "app.bsky.graph.follow", "app.bsky.feed.repost"};

  static std::string base_32(std::uint64_t value, std::size_t digits) {
    std::string out(digits, '2');
    for (std::size_t i = digits; i-- > 0; value /= 32) {
      out[i] = "234567abcdefghijklmnopqrstuvwxyz"[value % 32];
    }
    return out;
  }
  std::uint64_t busy_account() {
    const std::uint64_t any = random_() % accounts_;
    return random_() % 2 == 0 ? any % (1 + accounts_ / 20) : any;
  }
  static std::string encode(const std::string& json) {
    base::Bytes out;
    EXPECT_EQ(encode_dag_cbor(json, out), nullptr) << json;
    return std::string(base::as_text(out));
  }
  Row marker(Row row, std::uint64_t dice) const {
    const std::string seq = std::to_string(count_);
    const std::string head =
        R"({"did":")" + row.did + R"(","seq":)" + seq + R"(,"time":"2026-07-02T10:00:00.000Z")";
    row.kind = dice < 8 ? 4 : dice < 11 ? 5 : 6;
    if (row.kind == 4) {
      row.payload = encode(head + "}");
    } else if (row.kind == 5) {
      row.payload = encode(head + (count_ % 2 == 0 ? R"(,"active":true})"
                                                   : R"(,"active":false,"status":"deleted"})"));
    } else {
      row.rev = "3mptbypluud22";
      row.payload = encode(head + R"(,"rev":"3mptbypluud22","blocks":{"$bytes":""}})");
    }
    return row;
  }
  std::string record(const std::string& collection) {
    std::string text;
    if (collection == "app.bsky.feed.post") {
      static constexpr const char* k_words[] = {"the",  "river", "carried", "silt",  "and",
                                                "laid", "down",  "another", "layer", "this",
                                                "year", "again", "while",   "we",    "slept"};
      for (std::uint64_t words = 3 + random_() % 40; words > 0; --words) {
        text += k_words[random_() % std::size(k_words)];
        text += ' ';
      }
      return encode(R"({"$type":"app.bsky.feed.post","text":")" + text +
                    R"(","langs":["en"],"createdAt":"2026-07-02T10:00:00.000Z"})");
    }
    return encode(R"({"$type":")" + collection + R"(","subject":{"uri":"at://did:plc:)" +
                  base_32(random_() % accounts_, 24) + R"(/app.bsky.feed.post/3k)" +
                  base_32(random_(), 11) + R"("},"createdAt":"2026-07-02T10:00:00.000Z"})");
  }

  std::mt19937_64 random_;
  std::uint64_t accounts_;
  std::uint64_t count_ = 0;
};

}  // namespace varve::jss::test
