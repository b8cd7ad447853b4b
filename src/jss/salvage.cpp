// SPDX-License-Identifier: MIT OR Apache-2.0
// `salvage`: every block that decodes goes to the new store as it stands; header, index, blooms,
// collection index and checksum are made anew. A lost block of a sealed segment leaves an empty
// one.
#include "varve/salvage.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/pipeline.hpp"
#include "jss/block_reader.hpp"
#include "jss/deep_verify.hpp"
#include "jss/recovery.hpp"
#include "jss/salvage_segment.hpp"
#include "jss/walker.hpp"
#include "jss/writing.hpp"
#include "model/salvage_output.hpp"
#include "model/verdict_sink.hpp"

namespace varve::jss {

namespace {

// One frame on its way through the pipeline. The objects are used again.
struct FrameWork {
  FrameRef frame;
  std::uint32_t index = 0;
  std::optional<Error> error;
  std::optional<Finding> fault;
  BlockCheck check;
  base::Bytes bytes;  // prefix and frame, if they are to be written
  Block block;
  BlockSummary summary;
};

// What the members of one archive share.
struct Shared {
  const SalvageRequest& request;
  SalvageReport& report;
  model::VerdictSink& findings;
  model::SalvageOutput* output;
  io::Directory* directory;                    // of the new segments; null for a rehearsal
  std::optional<std::uint64_t> last_seq = {};  // of the rows kept so far
  std::uint64_t emptied_blocks = 0;
};

// Of a version that this build does not know: nothing in it can be proven.
bool is_unknown(const OpenSegment& segment) {
  return segment.head.fault && segment.head.fault->verdict == Verdict::unknown;
}

class MemberSalvage {
 public:
  MemberSalvage(Shared& shared, const OpenSegment& segment, std::string name, std::string stem)
      : shared_(shared),
        segment_(segment),
        file_(*segment.file),
        name_(std::move(name)),
        stem_(std::move(stem)),
        threads_(base::thread_count(shared.request.threads)),
        deep_(segment, shared.request.max_memory_bytes),
        seq_before_(shared.last_seq) {
    for (const Finding& finding : segment.findings) {
      if (finding.severity == Severity::error && hurt_.empty()) {
        hurt_ = finding.code;
      }
    }
  }

  Result<void> run() {
    if (is_unknown(segment_)) {
      return lose(0, file_.size(), "file", segment_.head.fault->code, 0);
    }
    VARVE_ASSIGN(walk_, walk_segment(file_, segment_.head, segment_.footer.get(),
                                     {WalkPolicy::salvage, shared_.request.max_memory_bytes}));
    VARVE_TRY(decide_sealed());
    if (shared_.directory != nullptr) {
      VARVE_ASSIGN(out_, SalvagedSegment::create(*shared_.directory, name_, sealed_));
    }
    VARVE_TRY(take_header());
    VARVE_TRY(take_blocks());
    deep_.finish(shared_.findings);
    VARVE_TRY(take_end());
    return out_ ? out_->finish(history()) : Result<void>();
  }

 private:
  // A header that cannot be believed: was it an active one? Then it had nothing but the magic.
  Result<void> decide_sealed() {
    if (segment_.head.state != SegmentState::refused) {
      sealed_ = segment_.head.state == SegmentState::sealed;
      return {};
    }
    VARVE_ASSIGN(const bool unborn, is_unborn(file_));
    const auto& raw = segment_.head.raw;
    const bool only_magic = std::all_of(raw.begin() + k_magic.size(), raw.end(),
                                        [](std::byte b) { return b == std::byte{0}; });
    sealed_ = !unborn && !only_magic;
    return {};
  }

  const Envelope* history() {
    if (!segment_.trusted()) {
      return nullptr;
    }
    const Header& old = segment_.head.header;
    if (old.min_seq > old.max_seq || old.min_witnessed_at > old.max_witnessed_at) {
      return nullptr;
    }
    history_ = {old.min_seq, old.max_seq, old.min_witnessed_at, old.max_witnessed_at};
    return &history_;
  }

