// SPDX-License-Identifier: MIT OR Apache-2.0
// Appending: the bytes of the worked vectors, rollover, growth, seq, sync and poisoning.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "io/crash.hpp"
#include "writer_support.hpp"

namespace varve::arena {
namespace {

using namespace test;

constexpr Geometry k_version_3{3, 8192, 8192};

TEST(ArenaWriter, FirstFrameIsThatOfTheVectors) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_version_3);
  const auto journal = must_open(files, "/arena", k_version_3);
  const auto appended = append(*journal, "hello");
  ASSERT_TRUE(appended.has_value());
  EXPECT_EQ(appended->global_offset, 0U);
  const std::string bytes = text_of_file(files, "/arena/seg_0.bin");
  EXPECT_EQ(bytes.size(), k_version_3.segment_bytes);
  EXPECT_EQ(bytes.substr(0, 37),
            hex("86 a6 10 36 05 00 00 00 05 00 00 00 00 00 00 00"
                "68 65 6c 6c 6f 00 00 00 00 00 00 00 00 00 00 00 00 4c 44 4e 45"));
  EXPECT_EQ(find_nonzero(base::as_bytes(std::string_view(bytes).substr(37))), bytes.size() - 37);
}

// Section 4 of the vectors: the marker at 90 is overwritten after reopening, and seq goes on.
TEST(ArenaWriter, ReopenAndAppendGivesTheVectorsBytes) {
  io::SimulatedFileSystem files;
  put(files, "/arena/format.json", small_manifest(k_version_3));
  put(files, "/arena/seg_0.bin", three_frames());
  const auto journal = must_open(files, "/arena", k_version_3);
  EXPECT_EQ(journal->opening().tail, "end marker");
  const auto appended = append(*journal, "after reopen");
  ASSERT_TRUE(appended.has_value());
  EXPECT_EQ(appended->seq, 3U);
  EXPECT_EQ(text_of_file(files, "/arena/seg_0.bin").substr(90, 44),
            hex("44 fc d1 2a 0c 00 00 00 0c 00 00 00 03 00 00 00 61 66 74 65 72 20 72 65 6f 70 65"
                "6e 00 00 00 00 00 00 00 00 00 00 00 00 4c 44 4e 45"));
}

TEST(ArenaWriter, RefusesPayloadsOfNoAndOfTooManyBytes) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_small_growing);
  const auto journal = must_open(files, "/arena", k_small_growing);
  const std::uint64_t before = files.hash();
  EXPECT_EQ(append(*journal, "").error().reason, "payload-size");
  EXPECT_EQ(append(*journal, std::string(k_max_payload_bytes + 1, 'x')).error().reason,
            "payload-size");
  EXPECT_EQ(files.hash(), before);
  EXPECT_TRUE(append(*journal, "fine").has_value());
}

// The table of section 8 of the vectors, on a segment of 2048 bytes: the frame of 17 bytes goes to
// the next segment if fewer are free; the marker is written if 16 bytes are left behind it.
TEST(ArenaWriter, TheEndOfASegmentIsUsedToTheLastByte) {
  const std::uint64_t size = k_small_growing.segment_bytes;
  for (const std::uint64_t free : {0, 8, 15, 16, 17, 26, 27, 32, 33, 42}) {
    io::SimulatedFileSystem files;
    put_bare_arena(files, k_small_growing);
    {
      const auto journal = must_open(files, "/arena", k_small_growing);
      const std::string filler = noise(size - free - k_header_bytes);
      base::Bytes frame_bytes;
      append_frame(base::as_bytes(filler), 0, frame_bytes);
      ASSERT_EQ(frame_bytes.size(), size - free);  // stored raw
      ASSERT_TRUE(append(*journal, filler).has_value());
      const auto placed = append(*journal, "a");
      ASSERT_TRUE(placed.has_value());
      EXPECT_EQ(placed->global_offset, free < 17 ? size : size - free) << free;
    }
    const auto frames = read_log(files, "/arena", k_small_growing);
    ASSERT_EQ(frames.size(), 2U) << free;
    EXPECT_EQ(frames[1].payload, "a");
    if (free >= 17) {
      const std::string bytes = text_of_file(files, "/arena/seg_0.bin");
      EXPECT_EQ(bytes.size(), size);
      EXPECT_EQ(bytes.ends_with(marker()), free == 33) << free;
      EXPECT_FALSE(files.get("/arena/seg_1.bin").has_value());
    }
  }
}

