// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing verbs.
#pragma once

#include <memory>
#include <string>

#include "varve/store.hpp"

namespace varve::kladde {

Result<WriteReport> init_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request);
// Lines of one "txn" are one transaction; a line without it is one of its own. A transaction is
// held back until the next one begins or the input ends.
Result<std::unique_ptr<Appender>> append_to_store(io::FileSystem& files, const std::string& path,
                                                  const WriteRequest& request);
// Folds the journal, if there is one.
Result<WriteReport> recover_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request);
Result<WriteReport> compact_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request);
Result<WriteReport> backup_store(io::FileSystem& files, const std::string& path,
                                 const std::string& target, const WriteRequest& request);

}  // namespace varve::kladde
