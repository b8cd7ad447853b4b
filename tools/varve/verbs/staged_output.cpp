// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/staged_output.hpp"

#include "base/bytes.hpp"
#include "cli/exit_codes.hpp"

namespace varve::cli {

namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{1} << 20;

}  // namespace

std::expected<std::unique_ptr<StagedOutput>, OutputError> StagedOutput::create(
    io::FileSystem& files, io::Environment& environment, const std::string& path, bool force) {
  if (!force) {
    if (const auto free = check_new_path(files, path); !free) {
      return std::unexpected(free.error());
    }
  }
  const io::SplitPath split = io::split_path(path);
  auto directory = files.open_directory(split.parent);
  if (!directory) {
    return std::unexpected(OutputError{directory.error(), k_cannot_create});
  }
  auto file =
      io::StagedFile::create(**directory, io::staging_name(environment, "." + split.name + "."));
  if (!file) {
    return std::unexpected(OutputError{file.error(), k_cannot_create});
  }
  return std::unique_ptr<StagedOutput>(
      new StagedOutput(std::move(*directory), std::move(*file), split.name, split.parent, force));
}

Result<bool> StagedOutput::write(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= k_buffer_bytes) {
    VARVE_TRY(flush());
  }
  return true;
}

Result<void> StagedOutput::flush() {
  if (buffer_.empty()) {
    return {};
  }
  VARVE_TRY(file_.file().write_at(base::as_bytes(buffer_), written_));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> StagedOutput::publish() {
  VARVE_TRY(flush());
  return file_.publish(name_, force_ ? io::Replace::yes : io::Replace::no);
}

}  // namespace varve::cli
