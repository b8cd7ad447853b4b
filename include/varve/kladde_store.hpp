// SPDX-License-Identifier: MIT OR Apache-2.0
// The kladde store to embed: allocations that are changed by transactions and folded by flushes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/kladde.hpp"
#include "varve/kladde_types.hpp"
#include "varve/result.hpp"

namespace varve::kladde {

struct StoreCore;
struct TransactionBody;

struct StoreOptions {
  Dialect dialect = Dialect::a;
  // A commit first flushes once the journal has so many pages of 4096 bytes; at least 1.
  std::uint32_t journal_budget_pages = 256;
  // Runs of changed bytes up to this length stand in the address table itself, at most 125.
  std::uint32_t inline_bytes = 64;
  // Flushes rewrite some sparse pages beside their news, so that the file stays small.
  bool consolidate = true;
  // Flushes give the blocks of reusable pages back to the file system; writing allocates them
  // again.
  bool punch_holes = false;
  // Caps one recovered transaction and the address table when opening.
  std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;
};

// What the header names (section 3). Ids are 0 where there is none.
struct Roots {
  Id root_allocation = 0;
  Id schema_table = 0;
  Id consolidator_state = 0;  // a foreign one is kept as it is unless it is changed here
  Fingerprint root_fingerprint{};
  friend bool operator==(const Roots&, const Roots&) = default;
};

// Byte-level effects that happen together or not at all (section 8.2). Payloads are copied. A
// record that breaks a bound is told by Store::commit().
class Transaction {
 public:
  Transaction();
  ~Transaction();
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;

  void free(Id id);
  // Sets the size exactly; makes the allocation exist.
  void resize(Id id, std::uint32_t size);
  void write(Id id, std::uint32_t offset, std::span<const std::byte> bytes);
  // Replaces `old_length` bytes by `bytes` and shifts what follows.
  void splice(Id id, std::uint32_t offset, std::uint32_t old_length,
              std::span<const std::byte> bytes);
  void copy(Id source, std::uint32_t source_offset, std::uint32_t length, Id target,
            std::uint32_t target_offset);
  // As copy; then the source bytes that were not just overwritten are zero.
  void move(Id source, std::uint32_t source_offset, std::uint32_t length, Id target,
            std::uint32_t target_offset);

  std::size_t records() const;
  void clear();

 private:
  friend class Store;
  std::unique_ptr<TransactionBody> body_;
};

struct StoreStatus {
  std::uint64_t epoch = 0;           // of the governing header
  std::uint64_t pages = 0;           // of the file
  std::uint64_t reusable_pages = 0;  // that the next flush may write to
  std::uint64_t table_pages = 0;     // without the slot
  std::uint64_t data_pages = 0;
  std::uint64_t journal_pages = 0;
  std::uint64_t journal_transactions = 0;
  std::uint64_t live_bytes = 0;     // of allocations, in data pages
  std::uint64_t bytes_written = 0;  // to the file since it was opened
  std::uint64_t bytes_moved = 0;    // of those, bytes that consolidation copied
  std::uint64_t damaged_pages = 0;  // that consolidation came across and left where they are
};

// One writer a store; a lock on the file keeps a second one away. One call at a time.
//
// A committed transaction survives the death of the process, and a power cut once flush() or sync()
// has returned. Errors: ErrorCode::invalid_argument and ErrorCode::limit for what is refused before
// anything happens; a full disk met while room is made (ErrorCode::io, ENOSPC) leaves the store as
// it was; after any other failed write or sync every call gives ErrorCode::poisoned, and the store
// must be opened anew.
class Store {
 public:
  // Makes a new, empty store and makes it durable. EEXIST if there is something already.
  static Result<void> create(io::FileSystem& files, const std::string& path);
  // Opens for writing: recovers (sections 10 and 11), so that the journal is empty afterwards.
  static Result<std::unique_ptr<Store>> open(io::FileSystem& files, const std::string& path,
                                             const StoreOptions& options = {});
  // Closes without writing anything: what was committed is in the file already.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Applies a transaction: it is in the file when this returns. An empty one does nothing.
  Result<void> commit(const Transaction& transaction);
  // An id that nothing uses, the lowest; it is not handed out again in this run unless an
  // allocation of that id is freed and flushed. ErrorCode::limit if there is none.
  Result<Id> fresh_id();

  bool exists(Id id) const;
  std::uint32_t size(Id id) const;  // 0 if it does not exist
  std::vector<Id> ids() const;      // all that exist, ascending
  // Reads from `offset` on; fewer bytes than asked for only at the end of the allocation.
  Result<std::size_t> read(Id id, std::uint32_t offset, std::span<std::byte> out) const;

  const Roots& roots() const;
  // Takes effect with the next flush.
  void set_roots(const Roots& roots);

  // Folds the journal into pages and commits a new header (section 9.1). Does nothing if there is
  // nothing to fold. When it returns, everything so far survives a power cut.
  Result<void> flush();
  // Makes the journal so far durable without folding it.
  Result<void> sync();
  // Makes the file as small as rewriting sparse pages, one step after another, makes it; a flush
  // and a sync each step. Contents, sizes and ids stay. Between two steps the file may grow by 4
  // MiB.
  Result<void> compact();
  // Flushes, syncs, gives back what is free at the end of the file, and closes.
  Result<void> close();

  StoreStatus status() const;

 private:
  explicit Store(std::unique_ptr<StoreCore> core);
  std::unique_ptr<StoreCore> core_;
};

}  // namespace varve::kladde
