// SPDX-License-Identifier: MIT OR Apache-2.0
// "Journal prefix" of section 16: the journal cut and corrupted at every byte; and every bit of a
// small store flipped.
#include "kladde/view.hpp"
#include "tests/exhaustive/every_bit.hpp"
#include "tests/exhaustive/every_cut.hpp"
#include "tests/exhaustive/sight.hpp"
#include "tests/kladde/scripted.hpp"

namespace varve::kladde::test {
namespace {

using varve::test::BitLook;
using varve::test::CutLook;
using varve::test::Sight;

// A store whose journal of several pages stands at the end of the file.
struct JournalStore {
  Script script = Script("cfcccccccccccc", 41, {5, 900, 4000});
  io::simulated::Image image = image_after(empty_image(), script);
  base::Bytes bytes;
  std::vector<Place> ends;  // of each transaction
  Journal journal;

  JournalStore() {
    io::SimulatedFileSystem files(image, {});
    bytes = *files.get(k_path);
    const auto file = must(files.open_file(k_path, io::OpenMode::read));
    const Policy policy = Policy::strict(k_path);
    const auto world = must(load_world(*file, {}, policy));
    journal = must(read_journal(
        *file, *world, {}, policy,
        [&](const JournalTransaction& transaction, std::span<const Record>) -> Result<bool> {
          ends.push_back(transaction.end);
          return true;
        }));
  }
  // Transactions of the journal that end before a byte of the file, in the order of the stream.
  std::size_t whole_before(std::uint64_t offset) const {
    const auto order = [&](const Place& place) {
      const auto at = std::ranges::find(journal.pages, place.page) - journal.pages.begin();
      return static_cast<std::uint64_t>(at) * k_page_bytes + place.offset;
    };
    const Place here{static_cast<PageNumber>(offset / k_page_bytes),
                     static_cast<std::uint32_t>(offset % k_page_bytes)};
    return static_cast<std::size_t>(
        std::ranges::count_if(ends, [&](const Place& end) { return order(end) <= order(here); }));
  }
  std::size_t whole_in_pages(std::uint64_t count) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(ends, [&](const Place& end) { return end.page < count; }));
  }
};

TEST(JournalPrefix, CutAtEveryByte) {
  const JournalStore store;
  ASSERT_GE(store.journal.pages.size(), 2U);
  const std::uint64_t begin = store.journal.pages.front() * std::uint64_t{k_page_bytes};
  ASSERT_TRUE(std::ranges::is_sorted(store.journal.pages));
  ASSERT_EQ(store.bytes.size() / k_page_bytes, store.journal.pages.back() + 1);
  std::size_t last = 0;
  const auto report = varve::test::every_cut(
      store.image, k_path,
      [&](io::SimulatedFileSystem& files, std::uint64_t size) {
        CutLook look;
        const auto opened = open_strictly(files, k_path);
        look.verdict = opened ? "opens" : "refused";
        if (size < begin) {
          look.code = opened ? "" : opened.error().reason;
          return look;  // the cut takes pages of the world
        }
        EXPECT_TRUE(opened) << size;
        if (opened) {
          // A page that is not whole is not there.
          const std::size_t whole = store.whole_in_pages(size / k_page_bytes);
          EXPECT_EQ(opened->journal.transactions, whole) << size;
          EXPECT_EQ(difference(opened->recovered, store.script.states[1 + whole]), "") << size;
          EXPECT_GE(whole, last);
          last = whole;
        }
        look.records = last;
        return look;
      },
      varve::test::scaled_sampling());
  EXPECT_EQ(report.sampled, varve::test::small_run());
  EXPECT_GE(last, 3U);
  EXPECT_TRUE(report.table("kladde: a journal at the end of the file, every cut")
                  .publish("kladde-journal-cut"));
}

TEST(JournalPrefix, CorruptedAtEveryByte) {
  const JournalStore store;
  std::size_t tried = 0;
  for (const PageNumber page : store.journal.pages) {
    for (std::uint64_t i = 0; i < k_page_bytes; i += varve::test::small_run() ? 16 : 1) {
      const std::uint64_t offset = std::uint64_t{page} * k_page_bytes + i;
      base::Bytes bytes = store.bytes;
      bytes[offset] ^= std::byte{0x41};
      const auto files = memory(bytes);
      const auto opened = open_strictly(*files, k_path);
      ASSERT_TRUE(opened) << offset << ": " << opened.error().text();
      const std::size_t whole = store.whole_before(offset);
      ASSERT_EQ(opened->journal.transactions, whole) << offset;
      ASSERT_EQ(difference(opened->recovered, store.script.states[1 + whole]), "") << offset;
      ++tried;
    }
  }
  EXPECT_EQ(tried, store.journal.pages.size() * varve::test::scaled(k_page_bytes));
}

TEST(KladdeEveryBit, IsNoticedOrChangesNothing) {
  // A small store: two allocations, one of them in a data page, and a journal of one transaction.
  io::SimulatedFileSystem files;
  must(Store::create(files, k_path));
  {
    const auto store = must(Store::open(files, k_path));
    Transaction transaction;
    transaction.write(1, 0, base::as_bytes(std::string(100, 'x')));
    transaction.write(2, 0, base::as_bytes("inline"));
    must(store->commit(transaction));
    must(store->flush());
    transaction.clear();
    transaction.write(2, 2, base::as_bytes("JOURNAL"));
    must(store->commit(transaction));
  }
  files.settle();
  const auto look = [](io::SimulatedFileSystem& damaged) {
    const Sight sight = varve::test::look_at(format(), damaged, k_path);
    return BitLook{sight.warnings > 0, sight.code, sight.fingerprint()};
  };
  const auto field_of = [](std::uint64_t offset) {
    static constexpr const char* k_pages[] = {"the older header", "the governing header",
                                              "a page that was let go of", "a data page",
                                              "the journal"};
    return std::string(k_pages[offset / k_page_bytes]);
  };
  const auto report =
      varve::test::every_bit(files.image(), k_path, look, field_of, varve::test::scaled_sampling());
  // Only the journal's last transaction can vanish without a word: nothing tells it from stale
  // bytes (a note says that something stands there).
  for (const auto& [field, count] : report.unprotected_by_field) {
    EXPECT_EQ(field, "the journal");
  }
  EXPECT_GT(report.noticed, 0U);
  EXPECT_TRUE(report.table("kladde: a small store, every bit").publish("kladde-every-bit"));
}

}  // namespace
}  // namespace varve::kladde::test
