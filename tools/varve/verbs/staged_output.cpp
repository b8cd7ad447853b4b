// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/staged_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <span>

#include "base/bytes.hpp"
#include "cli/exit_codes.hpp"

namespace varve::cli {

namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{1} << 20;
constexpr std::size_t k_most_mark_bytes = std::size_t{1} << 20;
constexpr std::string_view k_mark_magic = "varve export 1";

// The directory of a new file.
std::expected<std::unique_ptr<io::Directory>, OutputError> directory_for(io::FileSystem& files,
                                                                         const std::string& path,
                                                                         bool force) {
  if (!force) {
    if (const auto free = check_new_path(files, path); !free) {
      return std::unexpected(free.error());
    }
  }
  auto directory = files.open_directory(io::split_path(path).parent);
  if (!directory) {
    return std::unexpected(OutputError{directory.error(), k_cannot_create});
  }
  return std::move(*directory);
}

// The content of a file, empty if there is none or if it is far too large.
Result<std::string> read_small(io::Directory& directory, const std::string& name) {
  auto file = directory.open_file(name, io::OpenMode::read);
  if (!file) {
    return file.error().system_errno == ENOENT ? Result<std::string>(std::string())
                                               : std::unexpected(std::move(file).error());
  }
  VARVE_ASSIGN(const io::FileIdentity identity, (*file)->identity());
  if (identity.size_bytes > k_most_mark_bytes) {
    return std::string();
  }
  std::string text(static_cast<std::size_t>(identity.size_bytes), '\0');
  VARVE_ASSIGN(const std::size_t got, (*file)->read_at(std::as_writable_bytes(std::span(text)), 0));
  text.resize(got);
  return text;
}

struct KeptMark {
  ExportMark mark;
  std::uint64_t bytes = 0;
  std::string identity;
};

// Five lines; what is not a mark reads as none.
KeptMark parse_mark(std::string_view text) {
  std::array<std::string_view, 5> lines;
  for (std::string_view& line : lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  KeptMark kept;
  const auto number = [](std::string_view digits, std::uint64_t& out) {
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  };
  if (lines[0] != k_mark_magic || !number(lines[1], kept.mark.rows) ||
      !number(lines[2], kept.bytes)) {
    return {};
  }
  kept.mark.last = lines[3];
  kept.identity = lines[4];
  return kept;
}

}  // namespace

std::expected<std::unique_ptr<StagedOutput>, OutputError> StagedOutput::create(
    io::FileSystem& files, io::Environment& environment, const std::string& path, bool force) {
  const io::SplitPath split = io::split_path(path);
  auto directory = directory_for(files, path, force);
  if (!directory) {
    return std::unexpected(directory.error());
  }
  auto file =
      io::StagedFile::create(**directory, io::staging_name(environment, "." + split.name + "."));
  if (!file) {
    return std::unexpected(OutputError{file.error(), k_cannot_create});
  }
  std::unique_ptr<StagedOutput> out(
      new StagedOutput(environment, std::move(*directory), std::move(*file), split, force));
  out->when_interrupted_.emplace(out->path_);
  return out;
}

std::expected<std::unique_ptr<StagedOutput>, OutputError> StagedOutput::take_up(
    io::FileSystem& files, io::Environment& environment, const std::string& path, bool force) {
  const io::SplitPath split = io::split_path(path);
  auto directory = directory_for(files, path, force);
  if (!directory) {
    return std::unexpected(directory.error());
  }
  auto file = io::StagedFile::take_up(**directory, "." + split.name + ".partial");
  if (!file) {
    const bool locked = file.error().code == ErrorCode::locked;
    return std::unexpected(
        OutputError{file.error(), locked ? exit_code(file.error()) : k_cannot_create});
  }
  file->keep();
  std::unique_ptr<StagedOutput> out(
      new StagedOutput(environment, std::move(*directory), std::move(*file), split, force));
  out->taken_up_ = true;
  return out;
}

Result<ExportMark> StagedOutput::read_mark(const std::string& identity) {
  VARVE_ASSIGN(const std::string text, read_small(*directory_, mark_name()));
  KeptMark kept = parse_mark(text);
  if (!text.empty() && kept.identity != identity) {
    if (!force_) {
      return fail(ErrorCode::invalid_argument, "resume",
                  "--resume: what is left there is of an export with other options; with --force "
                  "this one begins anew",
                  path_);
    }
    kept = {};
  }
  VARVE_ASSIGN(const io::FileIdentity file, file_.file().identity());
  if (kept.bytes > file.size_bytes) {
    kept = {};
  }
  VARVE_TRY(file_.file().truncate(kept.bytes));
  written_ = kept.bytes;
  return kept.mark;
}

Result<void> StagedOutput::keep(const ExportMark& mark, const std::string& identity) {
  VARVE_TRY(flush());
  VARVE_TRY(file_.file().sync());
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}\n{}\n", k_mark_magic, mark.rows, written_, mark.last, identity);
  return io::publish_bytes(*directory_, mark_name(), base::as_bytes(text), io::Replace::yes,
                           environment_);
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
  VARVE_TRY(file_.publish(name_, force_ ? io::Replace::yes : io::Replace::no));
  if (taken_up_) {
    // A mark without its file is of no use to anybody.
    const auto removed = directory_->remove_file(mark_name());
    if (!removed && removed.error().system_errno != ENOENT) {
      return removed;
    }
  }
  return {};
}

}  // namespace varve::cli
