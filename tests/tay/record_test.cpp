// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/record.hpp"

#include "tests/tay/event_vectors.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay {
namespace {

using test::unhex;

struct Vector {
  const char* hex;
  RecordStatus status;
  const char* word;  // of a refusal
};

// Section 4 of the vectors document: f01 to f18.
constexpr RecordStatus k_good = RecordStatus::record;
constexpr RecordStatus k_corrupt = RecordStatus::corrupt;
constexpr RecordStatus k_unsupported = RecordStatus::unsupported;
constexpr Vector k_vectors[] = {
    {"544159000101000100000000000000010000000044ea307b44ea307b", k_good, ""},
    {"5441590001010001000000000000000200000009746b5b4300ff544159007f800a4e6783e1", k_good, ""},
    {"5441590001fe00ffffffffffffffffff00000000fa875c6bfa875c6b", k_good, ""},
    {"544159000101000100000000000000010000000144ea307b44ea307b", k_corrupt, "header_checksum"},
    {"5441590001010001000000000000000200000009746b5b4300ff544159007f800a4e6783e0", k_corrupt,
     "record_checksum"},
    {"54415900020100010000000000000001000000005712508857125088", k_unsupported, "format"},
    {"5441590001020001000000000000000100000000ec793778ec793778", k_good, ""},
    {"544159000101010100000000000000010000000010ed653d10ed653d", k_unsupported, "flags"},
    {"5441590001010002000000000000000100000000159c78d4159c78d4", k_good, ""},
    {"5441590001fe00ffffffffffffffffff0100000027c2f6d3", RecordStatus::incomplete_payload, ""},
    {"54415900010100010000000000000001fffffffff3728443", k_corrupt,
     "payload_length_exceeds_format"},
    {"54415900010100010000000000000001010000016bc419c0", k_corrupt,
     "payload_length_exceeds_format"},
    {"5441590000010001000000000000000100000000b6e63d85b6e63d85", k_corrupt, "invalid_format"},
    {"54415900010000010000000000000001000000002364cd7a2364cd7a", k_corrupt, "reserved_type"},
    {"5441590001ff0001000000000000000100000000321c5547321c5547", k_corrupt, "reserved_type"},
    {"54415900010100000000000000000001000000007438081e7438081e", k_corrupt, "invalid_schema"},
    {"54415900010100010000000000000000000000007cfb5fd77cfb5fd7", k_corrupt, "invalid_sequence"},
    {"544159000101000100000000000000030000000034c8ef2334c8ef23", k_good, ""},
};

TEST(Record, PublishedVectorsBothWays) {
  for (const Vector& vector : k_vectors) {
    SCOPED_TRACE(vector.hex);
    const Bytes bytes = unhex(vector.hex);
    const DecodedRecord record = decode_record(bytes);
    ASSERT_EQ(record.status, vector.status);
    EXPECT_STREQ(record.fault.word, vector.word);
    EXPECT_EQ(is_plain_record_header(bytes.data(), k_max_payload_bytes), record.header_proven);
    if (record.status == RecordStatus::record) {
      EXPECT_EQ(record.header.frame_bytes(), bytes.size());
      Bytes again;
      ASSERT_FALSE(encode_record(record.header.type, record.header.schema, record.header.sequence,
                                 record.payload, again));
      EXPECT_EQ(again, bytes);
    }
  }
}

TEST(Record, FaultsCarryTheirNumbers) {
  EXPECT_EQ(decode_record(unhex(k_vectors[5].hex)).fault.actual, Number::decimal(2));
  EXPECT_EQ(decode_record(unhex(k_vectors[7].hex)).fault.actual, Number::decimal(1));
  EXPECT_EQ(decode_record(unhex(k_vectors[10].hex)).fault.actual, Number::decimal(4294967295));
  EXPECT_EQ(decode_record(unhex(k_vectors[10].hex)).fault.expected, Number::decimal(16777216));
  EXPECT_EQ(decode_record(unhex(k_vectors[14].hex)).fault.actual, Number::decimal(255));
  const DecodedRecord incomplete = decode_record(unhex(k_vectors[9].hex));
  EXPECT_EQ(incomplete.header.payload_length, 16777216U);
  EXPECT_EQ(incomplete.header.frame_bytes(), 16777244U);
  EXPECT_EQ(incomplete.available, 24U);
  EXPECT_EQ(incomplete.header.frame_bytes() - incomplete.available, 16777220U);
}

TEST(Record, EveryProperPrefixIsIncomplete) {
  for (const char* hex : {k_vectors[0].hex, k_vectors[1].hex, test::k_e1}) {
    const Bytes bytes = unhex(hex);
    const std::size_t payload = bytes.size() - k_record_frame_bytes;
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      const RecordStatus expected = cut < 24             ? RecordStatus::incomplete_header
                                    : cut < 24 + payload ? RecordStatus::incomplete_payload
                                                         : RecordStatus::incomplete_checksum;
      const DecodedRecord record = decode_record(ByteSpan(bytes).first(cut));
      EXPECT_EQ(record.status, expected) << cut;
      EXPECT_EQ(record.available, cut);
    }
  }
}

