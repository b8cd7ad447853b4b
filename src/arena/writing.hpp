// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing verbs over a store of this format, as the registration table offers them. Their
// options, by name: see format.cpp.
#pragma once

#include <memory>
#include <string>

#include "varve/file_system.hpp"
#include "varve/store.hpp"

namespace varve::arena {

Result<WriteReport> init_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request);
Result<std::unique_ptr<Appender>> open_store_appender(io::FileSystem& files,
                                                      const std::string& path,
                                                      const WriteRequest& request);
// What opening the store for writing writes (section 7), and nothing else.
Result<WriteReport> recover_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request);
// Section 13 with the built-in source of HMS-TXN-2.
Result<WriteReport> compact_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request);
// A consistent copy in the new directory `target`, with a catalogue. Under the store's lock if that
// is there and free: every file. Else the live generation up to its end, without the caches.
Result<WriteReport> backup_store(io::FileSystem& files, const std::string& path,
                                 const std::string& target, const WriteRequest& request);

}  // namespace varve::arena
