// SPDX-License-Identifier: MIT OR Apache-2.0
// Writing the arena journal: create, append, recover, compact. For readers see store.hpp.
//
// A store is a directory that holds `vectors_data.bin`, or such a directory alone (a bare arena, in
// which payloads may be any bytes). Section numbers are those of the format description.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "varve/file_system.hpp"
#include "varve/result.hpp"
#include "varve/store.hpp"

namespace varve::arena {

struct CreateOptions {
  std::uint32_t version = 4;  // of the manifest: 2 (segments of 1 GiB), 3 (64 MiB) or 4 (growing)
  bool bare = false;          // the path is the arena itself, without store.json
  std::uint64_t dimensions = 4096;  // 1..1'000'000, of the vectors; for store.json
  bool meaning_enabled = true;      // for store.json
  bool dry_run = false;             // only look whether it could be made
};

// Makes an empty store in a directory that does not exist or is empty; EEXIST otherwise.
Result<WriteReport> create_store(io::FileSystem& files, const std::string& path,
                                 const CreateOptions& options = {});

struct JournalOptions {
  // Whether append() makes its frame durable before it returns. Without it a frame survives the
  // process when append() returns (but see buffer_bytes), and the machine after sync().
  bool sync_each = true;
  // Zeros written ahead of the end, in steps of so many bytes, so that small durable appends cost
  // less. 0: none. Only where sync_each is set.
  std::uint64_t zero_ahead_bytes = std::uint64_t{1} << 20;
  // Frames that need not be durable wait in memory until there are so many bytes of them (4 MiB at
  // most), and leave in one write. Then append() returns before its frame is in the file: it
  // survives the process after flush(), the machine after sync(), and readers see it from then on.
  // A durable append takes along what waits. 0: nothing waits.
  std::uint64_t buffer_bytes = 0;
  // Refuse payloads that the format's engine would refuse to open (stores with a store.json only).
  bool check_payloads = true;
  // A valid frame behind the end of the log (section 4) is what damage to a header leaves, and also
  // what a crash may leave of frames that were appended side by side. It would be overwritten, so
  // append() refuses (reason frames-behind-end) unless this is set: then such bytes are saved into
  // lost+found and cleared when the store is opened.
  bool discard_frames_behind_end = false;
  unsigned threads = 0;                    // for reading; 0: all cores
  io::Environment* environment = nullptr;  // null: the system's
};

// What opening found at the end of the log, and wrote back (section 7).
struct OpeningReport {
  WriteReport written;
  std::string tail;              // "end marker", "zero header", "torn tail"...
  std::string torn_reason;       // of the bad frame, if torn
  std::uint64_t torn_bytes = 0;  // that were dropped, and lie in lost+found
  bool frames_behind_end = false;
};

struct JournalEnd {
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;         // in the segment, of the next frame
  std::uint64_t global_offset = 0;  // segment * segment size + offset
  std::uint32_t next_seq = 0;
  std::string generation;  // "vectors_data.bin", or "gen-..."
};

struct Appended {
  std::uint64_t global_offset = 0;  // of the frame: segment * segment size + offset
  std::uint32_t seq = 0;
};

// Takes the payloads of a new generation, in order.
class PayloadSink {
 public:
  virtual ~PayloadSink() = default;
  virtual Result<void> add(std::span<const std::byte> payload) = 0;
};

// Where compaction gets the live state from.
class LiveStateSource {
 public:
  virtual ~LiveStateSource() = default;
  // Called under the append lock: the state to write is that of all frames before `end`. Must be
  // quick; a source that reads the log itself has nothing to do here.
  virtual Result<void> freeze(const JournalEnd& end) = 0;
  // Gives the frozen state as payloads, while appends go on.
  virtual Result<void> write(PayloadSink& sink) = 0;
  // A payload that was appended meanwhile and is carried over. nullopt: as it is. Called on the
  // thread that compacts.
  virtual Result<std::optional<std::string>> carry(std::span<const std::byte> payload) = 0;
  // The payloads of the frozen state as they were read back from the new generation, in order, then
  // once confirmed(). A failure ends the compaction, and the old generation stays.
  virtual Result<void> confirm(std::span<const std::byte> payload) = 0;
  virtual Result<void> confirmed() = 0;
};

struct CompactionReport {
  std::string old_generation;
  std::string new_generation;
  std::uint64_t frames_of_state = 0;
  std::uint64_t frames_carried = 0;    // appended while the compaction ran
  std::uint64_t frames_held_back = 0;  // of them carried while appends waited
  std::uint64_t bytes_before = 0;      // of log, up to its end
  std::uint64_t bytes_after = 0;
  WriteReport written;  // what was made and removed
  std::string warning;  // what could not be removed; else empty
};

// Text of a document's chunk that the log lacks (`text` null), for inlining: what the engine keeps
// in its text cache. nullopt: unknown, and the compaction is refused.
using ChunkText = std::function<std::optional<std::string>(
    std::string_view document_id, std::string_view chunk_id, std::uint64_t start_byte,
    std::uint64_t end_byte)>;

// A store open for appending. Holds `.hms.lock`. Its calls may come from several threads; appends
// of several threads share writes and syncs. After a failed write or sync every append returns
// ErrorCode::poisoned: what is at the end is unknown until the store is opened again.
class Journal {
 public:
  // Takes the lock, recovers, writes back. ErrorCode::locked if another handle has the store;
  // ErrorCode::damaged (nothing changed but the lock file) with the format's word:
  // corrupt-committed, segment-gap, segments-missing, oversized-segment, bad-manifest,
  // bad-pointer...
  static Result<std::unique_ptr<Journal>> open(io::FileSystem& files, const std::string& path,
                                               const JournalOptions& options = {});
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Appends one payload of 1..52'428'800 bytes (else invalid_argument, payload-size) as a frame.
  Result<Appended> append(std::span<const std::byte> payload);
  // Appends several with one write and, if `durable`, one sync. They follow each other.
  Result<void> append_all(std::span<const std::span<const std::byte>> payloads, bool durable);
  // Writes what waits in memory (JournalOptions::buffer_bytes), without making it durable.
  Result<void> flush();
  // Makes all that was appended durable.
  Result<void> sync();
  // Syncs and releases the store. The destructor writes what waits, as far as it can, and releases
  // the store without syncing.
  Result<void> close();

  JournalEnd end() const;
  const OpeningReport& opening() const;
  bool poisoned() const;

  // Replaces the log by one that holds the live state only (section 13), while other threads go on
  // appending; they wait for the last batch alone. One at a time.
  Result<CompactionReport> compact(LiveStateSource& source);
  // The same with the state of HMS-TXN-2 transactions, which the journal folds itself. Refuses
  // encrypted stores, other payload forms, schemas above 2, and chunks without text that
  // `chunk_text` does not know.
  Result<CompactionReport> compact(const ChunkText& chunk_text = {});

  class Impl;

 private:
  friend class Impl;
  explicit Journal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::arena
