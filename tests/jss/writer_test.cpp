// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include "fixture_rows.hpp"
#include "io/simulated.hpp"
#include "jss/names.hpp"
#include "jss/writing.hpp"
#include "sealed_file.hpp"
#include "varve/jss.hpp"

namespace varve::jss {
namespace {

using test::Row;
using test::SealedFile;

std::string get(io::SimulatedFileSystem& files, const std::string& path) {
  const auto bytes = files.get(path);
  EXPECT_TRUE(bytes) << path;
  return bytes ? std::string(base::as_text(*bytes)) : std::string();
}

Row make_row(std::uint64_t i) {
  Row row;
  row.witnessed_at = static_cast<std::int64_t>(1'783'000'000'000'000 + i);
  row.kind = static_cast<std::uint8_t>(i % 7 + 1);
  row.did = "did:plc:" + std::to_string(i % 13);
  if (is_commit(row.kind)) {
    row.collection = i % 3 == 0 ? "app.bsky.feed.post" : "app.bsky.feed.like";
    row.rkey = std::to_string(i);
    row.rev = "3mptbypluud22";
  }
  if (row.kind != 3) {
    row.payload =
        "\xa1\x61"
        "a\x18" +
        std::string(1, static_cast<char>(24 + i % 200));
  }
  return row;
}

// Appends rows [from, to) without numbers; their seq is 1 above the one before.
void append_rows(Writer& writer, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i < to; ++i) {
    const auto seq = writer.append(make_row(i).event());
    ASSERT_TRUE(seq) << seq.error().text();
  }
}

// All rows of the sealed segments of a directory, in order.
std::vector<Row> sealed_rows(io::SimulatedFileSystem& files, const std::string& directory) {
  std::vector<Row> out;
  for (const std::string& path : files.paths(directory)) {
    const SealedFile file(get(files, directory + "/" + io::split_path(path).name));
    EXPECT_NE(file.header.checksum, 0U) << path;
    const auto rows = file.rows();
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

void expect_rows(const std::vector<Row>& rows, std::uint64_t count) {
  ASSERT_EQ(rows.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    Row expected = make_row(i);
    expected.seq = i + 1;
    ASSERT_EQ(rows[i], expected);
  }
}

TEST(JssWriter, WritesTheActiveFixtureAndSealsItByteForByte) {
  VARVE_REQUIRE_SHARED();
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a.jss"));
  EXPECT_TRUE(get(files, "/a.jss") == varve::test::read_file(test::fixture("active_empty.jss")));
  auto writer = Writer::open(files, "/a.jss", {.threads = 2});
  ASSERT_TRUE(writer) << writer.error().text();
  std::uint64_t block = 0;
  for (const Row& row : test::fixture_rows("active")) {
    if (row.block != block) {
      block = row.block;
      ASSERT_TRUE((*writer)->sync());
    }
    ASSERT_TRUE((*writer)->append(row.event()));
  }
  ASSERT_TRUE((*writer)->sync());
  EXPECT_EQ((*writer)->acknowledged(), 12U);
  EXPECT_TRUE(get(files, "/a.jss") == varve::test::read_file(test::fixture("active.jss")));
  ASSERT_TRUE((*writer)->seal());
  EXPECT_TRUE(get(files, "/a.jss") == varve::test::read_file(test::fixture("all_kinds.jss")));
  const auto refused = (*writer)->append(make_row(1).event());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "SegmentSealed");
}

TEST(JssWriter, SealsTheActiveFixtureThatAnotherWriterLeft) {
  VARVE_REQUIRE_SHARED();
  io::SimulatedFileSystem files;
  const std::string active = varve::test::read_file(test::fixture("active.jss"));
  ASSERT_TRUE(files.put("/a.jss", base::as_bytes(active)));
  const auto report = seal_store(files, "/a.jss", {});
  ASSERT_TRUE(report) << report.error().text();
  const SealedFile sealed(get(files, "/a.jss"));
  EXPECT_TRUE(sealed.bytes == varve::test::read_file(test::fixture("all_kinds.jss")));
  const SealedFile upstream(
      varve::test::read_file(test::fixture("all_kinds_sealed_by_upstream.jss")));
  EXPECT_EQ(sealed.rows(), upstream.rows());
  EXPECT_EQ(sealed.collection_body(), upstream.collection_body());
  const auto again = seal_store(files, "/a.jss", {});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->actions.empty());
  EXPECT_FALSE(Writer::open(files, "/a.jss"));
}

class ActiveFixture : public testing::TestWithParam<const char*> {};

TEST_P(ActiveFixture, RecoversWithoutLosingARow) {
  VARVE_REQUIRE_SHARED();
  const std::string name = GetParam();
  const std::string damaged = varve::test::read_file(test::fixture(name));
  const std::string whole = varve::test::read_file(test::fixture("active.jss"));
  io::SimulatedFileSystem files;
  ASSERT_TRUE(files.put("/s/" + name, base::as_bytes(damaged)));

  // A rehearsal changes nothing and tells the same.
  WriteRequest rehearsal;
  rehearsal.dry_run = true;
  const std::uint64_t before = files.hash();
  const auto rehearsed = recover_store(files, "/s/" + name, rehearsal);
  ASSERT_TRUE(rehearsed) << rehearsed.error().text();
  EXPECT_EQ(files.hash(), before);

  const auto report = recover_store(files, "/s/" + name, {});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->detail.text(), rehearsed->detail.text());
  const bool footer = name == "active_torn_footer.jss";
  EXPECT_TRUE(get(files, "/s/" + name) ==
              (footer ? varve::test::read_file(test::fixture("all_kinds.jss")) : whole));
  EXPECT_EQ(report->actions.size(), damaged == whole ? 0U : 1U);

