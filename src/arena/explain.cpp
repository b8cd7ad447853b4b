// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain`: every byte of the store's files, field by field.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "arena/explain_member.hpp"
#include "arena/fields.hpp"
#include "arena/findings.hpp"
#include "arena/log_walk.hpp"
#include "arena/txn3.hpp"
#include "arena/view.hpp"
#include "model/renamed_sinks.hpp"

namespace varve::arena {

namespace {

using Check = ExplainRow::Check;
using Class = ExplainRow::Class;
constexpr std::size_t k_most_stale_frames = 64;
constexpr std::size_t k_raw_bytes = 32;

std::string payload_words(const PayloadContext& payloads, base::ByteSpan payload,
                          PayloadScratch& scratch) {
  const PayloadView view = look_at_payload(payloads, payload, scratch);
  switch (view.what) {
    case PayloadClass::txn2: {
      std::string out = fmt::format("HMS-TXN-2, {} mutation(s):", scratch.mutations.size());
      for (std::size_t i = 0; i < std::min<std::size_t>(scratch.mutations.size(), 4); ++i) {
        out += ' ';
        out += to_text(scratch.mutations[i].kind);
      }
      return scratch.mutations.size() > 4 ? out + " ..." : out;
    }
    case PayloadClass::txn3: {
      const auto outline = outline_txn3(view.text, payloads.rules);
      if (!outline) {
        return "HMS-TXN-3, opaque";
      }
      return fmt::format(
          "HMS-TXN-3 (assumed coding): {} mutation(s), {} term(s), {} element(s) "
          "as JSON",
          outline->mutations, outline->terms,
          std::ranges::count(outline->elements, Txn3Tag::json, &Txn3Element::tag));
    }
    case PayloadClass::encrypted:
      return "encrypted: nonce of 12 bytes, ciphertext, tag of 16 bytes";
    case PayloadClass::refused:
      return fmt::format("{}: {}", view.fault->word, view.fault->what);
    case PayloadClass::opaque:
      break;
  }
  return "bytes of no known form";
}

// Writes the rows of one file; only those of the unit at `wanted`, if set.
class Rows {
 public:
  Rows(std::string file, std::uint64_t file_bytes, std::optional<std::uint64_t> wanted,
       ExplainSink& sink)
      : file_(std::move(file)), file_bytes_(file_bytes), wanted_(wanted), sink_(sink) {}

  // A unit with fields. `bytes` are its bytes as far as they are in the file.
  void unit(std::uint64_t offset, std::uint64_t length, std::string name, std::string meaning,
            Check check, std::span<const FieldSpec> fields, base::ByteSpan bytes) {
    if (!covers(offset, length)) {
      return;
    }
    row(offset, length, 0, true, name, {}, std::move(meaning), bytes, check, Class::unset);
    for (const FieldSpec& field : fields) {
      const std::uint64_t field_length = field.length != 0 ? field.length : length - field.offset;
      const base::ByteSpan part = bytes.subspan(field.offset);
      row(offset + field.offset, field_length, 1, false, field.name,
          field.type == FieldType::opaque
              ? fmt::format("{} bytes", field_length)
              : model::field_text(field.type, part.first(field_length), std::endian::little),
          field.meaning, part.first(std::min<std::size_t>(part.size(), field_length)), Check::none,
          field.type == FieldType::opaque ? Class::payload : Class::unset);
    }
  }
  // A stretch without fields.
  void stretch(std::uint64_t offset, std::uint64_t end, std::string name, std::string meaning,
               base::ByteSpan bytes, Class sort, std::vector<ByteMark> stale = {}) {
    if (end > offset && covers(offset, end - offset)) {
      row(offset, end - offset, 0, false, std::move(name), {}, std::move(meaning), bytes,
          Check::none, sort, std::move(stale));
    }
  }
  bool stopped() const { return stopped_; }
  std::uint64_t rows() const { return rows_; }

