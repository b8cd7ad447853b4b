// SPDX-License-Identifier: MIT OR Apache-2.0
// A fixed run of transactions and flushes, the state after each, and what a crash may leave of it.
#pragma once

#include "tests/exhaustive/every_call.hpp"
#include "tests/exhaustive/every_crash.hpp"
#include "tests/kladde/naive.hpp"

namespace varve::kladde::test {

using varve::test::Claim;
using varve::test::Promises;
using varve::test::small_run;

// Steps of a run; the same seed gives the same transactions.
struct Script {
  enum class Step : std::uint8_t { commit, flush, sync, compact, close };
  Dialect dialect = Dialect::a;
  bool punch_holes = false;
  std::vector<Step> steps;
  std::vector<Transaction> transactions;
  std::vector<Contents> states;  // [n]: after n transactions of this script

  // "c" commit, "f" flush, "s" sync, "k" compact, "x" close. `before` is the state that the run
  // begins with.
  Script(std::string_view plan, std::uint64_t seed, Shape shape, Contents before = {},
         Dialect d = Dialect::a)
      : dialect(d) {
    RandomRecords records(seed, shape);
    Naive naive;
    naive.contents = std::move(before);
    states.push_back(naive.contents);
    for (const char c : plan) {
      steps.push_back(c == 'c'   ? Step::commit
                      : c == 'f' ? Step::flush
                      : c == 's' ? Step::sync
                      : c == 'k' ? Step::compact
                                 : Step::close);
      if (c == 'c') {
        Transaction transaction;
        for (std::uint32_t i = 0, count = 1 + records.below(4); i < count; ++i) {
          records.add(transaction, naive);
        }
        transactions.push_back(std::move(transaction));
        states.push_back(naive.contents);
      }
    }
  }

  // Runs it as far as it goes. A failed call must leave the store refusing, or as it was.
  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    StoreOptions options;
    options.dialect = dialect;
    options.punch_holes = punch_holes;
    auto store = Store::open(files, k_path, options);
    if (!store) {
      return;
    }
    std::uint64_t committed = 0;
    for (const Step step : steps) {
      Result<void> done;
      switch (step) {
        case Step::commit:
          done = (*store)->commit(transactions[committed]);
          if (done) {
            promises.complete(++committed);
          }
          break;
        case Step::flush:
          done = (*store)->flush();
          break;
        case Step::sync:
          done = (*store)->sync();
          break;
        case Step::compact:
          done = (*store)->compact();
          break;
        case Step::close:
          done = (*store)->close();
          break;
      }
      if (!done) {
        return;
      }
      if (step != Step::commit) {
        promises.acknowledge(committed);
      }
    }
  }

  // How many transactions the store that came up again shows; nullopt if it shows something else.
  std::optional<std::size_t> position_of(const Contents& contents) const {
    for (std::size_t n = states.size(); n-- > 0;) {
      if (states[n] == contents) {
        return n;
      }
    }
    return std::nullopt;
  }

  std::string check(io::SimulatedFileSystem& files, const Claim& claim) const {
    const auto opened = open_strictly(files, k_path, dialect);
    if (!opened) {
      return "refused: " + opened.error().text();
    }
    const auto position = position_of(opened->recovered);
    if (!position) {
      return "between two transactions";
    }
    if (*position < claim.owed()) {
      return "only " + std::to_string(*position) + " of " + std::to_string(claim.owed()) +
             " transactions are left";
    }
    return check_writable(files, opened->recovered);
  }

  // The store goes on: opened for writing, changed, folded and read again.
  std::string check_writable(io::SimulatedFileSystem& files, Contents contents) const {
    StoreOptions options;
    options.dialect = dialect;
    const auto store = Store::open(files, k_path, options);
    if (!store) {
      return "cannot be written: " + store.error().text();
    }
    if (contents_of(**store) != contents) {
      return "the writer sees something else than the reader";
    }
    Transaction transaction;
    transaction.write(4'000'000'000, 0, base::as_bytes("more"));
    contents[4'000'000'000] = "more";
    if (!(*store)->commit(transaction) || !(*store)->flush()) {
      return "cannot be carried on";
    }
    const auto again = open_strictly(files, k_path, dialect);
    return again && again->recovered == contents ? "" : "something else was read after going on";
  }
};

// A new store, durable.
inline io::simulated::Image empty_image() {
  io::SimulatedFileSystem files;
  must(Store::create(files, k_path));
  files.settle();
  return files.image();
}

// The image behind a run that ended well.
inline io::simulated::Image image_after(const io::simulated::Image& before, const Script& script) {
  io::SimulatedFileSystem files(before, {});
  Promises promises(files);
  script(files, promises);
  files.settle();
  return files.image();
}

}  // namespace varve::kladde::test
