// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing verbs over a store of this format, as the registration table offers them. Their
// options, by name: block-rows, rotation-bytes, next-seq (append); see format.cpp.
#pragma once

#include <memory>
#include <string>

#include "varve/file_system.hpp"
#include "varve/jss.hpp"
#include "varve/salvage.hpp"
#include "varve/store.hpp"

namespace varve::jss {

// The writer's options in a request; ErrorCode::invalid_argument for a value that is none.
Result<WriterOptions> writer_options(const WriteRequest& request);

Result<WriteReport> init_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request);
Result<std::unique_ptr<Appender>> open_store_appender(io::FileSystem& files,
                                                      const std::string& path,
                                                      const WriteRequest& request);
// Seals the active segment. Nothing to do is no error: the report then has no action.
Result<WriteReport> seal_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request);
// Section 14.2 on each active segment, and the removal of leftover temporary files.
Result<WriteReport> recover_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request);

// Seals the active segment unless a writer has it, then makes one compaction pass (section 14.3).
Result<WriteReport> compact_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request);
// A consistent copy in the new directory `target`, with a catalogue. Sealed segments whole, of an
// active one what its frames prove; begun again if a compaction replaces a segment meanwhile.
Result<WriteReport> backup_store(io::FileSystem& files, const std::string& path,
                                 const std::string& target, const WriteRequest& request);

// A new store of every block that decodes, with footers made anew; see varve/salvage.hpp.
Result<SalvageReport> salvage_store(io::FileSystem& files, const std::string& path,
                                    const SalvageRequest& request, FindingSink& findings);

}  // namespace varve::jss