 private:
  bool covers(std::uint64_t offset, std::uint64_t length) const {
    return !wanted_ || (*wanted_ >= offset && *wanted_ - offset < length);
  }
  void row(std::uint64_t offset, std::uint64_t length, unsigned depth, bool container,
           std::string field, std::string value, std::string meaning, base::ByteSpan bytes,
           Check check, Class sort, std::vector<ByteMark> stale = {}) {
    if (stopped_ || offset >= file_bytes_) {
      return;  // a trimmed copy: what is not in the file has no row
    }
    ExplainRow out;
    out.file = file_;
    out.offset = offset;
    out.length = std::min(length, file_bytes_ - offset);
    out.depth = depth;
    out.container = container;
    out.field = std::move(field);
    out.value = std::move(value);
    out.meaning = std::move(meaning);
    const std::size_t raw = std::min<std::size_t>({bytes.size(), k_raw_bytes, out.length});
    out.raw = base::as_text(bytes.first(raw));
    out.check = check;
    out.sort = sort;
    out.marks = std::move(stale);
    ++rows_;
    stopped_ = !sink_.add(std::move(out));
  }

  std::string file_;
  std::uint64_t file_bytes_;
  std::optional<std::uint64_t> wanted_;
  ExplainSink& sink_;
  bool stopped_ = false;
  std::uint64_t rows_ = 0;
};

// The handler of a single-threaded walk that explains as it goes.
class Explainer {
 public:
  struct Output {
    const RawChunk* chunk = nullptr;
  };
  Explainer(const PayloadContext& payloads, Rows& rows, FindingSink& findings, ScanSummary& summary)
      : payloads_(payloads), rows_(rows), findings_(findings), summary_(summary) {}

  void begin(Output& output, const RawChunk& chunk) { output.chunk = &chunk; }
  std::byte* room(Output&, const PlannedFrame& frame, unsigned) {
    return room_.reserve(frame.header.raw_len);
  }
  void frame(Output& output, const PlannedFrame& frame, base::ByteSpan payload, unsigned) {
    const base::ByteSpan data = output.chunk->data_of(frame);
    const base::ByteSpan bytes{data.data() - k_header_bytes, data.size() + k_header_bytes};
    rows_.unit(frame.offset, frame.header.frame_bytes(), "frame",
               payload_words(payloads_, payload, scratch_), Check::holds, k_frame_fields, bytes);
  }
  void finish(Output&, unsigned) {}
  Result<bool> deliver(Output&, std::span<const PlannedFrame> frames) {
    index_ += frames.size();
    return !rows_.stopped();
  }
  void segment(const SegmentContext&) {}

  Result<bool> damage(const SegmentContext& context, const Damage& damage) {
    Finding finding = damage_finding(context, damage, index_++);
    if (finding.severity == Severity::error) {
      summary_.verdict = worse(summary_.verdict, finding.verdict);
    }
    std::byte header[k_header_bytes];
    VARVE_TRY(context.image.read(header, damage.at.offset));
    rows_.unit(damage.at.offset, k_header_bytes, "bad frame", finding.message, Check::fails,
               std::span(k_frame_fields).first(4), header);
    findings_.add(std::move(finding));
    const std::uint64_t end = damage.resume.value_or(context.file().file_bytes);
    return stretch(context, damage.at.offset + k_header_bytes, end, "gap",
                   "bytes behind a bad frame that no valid frame holds", Class::gap);
  }

  Result<void> end(const SegmentContext& context, const SegmentEnd& end, TailScanner& scanner) {
    const std::uint64_t file_bytes = context.file().file_bytes;
    std::uint64_t at = end.offset;
    if (end.kind == SegmentEnd::Kind::damaged) {
      return {};  // the gap went to the end of the file
    }
    if (end.kind == SegmentEnd::Kind::marker) {
      std::byte marker[k_header_bytes];
      VARVE_TRY(context.image.read(marker, at));
      rows_.unit(at, k_header_bytes, "end marker", "the segment ends here", Check::holds,
                 k_marker_fields, marker);
      at += k_header_bytes;
    }
    const std::uint64_t inside = std::min(file_bytes, context.image.logical_bytes());
    VARVE_ASSIGN(const auto nonzero, context.image.first_nonzero(at));
    const std::uint64_t zeros_end = std::min(nonzero.value_or(inside), inside);
    VARVE_TRY(stretch(context, at, zeros_end, "zeros",
                      end.kind == SegmentEnd::Kind::zero_header ? "the segment ends here" : "",
                      Class::padding));
    const std::uint64_t remains = std::max(at, zeros_end);
    VARVE_ASSIGN(auto stale, stale_frames(scanner, remains, inside));
    VARVE_TRY(stretch(context, remains, inside, "remains", "behind the end, not all zero",
                      Class::gap, std::move(stale)));
    VARVE_TRY(stretch(context, std::max(at, inside), file_bytes, "surplus",
                      "beyond the length a segment may have", Class::gap));
    return {};
  }

