// SPDX-License-Identifier: MIT OR Apache-2.0
// Incremental verify: what is unchanged is not read again, what is new is, and no receipt makes a
// fault that is read look clean.
#include <gmock/gmock.h>

#include "tests/damage/counting_files.hpp"
#include "tests/damage/large_stores.hpp"
#include "varve/kladde_store.hpp"
#include "varve/store.hpp"
#include "varve/verify_receipt.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;

struct Checked {
  VerifyReport report;
  FindingList findings;
  std::uint64_t read = 0;

  bool mentions(std::string_view code) const {
    return std::ranges::any_of(findings.findings(),
                               [&](const Finding& finding) { return finding.code == code; });
  }
};

Checked verify(const std::string& format, const std::string& path,
               const VerifyReceipt* since = nullptr, unsigned threads = 1) {
  CountingFileSystem files(io::posix_file_system());
  OpenOptions options;
  options.threads = threads;
  Checked run;
  auto view = find_format(format)->open(files, path, options);
  if (!view) {
    ADD_FAILURE() << view.error().text();
    return run;
  }
  VerifyRequest request;
  request.threads = threads;
  request.since = since;
  request.make_receipt = true;
  auto report = (*view)->verify(request, run.findings);
  if (!report) {
    ADD_FAILURE() << report.error().text();
    return run;
  }
  run.report = *std::move(report);
  run.read = files.take_count();
  return run;
}

void expect_same_counts(const VerifyReport& a, const VerifyReport& b) {
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.counts.files, b.counts.files);
  EXPECT_EQ(a.counts.segments, b.counts.segments);
  EXPECT_EQ(a.counts.units, b.counts.units);
  EXPECT_EQ(a.counts.records, b.counts.records);
  EXPECT_EQ(a.intact_records, b.intact_records);
}

void flip(const fs::path& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 0x10));
  ASSERT_TRUE(file.good());
}

