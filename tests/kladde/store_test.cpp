// SPDX-License-Identifier: MIT OR Apache-2.0
// The store to embed: its calls, its refusals, recovery, foreign files carried on.
#include <algorithm>
#include <cerrno>

#include "kladde/view.hpp"
#include "tests/kladde/naive.hpp"

namespace varve::kladde::test {
namespace {

std::unique_ptr<io::SimulatedFileSystem> new_store() {
  auto files = std::make_unique<io::SimulatedFileSystem>();
  must(Store::create(*files, k_path));
  return files;
}

Transaction write_of(Id id, std::uint32_t offset, std::string_view bytes) {
  Transaction out;
  out.write(id, offset, base::as_bytes(bytes));
  return out;
}

std::string text_of(const Store& store, Id id) {
  std::string out(store.size(id), '\0');
  must(store.read(id, 0, {reinterpret_cast<std::byte*>(out.data()), out.size()}));
  return out;
}

TEST(KladdeStore, CreatesTheFileOfTheVectors) {
  const auto files = new_store();
  EXPECT_EQ(base::to_hex(base::sha256(*files->get(k_path))),
            "c5c40aaf53777f2a8fbd8bc43e003d62d08f3ee752dafb97714ccbdac8edaa95");
  const auto again = Store::create(*files, k_path);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().system_errno, EEXIST);
}

TEST(KladdeStore, KeepsASecondWriterAway) {
  const auto files = new_store();
  const auto store = must(Store::open(*files, k_path));
  EXPECT_EQ(Store::open(*files, k_path).error().code, ErrorCode::locked);
}

TEST(KladdeStore, ReadsWhatWasCommittedFlushedAndReopened) {
  const auto files = new_store();
  auto store = must(Store::open(*files, k_path));
  must(store->commit(write_of(1, 3, "abc")));
  const auto expect = [&] {
    EXPECT_EQ(text_of(*store, 1), std::string("\0\0\0abc", 6));
    EXPECT_EQ(store->ids(), std::vector<Id>{1});
    EXPECT_FALSE(store->exists(2));
    EXPECT_EQ(store->size(2), 0U);
    std::byte out[4];
    EXPECT_EQ(must(store->read(1, 4, out)), 2U);
    EXPECT_EQ(must(store->read(1, 6, out)), 0U);
  };
  expect();
  must(store->flush());
  expect();
  store.reset();
  store = must(Store::open(*files, k_path));
  expect();
  must(store->close());
  EXPECT_EQ(store->flush().error().code, ErrorCode::poisoned);
}

TEST(KladdeStore, RefusesWhatBreaksABoundAndStaysAsItWas) {
  const auto files = new_store();
  const auto store = must(Store::open(*files, k_path));
  must(store->commit(write_of(1, 0, "abc")));
  constexpr std::uint32_t most = 0xFFFFFFFF;
  const auto refused = [&](auto make) {
    Transaction transaction;
    transaction.resize(9, 4);
    make(transaction);
    const auto done = store->commit(transaction);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(done.error().reason, "bounds");
    EXPECT_FALSE(store->exists(9));
  };
  const auto bytes = base::as_bytes("xy");
  refused([&](Transaction& t) { t.write(0, 0, bytes); });
  refused([&](Transaction& t) { t.free(0); });
  refused([&](Transaction& t) { t.write(1, most - 1, bytes); });
  refused([&](Transaction& t) { t.splice(1, most, 1, {}); });
  refused([&](Transaction& t) { t.copy(1, most, 1, 2, 0); });
  refused([&](Transaction& t) { t.move(1, 0, 1, 2, most); });
  refused([&](Transaction& t) {
    t.resize(3, most);
    t.splice(3, 0, 0, bytes);
  });
  Transaction largest;
  largest.resize(3, most);
  must(store->commit(largest));
  must(store->flush());
  EXPECT_EQ(store->size(3), most);
  EXPECT_EQ(text_of(*store, 1), "abc");
  EXPECT_LT(store->status().pages, 20U);
}

TEST(KladdeStore, AnEmptyTransactionDoesNothing) {
  const auto files = new_store();
  const auto store = must(Store::open(*files, k_path));
  must(store->commit(Transaction()));
  must(store->flush());
  EXPECT_EQ(store->status().epoch, 0U);
}

TEST(KladdeStore, HandsOutIdsThatNothingNames) {
  const auto files = new_store();
  auto store = must(Store::open(*files, k_path));
  EXPECT_EQ(must(store->fresh_id()), 1U);
  must(store->commit(write_of(2, 0, "two")));
  EXPECT_EQ(must(store->fresh_id()), 3U);
  Transaction frees;
  frees.free(2);
  frees.free(5);
  must(store->commit(frees));
  EXPECT_EQ(must(store->fresh_id()), 4U);  // the freeing of 2 is not committed yet
  store.reset();
  // The recovered journal names 2 and 5.
  store = must(Store::open(*files, k_path));
  EXPECT_EQ(must(store->fresh_id()), 1U);
  EXPECT_EQ(must(store->fresh_id()), 3U);
  EXPECT_EQ(must(store->fresh_id()), 4U);
  EXPECT_EQ(must(store->fresh_id()), 6U);
  must(store->commit(write_of(7, 0, "seven")));
  must(store->flush());
  frees.clear();
  frees.free(7);
  must(store->commit(frees));
  must(store->flush());
  EXPECT_EQ(must(store->fresh_id()), 7U);
}

TEST(KladdeStore, NamesRootsWithTheNextFlush) {
  const auto files = new_store();
  auto store = must(Store::open(*files, k_path));
  Roots roots;
  roots.root_allocation = 1;
  roots.schema_table = 2;
  roots.consolidator_state = 3;
  roots.root_fingerprint[0] = std::byte{7};
  store->set_roots(roots);
  must(store->flush());
  must(store->close());
  store.reset();
  store = must(Store::open(*files, k_path));
  EXPECT_EQ(store->roots(), roots);
  must(store->commit(write_of(1, 0, "root")));
  must(store->close());
  EXPECT_EQ(must(open_strictly(*files, k_path)).world.header.consolidator_state, 3U);
}

TEST(KladdeStore, HandsMovedBytesOverWithoutCopyingThem) {
  const auto files = new_store();
  const auto store = must(Store::open(*files, k_path));
  const std::string text(400'000, 'x');
  must(store->commit(write_of(1, 0, text)));
  must(store->flush());
  const std::uint64_t before = store->status().bytes_written;
  Transaction transaction;
  transaction.move(1, 0, 400'000, 2, 0);
  transaction.free(1);
  transaction.splice(2, 0, 0, base::as_bytes("front"));
  must(store->commit(transaction));
  must(store->flush());
  EXPECT_EQ(text_of(*store, 2), "front" + text);
  EXPECT_LT(store->status().bytes_written - before, 40'000U);
  const Opened opened = must(open_strictly(*files, k_path));
  EXPECT_EQ(opened.flushed.at(2), "front" + text);
}

TEST(KladdeStore, CutsTheFileWhenItCloses) {
  const auto files = new_store();
  const auto store = must(Store::open(*files, k_path));
  must(store->commit(write_of(1, 0, std::string(500'000, 'x'))));
  must(store->flush());
  EXPECT_GT(files->get(k_path)->size(), 500'000U);
  Transaction transaction;
  transaction.free(1);
  must(store->commit(transaction));
  must(store->close());
  EXPECT_LE(files->get(k_path)->size(), 4 * k_page_bytes);
  EXPECT_EQ(must(open_strictly(*files, k_path)).recovered, Contents());
}

// A small journal of copies can ask for any amount of work: the replay says `limit` instead.
TEST(KladdeStore, HostileCopiesMeetALimit) {
  const auto files = new_store();
  auto store = must(Store::open(*files, k_path));
  Transaction pieces;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    pieces.write(1, 3 * i, base::as_bytes("x"));
  }
  must(store->commit(pieces));
  Transaction copies;
  for (int i = 0; i < 20; ++i) {
    copies.copy(1, 0, 3000, 2, 0);
  }
  must(store->commit(copies));
  store.reset();
  OpenOptions options;
  options.max_memory_bytes = 128 << 10;
  const auto view = must(format().open(*files, k_path, options));
  FindingList findings;
  EXPECT_EQ(must(view->verify({}, findings)).verdict, Verdict::unknown);
  EXPECT_EQ(findings.findings().front().code, word::limit);
  StoreOptions small;
  small.max_memory_bytes = 128 << 10;
  EXPECT_EQ(Store::open(*files, k_path, small).error().reason, word::limit);
  EXPECT_EQ(must(Store::open(*files, k_path))->size(2), 3000U);
}

TEST(KladdeStore, FlushesByItsJournalBudget) {
  const auto files = new_store();
  StoreOptions options;
  options.journal_budget_pages = 3;
  const auto store = must(Store::open(*files, k_path, options));
  for (int i = 0; i < 50; ++i) {
    must(store->commit(write_of(1, 0, std::string(3000, static_cast<char>('a' + i % 26)))));
    EXPECT_LE(store->status().journal_pages, 4U);
  }
  EXPECT_GT(store->status().epoch, 10U);
}

// Every fixture is carried on: opened for writing (which folds its journal), changed, reopened.
class CarryOn : public ::testing::TestWithParam<std::string> {};

TEST_P(CarryOn, ForeignFilesAreCarriedOn) {
  VARVE_REQUIRE_SHARED();
  StoreOptions options;
  options.dialect = GetParam() == "dialect-b" ? Dialect::b : Dialect::a;
  for (const std::string& name : fixture_names(GetParam())) {
    SCOPED_TRACE(name);
    const auto files = memory(base::as_bytes(fixture_bytes(name)));
    const auto before = open_strictly(*files, k_path, options.dialect);
    auto store = Store::open(*files, k_path, options);
    ASSERT_EQ(store.has_value(), before.has_value());
    if (!store) {
      EXPECT_EQ(store.error().reason, before.error().reason);
      EXPECT_EQ(base::as_text(*files->get(k_path)), fixture_bytes(name));
      continue;
    }
    Naive naive;
    naive.contents = before->recovered;
    EXPECT_EQ(difference(contents_of(**store), naive.contents), "");
    RandomRecords records(7, {400, 300, 200});
    for (int round = 0; round < 30 && !HasFailure(); ++round) {
      Transaction transaction;
      for (int i = 0; i < 6; ++i) {
        records.add(transaction, naive);
      }
      must((*store)->commit(transaction));
      if (round % 3 == 0) {
        must((*store)->flush());
        const auto opened = open_strictly(*files, k_path, options.dialect);
        ASSERT_TRUE(opened) << opened.error().text();
        EXPECT_EQ(difference(opened->recovered, naive.contents), "");
      }
    }
    must((*store)->close());
    EXPECT_EQ(
        difference(must(open_strictly(*files, k_path, options.dialect)).recovered, naive.contents),
        "");
  }
}
INSTANTIATE_TEST_SUITE_P(All, CarryOn, ::testing::Values(".", "edge", "dialect-b"),
                         [](const auto& tested) {
                           return tested.param == "."      ? std::string("Files")
                                  : tested.param == "edge" ? std::string("Edge")
                                                           : std::string("DialectB");
                         });

}  // namespace
}  // namespace varve::kladde::test
