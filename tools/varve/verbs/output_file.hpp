// SPDX-License-Identifier: MIT OR Apache-2.0
// A file that a verb writes for the user: it appears whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "varve/file_system.hpp"

namespace varve::cli {

// Writes `bytes` to a new file at `path`. An existing file is only replaced with `force`, else
// EEXIST. The error's exit code is 73 wherever the file cannot be created.
struct OutputError {
  Error error;
  int exit_code;
};
std::expected<void, OutputError> write_output_file(io::FileSystem& files,
                                                   io::Environment& environment,
                                                   const std::string& path, std::string_view bytes,
                                                   bool force);

// 73 if something is at `path` already or its parent is no directory to write to; for verbs whose
// format writes the output itself.
std::expected<void, OutputError> check_new_path(io::FileSystem& files, const std::string& path);

}  // namespace varve::cli
