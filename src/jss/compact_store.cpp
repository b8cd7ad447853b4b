// SPDX-License-Identifier: MIT OR Apache-2.0
// `compact`: the active segment sealed, then one pass.
#include <utility>

#include "jss/segment_directory.hpp"
#include "jss/writing.hpp"
#include "model/options.hpp"
#include "varve/jss_compact.hpp"

namespace varve::jss {

Result<WriteReport> compact_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request) {
  CompactionOptions options;
  options.threads = request.threads;
  options.dry_run = request.dry_run;
  if (request.options.contains("full")) {
    options.watermark = 0;
  }
  if (request.options.contains("watermark")) {
    VARVE_ASSIGN(options.watermark, model::number_option(request.options, "watermark", 0));
  }
  VARVE_ASSIGN(options.max_tombstones,
               model::number_option(request.options, "max-tombstones", options.max_tombstones));
  WriteReport report;
  report.dry_run = request.dry_run;
  // The rows of the active segment take part only once it is sealed. If a writer is at work on it,
  // it is left to the writer.
  // A store of one file is never sealed by this: it would have nowhere to go on.
  VARVE_ASSIGN(const StorePlace place, open_place(files, path));
  bool busy = false;
  if (place.is_archive()) {
    auto sealed = seal_store(files, path, request);
    busy = !sealed && sealed.error().code == ErrorCode::locked;
    if (!sealed && !busy) {
      return sealed;
    }
    if (sealed) {
      report.actions = std::move(sealed->actions);
    }
  }
  VARVE_ASSIGN(const CompactionReport done, compact(files, path, options));
  std::uint64_t rows = 0;
  std::uint64_t blocks = 0;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (const RewrittenSegment& segment : done.rewritten) {
    report.actions.push_back(
        {segment.name, "rewrite", 0, request.dry_run ? segment.bytes_before : segment.bytes_after});
    rows += segment.rows_dropped;
    blocks += segment.blocks_changed;
    before += segment.bytes_before;
    after += segment.bytes_after;
  }
  report.detail.set("active_segment", busy ? "left to its writer" : "sealed or empty")
      .set("watermark_before", done.watermark_before)
      .set("watermark", done.watermark)
      .set("tombstones", done.tombstones)
      .set("segments_examined", done.segments_examined)
      .set("segments_rewritten", std::uint64_t{done.rewritten.size()})
      .set("blocks_changed", blocks)
      .set("rows_dropped", rows)
      .set("bytes_before", before);
  if (!request.dry_run) {
    report.detail.set("bytes_after", after);
  }
  return report;
}

}  // namespace varve::jss