  // A writer cuts what is not proven and goes on behind the last row.
  ASSERT_TRUE(files.put("/s/" + name, base::as_bytes(damaged)));
  auto writer = Writer::open(files, "/s/" + name);
  ASSERT_TRUE(writer) << writer.error().text();
  EXPECT_TRUE(get(files, "/s/" + name) == whole);
  EXPECT_EQ((*writer)->next_seq(), 13U);
}

INSTANTIATE_TEST_SUITE_P(All, ActiveFixture,
                         testing::Values("active.jss", "active_torn_prefix.jss",
                                         "active_torn_body.jss", "active_huge_prefix.jss",
                                         "active_zero_tail.jss", "active_zero_frame.jss",
                                         "active_torn_footer.jss"),
                         [](const auto& param) {
                           const std::string name = param.param;
                           return name.substr(0, name.size() - 4);
                         });

TEST(JssRecovery, RefusesToCutCommittedRows) {
  VARVE_REQUIRE_SHARED();
  const std::string whole = varve::test::read_file(test::fixture("active.jss"));
  const SealedFile sealed(varve::test::read_file(test::fixture("all_kinds.jss")));
  const auto refuses = [&](std::string bytes, const std::string& what) {
    io::SimulatedFileSystem files;
    ASSERT_TRUE(files.put("/a.jss", base::as_bytes(bytes)));
    const auto report = recover_store(files, "/a.jss", {});
    EXPECT_FALSE(report) << what;
    if (!report) {
      EXPECT_EQ(report.error().code, ErrorCode::damaged) << what;
    }
    EXPECT_FALSE(Writer::open(files, "/a.jss")) << what;
    EXPECT_TRUE(get(files, "/a.jss") == bytes) << what;
  };
  // Bit 32 of block 1's prefix: the overrun of a committed frame is no torn tail.
  std::string bytes = whole;
  bytes[sealed.index[1].offset + 4] = static_cast<char>(bytes[sealed.index[1].offset + 4] ^ 1);
  refuses(bytes, "a bit of a length prefix");
  // The content of a committed frame.
  bytes = whole;
  bytes[sealed.index[1].offset + 40] = static_cast<char>(bytes[sealed.index[1].offset + 40] ^ 1);
  refuses(bytes, "a bit of a frame");
  // The last frame, too: nobody can tell whether it was acknowledged.
  bytes = whole;
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  refuses(bytes, "a bit of the last frame");
  refuses(whole + std::string("\x0a\0\0\0\0\0\0\0rubbish...", 18), "a frame of rubbish");
  bytes = whole;
  bytes[0] = 'k';
  refuses(bytes, "the magic");
  refuses(whole.substr(0, 100), "a header cut short");
}

TEST(JssWriter, ACreationThatNeverBecameDurableIsBegunAgain) {
  io::SimulatedFileSystem files;
  for (const std::size_t size : {0, 256}) {
    ASSERT_TRUE(files.put("/a/seg_0000000000.jss", base::Bytes(size)));
    auto writer = Writer::open(files, "/a");
    ASSERT_TRUE(writer) << writer.error().text();
    EXPECT_EQ((*writer)->next_seq(), 1U);
    append_rows(**writer, 0, 3);
    ASSERT_TRUE((*writer)->seal());
    expect_rows(sealed_rows(files, "/a"), 3);
    writer->reset();
  }
}

TEST(JssWriter, RotatesBySizeWhateverTheNumberOfThreads) {
  std::string first;
  for (const unsigned threads : {1U, 2U, 5U}) {
    io::SimulatedFileSystem files;
    ASSERT_TRUE(Writer::create(files, "/a"));
    auto writer =
        Writer::open(files, "/a", {.threads = threads, .block_rows = 16, .rotation_bytes = 2000});
    ASSERT_TRUE(writer);
    append_rows(**writer, 0, 500);
    ASSERT_TRUE((*writer)->seal());
    EXPECT_GT((*writer)->sealed_segments().size(), 3U);
    expect_rows(sealed_rows(files, "/a"), 500);
    std::string all;
    for (const std::string& name : (*writer)->sealed_segments()) {
      const SealedFile file(get(files, "/a/" + name));
      all += file.bytes;
      // By one block at most is a segment larger than asked for.
      const IndexEntry& last = file.index.back();
      EXPECT_LT(last.offset - 256, 2000U);
      for (std::size_t i = 0; i + 1 < file.index.size(); ++i) {
        EXPECT_EQ(file.index[i].event_count, 16U);
      }
    }
    EXPECT_TRUE(first.empty() || all == first) << threads << " threads";
    first = all;
  }
}

TEST(JssWriter, BlocksEndBySizeToo) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a.jss"));
  auto writer = Writer::open(files, "/a.jss", {.block_bytes = 1000});
  ASSERT_TRUE(writer);
  Row large = make_row(0);
  large.payload.assign(3000, 'x');
  append_rows(**writer, 0, 5);
  ASSERT_TRUE((*writer)->append(large.event()));
  append_rows(**writer, 6, 20);
  ASSERT_TRUE((*writer)->seal());
  const SealedFile file(get(files, "/a.jss"));
  ASSERT_EQ(file.index.size(), 3U);
  EXPECT_EQ(file.index[0].event_count, 5U);
  EXPECT_EQ(file.index[1].event_count, 1U);
  EXPECT_EQ(file.header.event_count, 20U);
}

