// SPDX-License-Identifier: MIT OR Apache-2.0
// The bytes of one simulated file: a sparse list of immutable pages, so that a copy costs one
// pointer a page and crash states share what they have in common.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace varve::io::simulated {

inline constexpr std::uint64_t k_page_bytes = 4096;
inline constexpr std::uint64_t k_sector_bytes = 512;

using Page = std::array<std::byte, k_page_bytes>;

class Content {
 public:
  std::uint64_t size() const { return size_; }
  std::uint64_t allocated_bytes() const { return pages_.size() * k_page_bytes; }

  // Reads what lies before the size; holes read as zeros.
  std::size_t read(std::span<std::byte> out, std::uint64_t offset) const;
  // Stores bytes without touching the size: data and length reach a disk separately.
  void write(std::span<const std::byte> bytes, std::uint64_t offset);
  // Sets the size alone; bytes stored behind the old size come into view.
  void set_size(std::uint64_t size_bytes) { size_ = size_bytes; }
  // Sets the size and forgets every byte behind it.
  void cut(std::uint64_t size_bytes);
  // Makes a range read as zeros; whole pages become holes.
  void punch(std::uint64_t offset, std::uint64_t length);
  // Fills the holes of a range with pages of zeros.
  void allocate(std::uint64_t offset, std::uint64_t length);

  std::optional<std::uint64_t> next_data(std::uint64_t offset) const;
  std::uint64_t next_hole(std::uint64_t offset) const;

  // Of the size and of every byte before it; equal for equal contents, however they came about.
  std::uint64_t hash() const;

 private:
  struct Entry {
    std::uint64_t index = 0;  // of the page in the file
    std::shared_ptr<const Page> page;
  };
  std::vector<Entry>::iterator lower_bound(std::uint64_t index);
  std::vector<Entry>::const_iterator lower_bound(std::uint64_t index) const;
  void zero_within_page(std::uint64_t offset, std::uint64_t length);

  std::vector<Entry> pages_;  // ascending by index
  std::uint64_t size_ = 0;
};

}  // namespace varve::io::simulated
