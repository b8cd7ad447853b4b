// SPDX-License-Identifier: MIT OR Apache-2.0
// Segments by themselves: the published segment vectors, and pieces walked side by side.
#include <random>

#include "io/simulated.hpp"
#include "tay/log_pass.hpp"
#include "tests/tay/event_vectors.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay {
namespace {

using test::unhex;

Id store_id() {
  const Bytes bytes = unhex("00112233445566778899aabbccddeeff");
  return load_id(bytes.data());
}

Bytes header(std::uint64_t id, std::uint64_t first, const Id& owner = store_id()) {
  Bytes out;
  encode_header({id, first, owner}, out);
  return out;
}

// The payloads of section 5's three records: empty, nine bytes, empty.
Bytes records(std::size_t count) {
  Bytes out;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes payload = i == 1 ? unhex("00ff544159007f800a") : Bytes();
    EXPECT_FALSE(encode_record(1, 1, i + 1, payload, out));
  }
  return out;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes sealed(const Bytes& open, std::uint64_t count, std::uint32_t crc_change = 0) {
  SegmentFooter footer{1, 1, count, count, store_id(), base::crc32c(open) + crc_change};
  Bytes out = open;
  encode_footer(footer, out);
  return out;
}

struct Found {
  std::string physical_kind;
  std::string reason;
  std::uint64_t offset = 0;
  bool is_sealed = false;
  std::uint64_t count = 0;
  std::uint64_t available = 0;
  std::uint64_t expected = 0;
};

Found walk(const Bytes& bytes, bool highest, std::uint64_t name_id = 1) {
  io::SimulatedFileSystem files;
  EXPECT_TRUE(files.put("/s/" + segment_name(name_id), bytes));
  auto directory = files.open_directory("/s");
  Segment segment;
  segment.id = name_id;
  segment.name = segment_name(name_id);
  segment.identity = *(*directory)->identity_of(segment.name);
  std::vector<Segment> segments = {segment};
  LogPassOptions options;
  options.store_id = store_id();
  options.from_start = false;
  options.has_highest = highest;
  const auto result = run_log_pass(**directory, segments, options);
  EXPECT_TRUE(result);
  Found found;
  found.is_sealed = segments[0].sealed;
  found.count = segments[0].records;
  if (!result->refusals.empty()) {
    const Refusal& refusal = result->refusals[0];
    found.physical_kind = refusal.physical_kind;
    found.reason = refusal.word;
    found.offset = *refusal.offset;
    found.available = refusal.actual.value;
    found.expected = refusal.expected.value;
  }
  return found;
}

struct Vector {
  const char* file;
  Bytes bytes;
  std::uint64_t name_id;
  const char* kind;  // empty: whole
  const char* reason;
  std::uint64_t offset;
  bool is_sealed;
  std::uint64_t count;
};

Bytes cut(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

std::vector<Vector> vectors() {
  const Bytes one = header(1, 1) + records(1);
  const Bytes three = header(1, 1) + records(3);
  Bytes bad_header = header(1, 1);
  bad_header[k_header_crc_at + 3] ^= std::byte{1};
  Bytes bad_footer = sealed(one, 1);
  bad_footer.back() ^= std::byte{1};
  return {
      {"s01.tay", header(1, 1), 1, "", "", 0, false, 0},
      {"s02.tay", one, 1, "", "", 0, false, 1},
      {"s03.tay", three, 1, "", "", 0, false, 3},
      {"s04.tay", sealed(one, 1), 1, "", "", 0, true, 1},
      {"s05.tay", sealed(three, 3), 1, "", "", 0, true, 3},
      {"s06.tay", bad_header, 1, "corrupt_segment_header", "checksum", 0, false, 0},
      {"s07.tay", header(1, 1), 2, "id_or_store_mismatch", "id", 0, false, 0},
      {"s08.tay", bad_footer, 1, "corrupt_footer", "checksum", 72, false, 1},
      {"s09.tay", sealed(one, 1, 1), 1, "segment_crc", "mismatch_segment_crc", 72, false, 1},
      {"s10_1.tay", cut(sealed(one, 1), 73), 1, "ambiguous_short_tail", "ambiguous_short_tail", 72,
       false, 1},
      {"s10_3.tay", cut(sealed(one, 1), 75), 1, "ambiguous_short_tail", "ambiguous_short_tail", 72,
       false, 1},
      {"s10_4.tay", cut(sealed(one, 1), 76), 1, "incomplete_footer", "incomplete_footer", 72, false,
       1},
      {"s10_36.tay", cut(sealed(one, 1), 108), 1, "incomplete_footer", "incomplete_footer", 72,
       false, 1},
      {"s10_63.tay", cut(sealed(one, 1), 135), 1, "incomplete_footer", "incomplete_footer", 72,
       false, 1},
      {"s11.tay", header(1, 2) + records(1), 1, "record_or_sequence_error", "sequence", 44, false,
       0},
      {"s12_tail.tay", sealed(one, 1) + Bytes(1), 1, "corrupt_footer", "trailing_footer_bytes", 72,
       false, 1},
      {"s12_duplicate.tay", sealed(one, 1) + cut(sealed(one, 1), 64), 1, "corrupt_footer",
       "trailing_footer_bytes", 72, false, 1},
      {"s13_next.tay", header(2, 4), 2, "", "", 0, false, 0},
      {"s13_correct_next.tay", header(2, 2), 2, "", "", 0, false, 0},
      {"s14.tay", header(1, 1, Id{}), 1, "corrupt_segment_header", "invalid_store_id", 0, false, 0},
  };
}

TEST(Segment, PublishedVectorsAsHighestAndAsEarlier) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.file);
    const Found highest = walk(vector.bytes, true, vector.name_id);
    EXPECT_EQ(highest.physical_kind, vector.kind);
    EXPECT_EQ(highest.reason, vector.reason);
    EXPECT_EQ(highest.offset, vector.offset);
    EXPECT_EQ(highest.is_sealed, vector.is_sealed);
    EXPECT_EQ(highest.count, vector.count);
    const Found earlier = walk(vector.bytes, false, vector.name_id);
    const std::string kind = vector.kind;
    if (kind.empty() && !vector.is_sealed) {
      EXPECT_EQ(earlier.physical_kind, "sealed_history_error");
      EXPECT_EQ(earlier.reason, "earlier_active_segment");
      EXPECT_EQ(earlier.offset, vector.bytes.size());
    } else if (kind.starts_with("incomplete") || kind.starts_with("ambiguous")) {
      EXPECT_EQ(earlier.physical_kind, "sealed_history_error");
      EXPECT_EQ(earlier.reason, vector.reason);
      EXPECT_EQ(earlier.offset, vector.offset);
      EXPECT_EQ(earlier.available, vector.bytes.size() - 72);
      EXPECT_EQ(earlier.expected, kind.starts_with("ambiguous") ? 4U : 64U);
    } else {
      EXPECT_EQ(earlier.physical_kind, vector.kind);
      EXPECT_EQ(earlier.reason, vector.reason);
    }
  }
}

