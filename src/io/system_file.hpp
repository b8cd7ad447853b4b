// SPDX-License-Identifier: MIT OR Apache-2.0
// What a file of the operating system can do beyond io::File: lend its descriptor to calls that
// move bytes without reading them (sendfile).
#pragma once

#include <optional>

#include "varve/file_system.hpp"

namespace varve::io {

class SystemFile : public File {
 public:
  // Stays the file's, which must outlive its use.
  virtual int descriptor() const = 0;
};

// The descriptor of a file of the system's; nothing for any other file.
inline std::optional<int> descriptor_of(const File& file) {
  const auto* known = dynamic_cast<const SystemFile*>(&file);
  return known != nullptr ? std::optional(known->descriptor()) : std::nullopt;
}

}  // namespace varve::io