TEST(JssWriter, NumbersGoOnOverRestarts) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  const auto open = [&](std::uint64_t least = 1) {
    auto writer = Writer::open(files, "/a", {.next_seq = least});
    EXPECT_TRUE(writer) << writer.error().text();
    return std::move(*writer);
  };
  auto writer = open();
  EXPECT_EQ(writer->next_seq(), 1U);
  append_rows(*writer, 0, 3);
  ASSERT_TRUE(writer->close());
  writer = open();
  EXPECT_EQ(writer->next_seq(), 4U);
  ASSERT_TRUE(writer->seal());
  writer = open();
  EXPECT_EQ(writer->next_seq(), 4U) << "after a sealed segment";
  writer = open(100);
  EXPECT_EQ(writer->next_seq(), 100U) << "what the caller has stored wins";
  Row row = make_row(3);
  row.seq = 99;
  EXPECT_EQ(writer->append(row.event()).error().reason, "seq");
  row.seq = 200;
  EXPECT_EQ(writer->append(row.event()), 200U);
  row.seq = 200;
  EXPECT_EQ(writer->append(row.event()).error().reason, "seq");
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(files.paths("/a").size(), 2U);
  // An active segment without rows tells nothing: the one before does.
  writer = open();
  ASSERT_TRUE(writer->seal());
  ASSERT_TRUE(files.put("/a/seg_0000000002.jss", files.get("/a/seg_0000000000.jss").value()));
  ASSERT_TRUE(files.set_size("/a/seg_0000000002.jss", 0));
  writer = open();
  EXPECT_EQ(writer->next_seq(), 201U);
  row.seq = UINT64_MAX;
  EXPECT_EQ(writer->append(row.event()), UINT64_MAX);
  row.seq = 0;
  EXPECT_EQ(writer->append(row.event()).error().reason, "seq") << "no number is left";
}

