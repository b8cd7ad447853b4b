// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/remote_files.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/endian.hpp"
#include "base/pipeline.hpp"
#include "jss/layout.hpp"
#include "jss/names.hpp"

namespace varve::serve {

namespace {

constexpr unsigned k_looks_at_once = 16;
constexpr unsigned k_fetch_threads = 4;

std::unexpected<Error> read_only(const std::string& path) {
  Error error = fail_errno(EROFS, "write", path).error();
  error.message = "a remote archive can only be read";
  return std::unexpected(std::move(error));
}

// The checksum in the header tells generations apart; the server's ETag is made of it.
std::uint64_t generation_number(const std::string& first_bytes) {
  constexpr std::size_t k_checksum_at = 4;
  if (first_bytes.size() < k_checksum_at + 8) {
    return 0;
  }
  return base::u64le(first_bytes.data() + k_checksum_at);
}

io::FileIdentity segment_identity(std::uint64_t checksum, std::uint64_t size_bytes) {
  io::FileIdentity out;
  out.inode = checksum;
  out.links = 1;
  out.size_bytes = size_bytes;
  out.allocated_bytes = size_bytes;
  out.type = io::FileType::regular;
  out.mode = 0444;
  return out;
}

io::FileIdentity directory_identity() {
  io::FileIdentity out;
  out.links = 1;
  out.type = io::FileType::directory;
  out.mode = 0555;
  return out;
}

class RemoteFile final : public io::File {
 public:
  RemoteFile(std::string path, std::shared_ptr<WindowCache> bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {}
  RemoteFile(const RemoteFile&) = delete;
  RemoteFile& operator=(const RemoteFile&) = delete;
  ~RemoteFile() override { bytes_->close(); }

  const std::string& path() const override { return path_; }
  Result<std::size_t> read_at(std::span<std::byte> buffer, std::uint64_t offset) const override {
    return bytes_->read_at(buffer, offset);
  }
  Result<void> write_at(std::span<const std::byte>, std::uint64_t) override {
    return read_only(path_);
  }
  Result<void> truncate(std::uint64_t) override { return read_only(path_); }
  Result<void> allocate(std::uint64_t, std::uint64_t) override { return read_only(path_); }
  Result<void> punch_hole(std::uint64_t, std::uint64_t) override { return read_only(path_); }
  Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset) const override {
    return offset < bytes_->generation().size_bytes ? std::optional(offset) : std::nullopt;
  }
  Result<std::uint64_t> next_hole(std::uint64_t) const override {
    return bytes_->generation().size_bytes;
  }
  Result<void> sync() override { return read_only(path_); }
  Result<void> data_sync() override { return read_only(path_); }
  Result<io::FileIdentity> identity() const override {
    return segment_identity(generation_number(bytes_->first_bytes()),
                            bytes_->generation().size_bytes);
  }
  Result<void> lock(io::LockKind) override { return read_only(path_); }
  Result<void> unlock() override { return {}; }
  bool poisoned() const override { return false; }
  void read_ahead(std::uint64_t, std::uint64_t) const override {}

 private:
  std::string path_;
  std::shared_ptr<WindowCache> bytes_;
};

class RemoteDirectory final : public io::Directory {
 public:
  explicit RemoteDirectory(RemoteFileSystem& files) : files_(files), path_(files.archive().url()) {}

  const std::string& path() const override { return path_; }
  Result<std::vector<io::DirectoryEntry>> list() const override { return files_.list(); }
  Result<io::FileIdentity> identity() const override { return directory_identity(); }
  Result<io::FileIdentity> identity_of(std::string_view name) const override {
    return files_.identity_of(path_ + "/" + std::string(name));
  }
  Result<std::unique_ptr<io::File>> open_file(std::string_view name,
                                              io::OpenMode mode) const override {
    return files_.open_segment(std::string(name), mode);
  }
  Result<std::unique_ptr<io::Directory>> open_directory(std::string_view name) const override {
    return fail_errno(ENOENT, "open", path_ + "/" + std::string(name));
  }
  Result<void> make_directory(std::string_view, std::uint32_t) override { return read_only(path_); }
  Result<void> rename(std::string_view, io::Directory&, std::string_view) override {
    return read_only(path_);
  }
  Result<void> rename_no_replace(std::string_view, io::Directory&, std::string_view) override {
    return read_only(path_);
  }
  Result<void> remove_file(std::string_view) override { return read_only(path_); }
  Result<void> remove_directory(std::string_view) override { return read_only(path_); }
  Result<void> sync() override { return read_only(path_); }

