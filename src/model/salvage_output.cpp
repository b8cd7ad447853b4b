// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/salvage_output.hpp"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "io/publish.hpp"

namespace varve::model {

namespace {

constexpr std::size_t k_piece_bytes = 256 * 1024;
constexpr std::string_view k_store = "store";
constexpr std::string_view k_lost = "lost+found";
constexpr int k_most_levels = 8;

Result<void> refuse_existing(io::FileSystem& files, const std::string& path) {
  const auto existing = files.identity_of(path);
  if (existing) {
    return fail_errno(EEXIST, "create", path);
  }
  if (existing.error().system_errno != ENOENT) {
    return std::unexpected(existing.error());
  }
  return {};
}

// Best effort: what cannot be removed stays.
void remove_tree(io::Directory& above, const std::string& name, int levels) {
  const auto directory = above.open_directory(name);
  if (directory && levels > 0) {
    const auto entries = (*directory)->list();
    for (const auto& entry : entries ? *entries : std::vector<io::DirectoryEntry>()) {
      if (entry.identity.type == io::FileType::directory) {
        remove_tree(**directory, entry.name, levels - 1);
      } else {
        std::ignore = (*directory)->remove_file(entry.name);
      }
    }
  }
  std::ignore = directory ? above.remove_directory(name) : above.remove_file(name);
}

}  // namespace

Result<SalvageOutput> SalvageOutput::begin(io::FileSystem& files, io::Environment& environment,
                                           const std::string& target, LostAndFound where) {
  SalvageOutput out;
  const io::SplitPath split = io::split_path(target);
  const bool beside = where == LostAndFound::beside;
  out.where_ = where;
  out.target_name_ = split.name;
  const std::string above = split.parent == "." || split.parent == "/" ? "" : split.parent;
  const std::string stem = above + (above.empty() && split.parent == "." ? "" : "/") + split.name;
  out.lost_and_found_ = stem + (beside ? "." : "/") + std::string(k_lost);
  VARVE_TRY(refuse_existing(files, target));
  if (beside) {
    VARVE_TRY(refuse_existing(files, out.lost_and_found_));
  }
  VARVE_ASSIGN(out.parent_, files.open_directory(split.parent));
  const std::string name =
      io::staging_name(environment, '.' + split.name + ".varve-partial-", "", 6);
  VARVE_TRY(out.parent_->make_directory(name, 0700));
  out.staging_name_ = name;
  out.staging_path_ = (split.parent == "/" ? "" : split.parent) + '/' + name;
  VARVE_ASSIGN(out.staging_, out.parent_->open_directory(name));
  VARVE_TRY(out.staging_->make_directory(k_lost, 0700));
  VARVE_ASSIGN(out.lost_, out.staging_->open_directory(k_lost));
  return out;
}

SalvageOutput::~SalvageOutput() {
  lost_.reset();
  staging_.reset();
  if (parent_ && !staging_name_.empty()) {
    remove_tree(*parent_, staging_name_, k_most_levels);
  }
}

std::string SalvageOutput::store_path() const { return staging_path_ + '/' + std::string(k_store); }

Result<std::unique_ptr<io::File>> SalvageOutput::create(const std::string& name) {
  return lost_->open_file(name, io::OpenMode::create_exclusive);
}

Result<void> SalvageOutput::write_text(const std::string& name, const Json& json) {
  std::string text;
  json.write_pretty(text);
  text += '\n';
  VARVE_ASSIGN(const auto file, create(name));
  VARVE_TRY(file->write_at(base::as_bytes(text), 0));
  return file->sync();
}

Result<void> SalvageOutput::save(const ReadAt& read, std::uint64_t offset, std::uint64_t length,
                                 const std::string& name, Json about) {
  std::vector<std::byte> buffer(
      static_cast<std::size_t>(std::min<std::uint64_t>(length, k_piece_bytes)));
  VARVE_ASSIGN(const auto to, create(name));
  base::Sha256Stream hash;
  for (std::uint64_t done = 0; done < length;) {
    const auto piece = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(length - done, buffer.size())));
    VARVE_TRY(read(piece, offset + done));
    hash.update(piece);
    VARVE_TRY(to->write_at(piece, done));
    done += piece.size();
  }
  VARVE_TRY(to->sync());
  about.set("sha256", base::to_hex(hash.digest()));
  return write_text(name + ".json", about);
}

