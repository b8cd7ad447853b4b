// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/store_lock.hpp"

#include <string>
#include <utility>

#include "arena/layout.hpp"
#include "arena/store_map.hpp"
#include "base/bytes.hpp"

namespace varve::arena {

namespace {

Result<void> lock(io::File& file) {
  auto taken = file.lock(io::LockKind::exclusive);
  if (!taken && taken.error().code == ErrorCode::locked) {
    taken.error().reason = "locked";
    taken.error().message = "another process or handle has the store open for writing";
  }
  return taken;
}

}  // namespace

Result<StoreLock> StoreLock::take(const io::Directory& store, io::Environment& environment) {
  VARVE_ASSIGN(auto file, store.open_file(k_lock_name, io::OpenMode::create));
  VARVE_TRY(lock(*file));
  VARVE_TRY(file->truncate(0));
  VARVE_TRY(
      file->write_at(base::as_bytes("pid=" + std::to_string(environment.process_id()) + "\n"), 0));
  VARVE_TRY(file->sync());
  return StoreLock(std::move(file));
}

Result<StoreLock> StoreLock::take_quietly(const io::Directory& store) {
  auto file = store.open_file(k_lock_name, io::OpenMode::read);
  if (!file) {
    if (is_missing(file.error())) {
      return StoreLock(nullptr);
    }
    return std::unexpected(std::move(file).error());
  }
  VARVE_TRY(lock(**file));
  return StoreLock(*std::move(file));
}

}  // namespace varve::arena
