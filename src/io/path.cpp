// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/file_system.hpp"

namespace varve::io {

SplitPath split_path(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) {
    trimmed.pop_back();
  }
  const std::size_t slash = trimmed.rfind('/');
  if (slash == std::string::npos) {
    return {".", trimmed};
  }
  return {slash == 0 ? "/" : trimmed.substr(0, slash), trimmed.substr(slash + 1)};
}

}  // namespace varve::io
