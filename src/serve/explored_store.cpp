// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/explored_store.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "output/explain_marks.hpp"

namespace varve::serve {

namespace {

constexpr auto k_look_every = std::chrono::milliseconds(333);
constexpr std::uint64_t k_unasked_bytes = std::uint64_t{4} << 30;
constexpr std::uint64_t k_again_unasked_bytes = std::uint64_t{64} << 20;
constexpr int k_most_depth = 6;
constexpr std::size_t k_most_files = 100'000;

// Leaves the other cores to the answers.
unsigned check_threads() { return std::max(1U, std::thread::hardware_concurrency() / 2); }

class Fingerprint {
 public:
  explicit Fingerprint(io::FileSystem& files) : files_(files) {}

  void add(const std::string& name, const io::FileIdentity& identity) {
    text_ += name;
    for (const std::uint64_t number : {identity.device, identity.inode, identity.size_bytes,
                                       static_cast<std::uint64_t>(identity.modified_ns)}) {
      text_ += '\0' + std::to_string(number);
    }
    bytes_ += identity.type == io::FileType::regular ? identity.size_bytes : 0;
    ++files_seen_;
  }

  void add_directory(const std::string& path, int depth) {
    const auto directory = files_.open_directory(path);
    auto entries = directory ? (*directory)->list() : Result<std::vector<io::DirectoryEntry>>();
    if (!directory || !entries) {
      return;
    }
    std::ranges::sort(*entries, {}, &io::DirectoryEntry::name);
    for (const io::DirectoryEntry& entry : *entries) {
      if (files_seen_ == k_most_files) {
        return;
      }
      if (entry.identity.type != io::FileType::directory) {
        add(entry.name, entry.identity);
      } else if (depth < k_most_depth) {
        text_ += entry.name + '/';
        add_directory(output::path_in_store(path, entry.name), depth + 1);
      }
    }
  }

  std::uint64_t bytes() const { return bytes_; }
  std::string text() const { return to_text(Number::hex64(base::xxh3_64(base::as_bytes(text_)))); }

 private:
  io::FileSystem& files_;
  std::string text_;
  std::uint64_t bytes_ = 0;
  std::size_t files_seen_ = 0;
};

}  // namespace

ExploredStore::ExploredStore(io::FileSystem& files, const Format& format, std::string path,
                             std::string id)
    : files_(files), format_(format), path_(std::move(path)), id_(std::move(id)) {}

void ExploredStore::look() {
  const auto now = std::chrono::steady_clock::now();
  if (!generation_.empty() && now - looked_ < k_look_every) {
    return;
  }
  Fingerprint fingerprint(files_);
  if (const auto identity = files_.identity_of(path_)) {
    if (identity->type == io::FileType::directory) {
      fingerprint.add_directory(path_, 0);
    } else {
      fingerprint.add("", *identity);
    }
  }
  generation_ = fingerprint.text().substr(2);
  bytes_ = fingerprint.bytes();
  looked_ = std::chrono::steady_clock::now();
}

std::string ExploredStore::generation() {
  const std::scoped_lock lock(mutex_);
  look();
  return generation_;
}

std::uint64_t ExploredStore::bytes() {
  const std::scoped_lock lock(mutex_);
  look();
  return bytes_;
}

ExploredStore::CheckState ExploredStore::check() {
  const std::scoped_lock lock(mutex_);
  look();
  if (check_ != nullptr && !check_->progress().running) {
    if (auto result = check_->result()) {
      result_ = std::move(result);
    }
    check_.reset();
  }
  const bool changed = result_ != nullptr && result_->generation != generation_;
  const bool wanted =
      result_ == nullptr ? bytes_ <= k_unasked_bytes : changed && bytes_ <= k_again_unasked_bytes;
  if (wanted && check_ == nullptr) {
    begin_check_locked();
  }
  CheckState state;
  state.result = result_;
  state.changed = changed;
  state.needs_asking = result_ == nullptr && check_ == nullptr;
  if (check_ != nullptr) {
    state.progress = check_->progress();
  }
  return state;
}

void ExploredStore::begin_check() {
  const std::scoped_lock lock(mutex_);
  look();
  if (check_ == nullptr || !check_->progress().running) {
    begin_check_locked();
  }
}

void ExploredStore::begin_check_locked() {
  if (check_ != nullptr) {
    if (auto result = check_->result()) {
      result_ = std::move(result);
    }
  }
  check_ = std::make_unique<StoreCheck>(files_, format_, path_, generation_, check_threads());
}

}  // namespace varve::serve
