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
  VARVE_ASSIGN(auto root, files.make_directories(path));
  VARVE_ASSIGN(const auto entries, root->list());
  if (!entries.empty()) {
    return fail_errno(EEXIST, "init", path);
  }
  WriteReport report;
  std::string prefix;
  std::unique_ptr<io::Directory> arena = std::move(root);
  if (!options.bare) {
    // First, since the engine refuses an arena without it.
    VARVE_TRY(publish_text(*arena, k_schema_name, schema_text(schema_of(options))));
    report.actions.push_back({std::string(k_schema_name), "create", 0, 0});
    VARVE_TRY(arena->make_directory(k_arena_directory, 0700));
    VARVE_TRY(arena->sync());
    VARVE_ASSIGN(arena, arena->open_directory(k_arena_directory));
    prefix = std::string(k_arena_directory) + "/";
  }
  const Manifest manifest{options.version, geometry->segment_bytes};
  VARVE_TRY(publish_text(*arena, k_manifest_name, manifest_text(manifest)));
  report.actions.push_back({prefix + std::string(k_manifest_name), "create", 0, 0});
  VARVE_TRY(create_segment_file(*arena, 0, *geometry));
  report.actions.push_back({prefix + segment_name(0), "create", 0, geometry->new_segment_bytes()});
  return report;
}

}  // namespace varve::arena
