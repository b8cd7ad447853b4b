// SPDX-License-Identifier: MIT OR Apache-2.0
// Opening, and `info`.
#include "arena/view.hpp"

#include <fmt/format.h>

#include "arena/header_walk.hpp"
#include "arena/log_walk.hpp"

namespace varve::arena {

namespace {

Result<Key> key_from_file(io::FileSystem& files, const io::Directory& store,
                          const std::string& path) {
  VARVE_ASSIGN(const auto salt, read_small_file(store, k_salt_name));
  if (!salt) {
    return fail(ErrorCode::invalid_argument, "decrypt-failed",
                "the store has no encryption.salt: there is nothing to decrypt");
  }
  const io::SplitPath split = io::split_path(path);
  VARVE_ASSIGN(const auto directory, files.open_directory(split.parent));
  VARVE_ASSIGN(auto passphrase, read_small_file(*directory, split.name));
  if (!passphrase) {
    return fail(ErrorCode::invalid_argument, "decrypt-failed", "no such passphrase file", path);
  }
  if (passphrase->ends_with('\n')) {
    passphrase->pop_back();
  }
  return derive_key(*passphrase, base::as_bytes(*salt));
}

std::string option(const OpenOptions& options, const std::string& name) {
  const auto found = options.options.find(name);
  return found == options.options.end() ? std::string() : found->second;
}

// Beside a compaction CURRENT may name what is gone a moment later: then it names another one now.
Result<StoreMap> map_for_reading(io::FileSystem& files, const std::string& path,
                                 const std::string& generation,
                                 const std::optional<Geometry>& geometry) {
  constexpr int k_most_attempts = 5;
  for (int attempt = 1;; ++attempt) {
    auto map = map_store(files, path, {generation, geometry});
    const auto identity = files.identity_of(path);
    if (map || !generation.empty() || !is_missing(map.error()) || !identity ||
        identity->type != io::FileType::directory) {
      return map;
    }
    if (attempt == k_most_attempts) {
      return fail(ErrorCode::locked, "changing", "the log is replaced faster than it can be opened",
                  path);
    }
  }
}

}  // namespace

Result<std::unique_ptr<ArenaView>> ArenaView::open(io::FileSystem& files, const std::string& path,
                                                   const OpenOptions& options,
                                                   const std::optional<Geometry>& geometry) {
  VARVE_ASSIGN(StoreMap map, map_for_reading(files, path, option(options, "generation"), geometry));
  std::unique_ptr<ArenaView> view(new ArenaView(files, std::move(map), options));
  const std::string passphrase_file = option(options, "passphrase-file");
  if (!passphrase_file.empty()) {
    VARVE_ASSIGN(view->payloads_.key, key_from_file(files, *view->map_.store, passphrase_file));
  }
  return view;
}

WalkOptions ArenaView::walk_options(Policy policy, unsigned threads) const {
  WalkOptions out;
  out.policy = policy;
  out.threads = threads != 0 ? threads : options_.threads;
  out.max_unit_bytes = options_.max_memory_bytes;
  out.settle_ms = settle_ms_;
  return out;
}

Verdict ArenaView::report_structure(FindingSink& findings) const {
  Verdict verdict = Verdict::clean;
  for (const Finding& finding : map_.findings) {
    if (finding.severity == Severity::error) {
      verdict = worse(verdict, finding.verdict);
    }
    findings.add(finding);
  }
  return verdict;
}

namespace {

std::string tail_words(const HeaderSummary& last) {
  switch (last.end.kind) {
    case UnitKind::marker:
      return fmt::format("end marker at {}", last.end.offset);
    case UnitKind::zero_header:
      return last.frames == 0 ? "empty" : fmt::format("zeros from {} on", last.end.offset);
    case UnitKind::short_end:
      return "full to the last bytes";
    case UnitKind::frame:
    case UnitKind::invalid:
      break;
  }
  return fmt::format("bad header at {}, reason {}", last.end.offset, last.end.fault.word);
}

Json schema_json(const StoreSchema& schema) {
  return Json::object()
      .set("version", schema.version)
      .set("dimensions", schema.dimensions)
      .set("text_encoder", schema.text_encoder)
      .set("vector_encoder", schema.vector_encoder)
      .set("metric", schema.metric)
      .set("encrypted", schema.encrypted)
      .set("meaning_enabled", schema.meaning_enabled);
}

Json layout_json(const StoreMap& map) {
  Json detail = Json::object();
  detail.set("segment_size", map.geometry.segment_bytes)
      .set("manifest", map.manifest ? Json(map.manifest->version) : Json())
      .set("generation", map.live_name);
  Json generations = Json::array();
  for (const Generation& generation : map.generations) {
    generations.push(Json::object().set("name", generation.name).set("live", generation.live));
  }
  detail.set("generations", std::move(generations));
  detail.set("store", map.schema ? schema_json(*map.schema) : Json());
  detail.set("document_checkpoint", map.document_checkpoint);
  return detail;
}

}  // namespace

Result<StoreInfo> ArenaView::info() {
  // Headers of so much are read in about a second; beyond it only those of the last segment.
  constexpr std::uint64_t k_quick_bytes = std::uint64_t{2} << 30;
  StoreInfo out;
  out.format = "arena";
  out.version = map_.geometry.version;
  out.path = map_.path;
  out.segments = map_.segments.size();
  out.bytes = out.bytes_allocated = map_.other_bytes;
  for (const SegmentFile& segment : map_.segments) {
    out.bytes += segment.file_bytes;
    out.bytes_allocated += segment.allocated_bytes;
  }
  out.detail = layout_json(map_);
  if (map_.refusal) {
    out.detail.set("refused", map_.refusal->reason);
  }

  const bool all = out.bytes_allocated <= k_quick_bytes;
  HeaderSummary sum;
  Json segments = Json::array();
  for (std::size_t i = 0; i < map_.segments.size(); ++i) {
    const SegmentFile& segment = map_.segments[i];
    Json row = Json::object();
    row.set("name", segment.name).set("bytes", segment.file_bytes);
    if (all || map_.is_final(i)) {
      VARVE_ASSIGN(const auto image, open_for_walk(map_, i));
      VARVE_ASSIGN(const HeaderSummary summary, walk_headers(*image));
      sum.frames += summary.frames;
      sum.raw_bytes += summary.raw_bytes;
      sum.stored_bytes += summary.stored_bytes;
      row.set("frames", summary.frames).set("log_end", summary.end.offset);
      if (map_.is_final(i)) {
        out.tail = tail_words(summary);
        out.detail.set("write_offset",
                       map_.geometry.global_offset(segment.number, summary.end.offset));
      }
    }
    segments.push(std::move(row));
  }
  out.detail.set("segments", std::move(segments));
  if (all && !map_.segments.empty()) {
    out.records = sum.frames;
    out.units = sum.frames;
    if (sum.stored_bytes != 0) {
      out.compression_ratio =
          static_cast<double>(sum.raw_bytes) / static_cast<double>(sum.stored_bytes);
    }
  }
  return out;
}

}  // namespace varve::arena
