// SPDX-License-Identifier: MIT OR Apache-2.0
// The registration table: the one place where the format-neutral code names the formats.
#include <vector>

#include "varve/store.hpp"

namespace varve {

std::span<const Format* const> formats() {
  static const std::vector<const Format*> table = {};
  return table;
}

const Format* find_format(std::string_view name) {
  for (const Format* format : formats()) {
    if (format->name() == name) {
      return format;
    }
  }
  return nullptr;
}

Result<const Format*> detect_format(io::FileSystem& files, const std::string& path) {
  VARVE_TRY(files.identity_of(path));
  const Format* best = nullptr;
  Confidence best_confidence = Confidence::none;
  for (const Format* format : formats()) {
    const Confidence confidence = format->detect(files, path);
    if (confidence > best_confidence) {
      best = format;
      best_confidence = confidence;
    }
  }
  if (best == nullptr) {
    return fail(ErrorCode::not_a_store, "not_a_store", "nothing of a known format is here", path);
  }
  return best;
}

Result<std::unique_ptr<StoreView>> open_store(const std::string& path, const OpenOptions& options) {
  io::FileSystem& files = io::posix_file_system();
  VARVE_ASSIGN(const Format* format, detect_format(files, path));
  return format->open(files, path, options);
}

}  // namespace varve
