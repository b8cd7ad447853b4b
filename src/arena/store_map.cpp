// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/store_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/bytes.hpp"

namespace varve::arena {

bool is_missing(const Error& error) {
  return error.code == ErrorCode::io &&
         (error.system_errno == ENOENT || error.system_errno == ENOTDIR);
}

Result<std::optional<std::string>> read_small_file(const io::Directory& directory,
                                                   std::string_view name) {
  auto file = directory.open_file(name, io::OpenMode::read);
  if (!file) {
    if (is_missing(file.error())) {
      return std::optional<std::string>();
    }
    return std::unexpected(std::move(file).error());
  }
  std::string text(k_max_small_file_bytes + 1, '\0');
  VARVE_ASSIGN(const std::size_t n, (*file)->read_at(std::as_writable_bytes(std::span(text)), 0));
  if (n > k_max_small_file_bytes) {
    return fail(ErrorCode::limit, "limit", "too large for a file of this name", (*file)->path());
  }
  text.resize(n);
  return text;
}

Result<std::unique_ptr<SegmentImage>> StoreMap::open_segment(std::size_t position) const {
  const SegmentFile& segment = segments[position];
  VARVE_ASSIGN(auto file, live->open_file(segment.name, io::OpenMode::read));
  return std::make_unique<SegmentImage>(
      std::move(file), segment.number, segment.file_bytes,
      geometry.logical_bytes(segment.file_bytes, is_final(position)));
}

namespace {

class Mapper {
 public:
  Mapper(io::FileSystem& files, const MapOptions& options) : files_(files), options_(options) {}

  Result<StoreMap> run(const std::string& path) {
    map_.path = path;
    VARVE_TRY(find_arena(path));
    VARVE_TRY(read_schema());
    VARVE_TRY(list_arena());
    VARVE_TRY(find_live());
    if (map_.live) {
      VARVE_TRY(read_manifests());
      VARVE_TRY(list_segments());
      check_segments();
    }
    note_leftovers();
    return std::move(map_);
  }

 private:
  void add(Severity severity, Verdict verdict, std::string code, std::string file,
           std::string message, Number expected = {}, Number actual = {}) {
    Finding finding;
    finding.severity = severity;
    finding.verdict = verdict;
    finding.code = std::move(code);
    finding.file = std::move(file);
    finding.message = std::move(message);
    finding.expected = expected;
    finding.actual = actual;
    if (severity == Severity::error && !map_.refusal) {
      map_.refusal = to_error(finding);
    }
    map_.findings.push_back(std::move(finding));
  }
  void damaged(std::string code, std::string file, std::string message, Number expected = {},
               Number actual = {}) {
    add(Severity::error, Verdict::damaged, std::move(code), std::move(file), std::move(message),
        expected, actual);
  }
  void note(std::string code, std::string file, std::string message) {
    add(Severity::note, Verdict::clean, std::move(code), std::move(file), std::move(message));
  }
  void from_error(Error error, std::string file) {
    Finding finding = to_finding(error);
    add(Severity::error, finding.verdict, finding.code, std::move(file), finding.message,
        finding.expected, finding.actual);
  }

  // The arena is `path`/vectors_data.bin, or `path` itself. An arena of that name has its store
  // around it.
  Result<void> find_arena(const std::string& path) {
    VARVE_ASSIGN(auto root, files_.open_directory(path));
    const io::SplitPath split = io::split_path(path);
    if (split.name == k_arena_directory) {
      map_.arena = std::move(root);
      VARVE_ASSIGN(map_.store, files_.open_directory(split.parent));
      return {};
    }
    auto arena = root->open_directory(k_arena_directory);
    if (arena) {
      map_.arena = std::move(*arena);
      map_.arena_prefix = std::string(k_arena_directory) + "/";
      map_.store = std::move(root);
      return {};
    }
    if (!is_missing(arena.error())) {
      return std::unexpected(std::move(arena).error());
    }
    map_.store_is_arena = true;
    map_.store = std::move(root);
    VARVE_ASSIGN(map_.arena, files_.open_directory(path));
    return {};
  }

  // From `path` to a file of the store directory; with a path to the arena it is outside.
  std::string store_file(std::string_view name) const {
    return (map_.arena_prefix.empty() && !map_.store_is_arena ? "../" : "") + std::string(name);
  }

  Result<void> read_schema() {
    VARVE_ASSIGN(const auto text, read_small_file(*map_.store, k_schema_name));
    map_.schema_present = text.has_value();
    if (!text) {
      if (!map_.store_is_arena) {
        note("no-schema", store_file(k_schema_name), "there is no store.json: frames only");
      }
      return {};
    }
    map_.other_bytes += text->size();
    auto schema = parse_schema(*text);
    if (schema) {
      map_.schema = *std::move(schema);
    } else {
      from_error(std::move(schema).error(), store_file(k_schema_name));
    }
    return {};
  }

