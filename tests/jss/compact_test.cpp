// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/jss_compact.hpp"

#include "generated_rows.hpp"
#include "io/simulated.hpp"
#include "jss/compaction_note.hpp"
#include "jss/names.hpp"
#include "jss/tombstones.hpp"
#include "sealed_file.hpp"
#include "varve/jss.hpp"
#include "view_support.hpp"

namespace varve::jss {
namespace {

using test::Row;
using test::SealedFile;

std::string get(io::SimulatedFileSystem& files, const std::string& path) {
  const auto bytes = files.get(path);
  EXPECT_TRUE(bytes) << path;
  return bytes ? std::string(base::as_text(*bytes)) : std::string();
}
std::string path_of(std::uint64_t number) { return "/a/" + *segment_name(number); }

void put(io::SimulatedFileSystem& files, const std::string& path, std::string_view bytes) {
  ASSERT_TRUE(files.put(path, base::as_bytes(bytes)));
}

// All rows of the sealed segments, in order.
std::vector<Row> rows_of(io::SimulatedFileSystem& files) {
  std::vector<Row> out;
  for (const std::string& path : files.paths("/a")) {
    if (segment_number(path)) {
      const auto rows = SealedFile(get(files, "/a/" + path)).rows();
      out.insert(out.end(), rows.begin(), rows.end());
    }
  }
  return out;
}

// Section 14.3, row by row. Nothing above `end` counts.
std::vector<Row> remaining(const std::vector<Row>& rows, std::uint64_t end = UINT64_MAX) {
  std::vector<Row> out;
  for (const Row& row : rows) {
    const bool superseded =
        is_materialization(row.kind) && std::ranges::any_of(rows, [&](const Row& later) {
          return later.seq > row.seq && later.seq <= end && later.did == row.did &&
                 (ends_account(later.kind, base::as_bytes(later.payload)) ||
                  ((later.kind == 2 || later.kind == 3) && later.collection == row.collection &&
                   later.rkey == row.rkey));
        });
    if (!superseded) {
      out.push_back(row);
    }
  }
  return out;
}

void expect_like(const SealedFile& made, const SealedFile& published) {
  EXPECT_EQ(made.rows(), published.rows());
  EXPECT_EQ(base::to_hex(made.did_bloom()), base::to_hex(published.did_bloom()));
  EXPECT_EQ(base::to_hex(made.block_blooms()), base::to_hex(published.block_blooms()));
  EXPECT_EQ(base::to_hex(made.collection_head()), base::to_hex(published.collection_head()));
  EXPECT_EQ(made.collection_body(), published.collection_body());
  EXPECT_EQ(made.header.event_count, published.header.event_count);
  EXPECT_EQ(made.header.block_count, published.header.block_count);
  EXPECT_EQ(made.header.unique_did_count, published.header.unique_did_count);
  EXPECT_EQ(made.header.min_seq, published.header.min_seq);
  EXPECT_EQ(made.header.max_seq, published.header.max_seq);
  EXPECT_EQ(made.header.min_witnessed_at, published.header.min_witnessed_at);
  EXPECT_EQ(made.header.max_witnessed_at, published.header.max_witnessed_at);
  ASSERT_EQ(made.index.size(), published.index.size());
  for (std::size_t i = 0; i < made.index.size(); ++i) {
    // Where a frame is depends on the compressor; all else must agree.
    IndexEntry entry = made.index[i];
    entry.offset = published.index[i].offset;
    entry.compressed_size = published.index[i].compressed_size;
    EXPECT_EQ(entry, published.index[i]) << "block " << i;
  }
}

TEST(JssCompact, RewritesTheFixtureAsTheReferenceDid) {
  VARVE_REQUIRE_SHARED();
  const std::string before = varve::test::read_file(test::fixture("before_rewrite.jss"));
  const SealedFile old(before);
  io::SimulatedFileSystem files;
  put(files, path_of(0), before);
  const auto report = compact(files, "/a", {.threads = 2});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->watermark, 16U);
  ASSERT_EQ(report->rewritten.size(), 1U);
  EXPECT_EQ(report->rewritten[0].rows_dropped, 7U);
  const SealedFile made(get(files, path_of(0)));
  expect_like(made,
              SealedFile(varve::test::read_file(test::fixture("after_rewrite_by_upstream.jss"))));

