// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/writing.hpp"

#include <cerrno>
#include <utility>
#include <vector>

#include "arena/journal.hpp"
#include "arena/payload_line.hpp"
#include "arena/state_source.hpp"
#include "model/options.hpp"

namespace varve::arena {

namespace {

// Records that wait are written, though not synced, before they become more than this.
constexpr std::size_t k_waiting_bytes = std::size_t{16} << 20;

JournalOptions journal_options(const WriteRequest& request) {
  JournalOptions options;
  options.environment = request.environment;
  options.threads = request.threads;
  options.discard_frames_behind_end = request.options.contains("discard-frames-behind-end");
  return options;
}

// Lines of CONTRACT section 5 into a journal.
class LineAppender final : public Appender {
 public:
  explicit LineAppender(std::unique_ptr<Journal::Impl> journal) : journal_(std::move(journal)) {}

  Result<void> append_line(std::string_view json) override {
    VARVE_ASSIGN(const base::ByteSpan payload, parser_.parse(json));
    VARVE_TRY(journal_->check_payload(payload));
    append_frame(payload, 0, waiting_.emplace_back());
    waiting_bytes_ += waiting_.back().size();
    ++taken_;
    return waiting_bytes_ > k_waiting_bytes ? commit(false) : Result<void>();
  }
  Result<std::uint64_t> sync() override {
    VARVE_TRY(commit(true));
    VARVE_TRY(journal_->sync());
    return taken_;
  }
  Result<std::uint64_t> flush() override {
    VARVE_TRY(commit(false));
    return taken_;
  }
  Result<void> close() override {
    VARVE_TRY(commit(false));
    return journal_->close();
  }
  std::span<const WriteReport::Action> opening() const override {
    return journal_->opening.written.actions;
  }

 private:
  Result<void> commit(bool durable) {
    VARVE_TRY(journal_->append_frames(waiting_, durable));
    waiting_.clear();
    waiting_bytes_ = 0;
    return {};
  }

  std::unique_ptr<Journal::Impl> journal_;
  PayloadLineParser parser_;
  std::vector<base::Bytes> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t taken_ = 0;
};

// What a rehearsal finds: the same decisions without the lock, on what is there now.
struct Rehearsal {
  StoreMap map;
  WriteBackPlan plan;
  bool without_segment = false;  // one would be created
};

Result<Rehearsal> rehearse(io::FileSystem& files, const std::string& path,
                           const WriteRequest& request) {
  Rehearsal out;
  VARVE_ASSIGN(out.map, map_store(files, path));
  if (auto refusal = refusal_to_write(out.map)) {
    return std::unexpected(std::move(*refusal));
  }
  out.without_segment = out.map.segments.empty();
  if (out.without_segment) {
    VARVE_TRY(may_begin(out.map));
    return out;
  }
  WalkOptions walk;
  walk.threads = request.threads;
  VARVE_ASSIGN(out.plan, plan_write_back(out.map, walk));
  return out;
}

void tell_end(Json& detail, const StoreMap& map, std::uint32_t segment, std::uint64_t offset,
              std::uint32_t next_seq) {
  detail.set("generation", map.live_name)
      .set("log_end", map.geometry.global_offset(segment, offset))
      .set("next_seq", std::uint64_t{next_seq});
}

void tell_tail(Json& detail, std::string_view tail, std::string_view torn_reason,
               std::uint64_t torn_bytes, bool frames_behind_end) {
  detail.set("tail", tail).set("frames_behind_end", frames_behind_end);
  if (!torn_reason.empty()) {
    detail.set("torn_reason", torn_reason).set("torn_bytes", torn_bytes);
  }
}

WriteReport recovery_rehearsed(const Rehearsal& found, Consent consent) {
  WriteReport report;
  report.dry_run = true;
  if (found.without_segment) {
    report.actions.push_back({found.map.live_prefix + segment_name(0), "create", 0,
                              found.map.geometry.new_segment_bytes()});
    return report;
  }
  const WriteBackPlan& plan = found.plan;
  report.actions = write_back_actions(found.map, plan, consent);
  tell_tail(report.detail, to_text(plan.tail.kind), plan.torn ? plan.tail.bad.fault.word : "",
            plan.tail.torn_bytes, plan.needs_consent && consent == Consent::no);
  tell_end(report.detail, found.map, found.map.segments.back().number, plan.tail.end,
           plan.tail.next_seq);
  return report;
}

// Measures what a compaction would write.
class MeasuringSink final : public PayloadSink {
 public:
  Result<void> add(std::span<const std::byte> payload) override {
    frame_.clear();
    append_frame(payload, 0, frame_);
    ++frames;
    bytes += frame_.size();
    return {};
  }
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;

