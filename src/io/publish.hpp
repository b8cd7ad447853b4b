// SPDX-License-Identifier: MIT OR Apache-2.0
// Making a file appear whole or not at all: written under a staging name, synced, renamed, and the
// directory synced. Whoever crashes in between leaves a stray staging file, never half a result.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "varve/file_system.hpp"

namespace varve::io {

// `prefix`, then `random_bytes` random bytes as hex, then `suffix`.
std::string staging_name(Environment& environment, std::string_view prefix,
                         std::string_view suffix = ".tmp", std::size_t random_bytes = 8);

enum class Replace : std::uint8_t {
  yes,  // takes the place of a file of that name
  no,   // EEXIST if there is anything of that name
};

// A file under its staging name. Destroyed before it was published it removes itself, as far as
// that succeeds; `keep` leaves it lying, for formats that forbid to clean up after a failure.
class StagedFile {
 public:
  // Creates the staging file, which must not exist. The directory is borrowed and outlives this.
  static Result<StagedFile> create(Directory& directory, std::string name);
  // The same over what an earlier run has left under that name, or a new file. It is locked, so
  // that two runs do not write it at once: ErrorCode::locked.
  static Result<StagedFile> take_up(Directory& directory, std::string name);
  StagedFile(StagedFile&&) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  File& file() { return *file_; }
  const std::string& name() const { return name_; }

  // Syncs the file, renames it to `name` in the same directory and syncs the directory. When the
  // sync of the file or the rename fails, `name` is untouched. When the sync of the directory
  // fails, `name` has changed but may be what it was after a crash. The file stays open.
  Result<void> publish(std::string_view name, Replace replace);
  void keep() { pending_ = false; }

 private:
  StagedFile(Directory& directory, std::string name, std::unique_ptr<File> file)
      : directory_(&directory), name_(std::move(name)), file_(std::move(file)) {}

  Directory* directory_;
  std::string name_;
  std::unique_ptr<File> file_;
  bool pending_ = true;  // the staging name is there and ours to remove
};

// Publishes `bytes` as `name`, under a staging name of its own choice (".<name>.<random>.tmp").
Result<void> publish_bytes(Directory& directory, std::string_view name,
                           std::span<const std::byte> bytes, Replace replace,
                           Environment& environment);

}  // namespace varve::io