  // The other account goes, too: blocks without a row, and frames that nothing touched stay.
  {
    auto writer = Writer::open(files, "/a");
    ASSERT_TRUE(writer);
    Row gone = test::fixture_rows("before_rewrite").back();
    gone.seq = 0;
    gone.did = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa";
    ASSERT_TRUE((*writer)->append(gone.event()));
    ASSERT_TRUE((*writer)->seal());
  }
  const auto second = compact(files, "/a", {.threads = 1});
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->watermark_before, 16U);
  EXPECT_EQ(second->watermark, 17U);
  ASSERT_EQ(second->rewritten.size(), 1U);
  EXPECT_EQ(second->rewritten[0].blocks_emptied, 3U);
  const SealedFile emptied(get(files, path_of(0)));
  expect_like(
      emptied,
      SealedFile(varve::test::read_file(test::fixture("after_rewrite_emptied_by_upstream.jss"))));
  // An empty block is as the fixtures of compaction have it.
  const SealedFile published(varve::test::read_file(test::fixture("compacted_empty_blocks.jss")));
  const auto empty = std::ranges::find(published.index, 0U, &IndexEntry::event_count);
  ASSERT_NE(empty, published.index.end());
  EXPECT_EQ(
      base::to_hex(emptied.frame(1)),
      base::to_hex(published.frame(static_cast<std::size_t>(empty - published.index.begin()))));
  EXPECT_EQ(emptied.index[1].uncompressed_size, empty->uncompressed_size);
  EXPECT_EQ(test::verify_view(**format().open(files, "/a", {})).report.verdict, Verdict::clean);
}

TEST(JssCompact, ASegmentThatLosesNothingKeepsItsFile) {
  VARVE_REQUIRE_SHARED();
  io::SimulatedFileSystem files;
  put(files, path_of(0), varve::test::read_file(test::fixture("after_rewrite_by_upstream.jss")));
  const std::string before = get(files, path_of(0));
  const auto report = compact(files, "/a");
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->rewritten.empty());
  EXPECT_TRUE(get(files, path_of(0)) == before);
}

struct Made {
  io::SimulatedFileSystem files;
  std::vector<Row> rows;