// Section 6 step 5, scaled down: steps of 512 bytes.
TEST(ArenaWriter, GrowsInStepsForFrameAndMarker) {
  struct Case {
    std::uint64_t offset;
    std::uint64_t comp_len;
    std::uint64_t length;
  };
  for (const Case& c : {Case{0, 5, 512}, Case{464, 16, 512}, Case{464, 17, 1024},
                        Case{480, 16, 1024}, Case{100, 1400, 1536}, Case{2031, 1, 2048}}) {
    io::SimulatedFileSystem files;
    put_bare_arena(files, k_small_growing);
    std::string log;
    if (c.offset > 0) {
      log = raw_frame(noise(c.offset - k_header_bytes), 0) +
            (c.offset + k_header_bytes <= 512 ? marker() : "");
    }
    put(files, "/arena/seg_0.bin", log);
    const auto journal = must_open(files, "/arena", k_small_growing);
    ASSERT_TRUE(journal);
    ASSERT_EQ(journal->end().offset, c.offset);
    ASSERT_TRUE(append(*journal, noise(c.comp_len)).has_value());
    ASSERT_EQ(journal->end().offset, c.offset + k_header_bytes + c.comp_len);
    EXPECT_EQ(files.get("/arena/seg_0.bin")->size(), c.length) << c.offset << ' ' << c.comp_len;
  }
}

TEST(ArenaWriter, SeqRunsOnOverARolloverAndRestartsAfterAReopen) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_small_fixed);
  std::vector<std::string> written;
  {
    const auto journal = must_open(files, "/arena", k_small_fixed);
    for (std::uint64_t i = 0; i < 30; ++i) {
      const auto appended = append(*journal, written.emplace_back(payload_text(i)));
      ASSERT_TRUE(appended.has_value());
      EXPECT_EQ(appended->seq, i);
    }
    EXPECT_GT(journal->end().segment, 3U);
  }
  const auto frames = read_log(files, "/arena", k_small_fixed);
  EXPECT_EQ(payloads_in(frames), written);
  // 1 + the largest seq of the last segment; 0 if that one is empty.
  const auto journal = must_open(files, "/arena", k_small_fixed);
  EXPECT_EQ(journal->end().next_seq, 30U);
  const std::uint32_t last = journal->end().segment;
  ASSERT_TRUE(journal->close().has_value());
  put(files, "/arena/" + segment_name(last + 1), "");
  EXPECT_EQ(must_open(files, "/arena", k_small_fixed)->end().next_seq, 0U);
}

TEST(ArenaWriter, SeqWrapsAround) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_small_fixed);
  put(files, "/arena/seg_0.bin", raw_frame("last", 0xFFFFFFFFU) + marker());
  const auto journal = must_open(files, "/arena", k_small_fixed);
  EXPECT_EQ(append(*journal, "next")->seq, 0U);
  EXPECT_EQ(append(*journal, "one more")->seq, 1U);
}

TEST(ArenaWriter, OneWriterAtATime) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_small_fixed);
  auto journal = must_open(files, "/arena", k_small_fixed);
  const auto second = open_journal(files, "/arena", quiet_options(), k_small_fixed);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::locked);
  EXPECT_EQ(second.error().reason, "locked");
  ASSERT_TRUE(journal->close().has_value());
  EXPECT_TRUE(open_journal(files, "/arena", quiet_options(), k_small_fixed).has_value());
  EXPECT_EQ(append(*journal, "late").error().code, ErrorCode::poisoned);
}

TEST(ArenaWriter, AFailedSyncPoisonsTheJournal) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_small_fixed);
  const auto journal = must_open(files, "/arena", k_small_fixed);
  ASSERT_TRUE(append(*journal, "kept").has_value());
  files.set_fault(io::Fault{0, io::FaultKind::io_error, false, mask_of(io::CallKind::sync)});
  EXPECT_EQ(append(*journal, "lost").error().code, ErrorCode::io);
  files.set_fault(std::nullopt);
  EXPECT_TRUE(journal->poisoned());
  EXPECT_EQ(append(*journal, "refused").error().code, ErrorCode::poisoned);
  EXPECT_EQ(journal->sync().error().code, ErrorCode::poisoned);
}

TEST(ArenaWriter, ABatchIsOneWriteAndOneSync) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_version_3);
  const auto journal = must_open(files, "/arena", k_version_3);
  std::vector<std::string> texts;
  std::vector<base::ByteSpan> payloads;
  for (std::uint64_t i = 0; i < 50; ++i) {
    texts.push_back(payload_text(i));
  }
  for (const std::string& text : texts) {
    payloads.push_back(base::as_bytes(text));
  }
  files.set_trace(true);
  ASSERT_TRUE(journal->append_all(payloads, true).has_value());
  std::string calls;
  for (const io::Call& call : files.trace()) {
    calls += std::string(io::to_text(call.kind)) + " ";
  }
  EXPECT_EQ(calls, "write sync ");
  EXPECT_EQ(payloads_in(read_log(files, "/arena", k_version_3)), texts);
}