TEST(Segment, OurEncodersGiveThePublishedFiles) {
  VARVE_REQUIRE_SHARED();
  for (const Vector& vector : vectors()) {
    const std::string name = vector.file;
    // Files that this test damages in a way of its own are looked at below instead.
    if (name == "s06.tay" || name == "s08.tay" || name == "s12_tail.tay" ||
        name == "s12_duplicate.tay") {
      continue;
    }
    EXPECT_EQ(vector.bytes, test::fixture_bytes("segments/" + name)) << name;
  }
  EXPECT_EQ(walk(test::fixture_bytes("segments/s06.tay"), true).reason, "checksum");
  EXPECT_EQ(walk(test::fixture_bytes("segments/s08.tay"), true).reason, "checksum");
  EXPECT_EQ(walk(test::fixture_bytes("segments/s12_tail.tay"), true).reason,
            "trailing_footer_bytes");
  EXPECT_EQ(walk(test::fixture_bytes("segments/s12_duplicate.tay"), true).reason,
            "trailing_footer_bytes");
}

TEST(Segment, StoreMarkers) {
  Id id{};
  const Bytes good = unhex("544159490100000000112233445566778899aabbccddeeffae533c93");
  EXPECT_FALSE(decode_store(good, id));
  EXPECT_EQ(id, store_id());
  Bytes again;
  encode_store(id, again);
  EXPECT_EQ(again, good);
  const Bytes zero = unhex("544159490100000000000000000000000000000000000000a4fc4ffb");
  EXPECT_STREQ(decode_store(zero, id)->fault.word, "invalid_store_id");
  EXPECT_STREQ(decode_store(good + Bytes(1), id)->fault.word, "trailing_store_bytes");
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto fault = decode_store(ByteSpan(good).first(size), id);
    ASSERT_TRUE(fault) << size;
    EXPECT_STREQ(fault->fault.word, "incomplete_store");
  }
}

