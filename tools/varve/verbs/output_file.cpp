// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/output_file.hpp"

#include <array>
#include <cerrno>
#include <tuple>

#include "base/bytes.hpp"
#include "base/text_coding.hpp"
#include "cli/exit_codes.hpp"

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

Result<void> write_and_sync(io::File& file, std::string_view bytes) {
  VARVE_TRY(file.write_at(base::as_bytes(bytes), 0));
  return file.sync();
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
  std::array<std::byte, 6> salt;
  environment.random(salt);
  const std::string staging = '.' + split.name + ".varve-partial-" + base::to_hex(salt);
  auto file = (*directory)->open_file(staging, io::OpenMode::create_exclusive);
  if (!file) {
    return cannot_create(file.error());
  }
  Result<void> done = write_and_sync(**file, bytes);
  if (done) {
    done = force ? (*directory)->rename(staging, **directory, split.name)
                 : (*directory)->rename_no_replace(staging, **directory, split.name);
  }
  if (!done) {
    std::ignore = (*directory)->remove_file(staging);
    return cannot_create(done.error());
  }
  if (const auto synced = (*directory)->sync(); !synced) {
    return cannot_create(synced.error());
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
