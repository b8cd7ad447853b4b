// SPDX-License-Identifier: MIT OR Apache-2.0
// "Leak check" of section 16: allocations reachable from the root plus those that the header names
// are the live set, while a tree of typed values grows, shrinks and is reopened.
#include <algorithm>
#include <set>

#include "base/endian.hpp"
#include "kladde/view.hpp"
#include "tests/kladde/naive.hpp"
#include "varve/kladde_types.hpp"

namespace varve::kladde::test {
namespace {

// struct Tree { value: u64, children: pointer to sequence of Tree }
constexpr const char* k_tree_types =
    "04 80 04 54 72 65 65 02 05 76 61 6c 75 65 01 08 63 68 69 6c 64 72 65 6e 02 03 84 03 85 00";
constexpr std::uint32_t k_node_bytes = 12;
constexpr std::uint32_t k_pointer_offset = 8;

// A store whose root is a Tree; the test knows which node points where.
class TreeStore {
 public:
  TreeStore(Dialect dialect, std::uint64_t seed) : random_(seed, {}) {
    options_.dialect = dialect;
    must(Store::create(*files_, k_path));
    store_ = must(Store::open(*files_, k_path, options_));
    const base::Bytes types = hex(k_tree_types);
    Transaction transaction;
    roots_.root_allocation = must(store_->fresh_id());
    roots_.schema_table = must(store_->fresh_id());
    roots_.root_fingerprint = type_fingerprint(must(decode_type_table(types)));
    transaction.resize(roots_.root_allocation, k_node_bytes);
    transaction.write(roots_.schema_table, 0, types);
    store_->set_roots(roots_);
    must(store_->commit(transaction));
    must(store_->flush());
    nodes_[roots_.root_allocation] = {0};
  }

  void grow() {
    Id* pointer = nullptr;
    const auto [owner, index] = pick(pointer);
    if (*pointer != 0) {
      return;
    }
    const Id fresh = must(store_->fresh_id());
    const std::uint32_t count = 1 + random_.below(6);
    Transaction transaction;
    transaction.resize(fresh, count * k_node_bytes);
    add_pointer(transaction, owner, index, fresh);
    must(store_->commit(transaction));
    *pointer = fresh;
    nodes_[fresh].resize(count);
  }
  void prune() {
    Id* pointer = nullptr;
    const auto [owner, index] = pick(pointer);
    Transaction transaction;
    add_pointer(transaction, owner, index, 0);
    free_below(transaction, *pointer);
    must(store_->commit(transaction));
    *pointer = 0;
  }
  void commit(const Transaction& transaction) { must(store_->commit(transaction)); }
  void flush() { must(store_->flush()); }
  void compact() { must(store_->compact()); }
  void reopen() {
    store_.reset();
    store_ = must(Store::open(*files_, k_path, options_));
  }
  Id fresh_id() { return must(store_->fresh_id()); }
  Id root() const { return roots_.root_allocation; }

  std::vector<Id> expected() const {
    std::set<Id> out = {roots_.schema_table};
    for (const auto& [id, children] : nodes_) {
      out.insert(id);
    }
    return {out.begin(), out.end()};
  }
  std::vector<Id> ids() const { return store_->ids(); }

  // What `verify` says about it besides tails.
  std::set<std::string> notes() {
    OpenOptions open;
    open.options = {{"dialect", options_.dialect == Dialect::b ? "b" : "a"}};
    FindingList findings;
    const auto view = must(format().open(*files_, k_path, open));
    EXPECT_EQ(must(view->verify({}, findings)).verdict, Verdict::clean);
    std::set<std::string> out;
    for (const Finding& finding : findings.findings()) {
      if (finding.code != word::unproven_tail && finding.code != word::unreached) {
        out.insert(finding.code);
      }
    }
    return out;
  }

 private:
  std::pair<Id, std::uint32_t> pick(Id*& pointer) {
    const auto at = std::next(nodes_.begin(), random_.below(static_cast<Id>(nodes_.size())));
    const std::uint32_t index = random_.below(static_cast<std::uint32_t>(at->second.size()));
    pointer = &at->second[index];
    return {at->first, index};
  }
  static void add_pointer(Transaction& transaction, Id owner, std::uint32_t index, Id target) {
    std::byte bytes[4];
    base::store_le(bytes, target);
    transaction.write(owner, index * k_node_bytes + k_pointer_offset, bytes);
  }
  void free_below(Transaction& transaction, Id id) {
    if (id == 0) {
      return;
    }
    for (const Id child : nodes_[id]) {
      free_below(transaction, child);
    }
    nodes_.erase(id);
    transaction.free(id);
  }

  std::unique_ptr<io::SimulatedFileSystem> files_ =
      std::make_unique<io::SimulatedFileSystem>(io::SimulatedFileSystem::Options{nullptr, false});
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  RandomRecords random_;
  Roots roots_;
  std::map<Id, std::vector<Id>> nodes_;  // ids that the values of an allocation point to, or 0
};

TEST(LeakCheck, WhatTheRootReachesIsTheLiveSet) {
  for (const Dialect dialect : {Dialect::a, Dialect::b}) {
    TreeStore tree(dialect, 51);
    std::size_t largest = 0;
    for (int round = 0; round < 60; ++round) {
      for (int i = 0; i < 20; ++i) {
        tree.grow();
      }
      if (round % 3 == 0) {
        tree.prune();
      }
      if (round % 4 == 0) {
        tree.flush();
      }
      if (round % 11 == 0) {
        tree.reopen();
      }
      if (round % 13 == 0) {
        tree.compact();
      }
      ASSERT_EQ(tree.ids(), tree.expected()) << round;
      ASSERT_EQ(tree.notes(), std::set<std::string>()) << round;
      largest = std::max(largest, tree.ids().size());
    }
    EXPECT_GT(largest, 50U);
  }
}

TEST(LeakCheck, NamesWhatNothingReachesAndWhatIsNotThere) {
  TreeStore tree(Dialect::a, 52);
  for (int i = 0; i < 50; ++i) {
    tree.grow();
  }
  Transaction transaction;
  const Id leaked = tree.fresh_id();
  transaction.resize(leaked, k_node_bytes);
  tree.commit(transaction);
  EXPECT_EQ(tree.notes(), std::set<std::string>{word::leak});
  tree.flush();
  EXPECT_EQ(tree.notes(), std::set<std::string>{word::leak});
  transaction.clear();
  transaction.free(leaked);
  tree.commit(transaction);
  EXPECT_EQ(tree.notes(), std::set<std::string>());
  // The root points to what was freed.
  std::byte bytes[4];
  base::store_le(bytes, leaked);
  transaction.clear();
  transaction.write(tree.root(), k_pointer_offset, bytes);
  tree.commit(transaction);
  EXPECT_TRUE(tree.notes().contains(word::dangling));
}

}  // namespace
}  // namespace varve::kladde::test