TEST(Segment, PublishedChecksums) {
  const auto crc_of = [](const Bytes& bytes) { return base::u32be(&bytes[bytes.size() - 4]); };
  EXPECT_EQ(crc_of(header(1, 1)), 0x3D7C68B9U);
  EXPECT_EQ(crc_of(header(2, 4)), 0x6ABAEFCCU);
  EXPECT_EQ(base::crc32c(header(1, 1) + records(1)), 0xCB674BB0U);
  EXPECT_EQ(crc_of(sealed(header(1, 1) + records(1), 1)), 0x5C6FD9B9U);
  EXPECT_EQ(base::crc32c(header(1, 1) + records(3)), 0x8E145CFCU);
  EXPECT_EQ(crc_of(sealed(header(1, 1) + records(3), 3)), 0x54DC2AE8U);
  EXPECT_EQ(crc_of(sealed(header(1, 1) + records(1), 1, 1)), 0xAE045ABAU);
}

TEST(Segment, EveryFlippedBitIsRefused) {
  Bytes bytes = sealed(header(1, 1) + records(3), 3);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(walk(bytes, true).physical_kind, "") << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(Segment, OrderOfHeaderAndFooterChecks) {
  // Several faults at once: the one that the order names is reported.
  Bytes bad = header(7, 1, Id{});
  EXPECT_EQ(walk(bad, true).reason, "invalid_store_id");
  bad[k_flags_at] = std::byte{1};
  EXPECT_EQ(walk(bad, true).reason, "checksum");
  bad[k_version_at] = std::byte{2};
  EXPECT_EQ(walk(bad, true).reason, "unsupported_version");
  EXPECT_EQ(walk(cut(bad, 20), true).reason, "unsupported_version");
  bad[k_version_at] = std::byte{0};
  EXPECT_EQ(walk(bad, true).reason, "invalid_version");
  bad[0] = std::byte{0};
  EXPECT_EQ(walk(bad, true).reason, "invalid_magic");
  EXPECT_EQ(walk(cut(bad, 3), true).reason, "invalid_magic");
  const Bytes open = header(1, 1) + records(1);
  const auto with_footer = [&](SegmentFooter footer) {
    Bytes out = open;
    encode_footer(footer, out);
    return walk(out, true).reason;
  };
  const std::uint32_t crc = base::crc32c(open);
  EXPECT_EQ(with_footer({0, 0, 0, 0, Id{}, 0}), "invalid_segment_id");
  EXPECT_EQ(with_footer({1, 0, 0, 0, Id{}, 0}), "invalid_first_sequence");
  EXPECT_EQ(with_footer({1, 1, 0, 0, Id{}, 0}), "invalid_last_sequence");
  EXPECT_EQ(with_footer({1, 1, 1, 0, Id{}, 0}), "invalid_record_count");
  EXPECT_EQ(with_footer({1, 1, 1, 38'347'919, Id{}, 0}), "invalid_record_count");
  EXPECT_EQ(with_footer({2, 2, 1, 1, Id{}, 0}), "mismatch_id");
  EXPECT_EQ(with_footer({1, 2, 1, 1, Id{}, 0}), "mismatch_first_sequence");
  EXPECT_EQ(with_footer({1, 1, 9, 1, Id{}, 0}), "invalid_store_id");
  EXPECT_EQ(with_footer({1, 1, 9, 1, {std::byte{1}}, 0}), "mismatch_store_id");
  EXPECT_EQ(with_footer({1, 1, 9, 1, store_id(), 0}), "count_sequence_relation");
  EXPECT_EQ(with_footer({1, 1, 2, 2, store_id(), 0}), "mismatch_count");
  EXPECT_EQ(with_footer({1, 1, 1, 1, store_id(), 0}), "mismatch_segment_crc");
  EXPECT_EQ(with_footer({1, 1, 1, 1, store_id(), crc}), "");
}

TEST(Segment, AnEmptySealedSegmentIsRefused) {
  Bytes out = header(1, 1);
  encode_footer({1, 1, 1, 0, store_id(), base::crc32c(header(1, 1))}, out);
  EXPECT_EQ(walk(out, true).reason, "invalid_record_count");
}

// ---------------------------------------------------------------- pieces side by side

// Records whose payloads hold magics and whole fake records, to mislead whoever guesses.
Bytes misleading_segment(std::mt19937_64& random, std::size_t count, bool with_footer) {
  Bytes out = header(1, 1);
  for (std::size_t i = 0; i < count; ++i) {
    Bytes payload;
    const std::size_t kind = random() % 4;
    if (kind == 0) {
      EXPECT_FALSE(encode_record(1, 1, i + 1 + random() % 3, Bytes(random() % 40), payload));
    } else if (kind == 1) {
      payload = test::to_bytes(std::string("TAY\0\1TAYFTAYS", 13));
    } else if (kind == 2) {
      payload.resize(random() % 3000, std::byte{0x54});
    }
    EXPECT_FALSE(encode_record(1, 1, i + 1, payload, out));
  }
  if (with_footer) {
    encode_footer({1, 1, count, count, store_id(), base::crc32c(out)}, out);
  }
  return out;
}

std::string outcome_of(io::SimulatedFileSystem& files, unsigned threads, std::uint64_t piece_bytes,
                       Policy policy) {
  auto directory = files.open_directory("/s");
  Segment segment;
  segment.id = 1;
  segment.name = segment_name(1);
  segment.identity = *(*directory)->identity_of(segment.name);
  std::vector<Segment> segments = {segment};
  LogPassOptions options;
  options.store_id = store_id();
  options.threads = threads;
  options.piece_bytes = piece_bytes;
  options.policy = policy;
  const auto result = run_log_pass(**directory, segments, options);
  EXPECT_TRUE(result);
  std::string out;
  for (const Refusal& refusal : result->refusals) {
    out += to_json(refusal).text() + std::to_string(refusal.length) + '\n';
  }
  const Segment& walked = segments[0];
  const LogTotals& totals = result->totals;
  for (const std::uint64_t value :
       {walked.records, walked.last_sequence, walked.end, std::uint64_t{walked.crc}, totals.units,
        totals.records, totals.intact, totals.lost, totals.unknown, totals.next_sequence}) {
    out += std::to_string(value) + ' ';
  }
  return out;
}

TEST(Segment, PiecesSideBySideGiveTheSerialAnswer) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    Bytes bytes = misleading_segment(random, 60, round % 2 == 0);
    const int damage = round % 6;
    if (damage == 1) {
      bytes[random() % bytes.size()] ^= std::byte{0x10};
    } else if (damage == 2) {
      bytes.resize(k_header_bytes + random() % (bytes.size() - k_header_bytes));
    } else if (damage == 3) {
      const std::size_t at = k_header_bytes + random() % (bytes.size() - k_header_bytes);
      bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at + (bytes.size() - at) / 3));
    } else if (damage == 4) {
      const std::size_t at = k_header_bytes + random() % (bytes.size() - k_header_bytes);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  std::min<std::size_t>(bytes.size() - at, 700), std::byte{0});
    }
    io::SimulatedFileSystem files;
    ASSERT_TRUE(files.put("/s/" + segment_name(1), bytes));
    for (const Policy policy : {Policy::strict, Policy::report}) {
      const std::string serial = outcome_of(files, 1, 1 << 20, policy);
      EXPECT_EQ(outcome_of(files, 1, 500, policy), serial);
      EXPECT_EQ(outcome_of(files, 3, 500, policy), serial);
      EXPECT_EQ(outcome_of(files, 2, 4000, policy), serial);
    }
  }
}

