// SPDX-License-Identifier: MIT OR Apache-2.0
// The published vectors of integers, checksums, pages, records, transactions and the journal, in
// both directions.
#include <array>

#include "base/cursor.hpp"
#include "kladde/journal_writer.hpp"
#include "kladde/record.hpp"
#include "tests/kladde/helpers.hpp"

namespace varve::kladde::test {
namespace {

TEST(Vectors, Crc32cOfAnEpoch) {
  EXPECT_EQ(chain_start(7), 0x7671B78EU);
  // Feeding a message its own stored CRC ends in one state whatever the message.
  for (const std::string_view message : {"a", "hello"}) {
    base::Bytes bytes = bytes_of(message);
    base::ByteWriter(bytes).u32le(base::crc32c(bytes));
    EXPECT_EQ(base::crc32c(bytes), 0x48674BC7U);
  }
}

TEST(Vectors, Leb128) {
  const std::vector<std::pair<std::uint64_t, const char*>> rows = {
      {0, "00"},
      {1, "01"},
      {63, "3f"},
      {64, "40"},
      {127, "7f"},
      {128, "8001"},
      {129, "8101"},
      {255, "ff01"},
      {256, "8002"},
      {300, "ac02"},
      {4081, "f11f"},
      {4096, "8020"},
      {16383, "ff7f"},
      {16384, "808001"},
      {2097151, "ffff7f"},
      {2097152, "80808001"},
      {268435455, "ffffff7f"},
      {268435456, "8080808001"},
      {4294967295, "ffffffff0f"},
      {4294967296, "8080808010"},
      {281474976710656, "80808080808040"},
      {9223372036854775808U, "80808080808080808001"},
      {18446744073709551615U, "ffffffffffffffffff01"}};
  for (const auto& [value, text] : rows) {
    base::Bytes out;
    base::ByteWriter(out).varint(value);
    EXPECT_EQ(base::to_hex(out), text);
    EXPECT_EQ(varint_bytes(value), out.size());
    base::ByteCursor cursor(out);
    EXPECT_EQ(cursor.varint(), value);
  }
  const std::vector<std::pair<const char*, std::optional<std::uint64_t>>> readings = {
      {"8001", 128},
      {"8000", 0},
      {"858000", 5},
      {"80", std::nullopt},
      {"", std::nullopt},
      {"80808080808080808002", std::nullopt},
      {"8080808080808080808001", std::nullopt}};
  for (const auto& [text, value] : readings) {
    const base::Bytes bytes = hex(text);
    EXPECT_EQ(base::ByteCursor(bytes).varint(), value) << text;
  }
}

struct RecordRow {
  Record record;
  const char* payload;
  const char* bytes;  // length, records, crc as the first transaction of epoch 7
};

Record record_of(RecordKind kind, Id id, std::uint32_t offset = 0, std::uint32_t length = 0,
                 std::uint32_t old_length = 0, Id source = 0, std::uint32_t source_offset = 0) {
  Record out;
  out.kind = kind;
  out.id = id;
  out.offset = offset;
  out.length = length;
  out.old_length = old_length;
  out.source = source;
  out.source_offset = source_offset;
  return out;
}

std::vector<RecordRow> record_rows() {
  using enum RecordKind;
  return {{record_of(free, 5), "", "02 01 05 ca 34 8c 29"},
          {record_of(free, 300), "", "03 01 ac 02 e2 49 bb cc"},
          {record_of(resize, 5), "", "03 02 05 00 52 bb 50 cd"},
          {record_of(resize, 1, 0, 4294967295), "", "07 02 01 ff ff ff ff 0f 91 d4 7d b6"},
          {record_of(write, 5, 3, 3), "abc", "07 03 05 03 03 61 62 63 c0 df 2b f4"},
          {record_of(write, 5, 1000, 0), "", "05 03 05 e8 07 00 0d 67 38 83"},
          {record_of(splice, 5, 2, 3, 4), "XYZ", "08 04 05 02 04 03 58 59 5a 1b 93 ec b6"},
          {record_of(copy, 9, 200, 6, 0, 5, 1), "", "07 05 05 01 06 09 c8 01 a2 4b 1c f7"},
          {record_of(move, 5, 4, 8, 0, 5, 0), "", "06 06 05 00 08 05 04 7e db 62 06"}};
}

// A file of pages in memory that a segment is written to and read from.
class Segment {
 public:
  explicit Segment(std::uint64_t pages)
      : files_(memory(base::Bytes(pages * k_page_bytes))),
        file_(must(files_->open_file(k_path, io::OpenMode::read_write))) {}
  io::File& file() { return *file_; }
  base::Bytes page(PageNumber number) {
    base::Bytes out(k_page_bytes);
    must(file_->read_at(out, std::uint64_t{number} * k_page_bytes));
    return out;
  }
  // The record bytes of each transaction that a walk finds.
  std::vector<base::Bytes> walk(std::uint64_t epoch, PageNumber first) {
    PageReader reader(*file_, must(file_->identity()).size_bytes / k_page_bytes);
    JournalWalker walker(reader, epoch, first, UINT64_MAX);
    std::vector<base::Bytes> out;
    while (const auto transaction = must(walker.next())) {
      out.emplace_back(transaction->records.begin(), transaction->records.end());
    }
    return out;
  }