Result<void> SalvageOutput::publish(const SalvageReport& report) {
  VARVE_TRY(write_text("salvage.json", to_json(report)));
  VARVE_TRY(lost_->sync());
  if (where_ == LostAndFound::inside) {
    VARVE_ASSIGN(const auto store, staging_->open_directory(k_store));
    VARVE_TRY(staging_->rename_no_replace(k_lost, *store, k_lost));
    VARVE_TRY(store->sync());
  } else {
    VARVE_TRY(staging_->rename_no_replace(k_lost, *parent_, target_name_ + ".lost+found"));
  }
  VARVE_TRY(staging_->rename_no_replace(k_store, *parent_, target_name_));
  VARVE_TRY(parent_->sync());
  lost_.reset();
  staging_.reset();
  // What is left is an empty directory.
  std::ignore = parent_->remove_directory(std::exchange(staging_name_, {}));
  return {};
}

ReadAt reader_of(const io::File& file) {
  return [&file](std::span<std::byte> out, std::uint64_t offset) -> Result<void> {
    VARVE_ASSIGN(const std::size_t got, file.read_at(out, offset));
    if (got != out.size()) {
      return fail(ErrorCode::locked, "changed", "the file became shorter while it was read",
                  file.path());
    }
    return {};
  };
}

Result<void> save_range(SalvageOutput* output, const ReadAt& read, const std::string& stem,
                        SalvageRange& range) {
  range.alone = true;
  if (output == nullptr || range.length == 0) {
    return {};
  }
  range.saved_as = stem + ".bin";
  Json about = Json::object()
                   .set("file", range.file)
                   .set("offset", range.offset)
                   .set("length", range.length)
                   .set("unit", range.unit)
                   .set("reason", range.reason);
  if (range.first_seq) about.set("first_seq", *range.first_seq);
  if (range.last_seq) about.set("last_seq", *range.last_seq);
  return output->save(read, range.offset, range.length, range.saved_as, std::move(about));
}

Result<void> LineFile::flush(SalvageOutput& output) {
  if (text_.empty()) {
    return {};
  }
  if (!file_) {
    VARVE_ASSIGN(file_, output.create(name_));
  }
  VARVE_TRY(file_->write_at(base::as_bytes(text_), size_));
  size_ += text_.size();
  text_.clear();
  return {};
}

Result<void> LineFile::finish(SalvageOutput& output) {
  VARVE_TRY(flush(output));
  return file_ ? file_->sync() : Result<void>();
}

namespace {

Result<void> check_loss(const SalvageReport& report, const MaxLoss& most) {
  const std::uint64_t missing = report.missing_bytes();
  const bool above = (most.bytes && missing > *most.bytes) ||
                     (most.percent && static_cast<double>(missing) * 100 >
                                          *most.percent * static_cast<double>(report.all_bytes()));
  if (!above) {
    return {};
  }
  return fail(ErrorCode::damaged, "max_loss",
              "the new store would lack " + std::to_string(missing) + " of " +
                  std::to_string(report.all_bytes()) + " bytes, more than --max-loss allows",
              report.path);
}

}  // namespace

Result<SalvageReport> salvage_with(io::FileSystem& files, const SalvageRequest& request,
                                   LostAndFound where, FindingSink& findings,
                                   const SalvagePass& pass) {
  FindingList told_already(0);
  FindingSink* sink = &findings;
  if (request.target.empty() || request.max_loss.bytes || request.max_loss.percent) {
    VARVE_ASSIGN(SalvageReport report, pass(nullptr, *std::exchange(sink, &told_already)));
    VARVE_TRY(check_loss(report, request.max_loss));
    if (request.target.empty()) {
      return report;
    }
  }
  io::Environment& environment =
      request.environment != nullptr ? *request.environment : io::system_environment();
  VARVE_ASSIGN(auto output, SalvageOutput::begin(files, environment, request.target, where));
  VARVE_ASSIGN(SalvageReport report, pass(&output, *sink));
  report.target = request.target;
  report.lost_and_found = output.lost_and_found();
  VARVE_TRY(output.publish(report));
  return report;
}

}  // namespace varve::model
