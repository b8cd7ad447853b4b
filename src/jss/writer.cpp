// SPDX-License-Identifier: MIT OR Apache-2.0
// The writer of a store: rows into pending blocks, blocks pressed side by side and committed in
// order, segments rotated (sections 13 and 15).
#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/pipeline.hpp"
#include "jss/active_segment.hpp"
#include "jss/names.hpp"
#include "jss/segment_directory.hpp"
#include "jss/seq_resumption.hpp"
#include "varve/jss.hpp"

namespace varve::jss {

namespace {

// Full blocks that wait before they are pressed together: enough to keep all threads busy.
constexpr std::size_t k_waiting_blocks_a_thread = 4;
constexpr std::uint64_t k_max_waiting_bytes = std::uint64_t{64} << 20;

// A block on its way: rows, then pressed. Used again.
struct Slot {
  BlockBuilder rows;
  base::Bytes body;
  PressedBlock pressed;
};

// The number behind `last`, but at least `least` and never 0; 0 if all numbers are used up.
std::uint64_t next_after(std::uint64_t last, std::uint64_t least) {
  return last == std::numeric_limits<std::uint64_t>::max()
             ? 0
             : std::max({least, last + 1, std::uint64_t{1}});
}

std::string text_of(const Fault& fault) {
  if (std::string_view(fault.word) == k_invalid_kind) {
    return "kind " + to_text(fault.actual) + " is none of 1 to 7";
  }
  return "a field of " + to_text(fault.actual) + " bytes; the format holds " +
         to_text(fault.expected);
}

std::unexpected<Error> refused_row(const char* word, std::string message) {
  return fail(ErrorCode::invalid_argument, word, std::move(message));
}

}  // namespace

struct Writer::Impl {
  StorePlace place;
  WriterOptions options;
  std::unique_ptr<ActiveSegment> active;  // null until there is something to put into a new one
  std::uint64_t next_number = 0;          // of the next segment of an archive
  std::uint64_t next_seq = 1;             // 0 once the last number is used up
  std::unique_ptr<Slot> filling = std::make_unique<Slot>();
  std::vector<std::unique_ptr<Slot>> waiting;  // full, oldest first
  std::uint64_t waiting_bytes = 0;
  std::vector<std::unique_ptr<Slot>> idle;
  std::vector<base::ZstdEncoder> encoders;  // one a thread
  std::uint64_t appended = 0;
  std::uint64_t acknowledged = 0;
  std::vector<std::string> sealed;
  std::optional<Error> poison;

  Result<void> open_archive();
  Result<void> begin_segment();
  Result<std::uint64_t> append(Event event);
  void end_block();
  Result<void> press_waiting();
  Result<void> commit(Slot& slot);
  bool must_rotate() const;
  bool has_room() const;
  Result<void> seal_active();
  Result<void> flush();
  Result<void> sync();

