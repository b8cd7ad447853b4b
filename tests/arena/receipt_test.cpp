// SPDX-License-Identifier: MIT OR Apache-2.0
// Receipts of `verify` over several segments: earlier ones may not change at all, the last one is
// continued, another generation is another store.
#include <algorithm>

#include "varve/verify_receipt.hpp"
#include "writer_support.hpp"

namespace varve::arena::test {
namespace {

struct Checked {
  VerifyReport report;
  FindingList findings;
};

Checked verify(io::FileSystem& files, const VerifyReceipt* since = nullptr) {
  Checked run;
  auto view = ArenaView::open(files, "/arena", {}, k_small_growing);
  if (!view) {
    ADD_FAILURE() << view.error().text();
    return run;
  }
  (*view)->set_settle_ms(0);
  VerifyRequest request;
  request.threads = 1;
  request.since = since;
  request.make_receipt = true;
  auto report = (*view)->verify(request, run.findings);
  EXPECT_TRUE(report) << report.error().text();
  run.report = report.value_or(VerifyReport{});
  return run;
}

class ArenaReceipt : public testing::Test {
 protected:
  ArenaReceipt() {
    put_bare_arena(files_, k_small_growing);
    append_some(40);
  }
  void append_some(std::uint64_t count) {
    const auto journal = must_open(files_, "/arena", k_small_growing);
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(append(*journal, payload_text(++number_)));
    }
    ASSERT_TRUE(journal->close());
  }
  io::SimulatedFileSystem files_;
  std::uint64_t number_ = 0;
};

TEST_F(ArenaReceipt, GoesOnInTheLastSegmentAndInNewOnes) {
  const Checked full = verify(files_);
  ASSERT_EQ(full.report.verdict, Verdict::clean);
  ASSERT_GT(full.report.counts.segments, 2U);
  ASSERT_EQ(full.report.receipt->parts.size(), full.report.counts.segments);
  std::shared_ptr<const VerifyReceipt> receipt = full.report.receipt;
  // Short steps, so that the last segment grows, and long ones, so that new ones begin.
  for (const std::uint64_t more : {0, 1, 2, 30, 1, 60}) {
    append_some(more);
    const Checked again = verify(files_, receipt.get());
    const Checked whole = verify(files_);
    EXPECT_EQ(again.report.verdict, Verdict::clean);
    EXPECT_EQ(again.report.counts.records, number_);
    EXPECT_EQ(again.report.counts.records, whole.report.counts.records);
    EXPECT_EQ(again.report.counts.units, whole.report.counts.units);
    EXPECT_EQ(again.report.receipt_use.parts_taken, receipt->parts.size());
    EXPECT_EQ(again.report.counts.bytes + again.report.receipt_use.bytes_taken,
              whole.report.counts.bytes);
    EXPECT_EQ(again.findings.total(), whole.findings.total());
    receipt = again.report.receipt;
  }
}

TEST_F(ArenaReceipt, AnEarlierSegmentMayNotChange) {
  const Checked full = verify(files_);
  auto file = files_.open_file("/arena/seg_0.bin", io::OpenMode::read_write);
  ASSERT_TRUE(file);
  std::byte byte;
  ASSERT_TRUE((*file)->read_at({&byte, 1}, 100));
  byte ^= std::byte{1};
  ASSERT_TRUE((*file)->write_at({&byte, 1}, 100));
  const Checked again = verify(files_, full.report.receipt.get());
  EXPECT_EQ(again.report.verdict, Verdict::damaged);
  EXPECT_TRUE(std::ranges::any_of(again.findings.findings(), [](const Finding& finding) {
    return finding.code == "receipt-mismatch";
  }));
  EXPECT_EQ(again.report.receipt_use.parts_taken, full.report.receipt->parts.size() - 1);
}

TEST_F(ArenaReceipt, AnotherGenerationIsAnotherStore) {
  const Checked full = verify(files_);
  VerifyReceipt older = *full.report.receipt;
  older.store = "gen-0000000000000001";
  const Checked again = verify(files_, &older);
  EXPECT_EQ(again.report.receipt_use.parts_taken, 0U);
  EXPECT_EQ(again.report.receipt_use.reasons.size(), 1U);
  EXPECT_EQ(again.report.counts.bytes, full.report.counts.bytes);
}

}  // namespace
}  // namespace varve::arena::test
