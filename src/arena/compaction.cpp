// SPDX-License-Identifier: MIT OR Apache-2.0
// Replacing the log by its live state (section 13). The steps are those of the section; the order
// of what is made durable when is the point of it.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "arena/journal.hpp"
#include "arena/log_frames.hpp"
#include "io/publish.hpp"

namespace varve::arena {

namespace {

// So much of the log at most is carried over while appends wait, unless writers stay ahead.
constexpr std::uint64_t k_last_batch_bytes = std::uint64_t{256} << 10;
constexpr int k_max_rounds = 32;

// Removes what a directory of the arena holds, and the directory.
Result<void> remove_tree(io::Directory& parent, const std::string& name) {
  {
    VARVE_ASSIGN(const auto directory, parent.open_directory(name));
    VARVE_ASSIGN(const auto entries, directory->list());
    for (const io::DirectoryEntry& entry : entries) {
      VARVE_TRY(directory->remove_file(entry.name));
    }
  }
  return parent.remove_directory(name);
}

class Compactor {
 public:
  Compactor(Journal::Impl& journal, LiveStateSource& source) : journal_(journal), source_(source) {}
  ~Compactor() {
    if (!name_.empty() && !published_) {
      writer_.reset();
      // Nothing names it: if this fails the next compaction removes it.
      (void)remove_tree(arena(), name_);
    }
  }
  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;

  Result<CompactionReport> run() {
    VARVE_TRY(freeze());
    VARVE_TRY(make_generation());
    VARVE_TRY(write_state());
    VARVE_TRY(catch_up());
    VARVE_TRY(take_over());
    remove_old();
    return std::move(report_);
  }

 private:
  io::Directory& arena() { return *journal_.map.arena; }
  const Geometry& geometry() const { return journal_.map.geometry; }
  std::uint64_t global(LogPlace place) const {
    return geometry().global_offset(place.segment, place.offset);
  }
  std::string in_store(const std::string& name) const { return journal_.map.arena_prefix + name; }

  // Step 1.
  Result<void> freeze() {
    const std::lock_guard guard(journal_.tail_mutex);
    VARVE_TRY(journal_.refuse_if_dead());
    VARVE_TRY(journal_.writer->write());
    report_.old_generation = journal_.generation;
    VARVE_ASSIGN(old_, report_.old_generation == k_arena_directory
                           ? journal_.files.open_directory(arena().path())
                           : arena().open_directory(report_.old_generation));
    carried_ = journal_.writer->end();
    report_.bytes_before = global(carried_);
    return source_.freeze(journal_.end_locked());
  }

  // Step 2.
  Result<void> make_generation() {
    std::int64_t nanos = journal_.environment.now_ns();
    for (;; ++nanos) {
      std::string name =
          fmt::format("{}{}-{}", k_generation_prefix, journal_.environment.process_id(), nanos);
      auto made = arena().make_directory(name, 0700);
      if (made) {
        name_ = std::move(name);
        break;
      }
      if (made.error().system_errno != EEXIST) {
        return made;
      }
    }
    report_.new_generation = name_;
    VARVE_ASSIGN(new_, arena().open_directory(name_));
    const Manifest manifest{geometry().version, geometry().segment_bytes};
    VARVE_TRY(io::publish_bytes(*new_, k_manifest_name, base::as_bytes(manifest_text(manifest)),
                                io::Replace::no, journal_.environment));
    VARVE_ASSIGN(auto directory, arena().open_directory(name_));
    VARVE_ASSIGN(writer_, LogWriter::begin(std::move(directory), geometry()));
    return {};
  }

  // Steps 2 and 3, and the check of what was written.
  Result<void> write_state() {
    class Sink final : public PayloadSink {
     public:
      Sink(LogWriter& writer, std::uint64_t& frames) : writer_(writer), frames_(frames) {}
      Result<void> add(std::span<const std::byte> payload) override {
        if (payload.empty() || payload.size() > k_max_payload_bytes) {
          return fail(ErrorCode::limit, "payload-size", "a payload has 1 to 52428800 bytes");
        }
        frame_.clear();
        append_frame(payload, 0, frame_);
        VARVE_TRY(writer_.add(frame_));
        ++frames_;
        return {};
      }

     private:
      LogWriter& writer_;
      std::uint64_t& frames_;
      base::Bytes frame_;
    };
    Sink sink(*writer_, report_.frames_of_state);
    VARVE_TRY(source_.write(sink));
    VARVE_TRY(writer_->sync());
    VARVE_TRY(each_frame(*new_, geometry(), verified_, writer_->end(),
                         [&](const StoredFrame& frame) { return source_.confirm(frame.payload); }));
    VARVE_TRY(source_.confirmed());
    verified_ = writer_->end();
    return {};
  }