  explicit Made(int count, std::uint64_t seed = 7) {
    EXPECT_TRUE(Writer::create(files, "/a"));
    append(count, seed);
  }
  void append(int count, std::uint64_t seed) {
    auto writer = Writer::open(files, "/a", {.block_rows = 32, .rotation_bytes = 8'000});
    ASSERT_TRUE(writer);
    test::RowMaker maker(seed, 40);
    for (int i = 0; i < count; ++i) {
      rows.push_back(maker.next());
      rows.back().seq = (*writer)->append(rows.back().event()).value();
    }
    ASSERT_TRUE((*writer)->seal());
  }
};

TEST(JssCompact, DropsWhatTheRulesSayWhateverTheThreadsAndChunks) {
  std::uint64_t first = 0;
  for (const unsigned threads : {1U, 3U}) {
    for (const std::uint64_t most : {std::uint64_t{1} << 20, std::uint64_t{20}}) {
      Made made(2000);
      const std::vector<Row> expected = remaining(made.rows);
      ASSERT_LT(expected.size() + 100, made.rows.size());
      const auto report = compact(made.files, "/a", {.threads = threads, .max_tombstones = most});
      ASSERT_TRUE(report) << report.error().text();
      EXPECT_EQ(report->watermark, 2000U);
      EXPECT_EQ(rows_of(made.files), expected);
      const auto view = format().open(made.files, "/a", {});
      const test::Verified verified = test::verify_view(**view);
      EXPECT_EQ(verified.report.verdict, Verdict::clean) << verified.text();
      // Chunks may compress a block once more; the rows are the same.
      if (most > 20) {
        EXPECT_TRUE(first == 0 || made.files.hash() == first) << threads << " threads";
        first = made.files.hash();
      }
      const auto again = compact(made.files, "/a", {.watermark = 0});
      ASSERT_TRUE(again);
      EXPECT_TRUE(again->rewritten.empty());
      EXPECT_EQ(rows_of(made.files), expected);
    }
  }
}

TEST(JssCompact, FramesThatLostNothingAreCopied) {
  Made made(1200);
  std::vector<SealedFile> before;
  const std::size_t segments = made.files.paths("/a").size();
  for (std::uint64_t i = 0; i < segments; ++i) {
    before.emplace_back(get(made.files, path_of(i)));
  }
  ASSERT_TRUE(compact(made.files, "/a"));
  std::size_t copied = 0;
  std::size_t made_anew = 0;
  for (std::uint64_t i = 0; i < segments; ++i) {
    const SealedFile after(get(made.files, path_of(i)));
    ASSERT_EQ(after.index.size(), before[i].index.size());
    EXPECT_EQ(after.header.min_seq, before[i].header.min_seq);
    EXPECT_EQ(after.header.max_seq, before[i].header.max_seq);
    for (std::size_t block = 0; block < after.index.size(); ++block) {
      const IndexEntry& now = after.index[block];
      const IndexEntry& then = before[i].index[block];
      EXPECT_EQ(now.min_seq, then.min_seq);
      EXPECT_EQ(now.max_seq, then.max_seq);
      EXPECT_EQ(now.min_witnessed_at, then.min_witnessed_at);
      EXPECT_EQ(now.max_witnessed_at, then.max_witnessed_at);
      if (now.event_count == then.event_count) {
        EXPECT_EQ(base::to_hex(after.frame(block)), base::to_hex(before[i].frame(block)));
        ++copied;
      } else {
        ++made_anew;
      }
    }
  }
  EXPECT_GT(copied, 0U);
  EXPECT_GT(made_anew, 0U);
}

TEST(JssCompact, PassesGoOnFromTheWatermark) {
  Made made(800);
  ASSERT_TRUE(compact(made.files, "/a"));
  EXPECT_EQ(noted_watermark(**made.files.open_directory("/a")), 800U);
  made.append(800, 8);
  const std::vector<Row> expected = remaining(made.rows);
  CompactionOptions rehearsal;
  rehearsal.dry_run = true;
  const std::uint64_t hash = made.files.hash();
  const auto rehearsed = compact(made.files, "/a", rehearsal);
  ASSERT_TRUE(rehearsed);
  EXPECT_EQ(made.files.hash(), hash);
  const auto report = compact(made.files, "/a");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->watermark_before, 800U);
  EXPECT_EQ(report->watermark, 1600U);
  EXPECT_EQ(rows_of(made.files), expected);
  ASSERT_EQ(report->rewritten.size(), rehearsed->rewritten.size());
  for (std::size_t i = 0; i < report->rewritten.size(); ++i) {
    EXPECT_EQ(report->rewritten[i].rows_dropped, rehearsed->rewritten[i].rows_dropped);
    EXPECT_EQ(report->rewritten[i].blocks_changed, rehearsed->rewritten[i].blocks_changed);
  }
  // A note that is not understood is no note.
  put(made.files, "/a/" + std::string(k_compaction_note_name), "{\"schema\":\"?\"");
  EXPECT_EQ(noted_watermark(**made.files.open_directory("/a")), 0U);
  const auto again = compact(made.files, "/a");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->watermark_before, 0U);
}