 private:
  base::Bytes frame_;
};

Result<WriteReport> compaction_rehearsed(io::FileSystem& files, const std::string& path,
                                         const WriteRequest& request) {
  VARVE_ASSIGN(const Rehearsal found, rehearse(files, path, request));
  if (auto refusal = refusal_to_compact(found.map)) {
    return std::unexpected(std::move(*refusal));
  }
  WriteReport report;
  report.dry_run = true;
  MeasuringSink sink;
  std::uint64_t before = 0;
  if (!found.without_segment) {
    const std::uint32_t last = found.map.segments.back().number;
    const std::uint64_t end = found.plan.tail.end;
    before = found.map.geometry.global_offset(last, end);
    StateSource source(files, path, std::nullopt, found.map.schema, {}, request.threads);
    VARVE_TRY(source.freeze({last, end, before, found.plan.tail.next_seq, found.map.live_name}));
    VARVE_TRY(source.write(sink));
  }
  report.actions.push_back({found.map.arena_prefix + std::string(k_generation_prefix) + "...",
                            "write generation", 0, sink.bytes});
  report.actions.push_back({found.map.arena_prefix + std::string(k_pointer_name), "replace", 0, 0});
  report.detail.set("old_generation", found.map.live_name)
      .set("frames_of_state", sink.frames)
      .set("bytes_before", before)
      .set("bytes_after", sink.bytes);
  return report;
}

}  // namespace

Result<WriteReport> init_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request) {
  CreateOptions options;
  VARVE_ASSIGN(const std::uint64_t version,
               model::number_option(request.options, "format-version", options.version));
  options.version = version <= k_newest_version ? static_cast<std::uint32_t>(version) : 0;
  VARVE_ASSIGN(options.dimensions,
               model::number_option(request.options, "dimensions", options.dimensions));
  options.bare = request.options.contains("bare");
  options.meaning_enabled = !request.options.contains("no-meaning");
  options.dry_run = request.dry_run;
  return create_store(files, path, options);
}

Result<std::unique_ptr<Appender>> open_store_appender(io::FileSystem& files,
                                                      const std::string& path,
                                                      const WriteRequest& request) {
  auto journal =
      std::make_unique<Journal::Impl>(files, path, journal_options(request), std::nullopt);
  VARVE_TRY(journal->open());
  return std::make_unique<LineAppender>(std::move(journal));
}

Result<WriteReport> recover_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request) {
  const JournalOptions options = journal_options(request);
  if (request.dry_run) {
    VARVE_ASSIGN(const Rehearsal found, rehearse(files, path, request));
    return recovery_rehearsed(found,
                              options.discard_frames_behind_end ? Consent::yes : Consent::no);
  }
  Journal::Impl journal(files, path, options, std::nullopt);
  VARVE_TRY(journal.open());
  const JournalEnd end = journal.end_locked();
  const OpeningReport& opening = journal.opening;
  WriteReport report = opening.written;
  tell_tail(report.detail, opening.tail, opening.torn_reason, opening.torn_bytes,
            opening.frames_behind_end);
  tell_end(report.detail, journal.map, end.segment, end.offset, end.next_seq);
  VARVE_TRY(journal.close());
  return report;
}

Result<WriteReport> compact_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request) {
  if (request.dry_run) {
    return compaction_rehearsed(files, path, request);
  }
  // Refused before recovery writes anything.
  VARVE_ASSIGN(const StoreMap map, map_store(files, path));
  if (auto refusal = map.refusal ? refusal_to_write(map) : refusal_to_compact(map)) {
    return std::unexpected(std::move(*refusal));
  }
  VARVE_ASSIGN(const auto journal, Journal::open(files, path, journal_options(request)));
  VARVE_ASSIGN(CompactionReport done, journal->compact());
  WriteReport report = journal->opening().written;
  for (WriteReport::Action& action : done.written.actions) {
    report.actions.push_back(std::move(action));
  }
  report.detail.set("old_generation", done.old_generation)
      .set("new_generation", done.new_generation)
      .set("frames_of_state", done.frames_of_state)
      .set("bytes_before", done.bytes_before)
      .set("bytes_after", done.bytes_after);
  if (!done.warning.empty()) {
    report.detail.set("warning", done.warning);
  }
  VARVE_TRY(journal->close());
  return report;
}

}  // namespace varve::arena
