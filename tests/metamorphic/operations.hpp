// SPDX-License-Identifier: MIT OR Apache-2.0
// Random operations of each format, as lines that append takes.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "base/text_coding.hpp"
#include "tests/arena/transactions.hpp"
#include "varve/store.hpp"

namespace varve::test {

using Random = std::mt19937_64;

inline std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

inline std::string arena_line(arena::test::Transactions& source) {
  return "{\"payload\":{\"mutations\":" + source.next().substr(arena::k_txn2_magic.size()) + "}}";
}

inline std::string kladde_line(Random& random) {
  const auto id = [&] { return 1 + below(random, 9); };
  const auto offset = [&] { return below(random, 6000); };
  const std::string bytes(below(random, 3000), static_cast<char>('a' + below(random, 26)));
  const std::string text = "{\"$bytes\":\"" + base::to_base64(base::as_bytes(bytes)) + "\"}";
  switch (below(random, 8)) {
    case 0:
      return fmt::format(R"({{"op":"free","id":{}}})", id());
    case 1:
      return fmt::format(R"({{"op":"resize","id":{},"size":{}}})", id(), offset());
    case 2:
      return fmt::format(R"({{"op":"splice","id":{},"offset":{},"old_len":{},"bytes":{}}})", id(),
                         offset(), below(random, 900), text);
    case 3:
    case 4:
      return fmt::format(
          R"({{"op":"{}","src":{},"src_offset":{},"len":{},"dst":{},"dst_offset":{}}})",
          below(random, 2) == 0 ? "copy" : "move", id(), offset(), below(random, 4000), id(),
          offset());
    default:
      return fmt::format(R"({{"op":"write","id":{},"offset":{},"bytes":{}}})", id(), offset(),
                         text);
  }
}

inline std::string jss_line(Random& random, std::uint64_t number) {
  static constexpr const char* k_kinds[] = {"create", "update", "delete"};
  const char* kind = k_kinds[below(random, 3)];
  std::string record;
  if (kind != k_kinds[2]) {
    record = fmt::format(R"(,"cid":"","record":{{"text":"{}"}})",
                         std::string(below(random, 200), static_cast<char>('a' + number % 26)));
  }
  return fmt::format(
      R"({{"witnessed_at":{},"kind":"{}","did":"did:plc:{}","collection":"a.b.c","rkey":"{}",)"
      R"("rev":"r{}"{}}})",
      1000 + number, kind, below(random, 5), below(random, 12), number, record);
}

// `count` operations that the format's writer takes in this order.
inline std::vector<std::string> random_operations(const Format& format, std::uint64_t seed,
                                                  std::uint64_t count) {
  Random random(seed);
  arena::test::Transactions transactions(static_cast<std::uint32_t>(seed), false);
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (format.name() == "arena") {
      out.push_back(arena_line(transactions));
    } else if (format.name() == "kladde") {
      out.push_back(kladde_line(random));
    } else if (format.name() == "jss") {
      out.push_back(jss_line(random, i));
    } else {
      const std::string text(below(random, 900), static_cast<char>('a' + below(random, 26)));
      out.push_back(format.probe_record(i, text)->line);
    }
  }
  return out;
}

}  // namespace varve::test
