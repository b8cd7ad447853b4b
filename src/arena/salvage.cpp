// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/salvage.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "arena/findings.hpp"
#include "arena/log_walk.hpp"
#include "arena/log_writer.hpp"
#include "arena/view.hpp"
#include "io/publish.hpp"
#include "model/salvage_output.hpp"

namespace varve::arena {

namespace {

// The new store: its small files first, then frames one after the other.
class NewStore {
 public:
  static Result<std::unique_ptr<NewStore>> create(io::FileSystem& files, const StoreMap& map,
                                                  const std::string& path) {
    VARVE_ASSIGN(auto root, files.make_directories(path));
    std::unique_ptr<io::Directory> arena = std::move(root);
    if (map.schema) {
      VARVE_TRY(copy_small(*map.store, *arena, k_schema_name));
      VARVE_TRY(copy_small(*map.store, *arena, k_salt_name));
      VARVE_TRY(arena->make_directory(k_arena_directory, 0700));
      VARVE_TRY(arena->sync());
      VARVE_ASSIGN(arena, arena->open_directory(k_arena_directory));
    }
    if (map.geometry.version > 1) {
      const Manifest manifest{map.geometry.version, map.geometry.segment_bytes};
      VARVE_TRY(io::publish_bytes(*arena, k_manifest_name, base::as_bytes(manifest_text(manifest)),
                                  io::Replace::no, io::system_environment()));
    }
    VARVE_TRY(arena->sync());
    VARVE_ASSIGN(auto writer, LogWriter::begin(std::move(arena), map.geometry));
    return std::make_unique<NewStore>(std::move(writer));
  }

  explicit NewStore(std::unique_ptr<LogWriter> writer) : writer_(std::move(writer)) {}

  Result<void> add(const FrameHeader& header, base::ByteSpan data) {
    frame_.clear();
    append_stored_frame(header, data, frame_);
    VARVE_TRY(writer_->add(frame_));
    return {};
  }
  Result<void> finish() {
    VARVE_TRY(writer_->write());
    return writer_->sync();
  }

 private:
  // Copies store.json or encryption.salt as it stands, if it is there.
  static Result<void> copy_small(const io::Directory& from, io::Directory& to,
                                 std::string_view name) {
    VARVE_ASSIGN(const auto text, read_small_file(from, name));
    return text ? io::publish_bytes(to, name, base::as_bytes(*text), io::Replace::no,
                                    io::system_environment())
                : Result<void>();
  }

  std::unique_ptr<LogWriter> writer_;
  base::Bytes frame_;
};

// The handler of the walk: decides what becomes of each stretch of each segment.
class SalvageWalk {
 public:
  struct Output {
    const RawChunk* chunk = nullptr;
    std::vector<std::pair<std::uint64_t, PayloadFault>> refused;  // number in the chunk
    std::uint64_t frames = 0;
  };

  SalvageWalk(const PayloadContext& payloads, unsigned threads, FindingSink& findings,
              NewStore* store, model::SalvageOutput* output, SalvageReport& report)
      : payloads_(payloads),
        findings_(findings),
        scratch_(base::thread_count(threads)),
        store_(store),
        output_(output),
        report_(report) {}

  void begin(Output& output, const RawChunk& chunk) {
    output.chunk = &chunk;
    output.refused.clear();
    output.frames = 0;
  }
  std::byte* room(Output&, const PlannedFrame& frame, unsigned worker) {
    return scratch_[worker].room.reserve(frame.header.raw_len);
  }
  void frame(Output& output, const PlannedFrame&, base::ByteSpan payload, unsigned worker) {
    if (payloads_.rules_apply) {
      const PayloadView view = look_at_payload(payloads_, payload, scratch_[worker].payload);
      if (view.fault) {
        output.refused.emplace_back(output.frames, *view.fault);
      }
    }
    ++output.frames;
  }
  void finish(Output&, unsigned) {}

  Result<bool> deliver(Output& output, std::span<const PlannedFrame> frames) {
    auto refused = output.refused.begin();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const bool has_fault = refused != output.refused.end() && refused->first == i;
      const auto fault = has_fault ? std::optional(refused++->second) : std::nullopt;
      // What is of a newer kind is kept: only its frame is understood, as before.
      bool bad = false;
      if (fault) {
        Finding finding = payload_finding(*context_, frames[i].offset, index_ + i, *fault);
        bad = finding.severity == Severity::error;
        tell(std::move(finding));
      }
      SalvageRange range = range_of(frames[i].offset, frames[i].header.frame_bytes(), "frames");
      range.records = 1;
      at_ = frames[i].offset + range.length;
      if (bad) {
        range.unit = "frame";
        range.fate = Fate::set_aside;
        range.reason = fault->word;
        VARVE_TRY(save(std::move(range)));
        continue;
      }
      report_.add(std::move(range));
      if (store_ != nullptr) {
        VARVE_TRY(store_->add(frames[i].header, output.chunk->data_of(frames[i])));
      }
    }
    index_ += frames.size();
    return true;
  }

