// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/journal.hpp"

#include <utility>

namespace varve::arena {

std::optional<Error> refusal_to_write(const StoreMap& map) {
  if (map.refusal) {
    Error error = *map.refusal;
    error.path = map.path + (error.path.empty() ? "" : "/" + error.path);
    return error;
  }
  if (map.manifest_lost) {
    return fail(ErrorCode::damaged, "bad-manifest",
                "format.json is missing, and the segments are not those of a store that never had "
                "one: restore it before writing",
                map.path)
        .error();
  }
  return std::nullopt;
}

Result<void> may_begin(const StoreMap& map) {
  if (!map.fresh() || !map.manifest) {
    return fail(ErrorCode::not_a_store, "segments-missing",
                "there is no segment, and no manifest of an arena that was just made", map.path);
  }
  return {};
}

Journal::Impl::Impl(io::FileSystem& file_system, std::string store_path,
                    const JournalOptions& journal_options,
                    const std::optional<Geometry>& other_geometry)
    : files(file_system),
      path(std::move(store_path)),
      options(journal_options),
      geometry(other_geometry),
      environment(options.environment != nullptr ? *options.environment : io::system_environment()),
      queue([this](std::span<Item* const> batch) { return commit(batch); }) {}

Journal::Impl::~Impl() {
  if (writer && !dead) {
    (void)writer->write();  // nobody is left to be told
  }
}

Result<void> Journal::Impl::read_map() {
  VARVE_ASSIGN(map, map_store(files, path, {"", geometry}));
  if (auto refusal = refusal_to_write(map)) {
    return std::unexpected(std::move(*refusal));
  }
  return {};
}

// Section 7.
Result<void> Journal::Impl::open() {
  VARVE_ASSIGN(map, map_store(files, path, {"", geometry}));
  VARVE_ASSIGN(lock, StoreLock::take(*map.store, environment));
  VARVE_TRY(read_map());
  if (map.segments.empty()) {
    VARVE_TRY(may_begin(map));
    VARVE_TRY(create_segment_file(*map.live, 0, map.geometry));
    opening.written.actions.push_back(
        {map.live_prefix + segment_name(0), "create", 0, map.geometry.new_segment_bytes()});
    VARVE_TRY(read_map());
  }
  WalkOptions walk;
  walk.threads = options.threads;
  walk.settle_ms = 0;  // nobody else writes
  VARVE_ASSIGN(const WriteBackPlan plan, plan_write_back(map, walk));
  const Consent consent = options.discard_frames_behind_end ? Consent::yes : Consent::no;
  VARVE_TRY(apply_write_back(map, plan, consent, environment));
  for (WriteReport::Action& action : write_back_actions(map, plan, consent)) {
    opening.written.actions.push_back(std::move(action));
  }
  opening.tail = to_text(plan.tail.kind);
  if (plan.torn) {
    opening.torn_reason = plan.tail.bad.fault.word;
    opening.torn_bytes = plan.torn->length();
  }
  opening.frames_behind_end = plan.needs_consent && consent == Consent::no;

  const SegmentFile& last = map.segments.back();
  VARVE_ASSIGN(auto directory, map.live_sub.empty() ? files.open_directory(map.arena->path())
                                                    : map.arena->open_directory(map.live_sub));
  VARVE_ASSIGN(writer, LogWriter::resume(std::move(directory), map.geometry,
                                         {{last.number, plan.tail.end},
                                          map.geometry.logical_bytes(last.file_bytes, true),
                                          plan.tail.next_seq},
                                         zero_ahead_bytes()));
  generation = map.live_name;
  payloads = PayloadContext::of(map.schema);
  return {};
}

Result<void> Journal::Impl::refuse_if_dead() const {
  if (dead) {
    return fail(ErrorCode::poisoned, "poisoned",
                "the journal is closed, or must be opened and recovered again", path);
  }
  return {};
}

// Section 10, for stores that say what their payloads are.
Result<void> Journal::Impl::check_payload(base::ByteSpan payload) const {
  const auto refuse = [](std::string word, std::string message) {
    return fail(ErrorCode::invalid_argument, std::move(word), std::move(message));
  };
  if (payload.empty() || payload.size() > k_max_payload_bytes) {
    auto error = refuse("payload-size", "a payload has 1 to 52428800 bytes");
    error.error().actual = Number::decimal(payload.size());
    return error;
  }
  if (opening.frames_behind_end) {
    return refuse("frames-behind-end",
                  "a valid frame stands behind the end of the log, and the next append would "
                  "overwrite it: look at it, then let it be saved and cleared");
  }
  if (!options.check_payloads || !payloads.rules_apply) {
    return {};
  }
  if (payloads.encrypted) {
    return form_of(payload) == TransactionForm::unknown
               ? Result<void>()
               : refuse("unsupported-payload", "the store is encrypted, the payload is not");
  }
  thread_local PayloadScratch scratch;
  const PayloadView view = look_at_payload(payloads, payload, scratch);
  if (view.fault) {
    auto error = refuse(view.fault->word, view.fault->what);
    error.error().offset = view.fault->offset;
    return error;
  }
  return {};
}

Result<void> Journal::Impl::commit(std::span<Item* const> batch) {
  const std::lock_guard guard(tail_mutex);
  VARVE_TRY(refuse_if_dead());
  bool durable = false;
  for (Item* item : batch) {
    item->seq = writer->next_seq();
    VARVE_ASSIGN(item->place, writer->add(item->frame));
    durable = durable || item->durable;
  }
  if (durable) {
    return writer->sync();
  }
  return writer->waiting_bytes() > options.buffer_bytes ? writer->write() : Result<void>();
}

Result<void> Journal::Impl::submit(std::span<Item> items) {
  for (const Item& item : items) {
    if (item.frame.size() > map.geometry.segment_bytes) {
      return fail(ErrorCode::invalid_argument, "payload-size", "the frame fits in no segment");
    }
  }
  return queue.submit(items);
}

Result<Appended> Journal::Impl::append(base::ByteSpan payload) {
  VARVE_TRY(check_payload(payload));
  // Compressed by the caller's own thread, outside of the queue.
  thread_local base::Bytes frame;
  frame.clear();
  append_frame(payload, 0, frame);
  Item item{frame, options.sync_each, {}, 0};
  VARVE_TRY(submit(std::span(&item, 1)));
  return Appended{map.geometry.global_offset(item.place.segment, item.place.offset), item.seq};
}

Result<void> Journal::Impl::append_all(std::span<const base::ByteSpan> payload_list, bool durable) {
  std::vector<base::Bytes> frames(payload_list.size());
  for (std::size_t i = 0; i < payload_list.size(); ++i) {
    VARVE_TRY(check_payload(payload_list[i]));
    append_frame(payload_list[i], 0, frames[i]);
  }
  return append_frames(frames, durable);
}

Result<void> Journal::Impl::append_frames(std::span<const base::Bytes> frames, bool durable) {
  std::vector<Item> items;
  items.reserve(frames.size());
  for (const base::Bytes& frame : frames) {
    items.push_back({frame, durable, {}, 0});
  }
  return submit(items);
}

Result<void> Journal::Impl::flush() {
  const std::lock_guard guard(tail_mutex);
  VARVE_TRY(refuse_if_dead());
  return writer->write();
}

Result<void> Journal::Impl::sync() {
  const std::lock_guard guard(tail_mutex);
  VARVE_TRY(refuse_if_dead());
  return writer->sync();
}

Result<void> Journal::Impl::close() {
  const std::lock_guard guard(tail_mutex);
  if (dead) {
    return {};
  }
  dead = true;
  auto synced = writer->sync();
  writer.reset();
  lock.reset();
  return synced;
}

JournalEnd Journal::Impl::end_locked() const {
  if (!writer) {
    return {};
  }
  const LogPlace place = writer->end();
  return {place.segment, place.offset, map.geometry.global_offset(place.segment, place.offset),
          writer->next_seq(), generation};
}

Result<std::unique_ptr<Journal>> open_journal(io::FileSystem& files, const std::string& path,
                                              const JournalOptions& options,
                                              const std::optional<Geometry>& geometry) {
  auto impl = std::make_unique<Journal::Impl>(files, path, options, geometry);
  VARVE_TRY(impl->open());
  return Journal::Impl::journal_of(std::move(impl));
}

Journal::Journal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(io::FileSystem& files, const std::string& path,
                                               const JournalOptions& options) {
  return open_journal(files, path, options, std::nullopt);
}
Result<Appended> Journal::append(std::span<const std::byte> payload) {
  return impl_->append(payload);
}
Result<void> Journal::append_all(std::span<const std::span<const std::byte>> payloads,
                                 bool durable) {
  return impl_->append_all(payloads, durable);
}
Result<void> Journal::flush() { return impl_->flush(); }
Result<void> Journal::sync() { return impl_->sync(); }
Result<void> Journal::close() { return impl_->close(); }
JournalEnd Journal::end() const {
  const std::lock_guard guard(impl_->tail_mutex);
  return impl_->end_locked();
}
const OpeningReport& Journal::opening() const { return impl_->opening; }
bool Journal::poisoned() const { return impl_->queue.poisoned(); }

}  // namespace varve::arena
