// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/reading_files.hpp"

#include <utility>

namespace varve::serve {

namespace {

std::unexpected<Error> refused(const std::string& path) {
  return fail(ErrorCode::unsupported, "read_only", "this door to the files only reads", path);
}

std::unexpected<Error> stopped(const std::string& path) {
  return fail(ErrorCode::io, "stopped", "nobody waits for the answer any more", path);
}

class ReadingFile final : public io::File {
 public:
  ReadingFile(std::unique_ptr<io::File> file, std::shared_ptr<const StopSign> sign)
      : file_(std::move(file)), sign_(std::move(sign)) {}

  const std::string& path() const override { return file_->path(); }
  Result<std::size_t> read_at(std::span<std::byte> buffer, std::uint64_t offset) const override {
    if (sign_->raised()) {
      return stopped(path());
    }
    return file_->read_at(buffer, offset);
  }
  Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset) const override {
    return file_->next_data(offset);
  }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override {
    return file_->next_hole(offset);
  }
  Result<io::FileIdentity> identity() const override { return file_->identity(); }
  bool locked_elsewhere() const override { return file_->locked_elsewhere(); }
  bool poisoned() const override { return file_->poisoned(); }
  void read_ahead(std::uint64_t offset, std::uint64_t length) const override {
    file_->read_ahead(offset, length);
  }

  Result<void> write_at(std::span<const std::byte>, std::uint64_t) override {
    return refused(path());
  }
  Result<void> truncate(std::uint64_t) override { return refused(path()); }
  Result<void> allocate(std::uint64_t, std::uint64_t) override { return refused(path()); }
  Result<void> punch_hole(std::uint64_t, std::uint64_t) override { return refused(path()); }
  Result<void> sync() override { return refused(path()); }
  Result<void> data_sync() override { return refused(path()); }
  Result<void> lock(io::LockKind) override { return refused(path()); }
  Result<void> unlock() override { return refused(path()); }

 private:
  std::unique_ptr<io::File> file_;
  std::shared_ptr<const StopSign> sign_;
};

class ReadingDirectory final : public io::Directory {
 public:
  ReadingDirectory(std::unique_ptr<io::Directory> directory, std::shared_ptr<const StopSign> sign)
      : directory_(std::move(directory)), sign_(std::move(sign)) {}

  const std::string& path() const override { return directory_->path(); }
  Result<std::vector<io::DirectoryEntry>> list() const override {
    if (sign_->raised()) {
      return stopped(path());
    }
    return directory_->list();
  }
  Result<io::FileIdentity> identity() const override { return directory_->identity(); }
  Result<io::FileIdentity> identity_of(std::string_view name) const override {
    return directory_->identity_of(name);
  }
  Result<std::unique_ptr<io::File>> open_file(std::string_view name,
                                              io::OpenMode mode) const override {
    if (mode != io::OpenMode::read) {
      return refused(path());
    }
    VARVE_ASSIGN(auto file, directory_->open_file(name, mode));
    return std::make_unique<ReadingFile>(std::move(file), sign_);
  }
  Result<std::unique_ptr<io::Directory>> open_directory(std::string_view name) const override {
    VARVE_ASSIGN(auto directory, directory_->open_directory(name));
    return std::make_unique<ReadingDirectory>(std::move(directory), sign_);
  }

  Result<void> make_directory(std::string_view, std::uint32_t) override { return refused(path()); }
  Result<void> rename(std::string_view, io::Directory&, std::string_view) override {
    return refused(path());
  }
  Result<void> rename_no_replace(std::string_view, io::Directory&, std::string_view) override {
    return refused(path());
  }
  Result<void> remove_file(std::string_view) override { return refused(path()); }
  Result<void> remove_directory(std::string_view) override { return refused(path()); }
  Result<void> sync() override { return refused(path()); }

 private:
  std::unique_ptr<io::Directory> directory_;
  std::shared_ptr<const StopSign> sign_;
};

}  // namespace

Result<io::FileIdentity> ReadingFiles::identity_of(const std::string& path) {
  return files_.identity_of(path);
}

Result<std::unique_ptr<io::Directory>> ReadingFiles::open_directory(const std::string& path) {
  VARVE_ASSIGN(auto directory, files_.open_directory(path));
  return std::make_unique<ReadingDirectory>(std::move(directory), sign_);
}

Result<std::unique_ptr<io::File>> ReadingFiles::open_file(const std::string& path,
                                                          io::OpenMode mode) {
  if (mode != io::OpenMode::read) {
    return refused(path);
  }
  VARVE_ASSIGN(auto file, files_.open_file(path, mode));
  return std::make_unique<ReadingFile>(std::move(file), sign_);
}

Result<std::unique_ptr<io::Directory>> ReadingFiles::make_directories(const std::string& path) {
  return refused(path);
}

}  // namespace varve::serve
