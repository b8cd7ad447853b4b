// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/copy_catalogue.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/text_coding.hpp"

namespace varve::model {

namespace {

constexpr std::size_t k_piece_bytes = 256 * 1024;

struct CopiedFile {
  std::string path;  // relative to the target
  std::uint64_t bytes = 0;
  std::string sha256;  // hex
};

std::vector<std::string> components_of(const std::string& path) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= path.size()) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    out.push_back(path.substr(from, slash - from));
    from = slash + 1;
  }
  return out;
}

// Opens the directory that holds `path`, one component at a time so that no link is followed.
Result<std::unique_ptr<io::Directory>> open_parent(io::FileSystem& files, const std::string& root,
                                                   const std::string& path) {
  const std::vector<std::string> parts = components_of(path);
  VARVE_ASSIGN(auto directory, files.open_directory(root));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    VARVE_ASSIGN(directory, directory->open_directory(parts[i]));
  }
  return directory;
}

std::unexpected<Error> changed(const io::File& file, std::string message) {
  return fail(ErrorCode::locked, "changed", std::move(message), file.path());
}

// The staging directory: knows what it made, so that a failure can take it all away again.
class Staging {
 public:
  Staging(std::unique_ptr<io::Directory> parent, std::string name)
      : parent_(std::move(parent)), name_(std::move(name)) {}

  Result<void> begin() {
    VARVE_TRY(parent_->make_directory(name_, 0700));
    VARVE_ASSIGN(root_, parent_->open_directory(name_));
    return {};
  }

  // Makes `path` below the root and what leads to it.
  Result<io::Directory*> directory(const std::string& path) {
    if (path.empty()) {
      return root_.get();
    }
    if (const auto found = made_.find(path); found != made_.end()) {
      return found->second.get();
    }
    const std::size_t slash = path.rfind('/');
    VARVE_ASSIGN(io::Directory * above,
                 directory(slash == std::string::npos ? "" : path.substr(0, slash)));
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    VARVE_TRY(above->make_directory(name, 0700));
    VARVE_ASSIGN(auto opened, above->open_directory(name));
    return (made_[path] = std::move(opened)).get();
  }

  Result<std::unique_ptr<io::File>> create(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    VARVE_ASSIGN(io::Directory * above,
                 directory(slash == std::string::npos ? "" : path.substr(0, slash)));
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    VARVE_ASSIGN(auto file, above->open_file(name, io::OpenMode::create_exclusive));
    files_.emplace_back(above, name);
    return file;
  }

  Result<void> publish(const std::string& name) {
    for (const auto& [path, opened] : made_) {
      VARVE_TRY(opened->sync());
    }
    VARVE_TRY(root_->sync());
    VARVE_TRY(parent_->rename_no_replace(name_, *parent_, name));
    return parent_->sync();
  }

  // Best effort: what cannot be removed stays.
  void remove_all() {
    for (const auto& [above, name] : files_) {
      std::ignore = above->remove_file(name);
    }
    for (auto it = made_.rbegin(); it != made_.rend(); ++it) {  // children sort behind parents
      const std::size_t slash = it->first.rfind('/');
      auto above = directory(slash == std::string::npos ? "" : it->first.substr(0, slash));
      if (above) {
        std::ignore = (*above)->remove_directory(
            slash == std::string::npos ? it->first : it->first.substr(slash + 1));
      }
    }
    std::ignore = parent_->remove_directory(name_);
  }

 private:
  std::unique_ptr<io::Directory> parent_;
  std::string name_;
  std::unique_ptr<io::Directory> root_;
  std::map<std::string, std::unique_ptr<io::Directory>> made_;
  std::vector<std::pair<io::Directory*, std::string>> files_;
};

// Copies the data of [at, length); `hash` sees holes as the zeros they read as.
Result<void> copy_data(const io::File& from, io::File& to, std::uint64_t at, std::uint64_t length,
                       base::Sha256Stream& hash, std::span<std::byte> buffer) {
  const std::vector<std::byte> zeros(k_piece_bytes);
  while (at < length) {
    VARVE_ASSIGN(const auto next, from.next_data(at));
    const std::uint64_t data = std::min(next.value_or(length), length);
    for (; at < data; at += std::min<std::uint64_t>(data - at, zeros.size())) {
      const std::uint64_t piece = std::min<std::uint64_t>(data - at, zeros.size());
      hash.update(std::span(zeros).first(static_cast<std::size_t>(piece)));
    }
    VARVE_ASSIGN(const std::uint64_t hole, from.next_hole(at));
    const std::uint64_t end = std::min(hole > at ? hole : length, length);
    while (at < end) {
      const auto piece =
          buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(end - at, buffer.size())));
      VARVE_ASSIGN(const std::size_t got, from.read_at(piece, at));
      if (got < piece.size()) {
        return changed(from, "the file became shorter while it was copied");
      }
      hash.update(piece);
      VARVE_TRY(to.write_at(piece, at));
      at += piece.size();
    }
  }
  return to.truncate(length);
}

