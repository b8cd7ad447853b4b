// SPDX-License-Identifier: MIT OR Apache-2.0
// Writing jss archives: append and seal. For rewriting see jss_compact.hpp, for readers store.hpp.
//
// A store is one segment file, or a directory of them named seg_<ten digits of base 36>.jss of
// which at most the last one is active, that is, being appended to (spec sections 13 to 16).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/jss_event.hpp"
#include "varve/result.hpp"
#include "varve/store.hpp"

namespace varve::jss {

struct WriterOptions {
  unsigned threads = 0;             // that compress blocks side by side; 0: all cores
  std::uint32_t block_rows = 4096;  // 1..2^18; a block ends when it has so many
  std::uint64_t block_bytes = std::uint64_t{64} << 20;  // or when its body has so many bytes
  // A directory's active segment is sealed and the next one begun once it has so many bytes of
  // frames; it overshoots by one block at most.
  std::uint64_t rotation_bytes = std::uint64_t{256} << 20;
  // The least number that the next row may get: what the caller has stored (section 15). The log
  // itself may ask for more.
  std::uint64_t next_seq = 1;
};

// Appends to a store. One writer a store; a lock on the active file keeps a second one away.
//
// Rows are durable once sync() has returned. After a failed write or sync every later call returns
// ErrorCode::poisoned: retrying could put rows into the file twice. Reopening recovers.
class Writer {
 public:
  // Makes a new store with one empty active segment: a file if the name ends with ".jss", else a
  // directory (which may exist, if it holds no segment). EEXIST if there is something already.
  static Result<void> create(io::FileSystem& files, const std::string& path);

  // Opens for appending: recovers the active segment, or begins the next one if the last is
  // sealed. ErrorCode::damaged if committed bytes are hurt, ErrorCode::locked if another writer has
  // it, ErrorCode::invalid_argument with reason "SegmentSealed" for a single sealed file.
  static Result<std::unique_ptr<Writer>> open(io::FileSystem& files, const std::string& path,
                                              const WriterOptions& options = {});
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Takes a row, which is copied. With seq 0 it gets the next number, else its own, which must be
  // above all before. Gives the row's number. A row that the format cannot hold (reasons
  // "FieldTooLong", "InvalidKind", "seq") is refused and leaves the writer as it was.
  Result<std::uint64_t> append(const Event& event);
  // Hands all rows to the system: they survive the process, not the machine.
  Result<void> flush();
  // Makes all rows durable: one write, one sync.
  Result<void> sync();
  // Syncs, then seals the active segment. A directory goes on with the next one; an active segment
  // without rows is left as it is there. Gives the name of the sealed file, if there is one.
  Result<std::optional<std::string>> seal();
  // Syncs and closes. The destructor closes without writing what is pending.
  Result<void> close();

  // The number that the next row gets.
  std::uint64_t next_seq() const;
  // Rows taken by append(), and of them durable.
  std::uint64_t appended() const;
  std::uint64_t acknowledged() const;
  // Names of the segments that were sealed by size or by seal(), oldest first.
  const std::vector<std::string>& sealed_segments() const;

 private:
  struct Impl;
  explicit Writer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::jss
