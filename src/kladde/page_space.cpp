// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/page_space.hpp"

#include <cassert>
#include <cerrno>

namespace varve::kladde {

void PageSpace::start(std::uint64_t page_count, const PageSet& live) {
  page_count_ = page_count;
  ready_ = {};
  punched_ = {};
  retiring_.clear();
  dropped_.clear();
  std::uint64_t at = k_first_free_page;
  for (const auto& [first, end] : live.runs()) {
    if (first > at) {
      ready_.insert_run(at, first);
    }
    at = std::max(at, end);
  }
  if (at < page_count) {
    ready_.insert_run(at, page_count);
  }
}

Result<std::vector<PageNumber>> PageSpace::take(io::File& file, std::size_t count) {
  std::vector<PageNumber> pages;
  pages.reserve(count);
  if (count > ready_.count()) {
    const std::uint64_t missing = count - ready_.count();
    // The reserved page may lie just past the end: it is stepped over.
    const bool over = reserved_ >= page_count_ && reserved_ < page_count_ + missing + 1;
    const std::uint64_t end = page_count_ + missing + (over ? 1 : 0);
    if (end > k_max_pages) {
      return fail(ErrorCode::limit, word::limit, "the file would have more than 2^32-1 pages",
                  file.path());
    }
    VARVE_TRY(file.allocate(page_count_ * k_page_bytes, (end - page_count_) * k_page_bytes));
    for (std::uint64_t page = page_count_; page < end; ++page) {
      if (page != reserved_) {
        ready_.insert(page);
      }
    }
    page_count_ = end;
  }
  while (pages.size() < count) {
    pages.push_back(static_cast<PageNumber>(*ready_.take_lowest()));
  }
  for (const PageNumber page : punched_.empty() ? std::vector<PageNumber>() : pages) {
    if (const auto filled = fill(file, page); !filled) {
      give_back(pages);
      return std::unexpected(filled.error());
    }
  }
  return pages;
}

void PageSpace::assume_holes() {
  punched_ = ready_;
  if (reserved_ >= k_first_free_page && reserved_ < page_count_) {
    punched_.insert(reserved_);
  }
}

Result<void> PageSpace::punch(io::File& file) {
  if (!can_punch_) {
    return {};
  }
  for (const auto& [first, end] : ready_.runs()) {
    for (std::uint64_t page = first; page < end;) {
      // The stretch that still has its blocks.
      if (punched_.contains(page)) {
        ++page;
        continue;
      }
      std::uint64_t behind = page + 1;
      while (behind < end && !punched_.contains(behind)) {
        ++behind;
      }
      const auto punched = file.punch_hole(page * k_page_bytes, (behind - page) * k_page_bytes);
      if (!punched && punched.error().system_errno == ENOTSUP) {
        can_punch_ = false;
        return {};
      }
      VARVE_TRY(punched);
      punched_.insert_run(page, behind);
      page = behind;
    }
  }
  return {};
}

Result<void> PageSpace::fill(io::File& file, PageNumber page) {
  if (!punched_.contains(page)) {
    return {};
  }
  VARVE_TRY(file.allocate(std::uint64_t{page} * k_page_bytes, k_page_bytes));
  punched_.erase(page);
  return {};
}

void PageSpace::give_back(const std::vector<PageNumber>& pages) { release(pages); }

void PageSpace::release(const std::vector<PageNumber>& pages) {
  for (const PageNumber page : pages) {
    [[maybe_unused]] const bool fresh = ready_.insert(page);
    assert(fresh);
  }
}

PageNumber PageSpace::reserve() {
  const auto page = ready_.take_lowest();
  reserved_ = static_cast<PageNumber>(page ? *page : page_count_);
  return reserved_;
}

void PageSpace::unreserve(PageNumber page) {
  if (page < page_count_) {
    ready_.insert(page);
  }
}

Result<void> PageSpace::make(io::File& file, PageNumber page) {
  if (page < page_count_) {
    return {};
  }
  const std::uint64_t end = std::uint64_t{page} + 1;
  VARVE_TRY(file.allocate(page_count_ * k_page_bytes, (end - page_count_) * k_page_bytes));
  if (page > page_count_) {
    ready_.insert_run(page_count_, page);
  }
  page_count_ = end;
  return {};
}

void PageSpace::committed() {
  release(retiring_);
  retiring_ = std::move(dropped_);
  dropped_.clear();
}

void PageSpace::header_is_durable() {
  release(retiring_);
  retiring_.clear();
}

Result<void> PageSpace::trim(io::File& file, std::uint64_t least, bool with_reserved) {
  std::uint64_t end = page_count_;
  for (;;) {
    const std::uint64_t run = ready_.run_before(end);
    if (run < end) {
      end = run;
    } else if (with_reserved && reserved_ + std::uint64_t{1} == end && end > k_slot_count) {
      --end;
    } else {
      break;
    }
  }
  if (page_count_ - end < least || end == page_count_) {
    return {};
  }
  VARVE_TRY(file.truncate(end * k_page_bytes));
  ready_.erase_from(end);
  punched_.erase_from(end);
  page_count_ = end;
  return {};
}

}  // namespace varve::kladde