class Receipt : public testing::TestWithParam<const char*> {
 protected:
  Receipt() : store_(GetParam(), scratch_) {
    store_.append(20, 40'000);
    store_.close_segment();
    store_.append(20, 40'000);
    store_.close_segment();
    age();
  }
  // Readers look twice at the end of what was written a moment ago.
  void age() const {
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
      if (entry.is_regular_file() &&
          fs::last_write_time(entry.path()) >
              fs::file_time_type::clock::now() - std::chrono::minutes(1)) {
        fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
      }
    }
  }
  Checked run(const VerifyReceipt* since = nullptr, unsigned threads = 1) const {
    return verify(GetParam(), store_.path(), since, threads);
  }

  ScratchDirectory scratch_;
  LargeStore store_;
};

TEST_P(Receipt, AnUnchangedStoreIsHardlyRead) {
  const Checked full = run();
  ASSERT_EQ(full.report.verdict, Verdict::clean);
  ASSERT_TRUE(full.report.receipt);
  ASSERT_FALSE(full.report.receipt->parts.empty());
  // As it comes back from a file.
  const auto receipt = parse_verify_receipt(to_json(*full.report.receipt).text());
  ASSERT_TRUE(receipt) << receipt.error().text();
  for (const unsigned threads : {1U, 3U}) {
    const Checked again = run(&*receipt, threads);
    expect_same_counts(again.report, full.report);
    // What is left is what is looked at each time, and the edges.
    EXPECT_LT(again.read, full.read - again.report.receipt_use.bytes_taken + 300'000);
    EXPECT_EQ(again.report.receipt_use.parts_taken, receipt->parts.size());
    EXPECT_GT(again.report.receipt_use.bytes_taken, 1'000'000U);
    EXPECT_LE(again.report.counts.bytes,
              full.report.counts.bytes - again.report.receipt_use.bytes_taken);
    EXPECT_FALSE(again.mentions("receipt-mismatch"));
    EXPECT_FALSE(again.mentions("not-replayed"));
    // Its own receipt is as good.
    ASSERT_TRUE(again.report.receipt);
    EXPECT_EQ(again.report.receipt->parts.size(), receipt->parts.size());
    const Checked third = run(again.report.receipt.get());
    expect_same_counts(third.report, full.report);
    EXPECT_LT(third.read, full.read - third.report.receipt_use.bytes_taken + 300'000);
  }
}

TEST_P(Receipt, OnlyWhatWasAppendedIsRead) {
  const Checked full = run();
  ASSERT_TRUE(full.report.receipt);
  store_.append(2, 40'000);
  age();
  const Checked again = run(full.report.receipt.get());
  const Checked whole = run();
  expect_same_counts(again.report, whole.report);
  EXPECT_EQ(again.report.verdict, Verdict::clean);
  if (std::string(GetParam()) == "kladde") {
    EXPECT_TRUE(again.mentions("receipt-mismatch")) << "`append` has flushed: a new world";
    return;
  }
  EXPECT_GT(again.report.counts.records, full.report.counts.records);
  EXPECT_LT(again.read, whole.read - again.report.receipt_use.bytes_taken + 300'000);
  EXPECT_EQ(again.mentions("not-replayed"), std::string(GetParam()) == "tay");
  EXPECT_FALSE(again.mentions("receipt-mismatch"));
}

TEST_P(Receipt, AFaultInWhatWasAppendedIsFound) {
  const std::string format = GetParam();
  if (format == "kladde") {
    GTEST_SKIP() << "see ReceiptOfKladde";
  }
  const Checked full = run();
  ASSERT_TRUE(full.report.receipt);
  store_.append(3, 40'000);
  // jss, tay: in a new segment.
  std::uint64_t offset = 20'000;
  if (format == "arena") {
    offset += full.report.receipt->parts.back().proven_bytes;
  }
  flip(store_.newest(), offset);
  age();
  const Checked again = run(full.report.receipt.get());
  EXPECT_NE(again.report.verdict, Verdict::clean);
  EXPECT_EQ(again.report.verdict, run().report.verdict);
}

TEST_P(Receipt, AShorterStoreIsCheckedWhole) {
  const Checked full = run();
  ASSERT_TRUE(full.report.receipt);
  const fs::path file = store_.newest();
  const std::uint64_t keep =
      std::string(GetParam()) == "arena" ? 400'000 : fs::file_size(file) - 5'000;
  fs::resize_file(file, keep);
  age();
  const Checked again = run(full.report.receipt.get());
  EXPECT_TRUE(again.mentions("receipt-mismatch"));
  EXPECT_EQ(again.report.verdict, run().report.verdict);
  EXPECT_NE(again.report.verdict, Verdict::clean);
}

TEST_P(Receipt, ACopyIsAnotherStore) {
  const Checked full = run();
  ASSERT_TRUE(full.report.receipt);
  const fs::path copy = copy_tree(store_.path(), scratch_ / "copy");
  const Checked again = verify(GetParam(), copy.string(), full.report.receipt.get());
  EXPECT_TRUE(again.mentions("receipt-mismatch"));
  EXPECT_EQ(again.report.receipt_use.bytes_taken, 0U);
  expect_same_counts(again.report, full.report);
}

// A segment that the format never touches again was touched: all of it is read, and the fault in it
// found, whatever the receipt says.
TEST_P(Receipt, AWriteIntoASealedSegmentEndsItsProof) {
  const std::string format = GetParam();
  if (format == "arena" || format == "kladde") {
    GTEST_SKIP() << "this store has no sealed segment";
  }
  const Checked full = run();
  ASSERT_TRUE(full.report.receipt);
  flip(store_.newest(), 300'000);
  const Checked again = run(full.report.receipt.get());
  EXPECT_TRUE(again.mentions("receipt-mismatch"));
  EXPECT_EQ(again.report.verdict, Verdict::damaged);
}

TEST_P(Receipt, AHurtPartIsNotInTheReceipt) {
  flip(store_.newest(),
       std::string(GetParam()) == "kladde" ? fs::file_size(store_.newest()) / 2 : 300'000);
  age();
  const Checked hurt = run();
  ASSERT_EQ(hurt.report.verdict, Verdict::damaged);
  ASSERT_TRUE(hurt.report.receipt);
  const Checked again = run(hurt.report.receipt.get());
  EXPECT_EQ(again.report.verdict, Verdict::damaged);
  EXPECT_EQ(again.findings.errors(), hurt.findings.errors());
}

TEST_P(Receipt, AReceiptOfAnotherStoreIsToldAndWorthNothing) {
  const Checked full = run();
  ASSERT_TRUE(full.report.receipt);
  VerifyReceipt foreign = *full.report.receipt;
  foreign.store = "ffff";
  const Checked again = run(&foreign);
  EXPECT_TRUE(again.mentions("receipt-mismatch"));
  EXPECT_EQ(again.report.receipt_use.parts_taken, 0U);
  EXPECT_GE(again.read, full.read);
  foreign = *full.report.receipt;
  foreign.format = "other";
  EXPECT_TRUE(run(&foreign).mentions("receipt-mismatch"));
  foreign = *full.report.receipt;
  foreign.options["x"] = "y";
  EXPECT_TRUE(run(&foreign).mentions("receipt-mismatch"));
}

INSTANTIATE_TEST_SUITE_P(Formats, Receipt, testing::Values("arena", "kladde", "tay", "jss"),
                         [](const auto& instance) { return std::string(instance.param); });

// Segments go on where the receipt ends, also when they were sealed since.
TEST(ReceiptOfTay, AnActiveSegmentIsContinuedAndSealed) {
  const ScratchDirectory scratch;
  LargeStore store("tay", scratch);
  store.append(20, 40'000);
  const Checked full = verify("tay", store.path());
  ASSERT_TRUE(full.report.receipt);
  ASSERT_EQ(full.report.receipt->parts.size(), 1U);
  EXPECT_FALSE(full.report.receipt->parts[0].closed);
  store.append(1, 40'000);
  const Checked grown = verify("tay", store.path(), full.report.receipt.get());
  EXPECT_EQ(grown.report.verdict, Verdict::clean);
  EXPECT_TRUE(grown.mentions("not-replayed"));
  EXPECT_LT(grown.report.counts.bytes, 100'000U);
  store.close_segment();
  const Checked sealed = verify("tay", store.path(), grown.report.receipt.get());
  EXPECT_EQ(sealed.report.verdict, Verdict::clean);
  EXPECT_EQ(sealed.report.counts.records, 21U);
  EXPECT_TRUE(sealed.mentions("not-replayed")) << "nobody has replayed record 21";
  // A receipt whose CRC was changed by hand, digest and all: the footer tells.
  VerifyReceipt wrong = *grown.report.receipt;
  wrong.parts[0].numbers["crc"] ^= 1;
  EXPECT_EQ(verify("tay", store.path(), &wrong).report.verdict, Verdict::damaged);
}

// The data pages of a world are read once, as long as its header governs; the journal each time.
TEST(ReceiptOfKladde, DataPagesAreSparedUntilTheNextFlush) {
  const ScratchDirectory scratch;
  const std::string path = (scratch / "store.kladde").string();
  io::FileSystem& files = io::posix_file_system();
  ASSERT_TRUE(kladde::Store::create(files, path));
  auto store = kladde::Store::open(files, path);
  ASSERT_TRUE(store);
  const auto put = [&](kladde::Id id, std::size_t bytes) {
    kladde::Transaction transaction;
    const std::string text = letters(bytes, id);
    transaction.resize(id, static_cast<std::uint32_t>(bytes));
    transaction.write(id, 0, std::as_bytes(std::span(text)));
    EXPECT_TRUE((*store)->commit(transaction));
  };
  for (kladde::Id id = 1; id <= 10; ++id) {
    put(id, 50'000);
  }
  ASSERT_TRUE((*store)->flush());
  const Checked full = verify("kladde", path);
  ASSERT_TRUE(full.report.receipt);
  put(11, 20'000);
  ASSERT_TRUE((*store)->sync());
  const Checked grown = verify("kladde", path, full.report.receipt.get());
  EXPECT_EQ(grown.report.verdict, Verdict::clean);
  EXPECT_EQ(grown.report.counts.records, 2U);
  EXPECT_GE(grown.report.receipt_use.bytes_taken, 500'000U);
  EXPECT_LT(grown.report.counts.bytes, 100'000U);
  expect_same_counts(grown.report, verify("kladde", path).report);
  // The journal is read whole each time: a fault in its first transaction.
  const auto size = fs::file_size(path);
  std::string bytes = read_file(path);
  const std::size_t at = bytes.rfind(letters(20'000, 11).substr(5000, 16));
  ASSERT_NE(at, std::string::npos);
  flip(path, at);
  EXPECT_EQ(fs::file_size(path), size);
  const Checked hurt = verify("kladde", path, full.report.receipt.get());
  EXPECT_EQ(hurt.report.verdict, verify("kladde", path).report.verdict);
  EXPECT_LT(hurt.report.counts.records, 2U);
  flip(path, at);
  ASSERT_TRUE((*store)->flush());
  EXPECT_TRUE(verify("kladde", path, full.report.receipt.get()).mentions("receipt-mismatch"));
}

TEST(ReceiptText, AnyChangeIsRefused) {
  VerifyReceipt receipt;
  receipt.format = "tay";
  receipt.version = 1;
  receipt.parts.push_back({"segments/1", 1, 2, 3, -4, 5, true, "ab", {{"crc", 7}}});
  const std::string text = to_json(receipt).text();
  const auto back = parse_verify_receipt(text);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(to_json(*back).text(), text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto parsed = parse_verify_receipt(changed);
    EXPECT_TRUE(!parsed || to_json(*parsed).text() == text) << changed;
    EXPECT_FALSE(parse_verify_receipt(text.substr(0, i)));
  }
  EXPECT_FALSE(parse_verify_receipt("{}"));
  EXPECT_FALSE(parse_verify_receipt("[]"));
  EXPECT_FALSE(parse_verify_receipt(""));
}

TEST(ReceiptProgram, WritesReplacesAndRefuses) {
  const ScratchDirectory scratch;
  LargeStore store("jss", scratch);
  store.append(5, 40'000);
  store.close_segment();
  const std::string file = (scratch / "receipt.json").string();
  const RunResult first = run_tool({"verify", "--receipt", file, store.path()});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("wrote the receipt"));
  EXPECT_EQ(run_tool({"verify", "--receipt", file, store.path()}).exit_code, 73);
  EXPECT_EQ(run_tool({"verify", "--force", "--receipt", file, store.path()}).exit_code, 0);
  const RunResult since =
      run_tool({"verify", "--since-receipt", file, "--receipt", file, store.path()});
  EXPECT_EQ(since.exit_code, 0) << since.err;
  EXPECT_THAT(since.out, HasSubstr("not read again"));
  EXPECT_THAT(since.out, HasSubstr("not seen"));
  const RunResult json = run_tool({"verify", "--json", "--since-receipt", file, store.path()});
  EXPECT_THAT(json.out, HasSubstr("\"receipt\":{\"parts\":1,\"parts_taken\":1,\"bytes_taken\":"));
  // What the schemas say.
  RunOptions pairs;
  std::string one_line;
  for (const char c : read_file(file)) {
    one_line += c == '\n' ? ' ' : c;
  }
  pairs.input = "verify\t" + json.out + "verify-receipt\t" + one_line + "\n";
  const RunResult checked =
      run_command({"/usr/bin/python3",
                   std::string(VARVE_TEST_SOURCE_DIR) + "/tests/cli/check_json.py", "--pairs"},
                  pairs);
  EXPECT_TRUE(checked.exit_code == 0 || checked.exit_code == 77) << checked.err;
  // Misuse, and what is no receipt: told before anything is checked.
  EXPECT_EQ(run_tool({"verify", "--quick", "--receipt", file, store.path()}).exit_code, 64);
  EXPECT_EQ(run_tool({"verify", "--since-receipt", file, store.path(), store.path()}).exit_code,
            64);
  EXPECT_EQ(run_tool({"verify", "--each", "--since-receipt", file, store.path()}).exit_code, 64);
  EXPECT_EQ(run_tool({"verify", "--receipt", store.path() + "/r.json", store.path()}).exit_code,
            64);
  EXPECT_FALSE(fs::exists(store.path() + "/r.json"));
  EXPECT_EQ(
      run_tool({"verify", "--since-receipt", (scratch / "none").string(), store.path()}).exit_code,
      66);
  flip(file, fs::file_size(file) / 2);
  const RunResult damaged = run_tool({"verify", "--since-receipt", file, store.path()});
  EXPECT_EQ(damaged.exit_code, 64);
  EXPECT_THAT(damaged.err, HasSubstr("receipt"));
}

}  // namespace
}  // namespace varve::test
