// SPDX-License-Identifier: MIT OR Apache-2.0
// "Differential fold" of section 16: random records, fold and flush against naive byte arrays, with
// reopens in between. VARVE_KLADDE_RECORDS sets the number of records (100,000 if unset).
#include <cstdlib>

#include "tests/kladde/naive.hpp"

namespace varve::kladde::test {
namespace {

std::uint64_t record_count() {
  const char* wanted = std::getenv("VARVE_KLADDE_RECORDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 100'000;
}

class Differential {
 public:
  Differential(Dialect dialect, std::uint64_t seed, Shape shape)
      : dialect_(dialect), shape_(shape), records_(seed, shape) {
    io::SimulatedFileSystem::Options options;
    options.record = false;
    files_ = std::make_unique<io::SimulatedFileSystem>(options);
    must(Store::create(*files_, k_path));
    open();
  }

  void run(std::uint64_t count) {
    for (std::uint64_t done = 0; done < count && !::testing::Test::HasFailure();) {
      const std::uint32_t step = records_.below(100);
      if (step < 70) {
        done += commit();
      } else if (step < 94) {
        must(store_->flush());
        if (shape_.ids < 100 || records_.below(16) == 0) {
          expect_same_pages();
        }
      } else if (step < 98) {
        reopen(records_.below(2) == 0);
      } else if (step < 99 || records_.below(shape_.ids < 100 ? 2 : 40) != 0) {
        must(store_->sync());
        compare();
      } else {
        must(store_->compact());
        compare();
        expect_same_pages();
      }
    }
    reopen(true);
    compare();
  }

 private:
  void open() {
    StoreOptions options;
    options.dialect = dialect_;
    options.journal_budget_pages = 1 + records_.below(40);
    options.inline_bytes = records_.below(3) == 0 ? 125 : 64;
    options.consolidate = records_.below(8) != 0;
    options.punch_holes = records_.below(4) == 0;
    store_ = must(Store::open(*files_, k_path, options));
  }
  std::uint64_t commit() {
    Transaction transaction;
    const std::uint32_t count = 1 + records_.below(8);
    for (std::uint32_t i = 0; i < count; ++i) {
      records_.add(transaction, naive_);
    }
    must(store_->commit(transaction));
    return count;
  }
  void reopen(bool close) {
    if (close) {
      must(store_->close());
    }
    store_.reset();
    compare_reader();
    open();
    compare();
  }
  void compare() { EXPECT_EQ(difference(contents_of(*store_), naive_.contents), ""); }
  // The independent reading path: what a read-only open finds.
  void compare_reader() {
    const auto opened = open_strictly(*files_, k_path, dialect_);
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ(difference(opened->recovered, naive_.contents), "");
  }
  // The pages that the store believes to be in use are those that its file uses.
  void expect_same_pages() {
    const auto opened = open_strictly(*files_, k_path, dialect_);
    ASSERT_TRUE(opened) << opened.error().text();
    const StoreStatus status = store_->status();
    EXPECT_EQ(status.data_pages, opened->world.data_pages.count());
    EXPECT_EQ(status.table_pages, opened->world.tree.page_set.count());
    EXPECT_EQ(difference(opened->recovered, naive_.contents), "");
  }

  Dialect dialect_;
  Shape shape_;
  RandomRecords records_;
  Naive naive_;
  std::unique_ptr<io::SimulatedFileSystem> files_;
  std::unique_ptr<Store> store_;
};

TEST(DifferentialFold, DialectA) { Differential(Dialect::a, 1, {}).run(record_count() / 4); }
TEST(DifferentialFold, DialectB) { Differential(Dialect::b, 2, {}).run(record_count() / 4); }
TEST(DifferentialFold, ManySmallAllocations) {
  Differential(Dialect::a, 3, {2000, 60, 40}).run(record_count() / 4);
}
TEST(DifferentialFold, ManySmallAllocationsDialectB) {
  Differential(Dialect::b, 4, {600, 60, 40}).run(record_count() / 8);
}
TEST(DifferentialFold, FewLargeAllocations) {
  Differential(Dialect::a, 5, {3, 60'000, 20'000}).run(record_count() / 8);
}

}  // namespace
}  // namespace varve::kladde::test
