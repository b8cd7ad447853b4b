// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing verbs over a store of this format, as the registration table offers them; their
// options are in format_options.cpp.
#pragma once

#include <memory>
#include <string>

#include "varve/file_system.hpp"
#include "varve/salvage.hpp"
#include "varve/store.hpp"

namespace varve::tay {

Result<WriteReport> init_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request);
// Jobs that are found executing stay so: appending dispatches nothing.
Result<std::unique_ptr<Appender>> open_store_appender(io::FileSystem& files,
                                                      const std::string& path,
                                                      const WriteRequest& request);
// Seals the active segment and begins the next one. An empty segment is left as it is: the report
// then has no action.
Result<WriteReport> seal_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request);
// Makes the segment that an interrupted rotation still owes, and nothing else.
Result<WriteReport> recover_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request);
// Section 17's cold copy under the lock. If another process owns the store, a copy of what was
// whole when it began.
Result<WriteReport> backup_store(io::FileSystem& files, const std::string& path,
                                 const std::string& target, const WriteRequest& request);

// A new store of what replays, and lost+found with the rest; see varve/salvage.hpp.
Result<SalvageReport> salvage_store(io::FileSystem& files, const std::string& path,
                                    const SalvageRequest& request, FindingSink& findings);

}  // namespace varve::tay
