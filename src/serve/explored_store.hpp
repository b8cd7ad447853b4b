// SPDX-License-Identifier: MIT OR Apache-2.0
// A store as the explorer keeps it: where it is, whether it has changed, what its check found.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "serve/store_check.hpp"
#include "varve/store.hpp"

namespace varve::serve {

// Thread-safe. Views are opened for each answer: a view takes one call at a time, and an open one
// does not see what was appended.
class ExploredStore {
 public:
  // `id` names the store in paths of the interface; `files` outlives the store.
  ExploredStore(io::FileSystem& files, const Format& format, std::string path, std::string id);

  const std::string& id() const { return id_; }
  const std::string& path() const { return path_; }
  const Format& format() const { return format_; }

  // What tells this state of the store's files from another: names, sizes, times. Looked up anew
  // when the last look is older than a third of a second.
  std::string generation();
  // Bytes of all files, as of the last look.
  std::uint64_t bytes();

  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files) const {
    return format_.open(files, path_, {});
  }

  struct CheckState {
    std::shared_ptr<const CheckResult> result;  // the last one that was finished; may be null
    StoreCheck::Progress progress;              // of the one that runs, if one does
    bool changed = false;                       // the store is not what the result is about
    bool needs_asking = false;                  // large: a check is begun only if asked for
  };
  // The check, begun if there is none yet and the store is not too large to be read unasked; a
  // small store that changed is checked again.
  CheckState check();
  // Begins a check, unless one runs.
  void begin_check();

 private:
  void look();
  void begin_check_locked();

  io::FileSystem& files_;
  const Format& format_;
  std::string path_;
  std::string id_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point looked_{};
  std::string generation_;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<const CheckResult> result_;
  std::unique_ptr<StoreCheck> check_;
};

}  // namespace varve::serve