  // Runs a step that changes files; its failure is final.
  template <class Step>
  auto guarded(Step step) -> decltype(step()) {
    if (poison) {
      return fail(ErrorCode::poisoned, "poisoned",
                  "an earlier write failed (" + poison->text() + "); reopen to recover",
                  poison->path);
    }
    auto result = step();
    if (!result) {
      poison = result.error();
    }
    return result;
  }
};

Result<void> Writer::Impl::open_archive() {
  VARVE_TRY(remove_temporaries(*place.directory, false));
  VARVE_ASSIGN(const auto segments, list_segments(*place.directory));
  VARVE_ASSIGN(const bool resumes, last_is_active(*place.directory, segments));
  std::uint64_t last_seq = 0;
  if (resumes) {
    VARVE_ASSIGN(active,
                 ActiveSegment::resume(*place.directory, segments.back().name, options.threads));
    last_seq = active->summary().max_seq();
  }
  if (!segments.empty()) {
    next_number = segments.back().number + 1;
  }
  if (!resumes || active->summary().event_count() == 0) {
    VARVE_ASSIGN(last_seq, last_sealed_seq(*place.directory, segments));
  }
  next_seq = next_after(last_seq, options.next_seq);
  return {};
}

Result<void> Writer::Impl::begin_segment() {
  const auto name = segment_name(next_number);
  if (!name) {
    return fail(ErrorCode::limit, "limit", "there is no file name left for another segment",
                place.directory->path());
  }
  auto made = ActiveSegment::create(*place.directory, *name);
  if (!made) {
    // Nothing was locked while there was no active segment, so another writer may have begun it.
    return made.error().system_errno == EEXIST
               ? fail(ErrorCode::locked, "locked", "another writer has begun the next segment",
                      place.directory->path())
               : std::unexpected(std::move(made).error());
  }
  active = *std::move(made);
  ++next_number;
  return {};
}

Result<std::uint64_t> Writer::Impl::append(Event event) {
  if (!active && !place.is_archive()) {
    return refused_row("SegmentSealed", "the segment is sealed");
  }
  if (event.seq == 0) {
    event.seq = next_seq;
  }
  if (next_seq == 0 || event.seq < next_seq) {
    return refused_row("seq", "sequence number " + std::to_string(event.seq) +
                                  " is not above all before; the next one is " +
                                  std::to_string(next_seq));
  }
  const std::uint64_t row_bytes = k_row_fixed_bytes + event.did.size() + event.collection.size() +
                                  event.rkey.size() + event.rev.size() + event.payload.size();
  if (!filling->rows.empty() && filling->rows.body_bytes() + row_bytes > options.block_bytes) {
    end_block();
  }
  if (const auto fault = filling->rows.append(event)) {
    return refused_row(fault->word, text_of(*fault));
  }
  ++appended;
  next_seq = event.seq + 1;
  if (filling->rows.rows() >= options.block_rows) {
    end_block();
  }
  const std::size_t most = k_waiting_blocks_a_thread * encoders.size();
  if (waiting.size() >= most || waiting_bytes >= k_max_waiting_bytes) {
    VARVE_TRY(press_waiting());
    VARVE_TRY(active ? active->write() : Result<void>());
  }
  return event.seq;
}

void Writer::Impl::end_block() {
  if (filling->rows.empty()) {
    return;
  }
  waiting_bytes += filling->rows.body_bytes();
  waiting.push_back(std::move(filling));
  if (idle.empty()) {
    filling = std::make_unique<Slot>();
  } else {
    filling = std::move(idle.back());
    idle.pop_back();
  }
}

Result<void> Writer::Impl::press_waiting() {
  std::vector<std::unique_ptr<Slot>> slots = std::exchange(waiting, {});
  waiting_bytes = 0;
  std::size_t next = 0;
  Result<void> outcome;
  const auto threads = static_cast<unsigned>(std::min(encoders.size(), slots.size()));
  base::run_ordered_pipeline<Slot*>(
      std::max(threads, 1U), slots.size(),
      [&]() -> std::optional<Slot*> {
        return next == slots.size() ? std::nullopt : std::optional(slots[next++].get());
      },
      [&](Slot* slot, unsigned worker) {
        press_block(slot->rows, encoders[worker], slot->body, slot->pressed);
      },
      [&](Slot* slot) {
        outcome = commit(*slot);
        return outcome.has_value();
      });
  for (std::unique_ptr<Slot>& slot : slots) {
    slot->rows.clear();
    idle.push_back(std::move(slot));
  }
  return outcome;
}

Result<void> Writer::Impl::commit(Slot& slot) {
  if (!active) {
    VARVE_TRY(begin_segment());
  }
  active->add(slot.pressed);
  if (active->unwritten_bytes() >= k_max_waiting_bytes) {
    VARVE_TRY(active->write());
  }
  if (!must_rotate()) {
    return {};
  }
  if (place.is_archive()) {
    return seal_active();
  }
  return has_room() ? Result<void>()
                    : Result<void>(fail(ErrorCode::limit, "limit", "a segment has no room for more",
                                        *place.single_file));
}

// What the footer can hold limits a segment, too: names, blocks, rows, index bytes.
bool Writer::Impl::has_room() const {
  const SegmentSummary& summary = active->summary();
  const std::uint64_t names = summary.names().size() + options.block_rows + 3;
  const std::uint64_t blocks = summary.entries().size() + 1;
  const std::uint64_t index_bytes = blocks * (names / 8 + 1) + names * 260;
  return names <= k_max_collections && blocks <= k_max_blocks && index_bytes <= k_max_body_bytes &&
         summary.event_count() + options.block_rows <= std::numeric_limits<std::uint32_t>::max();
}

bool Writer::Impl::must_rotate() const {
  return (place.is_archive() && active->frames_bytes() >= options.rotation_bytes) || !has_room();
}

Result<void> Writer::Impl::seal_active() {
  const std::string name = active->name();
  VARVE_TRY(active->seal());
  active.reset();
  sealed.push_back(name);
  return {};
}

Result<void> Writer::Impl::flush() {
  end_block();
  VARVE_TRY(press_waiting());
  return active ? active->write() : Result<void>();
}

Result<void> Writer::Impl::sync() {
  VARVE_TRY(flush());
  if (active) {
    VARVE_TRY(active->sync());
  }
  acknowledged = appended;
  return {};
}

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Writer::~Writer() = default;

Result<void> Writer::create(io::FileSystem& files, const std::string& path) {
  const io::SplitPath split = io::split_path(path);
  if (path.ends_with(k_name_suffix)) {
    VARVE_ASSIGN(const auto parent, files.open_directory(split.parent));
    VARVE_TRY(ActiveSegment::create(*parent, split.name));
    return {};
  }
  VARVE_ASSIGN(const auto directory, files.make_directories(path));
  VARVE_ASSIGN(const auto segments, list_segments(*directory));
  if (!segments.empty()) {
    return fail_errno(EEXIST, "init", path);
  }
  VARVE_TRY(ActiveSegment::create(*directory, *segment_name(0)));
  return {};
}

Result<std::unique_ptr<Writer>> Writer::open(io::FileSystem& files, const std::string& path,
                                             const WriterOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->options.block_rows = std::clamp(options.block_rows, 1U, k_max_block_rows);
  impl->options.block_bytes = std::min(options.block_bytes, k_max_body_bytes);
  impl->encoders = std::vector<base::ZstdEncoder>();
  for (unsigned i = 0; i < base::thread_count(options.threads); ++i) {
    impl->encoders.emplace_back(k_compression_level);
  }
  VARVE_ASSIGN(impl->place, open_place(files, path));
  if (impl->place.is_archive()) {
    VARVE_TRY(impl->open_archive());
  } else {
    VARVE_ASSIGN(impl->active, ActiveSegment::resume(*impl->place.directory,
                                                     *impl->place.single_file, options.threads));
    impl->next_seq = next_after(impl->active->summary().max_seq(), options.next_seq);
  }
  return std::unique_ptr<Writer>(new Writer(std::move(impl)));
}

Result<std::uint64_t> Writer::append(const Event& event) {
  if (impl_->poison) {
    return impl_->guarded([]() -> Result<std::uint64_t> { return 0; });
  }
  auto result = impl_->append(event);
  if (!result && result.error().code != ErrorCode::invalid_argument) {
    impl_->poison = result.error();
  }
  return result;
}

Result<void> Writer::flush() {
  return impl_->guarded([this] { return impl_->flush(); });
}

Result<void> Writer::sync() {
  return impl_->guarded([this] { return impl_->sync(); });
}

Result<std::optional<std::string>> Writer::seal() {
  return impl_->guarded([this]() -> Result<std::optional<std::string>> {
    VARVE_TRY(impl_->sync());
    const bool nothing = !impl_->active ||
                         (impl_->place.is_archive() && impl_->active->summary().event_count() == 0);
    if (nothing) {
      return std::optional<std::string>();
    }
    VARVE_TRY(impl_->seal_active());
    return std::optional(impl_->sealed.back());
  });
}

Result<void> Writer::close() {
  VARVE_TRY(sync());
  impl_->active.reset();
  impl_->poison = fail(ErrorCode::poisoned, "closed", "the writer is closed").error();
  return {};
}

std::uint64_t Writer::next_seq() const { return impl_->next_seq; }
std::uint64_t Writer::appended() const { return impl_->appended; }
std::uint64_t Writer::acknowledged() const { return impl_->acknowledged; }
const std::vector<std::string>& Writer::sealed_segments() const { return impl_->sealed; }

}  // namespace varve::jss