Result<std::string> copy_member(io::FileSystem& files, const CopyRequest& request,
                                const CopyMember& member, io::File& to,
                                std::span<std::byte> buffer) {
  base::Sha256Stream hash;
  if (member.content) {
    hash.update(base::as_bytes(*member.content));
    VARVE_TRY(to.write_at(base::as_bytes(*member.content), 0));
  } else {
    VARVE_ASSIGN(const auto parent, open_parent(files, request.source_directory, member.path));
    VARVE_ASSIGN(const auto from,
                 parent->open_file(components_of(member.path).back(), io::OpenMode::read));
    VARVE_ASSIGN(const io::FileIdentity now, from->identity());
    if (member.identity && !member.identity->same_object(now)) {
      return changed(*from, "another file has taken this name while the store was copied");
    }
    if (now.size_bytes < member.length) {
      return changed(*from, "the file became shorter while it was copied");
    }
    const std::string_view head = member.head ? std::string_view(*member.head) : "";
    if (!head.empty()) {
      hash.update(base::as_bytes(head));
      VARVE_TRY(to.write_at(base::as_bytes(head), 0));
    }
    VARVE_TRY(copy_data(*from, to, head.size(), member.length, hash, buffer));
  }
  VARVE_TRY(to.sync());
  return base::to_hex(hash.digest());
}

std::uint64_t length_of(const CopyMember& member) {
  return member.content ? member.content->size() : member.length;
}

std::string target_path_of(const CopyRequest& request, const CopyMember& member) {
  return request.single_file ? request.store_name : request.store_name + '/' + member.path;
}

std::string catalogue_text(const CopyRequest& request, const std::vector<CopiedFile>& copied,
                           std::int64_t now_us) {
  Json entries = Json::array();
  std::uint64_t total = 0;
  for (const CopiedFile& file : copied) {
    entries.push(
        Json::object().set("path", file.path).set("bytes", file.bytes).set("sha256", file.sha256));
    total += file.bytes;
  }
  Json json = Json::object();
  json.set("schema", "varve.backup/1")
      .set("format", request.format)
      .set("store", request.store_name)
      .set("source", request.source_path)
      .set("created_us", now_us)
      .set("varve", version())
      .set("bytes", total)
      .set("files", std::move(entries))
      .set("detail", request.detail);
  std::string text;
  json.write_pretty(text);
  return text + '\n';
}

// In the form of coreutils' sha256sum: names with a backslash or a line break are escaped, and the
// line then begins with a backslash.
std::string checksum_text(const std::vector<CopiedFile>& copied) {
  std::string text;
  for (const CopiedFile& file : copied) {
    std::string name;
    for (const char c : file.path) {
      name += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '\r' ? "\\r" : std::string(1, c);
    }
    text += (name != file.path ? "\\" : "") + file.sha256 + "  " + name + '\n';
  }
  return text;
}

Result<void> write_text(Staging& staging, const std::string& name, const std::string& text) {
  VARVE_ASSIGN(const auto file, staging.create(name));
  VARVE_TRY(file->write_at(base::as_bytes(text), 0));
  return file->sync();
}

Result<void> fill(io::FileSystem& files, const CopyRequest& request, std::int64_t now_us,
                  Staging& staging) {
  VARVE_TRY(staging.begin());
  if (!request.single_file) {
    VARVE_TRY(staging.directory(request.store_name));
    for (const std::string& path : request.directories) {
      VARVE_TRY(staging.directory(request.store_name + '/' + path));
    }
  }
  std::vector<std::byte> buffer(k_piece_bytes);
  std::vector<CopiedFile> copied;
  for (const CopyMember& member : request.members) {
    const std::string path = target_path_of(request, member);
    VARVE_ASSIGN(const auto to, staging.create(path));
    VARVE_ASSIGN(std::string sha256, copy_member(files, request, member, *to, buffer));
    copied.push_back({path, length_of(member), std::move(sha256)});
  }
  VARVE_TRY(write_text(staging, "SHA256SUMS", checksum_text(copied)));
  return write_text(staging, std::string(k_backup_catalogue_name),
                    catalogue_text(request, copied, now_us));
}

Result<void> refuse_existing(io::FileSystem& files, const std::string& target) {
  const auto existing = files.identity_of(target);
  if (existing) {
    return fail_errno(EEXIST, "create", target);
  }
  if (existing.error().system_errno != ENOENT) {
    return std::unexpected(existing.error());
  }
  return {};
}

}  // namespace

Result<WriteReport> copy_with_catalogue(io::FileSystem& files, const CopyRequest& request,
                                        const WriteRequest& write) {
  VARVE_TRY(refuse_existing(files, request.target));
  io::Environment& environment =
      write.environment != nullptr ? *write.environment : io::system_environment();
  const io::SplitPath target = io::split_path(request.target);
  VARVE_ASSIGN(auto parent, files.open_directory(target.parent));

  WriteReport report;
  report.dry_run = write.dry_run;
  for (const CopyMember& member : request.members) {
    report.actions.push_back({target_path_of(request, member), "copy", 0, length_of(member)});
  }
  report.detail.set("target", request.target).set("store", request.store_name);
  if (write.dry_run) {
    return report;
  }
  std::array<std::byte, 6> salt;
  environment.random(salt);
  Staging staging(std::move(parent), '.' + target.name + ".varve-partial-" + base::to_hex(salt));
  auto done = fill(files, request, environment.now_us(), staging);
  if (done) {
    done = staging.publish(target.name);
  }
  if (!done) {
    staging.remove_all();
    return std::unexpected(std::move(done).error());
  }
  return report;
}

}  // namespace varve::model
