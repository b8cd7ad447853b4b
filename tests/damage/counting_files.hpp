// SPDX-License-Identifier: MIT OR Apache-2.0
// A file system that counts the bytes that are read through it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "varve/file_system.hpp"

namespace varve::test {

class CountingFileSystem final : public io::FileSystem {
 public:
  explicit CountingFileSystem(io::FileSystem& inner) : inner_(inner) {}
  std::uint64_t take_count() { return count_.exchange(0); }

  Result<io::FileIdentity> identity_of(const std::string& path) override {
    return inner_.identity_of(path);
  }
  Result<std::unique_ptr<io::Directory>> open_directory(const std::string& path) override {
    return wrap(inner_.open_directory(path));
  }
  Result<std::unique_ptr<io::File>> open_file(const std::string& path, io::OpenMode mode) override {
    return wrap(inner_.open_file(path, mode));
  }
  Result<std::unique_ptr<io::Directory>> make_directories(const std::string& path) override {
    return wrap(inner_.make_directories(path));
  }

 private:
  class CountingFile final : public io::File {
   public:
    CountingFile(std::unique_ptr<io::File> inner, std::atomic<std::uint64_t>& count)
        : inner_(std::move(inner)), count_(count) {}
    const std::string& path() const override { return inner_->path(); }
    Result<std::size_t> read_at(std::span<std::byte> buffer, std::uint64_t offset) const override {
      auto got = inner_->read_at(buffer, offset);
      count_ += got ? *got : 0;
      return got;
    }
    Result<void> write_at(std::span<const std::byte> bytes, std::uint64_t offset) override {
      return inner_->write_at(bytes, offset);
    }
    Result<void> truncate(std::uint64_t size) override { return inner_->truncate(size); }
    Result<void> allocate(std::uint64_t offset, std::uint64_t length) override {
      return inner_->allocate(offset, length);
    }
    Result<void> punch_hole(std::uint64_t offset, std::uint64_t length) override {
      return inner_->punch_hole(offset, length);
    }
    Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset) const override {
      return inner_->next_data(offset);
    }
    Result<std::uint64_t> next_hole(std::uint64_t offset) const override {
      return inner_->next_hole(offset);
    }
    Result<void> sync() override { return inner_->sync(); }
    Result<void> data_sync() override { return inner_->data_sync(); }
    Result<io::FileIdentity> identity() const override { return inner_->identity(); }
    Result<void> lock(io::LockKind kind) override { return inner_->lock(kind); }
    Result<void> unlock() override { return inner_->unlock(); }
    bool locked_elsewhere() const override { return inner_->locked_elsewhere(); }
    bool poisoned() const override { return inner_->poisoned(); }
    void read_ahead(std::uint64_t, std::uint64_t) const override {}

   private:
    std::unique_ptr<io::File> inner_;
    std::atomic<std::uint64_t>& count_;
  };

  class CountingDirectory final : public io::Directory {
   public:
    CountingDirectory(std::unique_ptr<io::Directory> inner, CountingFileSystem& files)
        : inner_(std::move(inner)), files_(files) {}
    const std::string& path() const override { return inner_->path(); }
    Result<std::vector<io::DirectoryEntry>> list() const override { return inner_->list(); }
    Result<io::FileIdentity> identity() const override { return inner_->identity(); }
    Result<io::FileIdentity> identity_of(std::string_view name) const override {
      return inner_->identity_of(name);
    }
    Result<std::unique_ptr<io::File>> open_file(std::string_view name,
                                                io::OpenMode mode) const override {
      return files_.wrap(inner_->open_file(name, mode));
    }
    Result<std::unique_ptr<io::Directory>> open_directory(std::string_view name) const override {
      return files_.wrap(inner_->open_directory(name));
    }
    Result<void> make_directory(std::string_view name, std::uint32_t mode) override {
      return inner_->make_directory(name, mode);
    }
    Result<void> rename(std::string_view from, io::Directory& to, std::string_view name) override {
      return inner_->rename(from, static_cast<CountingDirectory&>(to).inner(), name);
    }
    Result<void> rename_no_replace(std::string_view from, io::Directory& to,
                                   std::string_view name) override {
      return inner_->rename_no_replace(from, static_cast<CountingDirectory&>(to).inner(), name);
    }
    Result<void> remove_file(std::string_view name) override { return inner_->remove_file(name); }
    Result<void> remove_directory(std::string_view name) override {
      return inner_->remove_directory(name);
    }
    Result<void> sync() override { return inner_->sync(); }

   private:
    io::Directory& inner() { return *inner_; }
    std::unique_ptr<io::Directory> inner_;
    CountingFileSystem& files_;
  };

  Result<std::unique_ptr<io::File>> wrap(Result<std::unique_ptr<io::File>> file) {
    if (!file) {
      return file;
    }
    return std::unique_ptr<io::File>(new CountingFile(*std::move(file), count_));
  }
  Result<std::unique_ptr<io::Directory>> wrap(Result<std::unique_ptr<io::Directory>> directory) {
    if (!directory) {
      return directory;
    }
    return std::unique_ptr<io::Directory>(new CountingDirectory(*std::move(directory), *this));
  }

  io::FileSystem& inner_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace varve::test