// ---------------------------------------------------------------- going on behind a fault

std::string report_of(const Bytes& bytes) {
  io::SimulatedFileSystem files;
  EXPECT_TRUE(files.put("/s/" + segment_name(1), bytes));
  auto directory = files.open_directory("/s");
  Segment segment;
  segment.id = 1;
  segment.name = segment_name(1);
  segment.identity = *(*directory)->identity_of(segment.name);
  std::vector<Segment> segments = {segment};
  LogPassOptions options;
  options.store_id = store_id();
  options.policy = Policy::report;
  const auto result = run_log_pass(**directory, segments, options);
  std::string out;
  for (const Refusal& refusal : result->refusals) {
    out += refusal.word + '@' + std::to_string(*refusal.offset) + '+' +
           std::to_string(refusal.length) + ' ';
  }
  return out + "intact " + std::to_string(result->totals.intact) + " lost " +
         std::to_string(result->totals.lost) + " unknown " + std::to_string(result->totals.unknown);
}

TEST(SegmentReport, GoesOnBehindEachKindOfHurtRecord) {
  const Bytes open = header(1, 1) + records(3);  // at 44 (28), 72 (37), 109 (28), ends at 137
  const Bytes whole = sealed(open, 3);
  const auto with = [&](std::size_t at, std::size_t count = 1) {
    Bytes out = whole;
    for (std::size_t i = 0; i < count; ++i) {
      out[at + i] ^= std::byte{0xFF};
    }
    return report_of(out);
  };
  EXPECT_EQ(report_of(whole), "intact 3 lost 0 unknown 0");
  EXPECT_EQ(with(100), "record_checksum@72+37 intact 2 lost 1 unknown 0");  // payload
  EXPECT_EQ(with(90), "header_checksum@72+37 intact 2 lost 1 unknown 0");   // length
  EXPECT_EQ(with(72), "invalid_magic@72+37 intact 2 lost 1 unknown 0");     // magic
  EXPECT_EQ(with(60, 30), "header_checksum@44+65 intact 1 lost 2 unknown 0");
  EXPECT_EQ(with(44, 93), "invalid_magic@44+157 intact 0 lost 3 unknown 0");  // all records
  EXPECT_EQ(with(137), "invalid_magic@137+64 intact 3 lost 0 unknown 1");     // footer's magic
  EXPECT_EQ(report_of(cut(whole, 120)), "incomplete_record@109+11 intact 2 lost 0 unknown 1");
  EXPECT_EQ(report_of(open + Bytes(16)), "invalid_magic@137+16 intact 3 lost 0 unknown 1");
}

TEST(SegmentReport, AForgedRecordInAHurtPayloadIsNotTaken) {
  // A record inside a payload, with the very sequence that is due: nothing that belongs to it
  // follows, so it proves nothing.
  Bytes forged;
  ASSERT_FALSE(encode_record(1, 1, 2, {}, forged));
  Bytes bytes = header(1, 1);
  ASSERT_FALSE(encode_record(1, 1, 1, {}, bytes));
  const std::size_t at = bytes.size();
  ASSERT_FALSE(encode_record(1, 1, 2, forged + Bytes(10), bytes));
  ASSERT_FALSE(encode_record(1, 1, 3, {}, bytes));
  bytes[at + 16] ^= std::byte{1};  // its length
  EXPECT_EQ(report_of(bytes), "header_checksum@72+66 intact 2 lost 1 unknown 0");
}

}  // namespace
}  // namespace varve::tay
