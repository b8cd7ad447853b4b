// SPDX-License-Identifier: MIT OR Apache-2.0
// The published vectors of table content and of resolution, in both dialects.
#include <array>

#include "kladde/resolver.hpp"
#include "kladde/statement.hpp"
#include "tests/kladde/helpers.hpp"

namespace varve::kladde::test {
namespace {

using enum StatementKind;

struct Row {
  Statement statement;
  const char* payload;  // hex
  const char* bytes;    // hex
};

Row row(Id id, StatementKind kind, std::uint32_t offset, std::uint32_t size, std::uint64_t address,
        const char* payload, const char* bytes, bool sizing = false) {
  Statement out;
  out.id = id;
  out.kind = kind;
  out.offset = offset;
  out.size = size;
  out.address = address;
  out.sizing = sizing;
  return {out, payload, bytes};
}

void expect_rows(const std::vector<Row>& rows, base::ByteSpan content,
                 const std::vector<PageNumber>& children, Dialect dialect) {
  TableEncoder encoder(dialect, k_max_page_content);
  for (const PageNumber child : children) {
    EXPECT_TRUE(encoder.add_child(child));
  }
  encoder.end_children();
  TableDecoder decoder(content, dialect);
  for (const PageNumber child : children) {
    EXPECT_EQ(decoder.next_child().value(), std::optional(child));
  }
  EXPECT_EQ(decoder.next_child().value(), std::optional<PageNumber>());
  for (const Row& expected : rows) {
    SCOPED_TRACE(expected.bytes);
    const std::size_t before = encoder.size();
    EXPECT_TRUE(encoder.add(expected.statement, hex(expected.payload)));
    EXPECT_EQ(base::to_hex(encoder.content().subspan(before)), base::to_hex(hex(expected.bytes)));
    const auto decoded = decoder.next_statement();
    ASSERT_TRUE(decoded && *decoded);
    const Statement& statement = **decoded;
    EXPECT_EQ(statement.id, expected.statement.id);
    EXPECT_EQ(statement.kind, expected.statement.kind);
    EXPECT_EQ(statement.offset, expected.statement.offset);
    EXPECT_EQ(statement.size, expected.statement.size);
    EXPECT_EQ(statement.sizing, expected.statement.sizing);
    if (statement.kind == ref) {
      EXPECT_EQ(statement.address, expected.statement.address);
    }
    if (statement.kind == in_line) {
      EXPECT_EQ(base::to_hex(content.subspan(statement.address, statement.size)),
                base::to_hex(hex(expected.payload)));
      EXPECT_EQ(statement.address, encoder.payload_position());
    }
  }
  EXPECT_FALSE(*decoder.next_statement());
  EXPECT_EQ(base::to_hex(encoder.content()), base::to_hex(content));
}

TEST(Statements, TableContentOfDialectA) {
  const base::Bytes content =
      hex("04 05 00 03 00 00 64 8b a0 01 00 01 00 14 00 02 00 04 04 02 07 00 01 02 03 00 03 2f"
          "df 07 00 07 01 8b 40");
  ASSERT_EQ(content.size(), 35U);
  expect_rows({row(3, ref, 0, 100, 20491, "", "03 00 00 64 8b a0 01"),
               row(3, zero, 100, 20, 0, "", "00 01 00 14"),
               row(3, shrink, 120, 0, 0, "", "00 02 00"), row(7, tombstone, 0, 0, 0, "", "04 04"),
               row(9, in_line, 0, 3, 0, "01 02 03", "02 07 00 01 02 03"),
               row(9, grow, 50, 0, 0, "", "00 03 2f"),
               row(1000, ref, 7, 1, 8203, "", "df 07 00 07 01 8b 40")},
              content, {4, 9}, Dialect::a);
  std::array<std::byte, k_page_bytes> page{};
  std::copy(content.begin(), content.end(), page.begin() + k_content_offset);
  seal_page(page, k_kind_table, 4, content.size());
  EXPECT_EQ(base::to_hex(base::sha256(page)),
            "c1addeefbd62eb073121b8b615237d41ca097d802f46b9d627a37d43e1c73a1b");
}

TEST(Statements, LargestInline) {
  const std::string zeros(251 * 2, '0');
  base::Bytes content = hex("00 01 ff 00" + zeros + "00 05 00 7a");
  expect_rows({row(1, in_line, 0, 251, 0, zeros.c_str(), ("01 ff 00" + zeros).c_str()),
               row(1, in_line, 251, 1, 0, "7a", "00 05 00 7a")},
              content, {}, Dialect::a);
}

TEST(Statements, TableContentOfDialectB) {
  expect_rows(
      {row(3, ref, 0, 100, 20491, "", "03 00 00 64 8b a0 01"),
       row(3, zero, 100, 20, 0, "", "00 03 00 14", true), row(7, tombstone, 0, 0, 0, "", "04 04"),
       row(9, in_line, 0, 3, 0, "01 02 03", "02 0a 00 01 02 03"),
       row(9, size, 50, 0, 0, "", "00 05 2f"),
       row(10, in_line, 0, 2, 0, "41 42", "01 09 00 41 42", true),
       row(11, size, 0, 0, 0, "", "01 05 00"),
       row(1000, ref, 7, 1, 8203, "", "dd 07 01 07 01 8b 40", true)},
      hex("00 03 00 00 64 8b a0 01 00 03 00 14 04 04 02 0a 00 01 02 03 00 05 2f 01 09 00 "
          "41 42 01 05 00 dd 07 01 07 01 8b 40"),
      {}, Dialect::b);
}

TEST(Statements, EncoderRefusesWhatDoesNotFitAndStaysAsItWas) {
  TableEncoder encoder(Dialect::a, 9);
  EXPECT_TRUE(encoder.add_child(200));
  encoder.end_children();
  const Statement wide = row(1, ref, 0, 100, 1 << 20, "", "").statement;
  EXPECT_FALSE(encoder.add(wide, {}));
  EXPECT_EQ(encoder.size(), 3U);
  EXPECT_TRUE(encoder.add(row(1, zero, 0, 100, 0, "", "").statement, {}));
}

// A statement with the epoch it is said in; payloads as letters.
struct Said {
  std::uint64_t epoch;
  StatementKind kind;
  std::uint32_t offset = 0;
  std::string payload{};  // inline
  std::uint32_t size = 0;
  bool sizing = false;
};

// Resolves statements of id 7; nullopt if it does not exist, "!word" on a refusal.
std::optional<std::string> resolved(const std::vector<Said>& said, Dialect dialect) {
  std::vector<Statement> statements;
  std::vector<TablePage> pages;
  std::string payloads;
  for (const Said& one : said) {
    Statement statement;
    statement.id = 7;
    statement.kind = one.kind;
    statement.offset = one.offset;
    statement.size =
        one.kind == in_line ? static_cast<std::uint32_t>(one.payload.size()) : one.size;
    statement.sizing = one.sizing;
    statement.table = static_cast<std::uint32_t>(pages.size());
    statement.address = payloads.size();
    payloads += one.payload;
    statements.push_back(statement);
    TablePage page;
    page.page = static_cast<PageNumber>(10 + pages.size());
    page.epoch = one.epoch;
    pages.push_back(page);
  }
  const Resolution resolution = resolve(statements, pages, dialect);
  if (resolution.fault) {
    return std::string("!") + resolution.fault->word;
  }
  if (!resolution.allocation.exists) {
    return std::nullopt;
  }
  std::string out(resolution.allocation.size, '.');
  resolution.allocation.fragments.for_each([&](const Fragment& fragment) {
    if (fragment.has_bytes()) {
      out.replace(fragment.start, fragment.size, payloads, fragment.address, fragment.size);
    }
  });
  return out;
}

TEST(Statements, ResolutionOfDialectA) {
  const auto is = [](const std::vector<Said>& said) { return resolved(said, Dialect::a); };
  EXPECT_EQ(is({{1, in_line, 0, "abcdefgh"}, {2, in_line, 2, "XY"}}), "abXYefgh");
  EXPECT_EQ(is({{1, in_line, 0, "abcdefgh"}, {2, zero, 3, "", 2}}), "abc..fgh");
  EXPECT_EQ(is({{3, in_line, 0, "abcdefghij"}, {5, shrink, 3}, {8, grow, 8}}), "abc.....");
  EXPECT_EQ(is({{3, in_line, 0, "abcdefghij"}, {5, shrink, 2}, {9, in_line, 6, "QR"}}), "ab....QR");
  EXPECT_EQ(is({{3, in_line, 0, "abcdefghij"}, {5, shrink, 4}}), "abcd");
  EXPECT_EQ(is({{10, shrink, 6}, {11, in_line, 0, "ab"}}), "ab....");
  EXPECT_EQ(is({{3, in_line, 0, "abcd"}, {5, tombstone}}), std::nullopt);
  EXPECT_EQ(is({{3, in_line, 0, "abcdef"}, {5, tombstone}, {6, grow, 5}, {8, in_line, 1, "Z"}}),
            ".Z...");
  EXPECT_EQ(is({{4, grow, 4}}), "....");
  EXPECT_EQ(is({{4, grow, 0}}), "");
  EXPECT_EQ(is({{3, in_line, 0, "abc"}, {4, tombstone}, {5, grow, 0}}), "");
  EXPECT_EQ(is({{2, in_line, 0, "abcdefghij"},
                {4, shrink, 3},
                {6, grow, 9},
                {7, in_line, 8, "K"},
                {8, shrink, 7}}),
            "abc....");
  EXPECT_EQ(is({{2, grow, 9}, {4, shrink, 3}}), "...");
  EXPECT_EQ(is({{2, in_line, 0, "abcdef"}, {4, in_line, 1, "XY"}, {4, shrink, 3}}), "aXY");
}

TEST(Statements, ResolutionDoesNotDependOnTheOrderOfPages) {
  EXPECT_EQ(resolved({{8, grow, 8}, {5, shrink, 3}, {3, in_line, 0, "abcdefghij"}}, Dialect::a),
            "abc.....");
  EXPECT_EQ(
      resolved({{8, in_line, 1, "Z"}, {5, tombstone}, {6, grow, 5}, {3, in_line, 0, "abcdef"}},
               Dialect::a),
      ".Z...");
}

TEST(Statements, ResolutionOfDialectB) {
  const auto is = [](const std::vector<Said>& said) { return resolved(said, Dialect::b); };
  const Said content{3, in_line, 0, "abcdefghij", 0, true};
  EXPECT_EQ(is({content, {5, size, 3}}), "abc");
  EXPECT_EQ(is({content, {5, size, 3}, {8, zero, 3, "", 5, true}}), "abc.....");
  EXPECT_EQ(is({content, {5, size, 3}, {8, size, 8}}), "abcdefgh");
  EXPECT_EQ(is({content, {5, size, 3}, {8, size, 12}}), std::string("!") + word::uncovered);
  EXPECT_EQ(is({content, {3, size, 4}}), std::string("!") + word::two_sizes);
  EXPECT_EQ(is({content, {5, tombstone}}), std::nullopt);
}

TEST(Statements, KnowsWhatTheSizeRestsOn) {
  const auto one = [](StatementKind kind, std::uint32_t offset, std::uint32_t bytes) {
    Statement out;
    out.id = 7;
    out.kind = kind;
    out.offset = offset;
    out.size = bytes;
    return out;
  };
  const auto page = [](PageNumber number, std::uint64_t epoch) {
    TablePage out;
    out.page = number;
    out.epoch = epoch;
    return out;
  };
  const std::vector<TablePage> pages = {page(10, 3), page(11, 5), page(12, 8)};
  std::vector<Statement> statements = {one(zero, 0, 10), one(shrink, 3, 0), one(grow, 8, 0)};
  statements[1].table = 1;
  statements[2].table = 2;
  const Allocation allocation = resolve(statements, pages, Dialect::a).allocation;
  EXPECT_EQ(allocation.size, 8U);
  EXPECT_EQ(allocation.anchor_table, 11U);
  EXPECT_EQ(allocation.anchor_bound, 3U);
  EXPECT_EQ(allocation.witness_table, 12U);
  EXPECT_EQ(allocation.present, 3U);
  EXPECT_EQ(allocation.older, 1U);
  EXPECT_EQ(allocation.fragments.count(), 2U);

  // Over nothing older an anchor denies nothing, and only says a size.
  statements.erase(statements.begin());
  const Allocation alone = resolve(statements, pages, Dialect::a).allocation;
  EXPECT_EQ(alone.anchor_table, k_no_table);
  EXPECT_EQ(alone.witness_table, 12U);
  EXPECT_EQ(alone.fragments.count(), 0U);
}

}  // namespace
}  // namespace varve::kladde::test
