// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/publish.hpp"

#include <utility>
#include <vector>

#include "base/mutant.hpp"
#include "base/text_coding.hpp"

namespace varve::io {

std::string staging_name(Environment& environment, std::string_view prefix, std::string_view suffix,
                         std::size_t random_bytes) {
  std::vector<std::byte> nonce(random_bytes);
  environment.random(nonce);
  std::string out(prefix);
  base::append_hex(out, nonce);
  out += suffix;
  return out;
}

Result<StagedFile> StagedFile::create(Directory& directory, std::string name) {
  VARVE_ASSIGN(auto file, directory.open_file(name, OpenMode::create_exclusive));
  return StagedFile(directory, std::move(name), std::move(file));
}

Result<StagedFile> StagedFile::take_up(Directory& directory, std::string name) {
  VARVE_ASSIGN(auto file, directory.open_file(name, OpenMode::create));
  VARVE_TRY(file->lock(LockKind::exclusive));
  return StagedFile(directory, std::move(name), std::move(file));
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : directory_(other.directory_),
      name_(std::move(other.name_)),
      file_(std::move(other.file_)),
      pending_(std::exchange(other.pending_, false)) {}

StagedFile::~StagedFile() {
  if (pending_) {
    // Nobody can be told if this fails; what stays is a stray file of a known kind of name.
    (void)directory_->remove_file(name_);
  }
}

Result<void> StagedFile::publish(std::string_view name, Replace replace) {
  if (!base::mutant("publish-sync")) {
    VARVE_TRY(file_->sync());
  }
  if (replace == Replace::yes) {
    VARVE_TRY(directory_->rename(name_, *directory_, name));
  } else {
    VARVE_TRY(directory_->rename_no_replace(name_, *directory_, name));
  }
  pending_ = false;
  return base::mutant("publish-dir-sync") ? Result<void>() : directory_->sync();
}

Result<void> publish_bytes(Directory& directory, std::string_view name,
                           std::span<const std::byte> bytes, Replace replace,
                           Environment& environment) {
  std::string prefix = ".";
  prefix += name;
  prefix += '.';
  VARVE_ASSIGN(auto staged, StagedFile::create(directory, staging_name(environment, prefix)));
  VARVE_TRY(staged.file().write_at(bytes, 0));
  return staged.publish(name, replace);
}

}  // namespace varve::io
