// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/output_file.hpp"

#include <cerrno>

#include "base/bytes.hpp"
#include "cli/exit_codes.hpp"
#include "io/publish.hpp"

namespace varve::cli {

namespace {

// Permission stays 77 and a full disk 74; every other reason why there is no new file is 73.
std::unexpected<OutputError> cannot_create(const Error& error) {
  const int code = error.system_errno == ENOENT || error.system_errno == ENOTDIR ||
                           error.system_errno == EISDIR || error.system_errno == EEXIST
                       ? k_cannot_create
                       : exit_code(error);
  return std::unexpected(OutputError{error, code});
}

Error already_there(const std::string& path) {
  Error error = fail_errno(EEXIST, "create", path).error();
  error.message = "exists already; --force replaces it";
  return error;
}

}  // namespace

std::expected<void, OutputError> write_output_file(io::FileSystem& files,
                                                   io::Environment& environment,
                                                   const std::string& path, std::string_view bytes,
                                                   bool force) {
  if (!force && files.identity_of(path)) {
    return cannot_create(already_there(path));
  }
  const io::SplitPath split = io::split_path(path);
  auto directory = files.open_directory(split.parent);
  if (!directory) {
    return cannot_create(directory.error());
  }
  const auto published = io::publish_bytes(**directory, split.name, base::as_bytes(bytes),
                                           force ? io::Replace::yes : io::Replace::no, environment);
  if (!published) {
    return cannot_create(published.error());
  }
  return {};
}

std::expected<void, OutputError> check_new_path(io::FileSystem& files, const std::string& path) {
  if (files.identity_of(path)) {
    Error error = already_there(path);
    error.message = "exists already; a new name is needed";
    return cannot_create(error);
  }
  if (const auto parent = files.open_directory(io::split_path(path).parent); !parent) {
    return cannot_create(parent.error());
  }
  return {};
}

}  // namespace varve::cli