 private:
  RemoteFileSystem& files_;
  std::string path_;
};

}  // namespace

RemoteFileSystem::RemoteFileSystem(std::shared_ptr<RemoteArchive> archive,
                                   std::uint64_t max_memory_bytes)
    : archive_(std::move(archive)),
      max_whole_bytes_(std::min(max_memory_bytes, k_most_segment_bytes)),
      pool_(k_fetch_threads) {}

// The name in a path; empty for the archive itself.
Result<std::string> RemoteFileSystem::segment_of(const std::string& path) const {
  const std::string& url = archive_->url();
  if (!path.starts_with(url)) {
    return fail_errno(ENOENT, "open", path);
  }
  std::string rest = path.substr(url.size());
  if (rest.empty() || rest == "/") {
    return std::string();
  }
  rest.erase(0, 1);
  if (!jss::segment_number(rest)) {
    return fail_errno(ENOENT, "open", path);
  }
  return rest;
}

Result<io::FileIdentity> RemoteFileSystem::identity_of(const std::string& path) {
  VARVE_ASSIGN(const std::string name, segment_of(path));
  if (name.empty()) {
    return directory_identity();
  }
  VARVE_ASSIGN(const auto file, open_segment(name, io::OpenMode::read));
  return file->identity();
}

Result<std::unique_ptr<io::Directory>> RemoteFileSystem::open_directory(const std::string& path) {
  VARVE_ASSIGN(const std::string name, segment_of(path));
  if (!name.empty()) {
    return fail_errno(ENOTDIR, "open", path);
  }
  return std::make_unique<RemoteDirectory>(*this);
}

Result<std::unique_ptr<io::File>> RemoteFileSystem::open_file(const std::string& path,
                                                              io::OpenMode mode) {
  VARVE_ASSIGN(const std::string name, segment_of(path));
  if (name.empty()) {
    return fail_errno(EISDIR, "open", path);
  }
  return open_segment(name, mode);
}

Result<std::unique_ptr<io::Directory>> RemoteFileSystem::make_directories(const std::string& path) {
  return read_only(path);
}

Result<std::vector<io::DirectoryEntry>> RemoteFileSystem::list() {
  VARVE_ASSIGN(const auto segments, archive_->list());
  look_at_all(segments);
  std::vector<io::DirectoryEntry> out;
  out.reserve(segments.size());
  for (const RemoteSegment& segment : segments) {
    out.push_back({segment.name, segment_identity(segment.checksum, segment.size_bytes)});
  }
  return out;
}

// Whoever lists an archive opens every segment of it next, one after the other.
void RemoteFileSystem::look_at_all(const std::vector<RemoteSegment>& segments) {
  struct Look {
    const RemoteSegment* segment = nullptr;
    Result<RangeAnswer> answer;
  };
  std::size_t next = 0;
  const auto threads =
      static_cast<unsigned>(std::clamp<std::size_t>(segments.size(), 1, k_looks_at_once));
  base::run_ordered_pipeline<Look>(
      threads, threads,
      [&]() -> std::optional<Look> {
        return next < segments.size() ? std::optional(Look{&segments[next++], {}}) : std::nullopt;
      },
      [&](Look& look, unsigned) {
        look.answer = archive_->probe(look.segment->name, jss::k_header_bytes, 0);
      },
      [&](Look& look) {
        if (look.answer && !look.answer->generation.etag.empty()) {
          const std::lock_guard lock(mutex_);
          looks_[look.segment->name] = *std::move(look.answer);
        }
        // What failed is asked for again, and told, when the segment is opened.
        return look.answer.has_value();
      });
}

Result<RangeAnswer> RemoteFileSystem::first_look(const std::string& name) {
  VARVE_ASSIGN(RangeAnswer look, archive_->probe(name, jss::k_header_bytes, max_whole_bytes_));
  if (!look.whole && look.generation.etag.empty()) {
    return archive_->whole(name, max_whole_bytes_);
  }
  return look;
}

Result<std::unique_ptr<io::File>> RemoteFileSystem::open_segment(const std::string& name,
                                                                 io::OpenMode mode) {
  const std::string path = archive_->url() + "/" + name;
  if (mode != io::OpenMode::read) {
    return read_only(path);
  }
  std::optional<RangeAnswer> look;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = looks_.find(name); found != looks_.end()) {
      look = std::move(found->second);
      looks_.erase(found);
    }
  }
  if (!look) {
    VARVE_ASSIGN(look, first_look(name));
  }
  return std::make_unique<RemoteFile>(
      path, std::make_shared<WindowCache>(archive_, pool_, name, *std::move(look)));
}

}  // namespace varve::serve