 private:
  // Valid frames behind the end: what an older log left there, or what lies behind a lost header.
  static Result<std::vector<ByteMark>> stale_frames(TailScanner& scanner, std::uint64_t begin,
                                                    std::uint64_t end) {
    std::vector<ByteMark> out;
    while (begin < end && out.size() < k_most_stale_frames) {
      const auto frame = scanner.next(begin, false);
      if (!frame && frame.error().code != ErrorCode::limit) {
        return std::unexpected(frame.error());
      }
      if (!frame || !*frame || (*frame)->offset >= end) {
        break;  // no more, or too expensive to tell
      }
      const FrameHeader& header = (*frame)->header;
      out.push_back(
          {ByteMark::Kind::stale, (*frame)->offset, header.frame_bytes(),
           fmt::format("frame, seq {}, payload of {} bytes", header.seq, header.raw_len)});
      begin = (*frame)->offset + header.frame_bytes();
    }
    return out;
  }
  Result<bool> stretch(const SegmentContext& context, std::uint64_t begin, std::uint64_t end,
                       std::string name, std::string meaning, Class sort,
                       std::vector<ByteMark> stale = {}) {
    if (end > begin) {
      std::byte raw[k_raw_bytes];
      VARVE_TRY(context.image.read(raw, begin));
      rows_.stretch(begin, end, std::move(name), std::move(meaning), raw, sort, std::move(stale));
    }
    return !rows_.stopped();
  }

