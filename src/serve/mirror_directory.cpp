// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/mirror_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

#include "base/bytes.hpp"
#include "base/whole_number.hpp"
#include "io/publish.hpp"
#include "jss/layout.hpp"
#include "jss/names.hpp"
#include "jss/snapshot_plan.hpp"
#include "serve/mirror_parts.hpp"

namespace varve::serve {

namespace {

constexpr const char* k_lock_name = "lock";
constexpr const char* k_list_name = "segments";
constexpr std::string_view k_first_line = "varve-mirror 1 ";
constexpr std::uint64_t k_most_list_bytes = std::uint64_t{256} << 20;

Result<SegmentMark> mark_of(const io::File& file) {
  std::array<std::byte, jss::k_header_bytes> head{};
  VARVE_ASSIGN(const std::size_t n, file.read_at(head, 0));
  VARVE_ASSIGN(const io::FileIdentity identity, file.identity());
  SegmentMark out;
  out.size_bytes = identity.size_bytes;
  if (n == head.size()) {
    out.checksum = jss::load_header(head.data()).checksum;
  }
  return out;
}

// "NAME CHECKSUM SIZE"
std::optional<std::pair<std::string, SegmentMark>> parse_line(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  std::string checksum;
  SegmentMark mark;
  if (!(words >> name >> checksum >> mark.size_bytes) || !words.eof() ||
      !jss::segment_number(name) || checksum.size() != 16) {
    return std::nullopt;
  }
  const auto hash = base::whole_number<std::uint64_t>(checksum, 16);
  if (!hash) {
    return std::nullopt;
  }
  mark.checksum = *hash;
  return std::pair(std::move(name), mark);
}

}  // namespace

Result<std::unique_ptr<MirrorDirectory>> MirrorDirectory::open(io::FileSystem& files,
                                                               io::Environment& environment,
                                                               const std::string& path,
                                                               const std::string& url) {
  std::unique_ptr<MirrorDirectory> out(new MirrorDirectory(environment, path, url));
  VARVE_ASSIGN(out->directory_, files.make_directories(path));
  const auto made = out->directory_->make_directory(k_mirror_work_directory, 0700);
  if (!made && made.error().system_errno != EEXIST) {
    return std::unexpected(made.error());
  }
  VARVE_ASSIGN(out->work_, out->directory_->open_directory(k_mirror_work_directory));
  VARVE_ASSIGN(out->lock_, out->work_->open_file(k_lock_name, io::OpenMode::create));
  auto locked = out->lock_->lock(io::LockKind::exclusive);
  if (!locked) {
    Error error = std::move(locked).error();
    error.path = path;
    error.message = "another mirror is at work in this directory";
    return std::unexpected(std::move(error));
  }
  VARVE_TRY(out->load());
  return out;
}

std::string MirrorDirectory::work_path(const std::string& name) const {
  return fmt::format("{}{}{}/{}", path_, path_.ends_with('/') ? "" : "/", k_mirror_work_directory,
                     name);
}

Result<void> MirrorDirectory::load() {
  const auto file = work_->open_file(k_list_name, io::OpenMode::read);
  if (!file) {
    return file.error().system_errno == ENOENT ? save() : std::unexpected(file.error());
  }
  VARVE_ASSIGN(const io::FileIdentity identity, (*file)->identity());
  std::string text(std::min(identity.size_bytes, k_most_list_bytes), '\0');
  VARVE_ASSIGN(const std::size_t n, (*file)->read_at(std::as_writable_bytes(std::span(text)), 0));
  text.resize(n);
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  if (!line.starts_with(k_first_line)) {
    return fail(ErrorCode::invalid_argument, "mirror",
                "this is no list of a mirror's segments; nothing is touched",
                work_path(k_list_name));
  }
  if (line.substr(k_first_line.size()) != url_) {
    return fail(ErrorCode::invalid_argument, "mirror",
                "this directory mirrors " + line.substr(k_first_line.size()), path_);
  }
  while (std::getline(lines, line)) {
    auto entry = parse_line(line);
    if (!entry) {
      return fail(ErrorCode::invalid_argument, "mirror",
                  "a line of the list of the mirror's segments is malformed; nothing is touched",
                  work_path(k_list_name));
    }
    own_.insert(*std::move(entry));
  }
  return {};
}

Result<void> MirrorDirectory::save() {
  std::string text = std::string(k_first_line) + url_ + "\n";
  for (const auto& [name, mark] : own_) {
    text += fmt::format("{} {} {}\n", name, jss::checksum_text(mark.checksum), mark.size_bytes);
  }
  return io::publish_bytes(*work_, k_list_name, base::as_bytes(text), io::Replace::yes,
                           environment_);
}

Result<std::optional<MirrorDirectory::Local>> MirrorDirectory::look(const std::string& name) const {
  const auto file = directory_->open_file(name, io::OpenMode::read);
  if (!file && file.error().system_errno == ENOENT) {
    return std::nullopt;
  }
  if (!file) {
    if (file.error().reason == "file_type" || file.error().system_errno == ELOOP) {
      return Local{};  // a link or a directory of that name
    }
    return std::unexpected(file.error());
  }
  Local out;
  VARVE_ASSIGN(out.mark, mark_of(**file));
  const auto [first, last] = own_.equal_range(name);
  out.own = std::any_of(first, last, [&](const auto& entry) { return entry.second == out.mark; });
  return out;
}

std::vector<std::string> MirrorDirectory::own_names() const {
  std::vector<std::string> out;
  for (const auto& [name, mark] : own_) {
    if (out.empty() || out.back() != name) {
      out.push_back(name);
    }
  }
  return out;
}

Result<SegmentMark> MirrorDirectory::mark_of_download(const std::string& downloaded) const {
  VARVE_ASSIGN(const auto file, work_->open_file(downloaded, io::OpenMode::read));
  return mark_of(*file);
}

Result<void> MirrorDirectory::publish(const std::string& name, const std::string& downloaded,
                                      SegmentMark mark) {
  own_.emplace(name, mark);
  VARVE_TRY(save());
  VARVE_TRY(work_->rename(downloaded, *directory_, name));
  VARVE_TRY(directory_->sync());
  VARVE_TRY(work_->sync());
  // The mark of the old generation goes with the next change of the list.
  const auto [first, last] = own_.equal_range(name);
  for (auto entry = first; entry != last;) {
    entry = entry->second == mark ? std::next(entry) : own_.erase(entry);
  }
  return {};
}

Result<void> MirrorDirectory::remove(const std::string& name) {
  VARVE_TRY(directory_->remove_file(name));
  VARVE_TRY(directory_->sync());
  own_.erase(name);
  return save();
}

Result<void> MirrorDirectory::tidy(const std::vector<std::string>& wanted) {
  VARVE_ASSIGN(const auto entries, work_->list());
  for (const io::DirectoryEntry& entry : entries) {
    for (const std::string& suffix : {part_file_name(""), state_file_name("")}) {
      if (!entry.name.ends_with(suffix)) {
        continue;
      }
      const std::string segment = entry.name.substr(0, entry.name.size() - suffix.size());
      if (jss::segment_number(segment) && std::ranges::find(wanted, segment) == wanted.end()) {
        VARVE_TRY(discard_parts(*work_, segment));
      }
    }
    // What a crash left of the list.
    if (entry.name.starts_with(std::string(".") + k_list_name + ".")) {
      VARVE_TRY(work_->remove_file(entry.name));
    }
  }
  return {};
}

}  // namespace varve::serve