  Result<void> take_header() {
    at_ = std::min<std::uint64_t>(k_header_bytes, file_.size());
    if (at_ < k_header_bytes) {
      return lose(0, at_, "header", hurt_, 0);
    }
    return rebuild(0, k_header_bytes, "header", segment_.head.fault ? hurt_ : "");
  }

  Result<void> take_blocks() {
    std::deque<Worker> workers;
    for (unsigned i = 0; i < threads_; ++i) {
      workers.emplace_back(shared_.request.max_memory_bytes);
    }
    std::uint32_t next = 0;
    std::vector<std::unique_ptr<FrameWork>> idle;
    Result<void> outcome;
    base::run_ordered_pipeline<std::unique_ptr<FrameWork>>(
        threads_, 2 * threads_,
        [&]() -> std::optional<std::unique_ptr<FrameWork>> {
          if (next == walk_.frames.size()) {
            return std::nullopt;
          }
          auto work = idle.empty() ? std::make_unique<FrameWork>() : std::move(idle.back());
          if (!idle.empty()) {
            idle.pop_back();
          }
          work->frame = walk_.frames[next];
          work->index = next++;
          return work;
        },
        [&](std::unique_ptr<FrameWork>& work, unsigned worker) { decode(*work, workers[worker]); },
        [&](std::unique_ptr<FrameWork>& work) {
          outcome = take_block(*work);
          idle.push_back(std::move(work));
          return outcome.has_value();
        });
    return outcome;
  }

  struct Worker {
    explicit Worker(std::uint64_t max_memory_bytes) : reader(max_memory_bytes) {}
    BlockReader reader;
    DeepVerifier::Scratch scratch;
  };

  void decode(FrameWork& work, Worker& worker) const {
    work.error.reset();
    work.fault.reset();
    auto fault = worker.reader.read(segment_, work.frame, work.index, work.block);
    if (!fault) {
      work.error = std::move(fault).error();
      return;
    }
    work.fault = *std::move(fault);
    if (work.fault) {
      return;
    }
    auto check =
        deep_.check(work.frame, work.index, work.block, worker.reader.frame(), worker.scratch);
    if (!check) {
      work.error = std::move(check).error();
      return;
    }
    work.check = *std::move(check);
    work.summary.summarize(work.block.columns);
    if (shared_.directory != nullptr) {
      work.bytes.clear();
      base::ByteWriter writer(work.bytes);
      writer.u64le(work.frame.frame_bytes);
      writer.bytes(worker.reader.frame());
    }
  }

  Result<void> take_block(const FrameWork& work) {
    if (work.error) {
      return std::unexpected(*work.error);
    }
    const FrameRef& frame = work.frame;
    VARVE_TRY(lose_gap(frame.offset));
    at_ = frame.end();
    if (frame.prefix_differs()) {
      shared_.findings.add(prefix_finding(file_, frame, work.index));
    }
    if (work.fault) {
      shared_.findings.add(*work.fault);
      deep_.miss();
      const bool known = segment_.trusted();
      VARVE_TRY(lose(frame.offset, frame.end() - frame.offset, "block", work.fault->code,
                     known ? segment_.entry(work.index).event_count : 0));
      return leave_empty(known ? segment_.entry(work.index) : IndexEntry());
    }
    deep_.add(work.index, work.check, shared_.findings);
    const IndexEntry& rows = work.summary.entry();
    if (rows.event_count == 0) {
      VARVE_TRY(rebuild(frame.offset, frame.end() - frame.offset, "empty block", ""));
      return out_ && sealed_ ? out_->add_empty(bounds_of(work)) : Result<void>();
    }
    if (shared_.last_seq && rows.min_seq <= *shared_.last_seq) {
      VARVE_TRY(set_aside(frame, rows));
      return leave_empty(IndexEntry());
    }
    keep(frame, rows);
    if (out_) {
      IndexEntry entry = rows;
      entry.compressed_size = static_cast<std::uint32_t>(frame.frame_bytes);
      entry.uncompressed_size = static_cast<std::uint32_t>(work.block.body.size());
      VARVE_TRY(out_->add(work.bytes, work.summary, entry));
    }
    return {};
  }

