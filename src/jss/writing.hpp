// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing verbs over a store of this format, as the registration table offers them. Their
// options, by name: block-rows, rotation-bytes, next-seq (append, seal); see k_writing_options.
#pragma once

#include <memory>
#include <string>

#include "varve/file_system.hpp"
#include "varve/jss.hpp"
#include "varve/store.hpp"

namespace varve::jss {

// The writer's options in a request; ErrorCode::invalid_argument for a value that is none.
Result<WriterOptions> writer_options(const WriteRequest& request);
// An option that is a number; `fallback` where it is absent.
Result<std::uint64_t> number_option(const WriteRequest& request, const std::string& name,
                                    std::uint64_t fallback);

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

}  // namespace varve::jss
