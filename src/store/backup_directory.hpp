// SPDX-License-Identifier: MIT OR Apache-2.0
// Directories that `varve backup` wrote: which store lies in them.
#pragma once

#include <optional>
#include <string>

#include "varve/file_system.hpp"

namespace varve::store {

// The path of the copied store if `directory` holds a catalogue of schema varve.backup/1 that names
// one. The catalogue is not trusted: at most 64 MiB of it are read, and the name must be a single
// path component.
std::optional<std::string> store_in_backup(io::FileSystem& files, const std::string& directory);

}  // namespace varve::store