// With a buffer, frames wait for the next write; nothing else about the log changes.
TEST(ArenaWriter, BufferedFramesLeaveInOneWrite) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_small_growing);
  JournalOptions options = quiet_options();
  options.sync_each = false;
  options.buffer_bytes = 700;
  auto journal = must_open(files, "/arena", k_small_growing, options);
  const auto in_file = [&] { return read_log(files, "/arena", k_small_growing).size(); };
  std::vector<std::string> texts;
  const auto add = [&] {
    texts.push_back(payload_text(texts.size() * 7));  // 40 bytes and more, below 100 with a header
    const auto done = append(*journal, texts.back());
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->seq, texts.size() - 1);
  };
  add();
  add();
  EXPECT_EQ(in_file(), 0U);
  ASSERT_TRUE(journal->flush().has_value());
  EXPECT_EQ(in_file(), 2U);
  files.set_trace(true);
  while (in_file() == 2U) {
    add();
  }
  const auto writes = std::ranges::count(files.trace(), io::CallKind::write, &io::Call::kind);
  EXPECT_EQ(writes, 1);
  EXPECT_GT(texts.size(), 8U);
  EXPECT_EQ(in_file(), texts.size());  // all that waited
  while (journal->end().segment < 2) {
    add();  // over rollovers
  }
  add();
  EXPECT_LT(in_file(), texts.size());
  ASSERT_TRUE(journal->sync().has_value());
  EXPECT_EQ(in_file(), texts.size());
  add();
  journal.reset();  // writes what waits
  EXPECT_EQ(payloads_in(read_log(files, "/arena", k_small_growing)), texts);

  io::SimulatedFileSystem plain;
  put_bare_arena(plain, k_small_growing);
  const auto other = must_open(plain, "/arena", k_small_growing);
  for (const std::string& text : texts) {
    ASSERT_TRUE(append(*other, text).has_value());
  }
  EXPECT_EQ(plain.hash(), files.hash());
}

TEST(ArenaWriter, ABufferedFrameThatCannotBeWrittenIsToldAtTheNextCall) {
  io::SimulatedFileSystem files;
  put_bare_arena(files, k_small_growing);
  JournalOptions options = quiet_options();
  options.sync_each = false;
  options.buffer_bytes = 700;
  const auto journal = must_open(files, "/arena", k_small_growing, options);
  ASSERT_TRUE(append(*journal, "waits").has_value());
  files.set_fault(io::Fault{0, io::FaultKind::no_space, false, mask_of(io::CallKind::write)});
  EXPECT_EQ(journal->flush().error().code, ErrorCode::io);
  files.set_fault(std::nullopt);
  EXPECT_EQ(append(*journal, "refused").error().code, ErrorCode::poisoned);
  EXPECT_EQ(journal->sync().error().code, ErrorCode::poisoned);
}

TEST(ArenaWriter, ManyThreadsShareTheLog) {
  io::SimulatedFileSystem files(io::SimulatedFileSystem::Options{nullptr, false});
  put_bare_arena(files, k_small_growing);
  constexpr std::uint64_t k_threads = 4;
  constexpr std::uint64_t k_each = 100;
  {
    const auto journal = must_open(files, "/arena", k_small_growing);
    std::atomic<int> failures = 0;
    {
      std::vector<std::jthread> threads;
      for (std::uint64_t t = 0; t < k_threads; ++t) {
        threads.emplace_back([&, t] {
          for (std::uint64_t i = 0; i < k_each; ++i) {
            failures += append(*journal, payload_text(t * k_each + i)) ? 0 : 1;
          }
        });
      }
    }
    EXPECT_EQ(failures, 0);
  }
  std::vector<std::string> found = payloads_in(read_log(files, "/arena", k_small_growing));
  std::vector<std::string> expected;
  for (std::uint64_t i = 0; i < k_threads * k_each; ++i) {
    expected.push_back(payload_text(i));
  }
  std::ranges::sort(found);
  std::ranges::sort(expected);
  EXPECT_EQ(found, expected);
}

