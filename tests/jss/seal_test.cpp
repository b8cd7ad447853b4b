// SPDX-License-Identifier: MIT OR Apache-2.0
// Sealing: what it reads, the published segments made again from their rows, and the blooms of many
// random segments.
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "io/simulated.hpp"
#include "jss/bloom.hpp"
#include "jss/writing.hpp"
#include "sealed_file.hpp"
#include "varve/jss.hpp"

namespace varve::jss {
namespace {

using test::Row;
using test::SealedFile;

const std::string k_file = "/a.jss";

SealedFile sealed_file(io::SimulatedFileSystem& files) {
  return SealedFile(std::string(base::as_text(files.get(k_file).value())));
}

// A file of these rows with the blocks that they name, not sealed.
std::unique_ptr<Writer> write_rows(io::SimulatedFileSystem& files, const std::vector<Row>& rows) {
  EXPECT_TRUE(Writer::create(files, k_file));
  auto writer = Writer::open(files, k_file, {.threads = 1});
  EXPECT_TRUE(writer);
  std::uint64_t block = 0;
  for (const Row& row : rows) {
    if (row.block != block) {
      block = row.block;
      EXPECT_TRUE((*writer)->sync());
    }
    EXPECT_TRUE((*writer)->append(row.event()));
  }
  EXPECT_TRUE((*writer)->sync());
  return *std::move(writer);
}

TEST(JssSeal, AWriterThatHasTheBlocksReadsNothing) {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 300; ++i) {
    Row row;
    row.block = i / 50;
    row.kind = 4;
    row.did = "did:plc:" + std::to_string(i % 7);
    rows.push_back(row);
  }
  const auto reads = [](io::SimulatedFileSystem& files) {
    return std::ranges::count(files.trace(), io::CallKind::read, &io::Call::kind);
  };
  io::SimulatedFileSystem files;
  const auto writer = write_rows(files, rows);
  const base::Bytes active = files.get(k_file).value();
  files.set_trace(true);
  ASSERT_TRUE(writer->seal());
  EXPECT_EQ(reads(files), 0);
  // Footer, sync, header, sync.
  std::vector<io::CallKind> calls;
  for (const io::Call& call : files.trace()) {
    calls.push_back(call.kind);
  }
  using enum io::CallKind;
  EXPECT_EQ(calls, (std::vector{write, sync, write, sync}));

  // One that did not write them does, and makes the same of it.
  io::SimulatedFileSystem others;
  ASSERT_TRUE(others.put(k_file, active));
  others.set_trace(true);
  ASSERT_TRUE(seal_store(others, k_file, {}));
  EXPECT_GT(reads(others), 6);
  EXPECT_TRUE(others.get(k_file).value() == files.get(k_file).value());
}

class PublishedSegment : public testing::TestWithParam<const char*> {};

TEST_P(PublishedSegment, IsMadeAgainFromItsRows) {
  VARVE_REQUIRE_SHARED();
  const std::string name = GetParam();
  const SealedFile published(varve::test::read_file(test::fixture(name + ".jss")));
  io::SimulatedFileSystem files;
  const std::vector<Row> rows = test::fixture_rows(name);
  ASSERT_TRUE(write_rows(files, rows)->seal());
  const SealedFile made = sealed_file(files);
  EXPECT_EQ(made.rows(), rows);
  EXPECT_EQ(base::to_hex(made.did_bloom()), base::to_hex(published.did_bloom()));
  EXPECT_EQ(base::to_hex(made.block_blooms()), base::to_hex(published.block_blooms()));
  EXPECT_EQ(base::to_hex(made.collection_head()), base::to_hex(published.collection_head()));
  EXPECT_EQ(made.collection_body(), published.collection_body());
  // What depends on the compressor: where the frames end, and so the offsets behind them.
  ASSERT_EQ(made.index.size(), published.index.size());
  std::size_t frames_equal = 0;  // docs/jss.md tells of which segments; told, since zstd decides it
  for (std::size_t i = 0; i < made.index.size(); ++i) {
    frames_equal += std::ranges::equal(made.frame(i), published.frame(i)) ? 1 : 0;
    IndexEntry entry = made.index[i];
    entry.offset = published.index[i].offset;
    entry.compressed_size = published.index[i].compressed_size;
    EXPECT_TRUE(entry == published.index[i]) << "block " << i;
  }
  RecordProperty("frames", std::to_string(made.index.size()));
  RecordProperty("frames_equal", std::to_string(frames_equal));
  RecordProperty("files_equal", made.bytes == published.bytes ? "yes" : "no");
  const Header& header = made.header;
  for (const auto section : {&Header::block_index_offset, &Header::did_bloom_offset,
                             &Header::block_did_bloom_offset, &Header::collection_index_offset}) {
    EXPECT_EQ(header.*section - header.footer_offset,
              published.header.*section - published.header.footer_offset);
  }
  EXPECT_EQ(header.event_count, published.header.event_count);
  EXPECT_EQ(header.unique_did_count, published.header.unique_did_count);
  EXPECT_EQ(header.min_seq, published.header.min_seq);
  EXPECT_EQ(header.max_seq, published.header.max_seq);
  EXPECT_EQ(header.min_witnessed_at, published.header.min_witnessed_at);
  EXPECT_EQ(header.max_witnessed_at, published.header.max_witnessed_at);
}

INSTANTIATE_TEST_SUITE_P(All, PublishedSegment,
                         testing::Values("golden_seal", "golden_corpus_segment", "all_kinds",
                                         "all_kinds_sealed_by_upstream", "one_event",
                                         "sparse_strings", "before_rewrite"),
                         [](const auto& param) { return std::string(param.param); });

// The published parameters for 1 to 4096 keys.
std::vector<BloomParameters> published_parameters() {
  std::vector<BloomParameters> out(4097);
  std::ifstream table(test::fixture("gloom_params_fpr0.001.tsv"));
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::uint64_t first = 0, last = 0, blocks = 0;
    std::uint32_t k = 0;
    fields >> first >> last >> blocks >> k;
    for (std::uint64_t n = first; n <= std::min<std::uint64_t>(last, 4096); ++n) {
      out[n] = {blocks, k};
    }
  }
  return out;
}

