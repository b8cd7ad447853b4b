// SPDX-License-Identifier: MIT OR Apache-2.0
// A pass over several segments with several threads: while the serial half judges one segment, the
// calling thread may have walked pieces of the next.
#include <chrono>
#include <thread>

#include "io/simulated.hpp"
#include "tay/log_pass.hpp"
#include "tay/record.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay {
namespace {

constexpr std::uint64_t k_records = 20;  // in each segment, all of one size
constexpr std::uint64_t k_segments = 5;

Id store_id() {
  Id out{};
  out[0] = std::byte{7};
  return out;
}

Bytes segment_bytes(std::uint64_t id) {
  SegmentFooter footer;
  footer.segment_id = id;
  footer.first_sequence = (id - 1) * k_records + 1;
  footer.last_sequence = id * k_records;
  footer.record_count = k_records;
  footer.store_id = store_id();
  Bytes out;
  encode_header({id, footer.first_sequence, store_id()}, out);
  for (std::uint64_t i = 0; i < k_records; ++i) {
    EXPECT_FALSE(encode_record(1, 1, footer.first_sequence + i, Bytes(100), out));
  }
  if (id != k_segments) {
    footer.segment_crc = base::crc32c(out);
    encode_footer(footer, out);
  }
  return out;
}

// Segments of the same layout: what is read from the wrong one looks plausible.
TEST(SideBySide, NoSegmentIsReadInPlaceOfAnother) {
  io::SimulatedFileSystem files;
  for (std::uint64_t id = 1; id <= k_segments; ++id) {
    ASSERT_TRUE(files.put("/s/" + segment_name(id), segment_bytes(id)));
  }
  const auto directory = files.open_directory("/s");
  ASSERT_TRUE(directory);
  std::vector<Segment> listed;
  for (std::uint64_t id = 1; id <= k_segments; ++id) {
    Segment segment;
    segment.id = id;
    segment.name = segment_name(id);
    segment.identity = *(*directory)->identity_of(segment.name);
    listed.push_back(std::move(segment));
  }
  LogPassOptions options;
  options.store_id = store_id();
  // Workers that dawdle let the calling thread run ahead of them into later segments.
  options.make_collector = [caller = std::this_thread::get_id()](std::size_t) {
    if (std::this_thread::get_id() != caller) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    return nullptr;
  };
  for (int round = 0; round < 48; ++round) {
    options.threads = 2 + round % 2;
    options.piece_bytes = std::uint64_t{300} << (round % 4);
    options.policy = round % 3 == 0 ? Policy::report : Policy::strict;
    std::vector<Segment> segments = listed;
    const auto result = run_log_pass(**directory, segments, options);
    ASSERT_TRUE(result) << result.error().text();
    for (const Refusal& refusal : result->refusals) {
      FAIL() << to_json(refusal).text();
    }
    EXPECT_EQ(result->totals.intact, k_records * k_segments);
    EXPECT_EQ(result->totals.next_sequence, k_records * k_segments + 1);
  }
}

}  // namespace
}  // namespace varve::tay