TEST(ArenaWriter, ZerosWrittenAheadDoNotShow) {
  const auto write = [](io::SimulatedFileSystem& files, std::uint64_t ahead) {
    put_bare_arena(files, k_small_growing);
    JournalOptions options = quiet_options();
    options.zero_ahead_bytes = ahead;
    const auto journal = must_open(files, "/arena", k_small_growing, options);
    for (std::uint64_t i = 0; i < 40; ++i) {
      ASSERT_TRUE(append(*journal, payload_text(i)).has_value());
    }
  };
  io::SimulatedFileSystem plain;
  write(plain, 0);
  io::SimulatedFileSystem ahead;
  write(ahead, 300);
  EXPECT_EQ(plain.hash(), ahead.hash());
}

TEST(ArenaWriter, StoresWithASchemaTakeTransactionsOnly) {
  io::SimulatedFileSystem files;
  put_store(files, k_small_growing);
  const auto journal = must_open(files, "/store", k_small_growing);
  EXPECT_EQ(append(*journal, "no transaction").error().reason, "bad-payload");
  EXPECT_EQ(append(*journal, std::string("HMS-TXN-9\0[]", 12)).error().reason,
            "unsupported-payload");
  const std::string good = std::string(k_txn2_magic) + R"([{"Delete":{"id":"v1"}}])";
  EXPECT_TRUE(append(*journal, good).has_value());
  EXPECT_FALSE(journal->poisoned());
}

TEST(ArenaWriter, CreatesStoresThatVerifyClean) {
  for (const std::uint32_t version : {2U, 3U, 4U}) {
    io::SimulatedFileSystem files;
    ASSERT_TRUE(create_store(files, "/new/store", {.version = version}).has_value());
    const auto seen = verify(files, "/new/store");
    EXPECT_EQ(seen.report.verdict, Verdict::clean);
    EXPECT_EQ(seen.report.version, version);
    const auto again = create_store(files, "/new/store", {.version = version});
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(exit_code(again.error()), 73);
  }
  io::SimulatedFileSystem files;
  EXPECT_EQ(create_store(files, "/x", {.version = 1}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(create_store(files, "/x", {.dimensions = 0}).error().code, ErrorCode::invalid_argument);
}

// The length of a new segment is durable with its name, not only when the first frame is.
TEST(ArenaWriter, AStoreJustMadeSurvivesAPowerCutAsItIs) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(create_store(files, "/store", {}).has_value());
  const auto made = files.paths("/store");
  io::CrashOptions options;
  options.only_last_point = true;
  options.kills = false;
  std::uint64_t states = 0;
  io::for_each_crash(files.recording(), options, [&](const io::CrashState& state) {
    ++states;
    const auto restarted = state.restart();
    EXPECT_EQ(restarted->paths("/store"), made);
    for (const std::string& name : made) {
      const auto before = files.identity_of("/store/" + name);
      const auto after = restarted->identity_of("/store/" + name);
      EXPECT_TRUE(before && after && before->size_bytes == after->size_bytes) << name;
    }
    return true;
  });
  EXPECT_GT(states, 0U);
}

// Section 1.2: a store that lost its manifest is read, and not written to.
TEST(ArenaWriter, RefusesAStoreWhoseManifestWasLost) {
  io::SimulatedFileSystem files;
  put(files, "/arena/seg_0.bin", two_frames());
  ASSERT_TRUE(files.set_size("/arena/seg_0.bin", k_step_bytes).has_value());
  const auto journal = Journal::open(files, "/arena", quiet_options());
  ASSERT_FALSE(journal.has_value());
  EXPECT_EQ(journal.error().reason, "bad-manifest");
}

// Section 1: names of segments. A writer that took "seg_01.bin" for the second segment would write
// behind a file that its reader does not see.
TEST(ArenaWriter, OnlyTheWrittenFormOfANumberNamesASegment) {
  EXPECT_EQ(segment_number("seg_0.bin"), 0U);
  EXPECT_EQ(segment_number("seg_10.bin"), 10U);
  EXPECT_EQ(segment_number("seg_4294967295.bin"), 4294967295U);
  for (const char* name : {"seg_01.bin", "seg_00.bin", "seg_.bin", "seg_+1.bin", "seg_1.bin.tmp",
                           "seg_4294967296.bin", "SEG_1.bin", "seg_1", "seg_ 1.bin", ""}) {
    EXPECT_EQ(segment_number(name), std::nullopt) << name;
  }
}

TEST(ArenaWriter, AnEmptyDirectoryIsNoArena) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(files.add_directory("/empty").has_value());
  const auto journal = Journal::open(files, "/empty", quiet_options());
  ASSERT_FALSE(journal.has_value());
  EXPECT_EQ(journal.error().code, ErrorCode::not_a_store);
}

}  // namespace
}  // namespace varve::arena