  Result<void> list_arena() {
    VARVE_ASSIGN(const auto entries, map_.arena->list());
    for (const io::DirectoryEntry& entry : entries) {
      if (entry.identity.type == io::FileType::directory &&
          entry.name.starts_with(k_generation_prefix)) {
        map_.generations.push_back({entry.name, false});
      }
      map_.arena_has_segments = map_.arena_has_segments || segment_number(entry.name).has_value();
    }
    std::ranges::sort(map_.generations, {}, &Generation::name);
    if (map_.store_is_arena) {
      return {};
    }
    VARVE_ASSIGN(const auto around, map_.store->list());
    for (const io::DirectoryEntry& entry : around) {
      if (entry.identity.type == io::FileType::directory &&
          entry.name.starts_with(k_compaction_prefix)) {
        map_.abandoned.push_back(entry.name);
      }
    }
    std::ranges::sort(map_.abandoned);
    return {};
  }

  Result<void> use_live(const std::string& generation) {
    map_.live_sub = generation;
    map_.live_name = generation.empty() ? std::string(k_arena_directory) : generation;
    map_.live_prefix = map_.arena_prefix + (generation.empty() ? "" : generation + "/");
    if (generation.empty()) {
      VARVE_ASSIGN(map_.live, files_.open_directory(map_.arena->path()));
    } else {
      VARVE_ASSIGN(map_.live, map_.arena->open_directory(generation));
    }
    return {};
  }

  Result<void> find_live() {
    VARVE_ASSIGN(const auto pointer, read_small_file(*map_.arena, k_pointer_name));
    map_.pointer_present = pointer.has_value();
    map_.pointer = pointer.value_or("");
    if (pointer) {
      map_.other_bytes += pointer->size();
    }
    if (!options_.generation.empty()) {
      return find_named();
    }
    if (!pointer) {
      return use_live("");
    }
    const std::string file = map_.arena_prefix + std::string(k_pointer_name);
    if (!valid_generation_name(*pointer)) {
      damaged("bad-pointer", file, "CURRENT does not hold the bare name of a generation");
      return {};
    }
    const auto named = std::ranges::find(map_.generations, *pointer, &Generation::name);
    if (named == map_.generations.end()) {
      damaged("bad-pointer", file, "CURRENT names " + *pointer + ", which is no directory here");
      return {};
    }
    named->live = true;
    return use_live(*pointer);
  }

  Result<void> find_named() {
    const std::string& name = options_.generation;
    if (name == k_arena_directory || name == ".") {
      return use_live("");
    }
    const auto named = std::ranges::find(map_.generations, name, &Generation::name);
    if (named == map_.generations.end()) {
      return fail(ErrorCode::invalid_argument, "generation", "there is no generation " + name,
                  map_.path);
    }
    named->live = true;
    return use_live(name);
  }

  // Reads one format.json; a bad one is a finding.
  Result<std::optional<Manifest>> read_manifest(const io::Directory& directory,
                                                const std::string& prefix) {
    VARVE_ASSIGN(const auto text, read_small_file(directory, k_manifest_name));
    if (!text) {
      return std::optional<Manifest>();
    }
    map_.other_bytes += text->size();
    auto manifest = parse_manifest(*text, options_.geometry);
    if (!manifest) {
      manifest_bad_ = true;
      from_error(std::move(manifest).error(), prefix + std::string(k_manifest_name));
      return std::optional<Manifest>();
    }
    return *manifest;
  }

  Result<void> read_manifests() {
    VARVE_ASSIGN(map_.manifest, read_manifest(*map_.live, map_.live_prefix));
    const std::string file = map_.live_prefix + std::string(k_manifest_name);
    if (!map_.live_sub.empty()) {
      const bool live_bad = manifest_bad_;
      VARVE_ASSIGN(const auto own, read_manifest(*map_.arena, map_.arena_prefix));
      if (own && map_.manifest && !(*own == *map_.manifest)) {
        damaged(own->segment_size != map_.manifest->segment_size ? "segment-size-mismatch"
                                                                 : "bad-manifest",
                file, "the generation's manifest differs from the arena's",
                Number::decimal(own->version), Number::decimal(map_.manifest->version));
      }
      if (own && !map_.manifest && !live_bad) {
        map_.manifest = own;
        map_.manifest_lost = true;
        add(Severity::warning, Verdict::clean, "manifest-missing", file,
            "the generation has no manifest; the arena's is used");
      }
    }
    if (map_.manifest) {
      use_version(map_.manifest->version);
    }
    return {};
  }

  void use_version(std::uint32_t version) {
    map_.geometry = options_.geometry && options_.geometry->version == version
                        ? *options_.geometry
                        : geometry_of(version).value_or(Geometry{});
  }

  Result<void> list_segments() {
    VARVE_ASSIGN(const auto entries, map_.live->list());
    for (const io::DirectoryEntry& entry : entries) {
      if (entry.name == k_document_checkpoint_name) {
        map_.document_checkpoint = true;
        add(Severity::error, Verdict::unknown, "checkpoint-unsupported",
            map_.live_prefix + entry.name,
            "the state begins in documents.ckpt, which this build does not understand");
      }
      const auto number = segment_number(entry.name);
      if (!number) {
        continue;
      }
      if (entry.identity.type != io::FileType::regular) {
        damaged("segment-gap", map_.live_prefix + entry.name, "a segment is no regular file");
        continue;
      }
      map_.segments.push_back(
          {*number, entry.name, entry.identity.size_bytes, entry.identity.allocated_bytes});
    }
    std::ranges::sort(map_.segments, {}, &SegmentFile::number);
    return {};
  }