// The share of strangers that pass the blooms of segments.
struct Passing {
  std::uint64_t asked = 0;
  std::uint64_t passed = 0;
  void ask(const BloomView& bloom, std::mt19937_64& random) {
    for (int i = 0; i < 100; ++i, ++asked) {
      passed += bloom.may_contain(BloomKey::of("did:web:" + std::to_string(random()))) ? 1 : 0;
    }
  }
};

void check_blooms(const SealedFile& file, const std::vector<std::set<std::string>>& blocks,
                  const std::vector<BloomParameters>& published, std::mt19937_64& random,
                  Passing& passing) {
  const auto whole = BloomView::parse(file.did_bloom());
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->parameters(), published.at(file.header.unique_did_count));
  EXPECT_EQ(whole->count(), file.header.unique_did_count);
  passing.ask(*whole, random);
  ASSERT_EQ(file.index.size(), blocks.size());
  std::size_t most = 1;
  for (const auto& dids : blocks) {
    most = std::max(most, dids.size());
  }
  const std::size_t blob_bytes = published[most].blob_bytes();
  ASSERT_EQ(file.block_blooms().size(), 8 + blocks.size() * blob_bytes);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto bloom =
        BloomView::parse(file.block_blooms().subspan(8 + i * blob_bytes, blob_bytes));
    ASSERT_TRUE(bloom);
    EXPECT_EQ(bloom->parameters(), published[most]);
    EXPECT_EQ(bloom->count(), blocks[i].size());
    for (const std::string& did : blocks[i]) {
      ASSERT_TRUE(whole->may_contain(BloomKey::of(did)));
      ASSERT_TRUE(bloom->may_contain(BloomKey::of(did)));
    }
    passing.ask(*bloom, random);
  }
}

TEST(JssSeal, BloomsOfAThousandSegments) {
  VARVE_REQUIRE_SHARED();
  const std::vector<BloomParameters> published = published_parameters();
  std::mt19937_64 random(20260705);
  Passing passing;
  for (std::uint64_t segment = varve::test::scaled(1000); segment > 0; --segment) {
    std::vector<Row> rows;
    std::vector<std::set<std::string>> blocks;
    const std::uint64_t accounts = 1 + random() % (std::uint64_t{1} << (1 + random() % 9));
    for (std::uint64_t block = 0, last = random() % 5; block <= last; ++block) {
      blocks.emplace_back();
      for (std::uint64_t left = 1 + random() % (1 + accounts); left > 0; --left) {
        Row row;
        row.block = block;
        row.kind = 4;
        row.did = "did:plc:" + std::to_string(random() % accounts);
        blocks.back().insert(row.did);
        rows.push_back(row);
      }
    }
    io::SimulatedFileSystem files({nullptr, false});
    ASSERT_TRUE(write_rows(files, rows)->seal());
    check_blooms(sealed_file(files), blocks, published, random, passing);
  }
  // At or under the rate; five standard deviations are left to chance.
  const double asked = static_cast<double>(passing.asked);
  EXPECT_LE(static_cast<double>(passing.passed) / asked,
            k_bloom_rate + 5 * std::sqrt(k_bloom_rate / asked));
}

}  // namespace
}  // namespace varve::jss