 private:
  std::unique_ptr<io::SimulatedFileSystem> files_;
  std::unique_ptr<io::File> file_;
};

TEST(Vectors, RecordsAndTransactions) {
  std::vector<Extent> extents;
  for (const RecordRow& row : record_rows()) {
    SCOPED_TRACE(row.bytes);
    base::Bytes records;
    append_record(records, row.record, base::as_bytes(row.payload));
    Segment segment(8);
    JournalWriter writer;
    writer.begin(7, 5);
    must(writer.append(segment.file(), records, {}, extents));
    const base::Bytes expected = hex(row.bytes);
    const base::Bytes page = segment.page(5);
    EXPECT_EQ(base::to_hex(base::ByteSpan(page).first(expected.size())), base::to_hex(expected));

    const auto read = segment.walk(7, 5);
    ASSERT_EQ(read.size(), 1U);
    RecordDecoder decoder(read[0]);
    const auto record = decoder.next();
    ASSERT_TRUE(record && *record);
    EXPECT_EQ((*record)->kind, row.record.kind);
    EXPECT_EQ((*record)->id, row.record.id);
    EXPECT_EQ((*record)->offset, row.record.offset);
    EXPECT_EQ((*record)->length, row.record.length);
    EXPECT_EQ((*record)->old_length, row.record.old_length);
    EXPECT_EQ((*record)->source, row.record.source);
    EXPECT_EQ((*record)->source_offset, row.record.source_offset);
    if ((*record)->has_payload()) {
      EXPECT_EQ(base::as_text(decoder.payload(**record)), row.payload);
    }
    EXPECT_FALSE(decoder.next()->has_value());
  }
  Segment segment(8);
  JournalWriter writer;
  writer.begin(7, 5);
  must(writer.append(segment.file(), {}, {}, extents));
  EXPECT_EQ(base::to_hex(base::ByteSpan(segment.page(5)).first(5)), "00b9a6857c");
  EXPECT_EQ(segment.walk(7, 5).size(), 1U);
}

TEST(Vectors, SegmentOfThreeTransactions) {
  using enum RecordKind;
  Segment segment(8);
  JournalWriter writer;
  writer.begin(7, 5);
  std::vector<Extent> extents;
  base::Bytes records;
  append_record(records, record_of(resize, 1, 0, 10), {});
  must(writer.append(segment.file(), records, {}, extents));
  EXPECT_EQ(writer.chain(), 0xE838F2B6U);
  records.clear();
  append_record(records, record_of(write, 1, 2, 2), base::as_bytes("hi"));
  append_record(records, record_of(move, 1, 6, 2, 0, 1, 2), {});
  append_record(records, record_of(write, 2, 0, 3), base::as_bytes("two"));
  must(writer.append(segment.file(), records, {}, extents));
  EXPECT_EQ(writer.chain(), 0xADCE3EF9U);
  records.clear();
  append_record(records, record_of(splice, 2, 1, 5, 1), base::as_bytes("WELVE"));
  append_record(records, record_of(free, 9), {});
  must(writer.append(segment.file(), records, {}, extents));
  EXPECT_EQ(writer.chain(), 0xC1D39BA2U);
  const base::Bytes expected =
      hex("03 02 01 0a b6 f2 38 e8"
          "13 03 01 02 02 68 69 06 01 02 02 01 06 03 02 00 03 74 77 6f f9 3e ce ad"
          "0c 04 02 01 01 05 57 45 4c 56 45 01 09 a2 9b d3 c1");
  base::Bytes page = segment.page(5);
  EXPECT_EQ(base::to_hex(base::ByteSpan(page).first(expected.size())), base::to_hex(expected));
  EXPECT_EQ(segment.walk(7, 5).size(), 3U);
  EXPECT_EQ(segment.walk(8, 5).size(), 0U);

  // Replayed on an empty store.
  PageReader reader(segment.file(), 8);
  JournalWalker walker(reader, 7, 5, UINT64_MAX);
  const Allocations empty;
  State state(empty);
  while (const auto transaction = must(walker.next())) {
    RecordDecoder decoder(transaction->records);
    for (auto record = decoder.next(); *record; record = decoder.next()) {
      ASSERT_TRUE(state.apply(**record, transaction->extents));
    }
  }
  EXPECT_EQ(contents_of(segment.file(), state),
            (Contents{{1, std::string("\0\0\0\0\0\0hi\0\0", 10)}, {2, "tWELVEo"}}));

  page[12] ^= std::byte{1};
  must(segment.file().write_at(page, 5 * k_page_bytes));
  EXPECT_EQ(segment.walk(7, 5).size(), 1U);
}

TEST(Vectors, ChainIsNotFedItsChecksums) {
  Segment segment(8);
  JournalWriter writer;
  writer.begin(7, 5);
  std::vector<Extent> extents;
  must(writer.append(segment.file(), hex("02 01 0a"), {}, extents));
  must(writer.append(segment.file(), hex("01 05"), {}, extents));
  EXPECT_EQ(writer.chain(), 0x1BCD75D0U);
}

TEST(Vectors, PageTrailer) {
  Segment segment(16);
  JournalWriter writer;
  writer.begin(7, 5);
  base::Bytes payload(5000);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    payload[i] = static_cast<std::byte>(i % 251);
  }
  base::Bytes records;
  append_record(records, record_of(RecordKind::write, 1, 0, 5000), payload);
  ASSERT_EQ(records.size(), 5005U);
  ASSERT_EQ(writer.pages_needed(records.size()), 1U);
  std::vector<Extent> extents;
  const std::array<PageNumber, 1> fresh = {9};
  must(writer.append(segment.file(), records, fresh, extents));
  const base::Bytes first = segment.page(5);
  const base::Bytes second = segment.page(9);
  EXPECT_EQ(base::to_hex(base::ByteSpan(first).first(10)), "8d270301008827000102");
  EXPECT_EQ(base::to_hex(base::ByteSpan(first).subspan(4080)), "393a3b3c3d3e3f4009000000147e545a");
  EXPECT_EQ(base::to_hex(base::ByteSpan(second).first(8)), "4142434445464748");
  EXPECT_EQ(base::to_hex(base::ByteSpan(second).subspan(919, 4)), "88aec048");
  EXPECT_EQ(segment.walk(7, 5), std::vector<base::Bytes>{records});
}

TEST(Vectors, ChecksumSplitAcrossPages) {
  Segment segment(16);
  JournalWriter writer;
  writer.begin(7, 5);
  base::Bytes records;
  append_record(records, record_of(RecordKind::write, 1, 0, 4079),
                base::Bytes(4079, std::byte{0x5a}));
  std::vector<Extent> extents;
  const std::array<PageNumber, 1> fresh = {9};
  must(writer.append(segment.file(), records, fresh, extents));
  EXPECT_EQ(base::to_hex(base::ByteSpan(segment.page(5)).subspan(4086)), "e66a09000000a269732e");
  EXPECT_EQ(base::to_hex(base::ByteSpan(segment.page(9)).first(2)), "10aa");
  EXPECT_EQ(segment.walk(7, 5), std::vector<base::Bytes>{records});
}

TEST(Vectors, StreamThatEndsWithThePage) {
  Segment segment(16);
  JournalWriter writer;
  writer.begin(7, 5);
  base::Bytes records;
  append_record(records, record_of(RecordKind::write, 1, 0, 4077),
                base::Bytes(4077, std::byte{0xa5}));
  std::vector<Extent> extents;
  must(writer.append(segment.file(), records, {}, extents));
  EXPECT_EQ(writer.chain(), 0x711BB1A8U);
  EXPECT_EQ(base::to_hex(base::ByteSpan(segment.page(5)).subspan(4084)),
            "a8b11b710000000000000000");
  EXPECT_EQ(segment.walk(7, 5).size(), 1U);
  const std::array<PageNumber, 1> fresh = {9};
  must(writer.append(segment.file(), hex("01 01"), fresh, extents));
  EXPECT_EQ(base::to_hex(base::ByteSpan(segment.page(5)).subspan(4088)), "09000000c612e2ba");
  EXPECT_EQ(base::to_hex(base::ByteSpan(segment.page(9)).first(7)), "020101b6f2ba49");
  EXPECT_EQ(segment.walk(7, 5).size(), 2U);
}

TEST(Vectors, PageFraming) {
  std::array<std::byte, k_page_bytes> page{};
  const auto content = base::as_bytes("hello");
  std::copy(content.begin(), content.end(), page.begin() + k_content_offset);
  seal_page(page, k_kind_data, 7, content.size());
  EXPECT_EQ(base::to_hex(base::ByteSpan(page).first(20)),
            "020700000000000000050068656c6c6f3ff95893");
  EXPECT_EQ(base::to_hex(base::sha256(page)),
            "735914a5d54c1fa1a302994848201c58f37b2fba2f77741bb9fe732b35678b4e");
  const auto view = decode_page(page);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->kind, k_kind_data);
  EXPECT_EQ(view->epoch, 7U);
  EXPECT_EQ(base::as_text(view->content), "hello");

