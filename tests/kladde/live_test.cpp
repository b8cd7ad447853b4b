// SPDX-License-Identifier: MIT OR Apache-2.0
// A store that a writer changes while it is read: the answer of one moment, or "try again"; never
// damage that is none, never bytes of two moments.
#include <set>

#include "kladde/view.hpp"
#include "tests/exhaustive/sight.hpp"
#include "tests/kladde/naive.hpp"

namespace varve::kladde::test {
namespace {

using varve::test::LineSink;

// A writer beside a reader: before every `stride`-th read of the reader it changes every allocation
// and flushes, so that pages are used again soon.
class Live {
 public:
  Live() {
    must(Store::create(*files_, k_path));
    store_ = must(Store::open(*files_, k_path));
    change();
    change();
    change();
  }
  ~Live() { files_->set_hook({}); }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  void change() {
    ++round_;
    Transaction transaction;
    for (Id id = 1; id <= 40; ++id) {
      transaction.write(id, 0, base::as_bytes(text_of(id, round_)));
    }
    must(store_->commit(transaction));
    must(store_->flush());
    must(store_->sync());
  }
  // The writer moves before the reads `first`, `first` + `stride`..., at most `times` times.
  void move_before(std::uint64_t first, std::uint64_t stride, std::uint64_t times) {
    reads_ = 0;
    times_ = times;
    files_->set_hook([this, first, stride](const io::Call& call) {
      if (writing_ || call.kind != io::CallKind::read) {
        return;
      }
      const std::uint64_t read = reads_++;
      if (times_ > 0 && read >= first && (read - first) % stride == 0) {
        --times_;
        writing_ = true;
        change();
        writing_ = false;
      }
    });
  }
  static std::string text_of(Id id, int round) {
    return std::to_string(id) + " in round " + std::to_string(round) + ' ' +
           std::string(500, static_cast<char>('a' + round % 26));
  }
  std::unique_ptr<StoreView> view() { return must(format().open(*files_, k_path, {})); }
  int round() const { return round_; }

 private:
  std::unique_ptr<io::SimulatedFileSystem> files_ =
      std::make_unique<io::SimulatedFileSystem>(io::SimulatedFileSystem::Options{nullptr, false});
  std::unique_ptr<Store> store_;
  int round_ = 0;
  std::uint64_t reads_ = 0;  // of the reader, since move_before()
  std::uint64_t times_ = 0;  // that the writer still moves
  bool writing_ = false;
};

// The round that all lines of a state agree on; 0 if they do not.
int round_of(const std::vector<std::string>& lines) {
  std::set<std::string> rounds;
  for (const std::string& line : lines) {
    const std::size_t at = line.find("\"$bytes\":\"") + 10;
    const auto bytes = base::from_base64(line.substr(at, line.find('"', at) - at));
    const std::string text(bytes ? base::as_text(*bytes) : "");
    const std::size_t round = text.find(" in round ") + 10;
    rounds.insert(text.substr(round, text.find(' ', round) - round));
  }
  return rounds.size() == 1 ? std::stoi(*rounds.begin()) : 0;
}

TEST(KladdeLive, OneChangeAtAnyReadIsNeverDamage) {
  for (std::uint64_t at = 0; at < 60; ++at) {
    Live live;
    const auto view = live.view();
    live.move_before(at, 1, 1);
    FindingList findings;
    const auto report = view->verify({}, findings);
    ASSERT_TRUE(report) << at << ": " << report.error().text();
    EXPECT_EQ(report->verdict, Verdict::clean) << at;
    live.move_before(at, 1, 1);
    ScanRequest request;
    request.face = Face::state;
    std::vector<std::string> lines;
    LineSink sink(*view, Face::state, lines);
    const auto scanned = view->scan(request, sink, findings);
    ASSERT_TRUE(scanned) << at << ": " << scanned.error().text();
    EXPECT_EQ(lines.size(), 40U);
    EXPECT_NE(round_of(lines), 0) << at;
    live.move_before(at, 1, 1);
    const auto got = view->get("7", {}, findings);
    ASSERT_TRUE(got) << at << ": " << got.error().text();
    EXPECT_TRUE(got->raw->starts_with("7 in round "));
    live.move_before(at, 1, 1);
    EXPECT_TRUE(view->stats(findings));
    live.move_before(at, 1, 1);
    EXPECT_TRUE(view->info());
    EXPECT_EQ(findings.errors(), 0U) << at;
  }
}

TEST(KladdeLive, AStoreThatNeverStandsStillIsReportedAsSuch) {
  Live live;
  const auto view = live.view();
  live.move_before(0, 1, 1000);
  FindingList findings;
  const auto report = view->verify({}, findings);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::locked);
  EXPECT_EQ(findings.total(), 0U);
  ScanRequest request;
  request.face = Face::state;
  std::vector<std::string> lines;
  LineSink sink(*view, Face::state, lines);
  EXPECT_EQ(view->scan(request, sink, findings).error().code, ErrorCode::locked);
  EXPECT_TRUE(lines.empty());
}

}  // namespace
}  // namespace varve::kladde::test
