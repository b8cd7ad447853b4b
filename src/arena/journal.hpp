// SPDX-License-Identifier: MIT OR Apache-2.0
// The inside of varve::arena::Journal: the lock, the map, the end of the log and the queue in front
// of it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arena/log_writer.hpp"
#include "arena/payload.hpp"
#include "arena/store_lock.hpp"
#include "arena/store_map.hpp"
#include "arena/write_back.hpp"
#include "io/group_commit.hpp"
#include "varve/arena.hpp"

namespace varve::arena {

// As Journal::open, with segments of another geometry: for tests.
Result<std::unique_ptr<Journal>> open_journal(io::FileSystem& files, const std::string& path,
                                              const JournalOptions& options,
                                              const std::optional<Geometry>& geometry);

// Why the format refuses to open a store for writing, if it does: what the map found, or a manifest
// that was lost (section 1.2).
std::optional<Error> refusal_to_write(const StoreMap& map);
// Whether a store without any segment is one that was just made, and may get its first.
Result<void> may_begin(const StoreMap& map);

class Journal::Impl {
 public:
  // What one caller brings to the queue.
  struct Item {
    base::ByteSpan frame;  // as append_frame() makes it
    bool durable = false;
    LogPlace place;
    std::uint32_t seq = 0;
  };

  Impl(io::FileSystem& file_system, std::string store_path, const JournalOptions& journal_options,
       const std::optional<Geometry>& other_geometry);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static std::unique_ptr<Journal> journal_of(std::unique_ptr<Impl> impl) {
    return std::unique_ptr<Journal>(new Journal(std::move(impl)));
  }

  Result<void> open();
  Result<void> check_payload(base::ByteSpan payload) const;
  Result<Appended> append(base::ByteSpan payload);
  Result<void> append_all(std::span<const base::ByteSpan> payloads, bool durable);
  // The same for frames that append_frame() made of payloads that were checked.
  Result<void> append_frames(std::span<const base::Bytes> frames, bool durable);
  Result<void> flush();
  Result<void> sync();
  Result<void> close();
  Result<CompactionReport> compact(LiveStateSource& source);

  // The caller holds tail_mutex.
  JournalEnd end_locked() const;
  Result<void> refuse_if_dead() const;
  std::uint64_t zero_ahead_bytes() const {
    return options.sync_each ? options.zero_ahead_bytes : 0;
  }

  io::FileSystem& files;
  const std::string path;
  const JournalOptions options;
  const std::optional<Geometry> geometry;
  io::Environment& environment;

  std::optional<StoreLock> lock;
  StoreMap map;  // as it was when the store was opened
  PayloadContext payloads;
  OpeningReport opening;

  mutable std::mutex tail_mutex;  // what follows
  std::unique_ptr<LogWriter> writer;
  std::string generation;  // the name of the live directory
  bool dead = false;       // closed, or a failed publication left it open what is live

  io::GroupCommit<Item> queue;
  std::mutex compaction_mutex;

 private:
  Result<void> commit(std::span<Item* const> batch);
  Result<void> submit(std::span<Item> items);
  Result<void> read_map();
};

}  // namespace varve::arena
