// SPDX-License-Identifier: MIT OR Apache-2.0
// What is on disk of a segment that is being downloaded: its bytes in `NAME.part`, and in
// `NAME.state` which generation they are of and how far each part has come. The state is brought
// forward after the bytes, so a killed process has fetched nothing for nothing but the last piece.
// After a power cut the state may be ahead of the bytes: the check of the whole segment finds that.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/remote_archive.hpp"
#include "varve/file_system.hpp"

namespace varve::serve {

std::string part_file_name(const std::string& segment);
std::string state_file_name(const std::string& segment);
// Removes both, if they are there.
Result<void> discard_parts(io::Directory& work, const std::string& segment);

// Thread-safe but for the making.
class PartFile {
 public:
  // What an earlier run has left, if it is usable; nullptr if not.
  static Result<std::unique_ptr<PartFile>> resume(io::Directory& work, const std::string& segment,
                                                  std::uint64_t part_bytes);
  // Begins anew, over whatever is there.
  static Result<std::unique_ptr<PartFile>> begin(io::Directory& work, const std::string& segment,
                                                 const Generation& generation,
                                                 std::uint64_t part_bytes);

  const Generation& generation() const { return generation_; }
  std::size_t parts() const { return received_.size(); }
  std::uint64_t part_offset(std::size_t part) const { return part * part_bytes_; }
  std::uint64_t part_length(std::size_t part) const;
  std::uint64_t received(std::size_t part) const;
  std::uint64_t received_in_all() const;
  // Appends to what there is of a part.
  Result<void> append(std::size_t part, std::string_view bytes);
  // Makes the bytes durable.
  Result<void> sync();

 private:
  PartFile(std::unique_ptr<io::File> data, std::unique_ptr<io::File> state, Generation generation,
           std::uint64_t part_bytes);
  bool load(const std::string& text, std::uint64_t data_bytes);
  std::string head() const;

  std::unique_ptr<io::File> data_;
  std::unique_ptr<io::File> state_;
  Generation generation_;
  std::uint64_t part_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> received_;
};

}  // namespace varve::serve
