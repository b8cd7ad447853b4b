// SPDX-License-Identifier: MIT OR Apache-2.0
// Who owns each page of a file: what explain, get and stats tell of pages.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kladde/reader.hpp"

namespace varve::kladde {

enum class PageUse : std::uint8_t { slot, table, data, journal, journal_next, free };
const char* to_text(PageUse use);

// A stretch of a data page that an allocation's bytes stand in.
struct DataOwner {
  Id id = 0;
  std::uint32_t start = 0;   // in the allocation
  std::uint32_t offset = 0;  // in the page
  std::uint32_t size = 0;
};

class PageOwners {
 public:
  PageOwners(const World& world, const Journal& journal);

  PageUse use(std::uint64_t page) const;
  // Ascending by offset; empty if the page is no data page.
  const std::vector<DataOwner>& data(PageNumber page) const;
  // "allocations 1, 5 and 3 more" and the like; empty for pages without owner.
  std::string words(std::uint64_t page) const;

 private:
  std::map<PageNumber, std::vector<DataOwner>> data_;
  PageSet tables_;
  PageSet journal_;
  PageNumber pointer_ = 0;
};

}  // namespace varve::kladde
