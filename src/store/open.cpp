// SPDX-License-Identifier: MIT OR Apache-2.0
#include "store/open.hpp"

#include <cerrno>
#include <utility>

#include "store/backup_directory.hpp"

namespace varve::store {

namespace {

Located best_claim(std::span<const Format* const> formats, io::FileSystem& files,
                   const std::string& path) {
  Located best{nullptr, path, Confidence::none};
  for (const Format* format : formats) {
    const Confidence confidence = format->detect(files, path);
    if (confidence > best.confidence) {
      best.format = format;
      best.confidence = confidence;
    }
  }
  return best;
}

// Formats answer "no" also where they may not look; this tells that case apart.
Result<void> check_readable(io::FileSystem& files, const std::string& path,
                            const io::FileIdentity& identity) {
  if (identity.type == io::FileType::directory) {
    VARVE_ASSIGN(const auto directory, files.open_directory(path));
    VARVE_TRY(directory->list());
  } else if (identity.type == io::FileType::regular) {
    VARVE_TRY(files.open_file(path, io::OpenMode::read));
  }
  return {};
}

}  // namespace

std::string format_names(std::span<const Format* const> formats) {
  std::string names;
  for (const Format* format : formats) {
    names += names.empty() ? "" : ", ";
    names += format->name();
  }
  return names;
}

const Format* find_format(std::span<const Format* const> formats, std::string_view name) {
  for (const Format* format : formats) {
    if (format->name() == name) {
      return format;
    }
  }
  return nullptr;
}

const Format* format_of_member(std::span<const Format* const> formats, io::FileSystem& files,
                               const std::string& path) {
  const Format* best = nullptr;
  Confidence most = Confidence::none;
  for (const Format* format : formats) {
    const Confidence confidence = format->detect_member(files, path);
    if (confidence > most) {
      best = format;
      most = confidence;
    }
  }
  return best;
}

Result<Located> locate(std::span<const Format* const> formats, io::FileSystem& files,
                       const std::string& path) {
  VARVE_ASSIGN(const io::FileIdentity identity, files.identity_of(path));
  const Located direct = best_claim(formats, files, path);
  if (direct.confidence == Confidence::by_content) {
    return direct;
  }
  if (identity.type == io::FileType::directory) {
    if (const auto inner = store_in_backup(files, path)) {
      const Located held = best_claim(formats, files, *inner);
      if (held.format != nullptr) {
        return held;
      }
    }
  }
  if (direct.format != nullptr) {
    return direct;
  }
  VARVE_TRY(check_readable(files, path, identity));
  const char* what = identity.type == io::FileType::directory ? "this directory holds no store"
                     : identity.type == io::FileType::regular ? "this file is no store"
                                                              : "this is no regular file";
  return fail(ErrorCode::not_a_store, "not_a_store",
              std::string(what) + " of a known format (" + format_names(formats) + ")", path);
}

Result<Located> locate(std::span<const Format* const> formats, io::FileSystem& files,
                       const std::string& path, std::string_view format_name) {
  if (format_name.empty()) {
    return locate(formats, files, path);
  }
  const Format* format = find_format(formats, format_name);
  if (format == nullptr) {
    return fail(ErrorCode::invalid_argument, "format",
                "no format has the name '" + std::string(format_name) + "'; there are " +
                    format_names(formats));
  }
  VARVE_ASSIGN(const io::FileIdentity identity, files.identity_of(path));
  Located located{format, path, format->detect(files, path)};
  if (located.confidence == Confidence::none && identity.type == io::FileType::directory) {
    if (auto inner = store_in_backup(files, path)) {
      located.path = *std::move(inner);
      located.confidence = format->detect(files, located.path);
    }
  }
  return located;
}

}  // namespace varve::store

namespace varve {

const Format* find_format(std::string_view name) { return store::find_format(formats(), name); }

Result<const Format*> detect_format(io::FileSystem& files, const std::string& path) {
  VARVE_ASSIGN(const store::Located located, store::locate(formats(), files, path));
  return located.format;
}

Result<std::unique_ptr<StoreView>> open_store(const std::string& path, const OpenOptions& options) {
  io::FileSystem& files = io::posix_file_system();
  VARVE_ASSIGN(const store::Located located, store::locate(formats(), files, path));
  return located.format->open(files, located.path, options);
}

}  // namespace varve
