// SPDX-License-Identifier: MIT OR Apache-2.0
// Making a new store (section 9).
#pragma once

#include <optional>
#include <string>

#include "tay/objects.hpp"
#include "tay/ownership.hpp"
#include "varve/file_system.hpp"

namespace varve::tay {

struct InitializeOptions {
  std::optional<Id> store_id;  // else random
  // Also in a directory that exists, if it holds nothing but what an initialization that was cut
  // short leaves: the lock, stages, an empty segments/ or a bare first header. Without it only a
  // directory that this call makes itself is taken, since another one may be a lost store.
  bool existing = false;
  io::Environment* environment = nullptr;  // null: the system's
};

// Makes the store and keeps its lock; it is then to be recovered and activated like any other
// (step 6). Errors: ErrorCode::io with EEXIST where there is a store or a directory that may not be
// taken; ErrorCode::invalid_argument, reason `store_id`, for an id of zeros or another one than the
// first header has. After a failure in between the same call with `existing` goes on.
Result<Ownership> initialize(io::FileSystem& files, const std::string& path,
                             const InitializeOptions& options);

// Whether `initialize` would begin; touches nothing.
Result<void> may_initialize(io::FileSystem& files, const std::string& path,
                            const InitializeOptions& options);

}  // namespace varve::tay
