// SPDX-License-Identifier: MIT OR Apache-2.0
// The zstd dictionaries that streams are compressed with (spec sections 19.1, 19.3 and 19.4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/compression.hpp"
#include "varve/file_system.hpp"
#include "varve/result.hpp"

namespace varve::serve {

// The dictionary that `compress=true` of the legacy stream stands for.
inline constexpr std::uint32_t k_legacy_dictionary_id = 1'612'007'021;
inline constexpr std::uint64_t k_max_dictionary_bytes = std::uint64_t{16} << 20;

class StreamDictionaries {
 public:
  // Reads a structured dictionary; its id is in it. Errors: invalid_argument for a file that holds
  // none, or one of an id that is there already.
  Result<void> add(io::FileSystem& files, const std::string& path);

  std::size_t size() const { return all_.size(); }
  const base::ZstdDictionary& at(std::size_t index) const { return *all_[index]; }
  // The index of the one with that id, or -1.
  int find(std::uint64_t id) const;
  // The one that getZstdDictionary gives where no id is asked for: the first that is not the legacy
  // stream's, else the first; -1 if there is none.
  int current() const;
  // "20260811, 1612007021", or "none".
  std::string ids_text() const;

 private:
  std::vector<std::shared_ptr<const base::ZstdDictionary>> all_;
};

}  // namespace varve::serve