TEST(JssCompact, LeavesDamageAndTheActiveSegmentAlone) {
  Made made(600);
  {
    auto writer = Writer::open(made.files, "/a");
    ASSERT_TRUE(writer);
    Row row = made.rows.front();
    row.seq = 0;
    ASSERT_TRUE((*writer)->append(row.event()));
    ASSERT_TRUE((*writer)->sync());
    const std::string active = "/a/" + made.files.paths("/a").back();
    const std::string bytes = get(made.files, active);
    // The writer goes on meanwhile.
    ASSERT_TRUE(compact(made.files, "/a"));
    EXPECT_TRUE(get(made.files, active) == bytes);
    const auto verb = format().compact(made.files, "/a", {});
    ASSERT_TRUE(verb) << verb.error().text();
    EXPECT_EQ(*verb->detail.find("active_segment")->as_text(), "left to its writer");
  }
  Made hurt(600);
  std::string bytes = get(hurt.files, path_of(0));
  bytes[400] = static_cast<char>(bytes[400] ^ 1);
  put(hurt.files, path_of(0), bytes);
  const std::uint64_t hash = hurt.files.hash();
  const auto refused = compact(hurt.files, "/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::damaged);
  EXPECT_EQ(hurt.files.hash(), hash);
}

TEST(JssCompact, OneRewriterAtATime) {
  Made made(600);
  const auto other = made.files.open_file(path_of(0), io::OpenMode::read);
  ASSERT_TRUE((*other)->lock(io::LockKind::exclusive));
  const auto refused = compact(made.files, "/a", {.threads = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::locked);
}

TEST(JssPatch, SetsTheColumnAndNothingElse) {
  Made made(900);
  std::vector<IndexedAtPatch> patches;
  std::vector<Row> expected = made.rows;
  for (const std::uint64_t seq : {5, 6, 500}) {
    patches.push_back({seq, 1'600'000'000'000'000 + static_cast<std::int64_t>(seq)});
    expected[seq - 1].indexed_at = patches.back().indexed_at;
  }
  patches.push_back({501, 0});  // has it already
  patches.push_back({5000, 1});
  std::vector<SealedFile> before;
  const std::size_t segments = made.files.paths("/a").size();
  for (std::uint64_t i = 0; i < segments; ++i) {
    before.emplace_back(get(made.files, path_of(i)));
  }
  const auto report = patch_indexed_at(made.files, "/a", patches, 2);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->rows_changed, 3U);
  EXPECT_EQ(report->rows_equal, 1U);
  EXPECT_EQ(report->rows_missing, 1U);
  EXPECT_EQ(report->rewritten.size(), 2U);
  EXPECT_EQ(rows_of(made.files), expected);
  std::size_t changed = 0;
  for (std::uint64_t i = 0; i < segments; ++i) {
    const SealedFile after(get(made.files, path_of(i)));
    EXPECT_EQ(base::to_hex(after.did_bloom()), base::to_hex(before[i].did_bloom()));
    EXPECT_EQ(base::to_hex(after.block_blooms()), base::to_hex(before[i].block_blooms()));
    EXPECT_EQ(after.bytes.substr(after.header.collection_index_offset),
              before[i].bytes.substr(before[i].header.collection_index_offset));
    for (std::size_t block = 0; block < after.index.size(); ++block) {
      changed += base::as_text(after.frame(block)) != base::as_text(before[i].frame(block));
      EXPECT_EQ(after.index[block].uncompressed_size, before[i].index[block].uncompressed_size);
    }
    EXPECT_EQ(after.bytes == before[i].bytes, after.header.checksum == before[i].header.checksum);
  }
  EXPECT_EQ(changed, 2U);
  const test::Verified verified = test::verify_view(**format().open(made.files, "/a", {}));
  EXPECT_EQ(verified.report.verdict, Verdict::clean) << verified.text();
  const std::uint64_t hash = made.files.hash();
  const auto again = patch_indexed_at(made.files, "/a", patches);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->rewritten.empty());
  EXPECT_EQ(again->rows_equal, 4U);
  EXPECT_EQ(made.files.hash(), hash);
  std::swap(patches[0], patches[1]);
  EXPECT_EQ(patch_indexed_at(made.files, "/a", patches).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace varve::jss