  // Step 4: frames of the live log up to `to`, under new seqs.
  Result<std::uint64_t> carry_to(LogPlace to) {
    std::uint64_t frames = 0;
    base::Bytes bytes;
    const auto carry = [&](const StoredFrame& frame) -> Result<void> {
      VARVE_ASSIGN(const auto changed, source_.carry(frame.payload));
      bytes.clear();
      if (changed) {
        append_frame(base::as_bytes(*changed), 0, bytes);
      } else {
        append_stored_frame(frame.header, frame.data, bytes);
      }
      VARVE_TRY(writer_->add(bytes));
      ++frames;
      return {};
    };
    VARVE_TRY(each_frame(*old_, geometry(), carried_, to, carry));
    carried_ = to;
    report_.frames_carried += frames;
    return frames;
  }

  // Step 5 for what was written since.
  Result<void> verify_new() {
    VARVE_TRY(writer_->sync());
    VARVE_TRY(each_frame(*new_, geometry(), verified_, writer_->end(),
                         [](const StoredFrame&) { return Result<void>(); }));
    verified_ = writer_->end();
    return {};
  }

  // Carries over in rounds while appends go on, until little is left.
  Result<void> catch_up() {
    for (int round = 0; round < k_max_rounds; ++round) {
      LogPlace to;
      {
        const std::lock_guard guard(journal_.tail_mutex);
        VARVE_TRY(journal_.refuse_if_dead());
        VARVE_TRY(journal_.writer->write());
        to = journal_.writer->end();
      }
      if (global(to) - global(carried_) <= k_last_batch_bytes) {
        break;
      }
      VARVE_TRY(carry_to(to));
      VARVE_TRY(verify_new());
    }
    return {};
  }

  // Steps 4 to 7 for the last batch, with appends waiting.
  Result<void> take_over() {
    const std::lock_guard guard(journal_.tail_mutex);
    VARVE_TRY(journal_.refuse_if_dead());
    VARVE_TRY(journal_.writer->write());
    VARVE_ASSIGN(report_.frames_held_back, carry_to(journal_.writer->end()));
    VARVE_TRY(verify_new());
    VARVE_TRY(new_->sync());
    VARVE_TRY(arena().sync());
    const auto published = io::publish_bytes(arena(), k_pointer_name, base::as_bytes(name_),
                                             io::Replace::yes, journal_.environment);
    if (!published) {
      // If the rename happened it may or may not last: nobody can say which generation is live.
      const auto pointer = read_small_file(arena(), k_pointer_name);
      if (!pointer || (*pointer && **pointer == name_)) {
        published_ = true;
        journal_.dead = true;
      }
      return published;
    }
    published_ = true;
    report_.bytes_after = global(writer_->end());
    writer_->set_zero_ahead(journal_.zero_ahead_bytes());
    journal_.writer = std::move(writer_);
    journal_.generation = name_;
    report_.written.actions.push_back(
        {in_store(name_), "write generation", 0, report_.bytes_after});
    report_.written.actions.push_back(
        {in_store(std::string(k_pointer_name)), "replace", 0, name_.size()});
    return {};
  }

  void removed(const std::string& file, const Result<void>& outcome) {
    if (outcome) {
      report_.written.actions.push_back({file, "remove", 0, 0});
    } else if (report_.warning.empty()) {
      report_.warning = outcome.error().text();
    }
  }

  // Step 8, and leftovers of interrupted runs. A failure is a warning.
  void remove_old() {
    const auto entries = arena().list();
    if (!entries) {
      report_.warning = entries.error().text();
      return;
    }
    const std::string stray = "." + std::string(k_pointer_name) + ".";
    for (const io::DirectoryEntry& entry : *entries) {
      const bool directory = entry.identity.type == io::FileType::directory;
      if (directory && entry.name.starts_with(k_generation_prefix) && entry.name != name_) {
        removed(in_store(entry.name), remove_tree(arena(), entry.name));
      } else if (!directory && (segment_number(entry.name) || entry.name.starts_with(stray))) {
        removed(in_store(entry.name), arena().remove_file(entry.name));
      }
    }
    for (const std::string& name : journal_.map.abandoned) {
      removed(name, remove_tree(*journal_.map.store, name));
    }
    journal_.map.abandoned.clear();
    if (const auto synced = arena().sync(); !synced && report_.warning.empty()) {
      report_.warning = synced.error().text();
    }
  }

  Journal::Impl& journal_;
  LiveStateSource& source_;
  CompactionReport report_;
  std::unique_ptr<io::Directory> old_;
  std::unique_ptr<io::Directory> new_;
  std::string name_;
  std::unique_ptr<LogWriter> writer_;
  LogPlace carried_;   // of the old log: all before it is in the new one
  LogPlace verified_;  // of the new log
  bool published_ = false;
};

}  // namespace

Result<CompactionReport> Journal::Impl::compact(LiveStateSource& source) {
  const std::unique_lock one_at_a_time(compaction_mutex, std::try_to_lock);
  if (!one_at_a_time.owns_lock()) {
    return fail(ErrorCode::locked, "locked", "a compaction is running", path);
  }
  if (opening.frames_behind_end) {
    return fail(ErrorCode::invalid_argument, "frames-behind-end",
                "a valid frame stands behind the end of the log: a compaction would drop it", path);
  }
  return Compactor(*this, source).run();
}

Result<CompactionReport> Journal::compact(LiveStateSource& source) {
  return impl_->compact(source);
}

}  // namespace varve::arena