  void segment(const SegmentContext& context) {
    context_ = &context;
    at_ = 0;
    index_ = 0;
    reason_ = "not-a-frame";
  }

  Result<bool> damage(const SegmentContext& context, const Damage& damage) {
    Finding finding = damage_finding(context, damage, index_++);
    reason_ = finding.code;
    tell(std::move(finding));
    const bool committed =
        damage.kind == Damage::Kind::committed || damage.kind == Damage::Kind::earlier;
    report_.unknown_records += committed || damage.kind == Damage::Kind::in_progress ? 0 : 1;
    lost_frame_ = committed ? 1 : 0;
    if (damage.resume) {
      VARVE_TRY(lose(*damage.resume));
    }
    return true;
  }

  Result<void> end(const SegmentContext& context, const SegmentEnd& end, TailScanner& scanner) {
    using Kind = SegmentEnd::Kind;
    const SegmentImage& image = context.image;
    const std::uint64_t file_end = context.file().file_bytes;
    if (end.kind == Kind::damaged) {
      VARVE_ASSIGN(const auto last, image.last_nonzero(at_));
      VARVE_TRY(lose(std::min(file_end, last ? *last + 1 : at_)));
    }
    if (end.kind == Kind::marker) {
      rebuild(std::min(file_end, end.offset + k_header_bytes), "end marker");
    }
    VARVE_ASSIGN(const auto behind, look_behind(image, end, scanner));
    if (behind) {
      tell(behind_finding(context, *behind));
      VARVE_TRY(take_behind(image, *behind, scanner));
    } else if (const auto rest = image.first_nonzero(at_); rest && *rest) {
      VARVE_ASSIGN(const auto last, image.last_nonzero(at_));
      VARVE_TRY(remains(last ? *last + 1 : at_));
    }
    rebuild(file_end, "zeros");
    return {};
  }

 private:
  struct Scratch {
    base::Buffer room;
    PayloadScratch payload;
  };

  void tell(Finding finding) {
    if (finding.severity == Severity::error) {
      report_.verdict = worse(report_.verdict, finding.verdict);
    }
    findings_.add(std::move(finding));
  }

  SalvageRange range_of(std::uint64_t offset, std::uint64_t length, const char* unit) const {
    SalvageRange out;
    out.file = context_->path();
    out.offset = offset;
    out.length = length;
    out.unit = unit;
    return out;
  }

  Result<void> save(SalvageRange range) {
    const SegmentImage& image = context_->image;
    VARVE_TRY(model::save_range(
        output_,
        [&](std::span<std::byte> out, std::uint64_t offset) { return image.read(out, offset); },
        context_->file().name + "-at-" + std::to_string(range.offset), range));
    report_.add(std::move(range));
    return {};
  }

  // [at_, end) is not understood.
  Result<void> lose(std::uint64_t end) {
    const std::uint64_t records = std::exchange(lost_frame_, 0);
    if (end <= at_) {
      return {};
    }
    SalvageRange range = range_of(at_, end - at_, "bytes");
    range.fate = Fate::lost;
    range.reason = reason_;
    range.records = records;
    at_ = end;
    return save(std::move(range));
  }

  void rebuild(std::uint64_t end, const char* unit) {
    if (end <= at_) {
      return;
    }
    SalvageRange range = range_of(at_, end - at_, unit);
    range.fate = Fate::rebuilt;
    report_.add(std::move(range));
    at_ = end;
  }

  // What an append left behind the end, or an older log: no record of this one.
  Result<void> remains(std::uint64_t end) {
    SalvageRange range = range_of(at_, end - at_, "remains");
    range.fate = Fate::rebuilt;
    range.reason = "remains-behind-end";
    at_ = end;
    return save(std::move(range));
  }