  page.fill(std::byte{7});
  seal_page(page, k_kind_data, 1, k_max_page_content);
  EXPECT_EQ(base::to_hex(base::ByteSpan(page).subspan(9, 2)), "f10f");
  EXPECT_EQ(base::to_hex(base::ByteSpan(page).subspan(4092)), "0ab5a8da");
  EXPECT_TRUE(decode_page(page));
}

TEST(Vectors, SlotOfANewFile) {
  std::array<std::byte, k_page_bytes> page{};
  encode_slot(page, Header{}, hex("00"));
  EXPECT_EQ(base::to_hex(base::ByteSpan(page).first(64)),
            base::to_hex(hex("8b 4b 4c 41 44 44 45 0d 0a 1a 0a 0c 00 00 00 00 00 00 00 00 00 00 00 "
                             "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 "
                             "00 00 01 00 00 00 00 00 00 00 00 01 00 00 b7 94 21 94")));
  EXPECT_EQ(base::to_hex(base::sha256(page)),
            "8c7be4a67c369aa872808a2113eba39138e03cab099ea385912857d0c353cfc4");
  const Slot slot = decode_slot(0, page);
  EXPECT_TRUE(slot.valid());
  EXPECT_EQ(slot.content_bytes, 1U);
  EXPECT_EQ(slot.header.journal_pointer, 2U);
}

}  // namespace
}  // namespace varve::kladde::test
