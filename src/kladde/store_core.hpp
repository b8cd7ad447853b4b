// SPDX-License-Identifier: MIT OR Apache-2.0
// What an open store holds in memory, and the parts of its work.
#pragma once

#include <memory>
#include <string>

#include "kladde/journal_writer.hpp"
#include "kladde/ledger.hpp"
#include "kladde/page_space.hpp"
#include "kladde/reader.hpp"
#include "kladde/state.hpp"
#include "kladde/table_layout.hpp"
#include "kladde/transaction_body.hpp"
#include "varve/kladde_store.hpp"

namespace varve::kladde {

struct StoreCore {
  StoreCore(std::unique_ptr<io::File> opened, std::string where, const StoreOptions& wanted)
      : file(std::move(opened)), path(std::move(where)), options(wanted), state(committed) {}

  std::unique_ptr<io::File> file;
  std::string path;
  StoreOptions options;

  // The committed state (what the governing header says), what the journal adds to it, and what
  // the pages hold.
  Header header;
  Allocations committed;
  State state;
  Ledger ledger;
  TableShape shape;
  // Foreign table pages that hold both children and statements: the next flush takes them apart.
  std::set<PageNumber> mixed_tables;
  PageSpace space;
  JournalWriter journal;
  std::vector<PageNumber> recovered_journal;  // pages that the first flush of the run lets go of

  Roots roots;         // what the next header will name
  PageSet unused_ids;  // that may be handed out
  bool first_flush = true;
  bool recovering = false;  // the flush at hand folds a recovered journal
  bool must_flush = false;  // before the first append (section 3.1)
  bool poisoned = false;
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_moved = 0;    // by consolidation
  std::uint64_t damaged_pages = 0;  // that consolidation came across
  std::uint64_t next_crumbs = 1;    // the id that a full consolidation looks at next

  void load(const World& world);
  Result<void> recover(const World& world, const LoadRequest& request);

  Result<void> check_alive() const;
  // Says whether the records keep the bounds in the state as it is.
  Result<void> check(const TransactionBody& body) const;
  Result<void> append(const TransactionBody& body);
  Result<void> flush();
  Result<void> compact();
  Result<void> sync();
  bool has_news() const;

  // Reads bytes of the file, from memory where the journal still has them.
  Result<void> read_bytes(std::uint64_t address, std::span<std::byte> out) const;
  Result<void> write_page(PageNumber page, base::ByteSpan bytes);

  // Runs what must not be interrupted half-way: after an error the store is dead.
  Result<void> poison_on_error(Result<void> outcome) {
    poisoned = poisoned || !outcome;
    return outcome;
  }
};

}  // namespace varve::kladde