  IndexEntry bounds_of(const FrameWork& work) const {
    return segment_.trusted() ? segment_.entry(work.index) : IndexEntry();
  }

  Result<void> leave_empty(const IndexEntry& entry) {
    if (!sealed_) {
      return {};
    }
    ++shared_.emptied_blocks;
    return out_ ? out_->add_empty(entry) : Result<void>();
  }

  Result<void> lose_gap(std::uint64_t end) {
    if (at_ >= end) {
      return {};
    }
    if (!segment_.trusted()) {
      shared_.findings.add(gap_finding(file_, {at_, end - at_, 0}));
      deep_.miss();
    }
    VARVE_TRY(
        lose(at_, end - at_, "bytes", segment_.trusted() ? "unreferenced" : k_corrupt_segment, 0));
    return segment_.trusted() ? Result<void>() : leave_empty(IndexEntry());
  }

  Result<void> take_end() {
    const std::uint64_t size = file_.size();
    if (sealed_) {
      const std::uint64_t end = std::clamp(walk_.region_end, at_, size);
      VARVE_TRY(lose_gap(end));
      if (size == end) {
        return {};
      }
      // Where not even the header's offsets hold, who knows what these bytes were.
      const bool footer = segment_.trusted() || segment_.head.layout_holds;
      return footer ? rebuild(end, size - end, "footer", segment_.trusted() ? "" : hurt_)
                    : lose(end, size - end, "bytes", hurt_, 0);
    }
    if (at_ == size) {
      return {};
    }
    if (walk_.tail != TailState::whole) {
      shared_.findings.add(tail_finding(file_, walk_));
    }
    switch (walk_.tail) {
      case TailState::zero:
        return rebuild(at_, size - at_, "zeros", "");
      case TailState::orphaned_footer:
        return rebuild(at_, size - at_, "footer", "orphaned-footer");
      case TailState::torn:
        // It held a row at least; how many, its bytes do not say.
        ++shared_.report.unknown_records;
        return lose(at_, size - at_, "bytes", "torn-tail", 0);
      case TailState::whole:
      case TailState::unreadable:
        break;
    }
    return lose(at_, size - at_, "bytes", k_corrupt_segment, 0);
  }

  SalvageRange range(std::uint64_t offset, std::uint64_t length, const char* unit) const {
    SalvageRange out;
    out.file = file_.name();
    out.offset = offset;
    out.length = length;
    out.unit = unit;
    return out;
  }

  void keep(const FrameRef& frame, const IndexEntry& rows) {
    SalvageRange out = range(frame.offset, frame.end() - frame.offset, "blocks");
    out.records = rows.event_count;
    out.first_seq = rows.min_seq;
    out.last_seq = shared_.last_seq = rows.max_seq;
    if (open_gap_ != SIZE_MAX) {
      shared_.report.ranges[open_gap_].last_seq = rows.min_seq;
      open_gap_ = SIZE_MAX;
    }
    shared_.report.add(std::move(out));
  }

  Result<void> set_aside(const FrameRef& frame, const IndexEntry& rows) {
    SalvageRange out = range(frame.offset, frame.end() - frame.offset, "block");
    out.fate = Fate::set_aside;
    out.records = rows.event_count;
    out.first_seq = rows.min_seq;
    out.last_seq = rows.max_seq;
    out.reason = "seq-not-above";
    // Within one segment that is only odd; over segments it is what no archive may do.
    if (seq_before_ && rows.min_seq <= *seq_before_) {
      shared_.findings.worsen(Verdict::damaged);
    }
    return save(std::move(out));
  }

  Result<void> rebuild(std::uint64_t offset, std::uint64_t length, const char* unit,
                       std::string reason) {
    SalvageRange out = range(offset, length, unit);
    out.fate = Fate::rebuilt;
    out.reason = std::move(reason);
    if (out.reason.empty()) {  // nothing was wrong with it
      shared_.report.add(std::move(out));
      return {};
    }
    return save(std::move(out));
  }