  const PayloadContext& payloads_;
  Rows& rows_;
  FindingSink& findings_;
  ScanSummary& summary_;
  base::Buffer room_;
  PayloadScratch scratch_;
  std::uint64_t index_ = 0;
};

// The small files of a store, with what reads them.
struct SmallFile {
  const io::Directory* directory;
  std::string_view name;
  std::string path;
  const char* meaning;
};

// A segment without the store around it: the image of the largest geometry, the last of its log.
// `shown`: what rows and findings call it.
Result<Verdict> explain_loose_segment(io::FileSystem& files, const std::string& parent,
                                      const std::string& name, const std::string& shown,
                                      const ExplainRequest& request, const WalkOptions& options,
                                      ExplainSink& sink, FindingSink& findings) {
  StoreMap map;
  map.path = parent;
  VARVE_ASSIGN(map.live, files.open_directory(parent));
  VARVE_ASSIGN(const io::FileIdentity identity, map.live->identity_of(name));
  if (request.offset && *request.offset >= identity.size_bytes) {
    return fail(ErrorCode::invalid_argument, "offset", "the offset lies behind the end of the file",
                shown);
  }
  map.segments.push_back(
      {segment_number(name).value_or(0), name, identity.size_bytes, identity.allocated_bytes});
  const PayloadContext payloads;
  ScanSummary summary;
  model::RenamedFindings renamed(findings, shown);
  Rows rows(shown, identity.size_bytes, request.offset, sink);
  Explainer explainer(payloads, rows, renamed, summary);
  VARVE_TRY(walk_one_segment(map, 0, options, explainer));
  return summary.verdict;
}

bool is_small_file(std::string_view name) {
  return name == k_schema_name || name == k_pointer_name || name == k_manifest_name;
}

}  // namespace

Confidence detect_member(io::FileSystem& files, const std::string& path) {
  const std::string name = io::split_path(path).name;
  const auto file = files.open_file(path, io::OpenMode::read);
  if (!file) {
    return Confidence::none;
  }
  if (!segment_number(name)) {
    return is_small_file(name) ? Confidence::by_name : Confidence::none;
  }
  // Only with the name: any 16 bytes can be the header of a frame.
  std::byte header[k_header_bytes];
  const auto got = (*file)->read_at(header, 0);
  const bool begins =
      got && *got == k_header_bytes &&
      check_header(decode_header(header), k_large_segment_bytes).kind != UnitKind::invalid;
  return begins ? Confidence::by_content : Confidence::by_name;
}

Result<ScanSummary> explain_member(io::FileSystem& files, const std::string& path,
                                   const ExplainRequest& request, const OpenOptions& options,
                                   ExplainSink& sink, FindingSink& findings) {
  const io::SplitPath split = io::split_path(path);
  ScanSummary summary;
  if (is_small_file(split.name)) {
    VARVE_ASSIGN(const auto directory, files.open_directory(split.parent));
    VARVE_ASSIGN(const auto text, read_small_file(*directory, split.name));
    if (text) {
      Rows rows("", text->size(), request.offset, sink);
      rows.stretch(0, text->size(), split.name, "text", base::as_bytes(*text), Class::field);
    }
    return summary;
  }
  WalkOptions walk;
  walk.policy = Policy::report;
  walk.max_unit_bytes = options.max_memory_bytes;
  VARVE_ASSIGN(summary.verdict, explain_loose_segment(files, split.parent, split.name, "", request,
                                                      walk, sink, findings));
  return summary;
}

// Every generation there is, where none is known to be the live one.
Result<void> ArenaView::explain_generations(const ExplainRequest& request, ExplainSink& sink,
                                            FindingSink& findings, ScanSummary& summary,
                                            const std::function<bool(const std::string&)>& wanted) {
  std::vector<std::string> prefixes;
  if (map_.arena_has_segments) {
    prefixes.emplace_back();
  }
  for (const Generation& generation : map_.generations) {
    prefixes.push_back(generation.name + "/");
  }
  for (const std::string& prefix : prefixes) {
    const std::string directory_path = map_.arena->path() + "/" + prefix;
    VARVE_ASSIGN(const auto directory, files_.open_directory(directory_path));
    VARVE_ASSIGN(auto entries, directory->list());
    std::ranges::sort(entries, {}, [](const io::DirectoryEntry& entry) {
      return std::pair(segment_number(entry.name), entry.name);
    });
    for (const io::DirectoryEntry& entry : entries) {
      const std::string shown = map_.arena_prefix + prefix + entry.name;
      if (segment_number(entry.name) && entry.identity.type == io::FileType::regular &&
          wanted(shown)) {
        VARVE_ASSIGN(const Verdict verdict,
                     explain_loose_segment(files_, directory_path, entry.name, shown, request,
                                           walk_options(Policy::report, 1), sink, findings));
        summary.verdict = worse(summary.verdict, verdict);
      }
    }
  }
  return {};
}

Result<ScanSummary> ArenaView::explain(const ExplainRequest& request, ExplainSink& sink,
                                       FindingSink& findings) {
  ScanSummary summary;
  summary.verdict = report_structure(findings);
  bool known = false;
  bool stopped = false;
  const auto wanted = [&](const std::string& path) {
    const bool is = request.file.empty() || request.file == path ||
                    (path.size() > request.file.size() && path.ends_with("/" + request.file));
    known = known || is;
    return is && !stopped;
  };

  std::vector<SmallFile> small;
  if (!map_.arena_prefix.empty() || map_.store_is_arena) {
    small.push_back({map_.store.get(), k_schema_name, std::string(k_schema_name),
                     "the store's schema (section 1.1)"});
  }
  small.push_back({map_.arena.get(), k_pointer_name,
                   map_.arena_prefix + std::string(k_pointer_name),
                   "the live generation's name (section 1.3)"});
  if (map_.live) {
    small.push_back({map_.live.get(), k_manifest_name,
                     map_.live_prefix + std::string(k_manifest_name),
                     "the arena's version and segment size (section 1.2)"});
  }
  for (const SmallFile& file : small) {
    VARVE_ASSIGN(const auto text, read_small_file(*file.directory, file.name));
    if (!text || !wanted(file.path)) {
      continue;
    }
    Rows rows(file.path, text->size(), request.offset, sink);
    rows.stretch(0, text->size(), std::string(file.name), file.meaning, base::as_bytes(*text),
                 Class::field);
    summary.rows += rows.rows();
    stopped = rows.stopped();
  }
  WalkOptions options = walk_options(Policy::report, 1);
  for (std::size_t i = 0; map_.live && i < map_.segments.size(); ++i) {
    const std::string path = map_.segment_path(map_.segments[i]);
    if (!wanted(path)) {
      continue;
    }
    Rows rows(path, map_.segments[i].file_bytes, request.offset, sink);
    Explainer explainer(payloads_, rows, findings, summary);
    VARVE_TRY(walk_one_segment(map_, i, options, explainer));
    summary.rows += rows.rows();
    stopped = rows.stopped();
  }
  if (!map_.live) {
    VARVE_TRY(explain_generations(request, sink, findings, summary, wanted));
  }
  if (!known) {
    return fail(ErrorCode::invalid_argument, "not_found", "the store has no file " + request.file,
                map_.path);
  }
  return summary;
}

}  // namespace varve::arena
