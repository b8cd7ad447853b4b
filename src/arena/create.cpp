// SPDX-License-Identifier: MIT OR Apache-2.0
// New, empty stores (sections 1.1, 1.2 and 7 step 2).
#include <cerrno>

#include "arena/journal.hpp"
#include "io/publish.hpp"

namespace varve::arena {

namespace {

Result<void> publish_text(io::Directory& directory, std::string_view name,
                          const std::string& text) {
  return io::publish_bytes(directory, name, base::as_bytes(text), io::Replace::no,
                           io::system_environment());
}

StoreSchema schema_of(const CreateOptions& options) {
  StoreSchema schema;
  schema.version = k_oldest_schema;
  schema.dimensions = options.dimensions;
  schema.meaning_enabled = options.meaning_enabled;
  schema.text_encoder = "multiscale-words-v1";
  schema.vector_encoder = "signed-projection-v2";
  schema.metric = "jaccard";
  return schema;
}

// An empty directory may be there, and nothing else.
Result<void> refuse_if_occupied(io::FileSystem& files, const std::string& path) {
  const auto identity = files.identity_of(path);
  if (!identity) {
    return is_missing(identity.error()) ? Result<void>()
                                        : Result<void>(std::unexpected(identity.error()));
  }
  if (identity->type != io::FileType::directory) {
    return fail_errno(EEXIST, "init", path);
  }
  VARVE_ASSIGN(const auto directory, files.open_directory(path));
  VARVE_ASSIGN(const auto entries, directory->list());
  return entries.empty() ? Result<void>() : Result<void>(fail_errno(EEXIST, "init", path));
}

}  // namespace

Result<WriteReport> create_store(io::FileSystem& files, const std::string& path,
                                 const CreateOptions& options) {
  const auto geometry = geometry_of(options.version);
  if (!geometry || options.version < 2) {
    return fail(ErrorCode::invalid_argument, "version", "new stores have version 2, 3 or 4");
  }
  if (options.dimensions == 0 || options.dimensions > k_max_dimensions) {
    return fail(ErrorCode::invalid_argument, "dimensions", "dimensions are 1 to 1000000");
  }
  VARVE_TRY(refuse_if_occupied(files, path));
  const std::string schema = schema_text(schema_of(options));
  const std::string manifest = manifest_text({options.version, geometry->segment_bytes});
  const std::string prefix = options.bare ? "" : std::string(k_arena_directory) + "/";
  WriteReport report;
  report.dry_run = options.dry_run;
  if (!options.bare) {
    report.actions.push_back({std::string(k_schema_name), "create", 0, schema.size()});
  }
  report.actions.push_back({prefix + std::string(k_manifest_name), "create", 0, manifest.size()});
  report.actions.push_back({prefix + segment_name(0), "create", 0, geometry->new_segment_bytes()});
  if (options.dry_run) {
    return report;
  }
  VARVE_ASSIGN(auto arena, files.make_directories(path));
  if (!options.bare) {
    // First, since the engine refuses an arena without it.
    VARVE_TRY(publish_text(*arena, k_schema_name, schema));
    VARVE_TRY(arena->make_directory(k_arena_directory, 0700));
    VARVE_TRY(arena->sync());
    VARVE_ASSIGN(arena, arena->open_directory(k_arena_directory));
  }
  VARVE_TRY(publish_text(*arena, k_manifest_name, manifest));
  VARVE_TRY(create_segment_file(*arena, 0, *geometry));
  return report;
}

}  // namespace varve::arena