  // Frames behind the end: of an older log, or hidden by a damaged header. Nobody can tell, so they
  // are set aside.
  Result<void> take_behind(const SegmentImage& image, const BehindEnd& behind,
                           TailScanner& scanner) {
    rebuild(behind.first_nonzero, "zeros");
    if (!behind.frame) {
      return remains(behind.last_nonzero + 1);
    }
    SalvageRange range = range_of(at_, behind.last_nonzero + 1 - at_, "stale frames");
    range.fate = Fate::set_aside;
    range.reason = "frames-behind-end";
    std::uint64_t offset = behind.frame->offset;
    base::Buffer data;
    base::Buffer room;
    for (;;) {
      VARVE_ASSIGN(const UnitCheck unit, check_at(image, offset, data, room));
      if (unit.kind == UnitKind::frame) {
        ++range.records;
        offset += unit.header.frame_bytes();
        continue;
      }
      const auto next = scanner.next(offset + 1, false);
      if (!next || !*next) {
        break;
      }
      offset = (*next)->offset;
    }
    at_ = behind.last_nonzero + 1;
    return save(std::move(range));
  }

  const PayloadContext& payloads_;
  FindingSink& findings_;
  std::vector<Scratch> scratch_;
  NewStore* store_;
  model::SalvageOutput* output_;
  SalvageReport& report_;
  const SegmentContext* context_ = nullptr;
  std::uint64_t at_ = 0;     // all before it in the segment is accounted for
  std::uint64_t index_ = 0;  // of the next frame in the segment
  std::string reason_;
  std::uint64_t lost_frame_ = 0;
};

// The store's map; where nothing says which generation is live, that of the newest, or of the
// segments in the arena directory itself.
Result<StoreMap> map_for_salvage(io::FileSystem& files, const std::string& path,
                                 const SalvageRequest& request) {
  MapOptions options;
  if (const auto found = request.options.find("generation"); found != request.options.end()) {
    options.generation = found->second;
  }
  VARVE_ASSIGN(StoreMap map, map_store(files, path, options));
  if (map.live || !options.generation.empty()) {
    return map;
  }
  std::vector<std::string> candidates;
  for (const Generation& generation : map.generations) {
    candidates.insert(candidates.begin(), generation.name);
  }
  if (map.arena_has_segments) {
    candidates.emplace_back(k_arena_directory);
  }
  for (const std::string& candidate : candidates) {
    options.generation = candidate;
    auto other = map_store(files, path, options);
    if (other && other->live && !other->segments.empty()) {
      return other;
    }
  }
  return map;
}

Json generations_json(const StoreMap& map) {
  Json out = Json::array();
  for (const Generation& generation : map.generations) {
    if (generation.name != map.live_name) {
      out.push(generation.name);
    }
  }
  return out;
}

}  // namespace

Result<SalvageReport> salvage_store(io::FileSystem& files, const std::string& path,
                                    const SalvageRequest& request, FindingSink& findings) {
  VARVE_ASSIGN(const StoreMap map, map_for_salvage(files, path, request));
  if (!map.live || map.document_checkpoint ||
      (map.refusal && map.refusal->code == ErrorCode::unsupported)) {
    return fail(map.refusal ? map.refusal->code : ErrorCode::unsupported,
                map.refusal ? map.refusal->reason : "document-checkpoint",
                map.refusal ? map.refusal->message
                            : "the log goes on from a checkpoint that is not understood",
                path);
  }
  const PayloadContext payloads = PayloadContext::of(map.schema);
  WalkOptions walk;
  walk.policy = Policy::salvage;
  walk.threads = request.threads;
  walk.max_unit_bytes = request.max_memory_bytes;
  return model::salvage_with(
      files, request, model::LostAndFound::inside, findings,
      [&](model::SalvageOutput* output, FindingSink& sink) -> Result<SalvageReport> {
        SalvageReport report;
        report.path = path;
        report.format = "arena";
        for (const Finding& finding : map.findings) {
          if (finding.severity == Severity::error) {
            report.verdict = worse(report.verdict, finding.verdict);
          }
          sink.add(finding);
        }
        std::unique_ptr<NewStore> store;
        if (output != nullptr) {
          VARVE_ASSIGN(store, NewStore::create(files, map, output->store_path()));
        }
        SalvageWalk handler(payloads, walk.threads, sink, store.get(), output, report);
        VARVE_TRY(walk_log(map, walk, handler));
        if (store) {
          VARVE_TRY(store->finish());
        }
        report.detail.set("generation", map.live_name)
            .set("other_generations", generations_json(map))
            .set("segments", std::uint64_t{map.segments.size()})
            .set("bare", !map.schema.has_value());
        return report;
      });
}

}  // namespace varve::arena