TEST(Record, EveryFlippedBitIsRefused) {
  for (const char* hex : {k_vectors[0].hex, k_vectors[1].hex, test::k_e4}) {
    Bytes bytes = unhex(hex);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(decode_record(bytes).status, RecordStatus::record) << bit;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

TEST(Record, TheBudgetComesBeforeIncompleteness) {
  const Bytes bytes = unhex(k_vectors[9].hex);
  const DecodedRecord record = decode_record(bytes, k_max_payload_bytes - 1);
  EXPECT_EQ(record.status, RecordStatus::resource_limit);
  EXPECT_EQ(record.fault.actual, Number::decimal(k_max_payload_bytes));
  EXPECT_EQ(decode_record(unhex(k_vectors[0].hex), 0).status, RecordStatus::record);
  EXPECT_EQ(decode_record(unhex(k_vectors[1].hex), 8).status, RecordStatus::resource_limit);
  EXPECT_EQ(decode_record(unhex(k_vectors[1].hex), 9).status, RecordStatus::record);
}

TEST(Record, EncodingRefusesWhatDecodingWould) {
  Bytes out;
  const auto word = [&](std::uint8_t type, std::uint8_t schema, std::uint64_t sequence) {
    return std::string(encode_record(type, schema, sequence, {}, out).value_or(Fault{}).word);
  };
  EXPECT_EQ(word(0, 1, 1), "reserved_type");
  EXPECT_EQ(word(255, 1, 1), "reserved_type");
  EXPECT_EQ(word(1, 0, 1), "invalid_schema");
  EXPECT_EQ(word(1, 1, 0), "invalid_sequence");
  const Bytes large(k_max_payload_bytes + 1);
  EXPECT_STREQ(encode_record(1, 1, 1, large, out)->word, "payload_length_exceeds_format");
  EXPECT_TRUE(out.empty());
}

// Many records in one buffer are not copied again for each that follows.
TEST(Record, ABufferOfManyRecordsIsSeldomMoved) {
  const Bytes payload(1000, std::byte{7});
  Bytes out;
  int moves = 0;
  for (std::uint64_t sequence = 1; sequence <= 10'000; ++sequence) {
    const std::byte* before = out.data();
    ASSERT_FALSE(encode_record(1, 1, sequence, payload, out));
    moves += out.data() != before ? 1 : 0;
  }
  EXPECT_LT(moves, 100);
}

TEST(Record, TheRestIsUntouched) {
  Bytes bytes = unhex(k_vectors[1].hex);
  const std::size_t size = bytes.size();
  bytes.resize(size + 100, std::byte{0x54});
  const DecodedRecord record = decode_record(bytes);
  ASSERT_EQ(record.status, RecordStatus::record);
  EXPECT_EQ(record.header.frame_bytes(), size);
}

TEST(Record, TheVectorsAreThePublishedFiles) {
  VARVE_REQUIRE_SHARED();
  for (std::size_t i = 0; i < std::size(k_vectors); ++i) {
    const std::string name =
        std::string("records/f") + (i + 1 < 10 ? "0" : "") + std::to_string(i + 1) + ".bin";
    EXPECT_EQ(unhex(k_vectors[i].hex), test::fixture_bytes(name)) << name;
  }
}

}  // namespace
}  // namespace varve::tay
