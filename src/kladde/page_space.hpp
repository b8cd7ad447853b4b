// SPDX-License-Identifier: MIT OR Apache-2.0
// Which pages a writer may write to (section 4): reusable ones, those in quarantine, and the end of
// the file. Derived anew by every open.
#pragma once

#include <cstdint>
#include <vector>

#include "kladde/layout.hpp"
#include "kladde/page_set.hpp"
#include "varve/file_system.hpp"

namespace varve::kladde {

class PageSpace {
 public:
  // `live` are the pages of the governing world, its journal included; every other page of the file
  // is reusable (the governing header must be durable).
  void start(std::uint64_t page_count, const PageSet& live);

  std::uint64_t page_count() const { return page_count_; }
  const PageSet& ready() const { return ready_; }
  std::uint64_t quarantined() const { return retiring_.size(); }

  // Reusable pages, and the reserved one, may lack blocks: an earlier run gave them back.
  void assume_holes();

  // Takes pages, lowest first, and makes room at the end of the file for what is missing. After an
  // error nothing has changed.
  Result<std::vector<PageNumber>> take(io::File& file, std::size_t count);
  // Undoes a take.
  void give_back(const std::vector<PageNumber>& pages);
  // Gives the blocks of reusable pages back; does nothing more where the system cannot.
  Result<void> punch(io::File& file);
  // Allocates the blocks of a page that is about to be written, if they were given back.
  Result<void> fill(io::File& file, PageNumber page);

  // Reserves a page for a journal that nothing is written to yet: a reusable one, or the one past
  // the end, which is not made.
  PageNumber reserve();
  // Undoes a reserve().
  void unreserve(PageNumber page);
  // Names a page that is reserved already: what a header that was read says.
  void reserve(PageNumber page) { reserved_ = page; }
  // Makes a page past the end exist; those before it become reusable.
  Result<void> make(io::File& file, PageNumber page);

  // A page that the flush at hand stops using.
  void drop(PageNumber page) { dropped_.push_back(page); }
  // The header of the flush at hand is written: what the flush before dropped is reusable.
  void committed();
  // The newer header is durable: what only the older world uses is reusable.
  void header_is_durable();

  // Cuts reusable pages off the end if there are at least `least` of them; the reserved page counts
  // as reusable if `with_reserved`.
  Result<void> trim(io::File& file, std::uint64_t least, bool with_reserved);

 private:
  void release(const std::vector<PageNumber>& pages);

  std::uint64_t page_count_ = 0;
  PageNumber reserved_ = 0;
  PageSet ready_;
  PageSet punched_;  // pages without blocks
  bool can_punch_ = true;
  std::vector<PageNumber> retiring_;  // dropped by the last commit
  std::vector<PageNumber> dropped_;   // by the flush at hand
};

}  // namespace varve::kladde