TEST(JssWriter, ASealedSegmentWithAWrongChecksumIsNotBuiltUpon) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  auto writer = Writer::open(files, "/a");
  append_rows(**writer, 0, 3);
  ASSERT_TRUE((*writer)->seal());
  writer->reset();
  std::string bytes = get(files, "/a/seg_0000000000.jss");
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  ASSERT_TRUE(files.put("/a/seg_0000000000.jss", base::as_bytes(bytes)));
  const auto refused = Writer::open(files, "/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::damaged);
  EXPECT_EQ(refused.error().reason, "ChecksumMismatch");
}

TEST(JssWriter, AnUnsealableArchiveSegmentWithoutRowsIsLeftAlone) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  auto writer = Writer::open(files, "/a");
  const auto sealed = (*writer)->seal();
  ASSERT_TRUE(sealed);
  EXPECT_EQ(*sealed, std::nullopt);
  EXPECT_EQ(get(files, "/a/seg_0000000000.jss").size(), 256U);
  // A store of one file has nothing else to become: it is sealed without blocks.
  ASSERT_TRUE(Writer::create(files, "/b.jss"));
  ASSERT_TRUE(seal_store(files, "/b.jss", {}));
  EXPECT_EQ(SealedFile(get(files, "/b.jss")).header.block_count, 0U);
}

TEST(JssWriter, OneWriterAtATime) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  const auto first = Writer::open(files, "/a");
  ASSERT_TRUE(first);
  const auto second = Writer::open(files, "/a");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::locked);
}

// Where no segment is active there is nothing to lock: the one that comes first goes on.
TEST(JssWriter, TheNextSegmentHasOneWriterToo) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  auto first = Writer::open(files, "/a");
  append_rows(**first, 0, 2);
  ASSERT_TRUE((*first)->seal());
  auto second = Writer::open(files, "/a");
  ASSERT_TRUE(second);
  append_rows(**first, 2, 4);
  ASSERT_TRUE((*first)->sync());
  append_rows(**second, 2, 3);
  EXPECT_EQ((*second)->sync().error().code, ErrorCode::locked);
  ASSERT_TRUE((*first)->seal());
  EXPECT_EQ((*second)->sync().error().code, ErrorCode::poisoned);
  expect_rows(sealed_rows(files, "/a"), 4);
}

TEST(JssWriter, DoesNotCreateOverAnything) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  EXPECT_EQ(Writer::create(files, "/a").error().system_errno, EEXIST);
  ASSERT_TRUE(Writer::create(files, "/b.jss"));
  EXPECT_EQ(Writer::create(files, "/b.jss").error().system_errno, EEXIST);
}

TEST(JssWriter, AFailureIsFinal) {
  for (const auto kind :
       {io::FaultKind::io_error, io::FaultKind::no_space, io::FaultKind::short_write}) {
    io::SimulatedFileSystem files;
    ASSERT_TRUE(Writer::create(files, "/a"));
    auto writer = Writer::open(files, "/a");
    append_rows(**writer, 0, 3);
    ASSERT_TRUE((*writer)->sync());
    append_rows(**writer, 3, 5);
    files.set_fault(io::Fault{0, kind, false, io::k_changing_calls});
    EXPECT_FALSE((*writer)->sync());
    files.set_fault(std::nullopt);
    EXPECT_EQ((*writer)->append(make_row(5).event()).error().code, ErrorCode::poisoned);
    EXPECT_EQ((*writer)->sync().error().code, ErrorCode::poisoned);
    EXPECT_EQ((*writer)->seal().error().code, ErrorCode::poisoned);
    EXPECT_EQ((*writer)->acknowledged(), 3U);
    writer->reset();
    writer = Writer::open(files, "/a");
    ASSERT_TRUE(writer) << writer.error().text();
    EXPECT_EQ((*writer)->next_seq(), 4U);
  }
}

TEST(JssWriter, RemovesWhatInterruptedRewritesLeft) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(Writer::create(files, "/a"));
  ASSERT_TRUE(files.put("/a/seg_0000000000.jss.tmp", base::as_bytes("left over")));
  ASSERT_TRUE(files.put("/a/seg_0.jss.tmp", base::as_bytes("not ours")));
  const auto writer = Writer::open(files, "/a");
  ASSERT_TRUE(writer);
  EXPECT_FALSE(files.get("/a/seg_0000000000.jss.tmp"));
  EXPECT_TRUE(files.get("/a/seg_0.jss.tmp"));
}

}  // namespace
}  // namespace varve::jss