  // A directory without manifest is version 1, unless its lengths speak for a lost manifest.
  void guess_geometry() {
    const bool plain = std::ranges::none_of(map_.segments, [](const SegmentFile& segment) {
      return segment.file_bytes != 0 && segment.file_bytes % k_step_bytes == 0 &&
             segment.file_bytes < k_large_segment_bytes;
    });
    const std::string file = map_.live_prefix + std::string(k_manifest_name);
    if (plain) {
      use_version(options_.geometry ? options_.geometry->version : 1);
      if (!manifest_bad_) {
        note("pre-manifest-store", file, "there is no manifest: read as version 1");
      }
      return;
    }
    const bool small = std::ranges::all_of(map_.segments, [](const SegmentFile& segment) {
      return segment.file_bytes <= k_step_bytes;
    });
    use_version(small && map_.segments.size() > 1 ? 3 : 4);
    map_.manifest_lost = true;
    if (!manifest_bad_) {
      add(Severity::warning, Verdict::clean, "manifest-missing", file,
          fmt::format("there is no manifest, and the lengths of the segments fit only newer "
                      "versions: read as version {}, not written to",
                      map_.geometry.version));
    }
  }

  void check_segments() {
    if (!map_.manifest) {
      guess_geometry();
    }
    if (map_.segments.empty()) {
      if (!map_.fresh() || !map_.store_is_arena) {
        missing_segments();
      }
      return;
    }
    for (std::size_t i = 0; i < map_.segments.size(); ++i) {
      if (map_.segments[i].number != i) {
        damaged("segment-gap", map_.live_prefix + segment_name(static_cast<std::uint32_t>(i)),
                "the segments are not numbered without a gap", Number::decimal(i),
                Number::decimal(map_.segments[i].number));
        break;
      }
    }
    for (std::size_t i = 0; i < map_.segments.size(); ++i) {
      const SegmentFile& segment = map_.segments[i];
      if (segment.file_bytes > map_.geometry.segment_bytes) {
        damaged("oversized-segment", map_.segment_path(segment), "a segment is too long",
                Number::decimal(map_.geometry.segment_bytes), Number::decimal(segment.file_bytes));
      } else if (segment.file_bytes <
                 map_.geometry.logical_bytes(segment.file_bytes, map_.is_final(i))) {
        note("trimmed-copy", map_.segment_path(segment),
             "shorter than it was written: read as if zeros followed");
      }
    }
  }

  void missing_segments() {
    if (map_.fresh() && map_.manifest) {
      if (!map_.arena_has_segments) {
        note("no-segment", map_.live_prefix, "an arena in which nothing was ever written");
      }
      return;
    }
    damaged("segments-missing", map_.live_prefix, "there is no segment");
  }

  void note_leftovers() {
    for (const Generation& generation : map_.generations) {
      if (!generation.live) {
        note("orphan-generation", map_.arena_prefix + generation.name,
             "CURRENT does not name this generation");
      }
    }
    if (map_.pointer_present && map_.arena_has_segments && !map_.live_sub.empty()) {
      note("orphan-generation", map_.arena_prefix,
           "segments from before the first compaction are still here");
    }
    for (const std::string& name : map_.abandoned) {
      note("orphan-generation", store_file(name), "left behind by an interrupted compaction");
    }
  }

  io::FileSystem& files_;
  const MapOptions& options_;
  StoreMap map_;
  bool manifest_bad_ = false;
};

// Whether CURRENT is what it was when the names were read. One that named nothing then must name
// nothing now: the generations were listed before it was read.
Result<bool> still_holds(const StoreMap& map) {
  VARVE_ASSIGN(const auto pointer, read_small_file(*map.arena, k_pointer_name));
  if (pointer.has_value() != map.pointer_present || pointer.value_or("") != map.pointer) {
    return false;
  }
  return map.live || !pointer || !valid_generation_name(*pointer) ||
         !map.arena->open_directory(*pointer).has_value();
}

}  // namespace

Result<StoreMap> map_store(io::FileSystem& files, const std::string& path,
                           const MapOptions& options) {
  // A compaction may publish a new generation while the names are read: then look again.
  constexpr int k_attempts = 5;
  for (int attempt = 1;; ++attempt) {
    VARVE_ASSIGN(StoreMap map, Mapper(files, options).run(path));
    if (!options.generation.empty()) {
      return map;
    }
    VARVE_ASSIGN(const bool holds, still_holds(map));
    if (holds) {
      return map;
    }
    if (attempt == k_attempts) {
      return fail(ErrorCode::locked, "changing", "generations change too fast", path);
    }
  }
}

}  // namespace varve::arena
