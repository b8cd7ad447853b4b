// SPDX-License-Identifier: MIT OR Apache-2.0
// The file stays small (section 14): how large it gets under several loads and what that costs,
// where consolidation ends, what it must not bring back.
#include <algorithm>

#include "kladde/statement.hpp"
#include "tests/kladde/load.hpp"

namespace varve::kladde::test {
namespace {

constexpr std::uint64_t k_mib = std::uint64_t{1} << 20;

TEST(FileSize, UniformOverwritesStayUnderTheFigures) {
  Load load(LoadShape{.live_bytes = 4 * k_mib, .write_bytes = 1024});
  load.fill();
  const std::uint64_t before = load.written();
  load.overwrite(32 * k_mib, [&](Load& l) { return l.below(l.blocks()); });
  EXPECT_LE(load.file_bytes(), load.live_bytes() * 17 / 10);
  EXPECT_LE(load.written() - before, 32 * k_mib * 32 / 10);
  load.close();
  EXPECT_LE(load.file_bytes(), load.live_bytes() * 17 / 10);
  load.expect_same();
}

TEST(FileSize, OverwritesOfNineTenthsInATenthStayUnderTheFigures) {
  Load load(LoadShape{.live_bytes = 4 * k_mib, .write_bytes = 1024});
  load.fill();
  const std::uint64_t before = load.written();
  load.overwrite(32 * k_mib, [](Load& l) {
    const std::uint32_t hot = l.blocks() / 10;
    return l.below(10) != 0 ? l.below(hot) : hot + l.below(l.blocks() - hot);
  });
  EXPECT_LE(load.file_bytes(), load.live_bytes() * 17 / 10);
  EXPECT_LE(load.written() - before, 32 * k_mib * 32 / 10);
  load.expect_same();
}

TEST(FileSize, FreeingThreeQuartersGivesTheSpaceBackWithinSixteenFlushes) {
  for (const std::uint32_t value_bytes : {300U, 1500U, 6000U}) {
    for (const Dialect dialect : {Dialect::a, Dialect::b}) {
      Values values(dialect, value_bytes);
      values.make(static_cast<std::uint32_t>(6 * k_mib / value_bytes));
      values.free_all_but_every(4);
      for (int flush = 0; flush < 16; ++flush) {
        values.touch();
      }
      EXPECT_LE(values.file_bytes(), values.live_bytes() * 13 / 10) << value_bytes;
      values.expect_same();
    }
  }
}

TEST(FileSize, WithoutConsolidationNothingIsMoved) {
  StoreOptions options;
  options.consolidate = false;
  Load load(LoadShape{.live_bytes = k_mib, .write_bytes = 1024}, options);
  load.fill();
  load.overwrite(4 * k_mib, [](Load& l) { return l.below(l.blocks()); });
  EXPECT_EQ(load.status().bytes_moved, 0U);
  load.expect_same();
}

TEST(Consolidation, ManySmallAppendsBecomeFewStatements) {
  for (const Dialect dialect : {Dialect::a, Dialect::b}) {
    const auto files = memory_store();
    StoreOptions options;
    options.dialect = dialect;
    const auto store = must(Store::open(*files, k_path, options));
    std::string expected;
    RandomRecords random(3, {});
    for (int i = 0; i < 2000; ++i) {
      const std::string text = random.bytes(1 + random.below(120));
      commit_write(*store, 1, static_cast<std::uint32_t>(expected.size()), text);
      expected += text;
      must(store->flush());
    }
    const auto opened = must(open_strictly(*files, k_path, dialect));
    EXPECT_EQ(opened.recovered.at(1), expected);
    EXPECT_LT(opened.world.allocations.at(1).fragments.count(), expected.size() / 300);
    EXPECT_LT(store->status().pages, expected.size() / 1500);
  }
}

TEST(Consolidation, SmallFilesDoNotConsolidateForEver) {
  for (const std::uint32_t size : {3U, 100U, 700U, 3000U}) {
    const auto files = memory_store();
    const auto store = must(Store::open(*files, k_path));
    for (Id id = 1; id <= 5; ++id) {
      commit_write(*store, id, 0, std::string(size, 'x'));
      must(store->flush());
    }
    // The same allocation is written again and again: the others come to rest.
    const auto round = [&](int i) {
      commit_write(*store, 9, 0, std::string(90, static_cast<char>('a' + i % 26)));
      must(store->flush());
    };
    for (int i = 0; i < 20; ++i) {
      round(i);
    }
    const std::uint64_t pages = store->status().pages;
    const std::uint64_t moved = store->status().bytes_moved;
    for (int i = 0; i < 100; ++i) {
      round(i);
    }
    EXPECT_LE(store->status().bytes_moved - moved, 100U * 90U) << size;
    EXPECT_LE(store->status().pages, pages + 2) << size;
    // Nothing new, nothing to do.
    const std::uint64_t epoch = store->status().epoch;
    must(store->flush());
    EXPECT_EQ(store->status().epoch, epoch);
  }
}

TEST(Consolidation, CompactEndsAndASecondOneFindsLittle) {
  for (const Dialect dialect : {Dialect::a, Dialect::b}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const auto files = memory_store();
      StoreOptions options;
      options.dialect = dialect;
      options.consolidate = seed % 2 == 0;
      auto store = must(Store::open(*files, k_path, options));
      RandomRecords records(seed, Shape{static_cast<Id>(2 + seed * seed * 3), 20'000, 9000});
      Naive naive;
      for (int i = 0; i < 60; ++i) {
        Transaction transaction;
        for (int k = 0; k < 6; ++k) {
          records.add(transaction, naive);
        }
        must(store->commit(transaction));
        if (i % 5 == 0) {
          must(store->flush());
        }
      }
      must(store->compact());
      EXPECT_EQ(difference(contents_of(*store), naive.contents), "");
      must(store->close());
      const std::uint64_t once = files->get(k_path)->size();
      const auto opened = must(open_strictly(*files, k_path, dialect));
      EXPECT_EQ(difference(opened.recovered, naive.contents), "");
      const std::uint64_t used =
          opened.world.data_pages.count() + opened.world.tree.page_set.count() + k_slot_count;
      EXPECT_LE(once / k_page_bytes, used + 3) << seed;
      std::uint64_t live = 0;
      for (const auto& [id, bytes] : naive.contents) {
        live += bytes.size();
      }
      EXPECT_LE(opened.world.data_pages.count(), live / k_max_page_content * 21 / 20 + 2) << seed;
      store = must(Store::open(*files, k_path, options));
      must(store->compact());
      must(store->close());
      EXPECT_LE(files->get(k_path)->size(), once) << seed;
      EXPECT_EQ(difference(must(open_strictly(*files, k_path, dialect)).recovered, naive.contents),
                "");
    }
  }
}

// Pages named by the header's tree that hold a statement about the id.
std::size_t statements_of(io::FileSystem& files, Id id, Dialect dialect) {
  const auto opened = must(open_strictly(files, k_path, dialect));
  return static_cast<std::size_t>(
      std::ranges::count(opened.world.tree.statements, id, &Statement::id));
}

TEST(Tombstone, IsReleasedAndTheOldContentNeverComesBack) {
  for (const Dialect dialect : {Dialect::a, Dialect::b}) {
    const auto files = memory_store();
    StoreOptions options;
    options.dialect = dialect;
    const auto store = must(Store::open(*files, k_path, options));
    // Leaves full of statements, most of which stay.
    constexpr Id k_ids = 2000;
    const auto fill = [&](char letter, Id from, Id step) {
      Transaction transaction;
      for (Id id = from; id <= k_ids; id += step) {
        transaction.write(id, 0, base::as_bytes(std::string(50, letter)));
      }
      must(store->commit(transaction));
      must(store->flush());
    };
    fill('a', 1, 1);
    constexpr Id k_gone = 777;
    Transaction frees;
    frees.free(k_gone);
    must(store->commit(frees));
    must(store->flush());
    EXPECT_GE(statements_of(*files, k_gone, dialect), 2U);  // the Tombstone and what it denies
    for (int round = 0; round < 12; ++round) {
      // Everything else is written again, so that the old leaves empty one by one.
      for (Id from = 1; from <= 7; ++from) {
        Transaction transaction;
        for (Id id = from; id <= k_ids; id += 7) {
          if (id != k_gone) {
            transaction.write(id, 0,
                              base::as_bytes(std::string(50, static_cast<char>('b' + round))));
          }
        }
        must(store->commit(transaction));
        must(store->flush());
        const auto opened = must(open_strictly(*files, k_path, dialect));
        ASSERT_FALSE(opened.recovered.contains(k_gone));
        ASSERT_EQ(opened.recovered.size(), k_ids - 1);
      }
    }
    EXPECT_EQ(statements_of(*files, k_gone, dialect), 0U);
    // Made again, it is zeros and nothing else.
    Transaction again;
    again.resize(k_gone, 60);
    must(store->commit(again));
    must(store->flush());
    must(store->compact());
    EXPECT_EQ(must(open_strictly(*files, k_path, dialect)).recovered.at(k_gone),
              std::string(60, '\0'));
  }
}

TEST(Tombstone, IsReleasedByCompact) {
  for (const Dialect dialect : {Dialect::a, Dialect::b}) {
    const auto files = memory_store();
    StoreOptions options;
    options.dialect = dialect;
    const auto store = must(Store::open(*files, k_path, options));
    Transaction transaction;
    for (Id id = 1; id <= 3000; ++id) {
      transaction.write(id, 0, base::as_bytes(std::string(40, 'a')));
    }
    must(store->commit(transaction));
    must(store->flush());
    transaction.clear();
    for (Id id = 1; id <= 3000; id += 3) {
      transaction.free(id);
      transaction.resize(id + 1, 7);
    }
    must(store->commit(transaction));
    must(store->flush());
    must(store->compact());
    const auto opened = must(open_strictly(*files, k_path, dialect));
    EXPECT_EQ(opened.recovered.size(), 2000U);
    for (const Statement& statement : opened.world.tree.statements) {
      EXPECT_NE(statement.kind, StatementKind::tombstone);
      EXPECT_NE(statement.kind, StatementKind::shrink);
    }
    EXPECT_EQ(opened.recovered.at(2), std::string(7, 'a'));
  }
}

// A file that ends with full table pages, behind what was freed: they move to the front.
TEST(Truncation, MovesFullTablePagesAtTheEndOfTheFile) {
  for (const bool compact : {false, true}) {
    const auto files = memory_store();
    const auto store = must(Store::open(*files, k_path));
    Transaction transaction;
    transaction.write(1, 0, base::as_bytes(std::string(400'000, 'x')));
    must(store->commit(transaction));
    must(store->flush());
    transaction.clear();
    for (Id id = 2; id <= 2000; ++id) {
      transaction.write(id, 0, base::as_bytes(std::string(60, 'y')));
    }
    must(store->commit(transaction));
    must(store->flush());
    const auto full = must(open_strictly(*files, k_path));
    const auto last = std::ranges::max_element(full.world.tree.pages, {}, &TablePage::page);
    ASSERT_GT(last->page, 100U);
    ASSERT_GT(last->content_bytes, 3900U);
    transaction.clear();
    transaction.free(1);
    must(store->commit(transaction));
    must(store->flush());
    if (compact) {
      must(store->compact());
    } else {
      for (int i = 0; i < 12; ++i) {
        commit_write(*store, 2, 0, std::to_string(i));
        must(store->flush());
      }
    }
    EXPECT_LT(store->status().pages, 70U);
    Contents expected = full.recovered;
    expected.erase(1);
    if (!compact) {
      expected.at(2).replace(0, 2, "11");
    }
    EXPECT_EQ(difference(must(open_strictly(*files, k_path)).recovered, expected), "");
  }
}

TEST(Consolidation, AForeignStateIsKept) {
  const auto files = memory_store();
  auto store = must(Store::open(*files, k_path));
  commit_write(*store, 7, 0, "another implementation's own");
  Roots roots;
  roots.consolidator_state = 7;
  store->set_roots(roots);
  must(store->flush());
  for (int i = 0; i < 30; ++i) {
    commit_write(*store, 8, 0, std::string(3000, static_cast<char>('a' + i % 26)));
    must(store->flush());
  }
  must(store->compact());
  must(store->close());
  const auto opened = must(open_strictly(*files, k_path));
  EXPECT_EQ(opened.world.header.consolidator_state, 7U);
  EXPECT_EQ(opened.recovered.at(7), "another implementation's own");
}

// What rotted on the disk must not get a fresh checksum.
TEST(Consolidation, LeavesDamagedPagesWhereTheyAre) {
  const auto files = memory_store();
  const auto store = must(Store::open(*files, k_path));
  for (Id id = 1; id <= 40; ++id) {
    commit_write(*store, id, 0, std::string(900, 'x'));
    must(store->flush());
  }
  const auto before = must(open_strictly(*files, k_path));
  PageNumber hurt = 0;
  before.world.allocations.at(3).fragments.for_each([&](const Fragment& fragment) {
    hurt = static_cast<PageNumber>(fragment.address / k_page_bytes);
  });
  {
    const auto file = must(files->open_file(k_path, io::OpenMode::read_write));
    const std::byte flipped[] = {std::byte{'y'}};
    must(file->write_at(flipped, std::uint64_t{hurt} * k_page_bytes + 100));
  }
  // Little is left in the page, so that it would be written anew.
  Transaction frees;
  for (Id id = 1; id <= 40; ++id) {
    if (id % 10 != 3) {
      frees.free(id);
    }
  }
  must(store->commit(frees));
  must(store->flush());
  must(store->compact());
  EXPECT_EQ(store->status().damaged_pages, 1U);
  const auto refused = open_strictly(*files, k_path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, word::page_check);
  EXPECT_EQ(refused.error().offset, std::uint64_t{hurt} * k_page_bytes);
}

TEST(Consolidation, CrumbsInADamagedPageAreNotJoined) {
  for (const bool damaged : {false, true}) {
    const auto files = memory_store();
    const auto store = must(Store::open(*files, k_path));
    // Two full pages; neighbouring crumbs lie in different ones.
    constexpr std::uint32_t k_crumb = 200;
    for (const std::uint32_t first : {0U, 1U}) {
      Transaction transaction;
      for (std::uint32_t i = first; i < 40; i += 2) {
        transaction.write(1, i * k_crumb, base::as_bytes(std::string(k_crumb, 'x')));
      }
      must(store->commit(transaction));
      must(store->flush());
    }
    const auto before = must(open_strictly(*files, k_path));
    const std::uint64_t hurt =
        before.world.allocations.at(1).fragments.at(0)->address / k_page_bytes * k_page_bytes;
    if (damaged) {
      const auto file = must(files->open_file(k_path, io::OpenMode::read_write));
      const std::byte flipped[] = {std::byte{'y'}};
      must(file->write_at(flipped, hurt + 100));
    }
    commit_write(*store, 1, 5 * k_crumb, "news");
    must(store->flush());
    EXPECT_EQ(store->status().damaged_pages, damaged ? 1U : 0U);
    EXPECT_EQ(store->status().bytes_moved == 0, damaged);
    const auto after = open_strictly(*files, k_path);
    ASSERT_EQ(after.has_value(), !damaged);
    if (damaged) {
      EXPECT_EQ(after.error().offset, hurt);
    }
  }
}

TEST(Holes, ReusablePagesAreGivenBackAndAllocatedAgain) {
  const auto files = memory_store();
  StoreOptions options;
  options.punch_holes = true;
  options.consolidate = false;
  auto store = must(Store::open(*files, k_path, options));
  commit_write(*store, 1, 0, std::string(200'000, 'x'));
  must(store->flush());
  commit_write(*store, 2, 0, std::string(200'000, 'y'));
  must(store->flush());
  Transaction transaction;
  transaction.free(1);
  must(store->commit(transaction));
  for (int i = 0; i < 4; ++i) {
    commit_write(*store, 3, 0, std::to_string(i));
    must(store->flush());
  }
  const auto identity = must(files->identity_of(k_path));
  EXPECT_LT(identity.allocated_bytes + 150'000, identity.size_bytes);
  const auto without_room = [&](auto call) {
    files->set_fault(io::Fault{0, io::FaultKind::no_space, true, mask_of(io::CallKind::allocate)});
    const Result<void> done = call();
    files->set_fault(std::nullopt);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().system_errno, ENOSPC);
  };
  transaction.clear();
  transaction.write(4, 0, base::as_bytes(std::string(50'000, 'z')));
  // The same for a run that did not punch the holes itself.
  for (const bool reopened : {false, true}) {
    if (reopened) {
      store.reset();
      store = must(Store::open(*files, k_path, options));
    }
    without_room([&] { return store->commit(transaction); });
    EXPECT_FALSE(store->exists(4));
  }
  must(store->commit(transaction));
  without_room([&] { return store->flush(); });
  must(store->flush());
  must(store->close());
  EXPECT_EQ(must(open_strictly(*files, k_path)).flushed.at(4), std::string(50'000, 'z'));
}

}  // namespace
}  // namespace varve::kladde::test