  Result<void> lose(std::uint64_t offset, std::uint64_t length, const char* unit,
                    std::string reason, std::uint64_t rows) {
    if (length == 0) {
      return {};
    }
    SalvageRange out = range(offset, length, unit);
    out.fate = Fate::lost;
    out.records = rows;
    out.reason = std::move(reason);
    out.first_seq = shared_.last_seq;
    VARVE_TRY(save(std::move(out)));
    open_gap_ = shared_.report.ranges.size() - 1;
    return {};
  }

  Result<void> save(SalvageRange out) {
    const model::ReadAt read = [this](std::span<std::byte> to, std::uint64_t offset) {
      return file_.read(to, offset);
    };
    VARVE_TRY(
        model::save_range(shared_.output, read, stem_ + "-at-" + std::to_string(out.offset), out));
    shared_.report.add(std::move(out));
    return {};
  }

  Shared& shared_;
  const OpenSegment& segment_;
  const SegmentFile& file_;
  std::string name_;
  std::string stem_;
  unsigned threads_;
  DeepVerifier deep_;
  std::optional<std::uint64_t> seq_before_;  // of the rows of earlier segments
  std::string hurt_;                         // the first thing that opening complained about
  bool sealed_ = false;
  SegmentWalk walk_;
  std::uint64_t at_ = 0;             // all before it is accounted for
  std::size_t open_gap_ = SIZE_MAX;  // the lost range whose next whole row is not known yet
  std::unique_ptr<SalvagedSegment> out_;
  Envelope history_;
};

Result<SalvageReport> pass(io::FileSystem& files, const std::string& path,
                           const SalvageRequest& request, FindingSink& sink,
                           model::SalvageOutput* output) {
  model::VerdictSink findings(&sink);
  VARVE_ASSIGN(const auto archive, Archive::open(files, path));
  SalvageReport report;
  report.path = path;
  report.format = "jss";
  std::unique_ptr<io::Directory> directory;
  std::string single_name;
  if (output != nullptr) {
    const io::SplitPath split = io::split_path(output->store_path());
    single_name = split.name;
    if (archive->is_directory()) {
      VARVE_ASSIGN(directory, files.make_directories(output->store_path()));
    } else {
      VARVE_ASSIGN(directory, files.open_directory(split.parent));
    }
  }
  Shared shared{request, report, findings, output, directory.get()};
  for (std::size_t i = 0; i < archive->members().size(); ++i) {
    const Member& member = archive->members()[i];
    VARVE_ASSIGN(const auto segment, archive->open_segment(i, request.max_memory_bytes));
    for (const Finding& finding : segment->findings) {
      findings.add(finding);
    }
    const bool single = !archive->is_directory();
    if (single && is_unknown(*segment)) {
      return std::unexpected(to_error(*segment->head.fault));
    }
    VARVE_TRY(MemberSalvage(shared, *segment, single ? single_name : member.label,
                            single ? "file" : member.label)
                  .run());
  }
  if (directory) {
    VARVE_TRY(directory->sync());
  }
  report.verdict = findings.verdict();
  report.detail.set("segments", std::uint64_t{archive->members().size()})
      .set("emptied_blocks", shared.emptied_blocks);
  return report;
}

}  // namespace

Result<SalvageReport> salvage_store(io::FileSystem& files, const std::string& path,
                                    const SalvageRequest& request, FindingSink& findings) {
  const bool archive = [&] {
    const auto identity = files.identity_of(path);
    return identity && identity->type == io::FileType::directory;
  }();
  return model::salvage_with(files, request,
                             archive ? model::LostAndFound::inside : model::LostAndFound::beside,
                             findings, [&](model::SalvageOutput* output, FindingSink& sink) {
                               return pass(files, path, request, sink, output);
                             });
}

}  // namespace varve::jss
