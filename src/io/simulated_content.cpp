// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/simulated_content.hpp"

#include <algorithm>
#include <cstring>

#include "base/checksum.hpp"

namespace varve::io::simulated {

namespace {

const std::shared_ptr<const Page>& zero_page() {
  static const std::shared_ptr<const Page> page = std::make_shared<Page>();
  return page;
}

std::uint64_t page_count(std::uint64_t size_bytes) {
  return size_bytes / k_page_bytes + (size_bytes % k_page_bytes != 0 ? 1 : 0);
}

}  // namespace

std::vector<Content::Entry>::iterator Content::lower_bound(std::uint64_t index) {
  return std::ranges::lower_bound(pages_, index, {}, &Entry::index);
}

std::vector<Content::Entry>::const_iterator Content::lower_bound(std::uint64_t index) const {
  return std::ranges::lower_bound(pages_, index, {}, &Entry::index);
}

std::size_t Content::read(std::span<std::byte> out, std::uint64_t offset) const {
  if (offset >= size_) {
    return 0;
  }
  const auto total = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  auto entry = lower_bound(offset / k_page_bytes);
  for (std::size_t done = 0; done < total;) {
    const std::uint64_t at = offset + done;
    const auto within = static_cast<std::size_t>(at % k_page_bytes);
    const std::size_t count = std::min<std::size_t>(total - done, k_page_bytes - within);
    if (entry != pages_.end() && entry->index == at / k_page_bytes) {
      std::memcpy(out.data() + done, entry->page->data() + within, count);
      ++entry;
    } else {
      std::memset(out.data() + done, 0, count);
    }
    done += count;
  }
  return total;
}

void Content::write(std::span<const std::byte> bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size();) {
    const std::uint64_t at = offset + done;
    const auto within = static_cast<std::size_t>(at % k_page_bytes);
    const std::size_t count = std::min<std::size_t>(bytes.size() - done, k_page_bytes - within);
    auto entry = lower_bound(at / k_page_bytes);
    if (entry == pages_.end() || entry->index != at / k_page_bytes) {
      entry = pages_.insert(entry, Entry{at / k_page_bytes, zero_page()});
    }
    auto page = std::make_shared<Page>(*entry->page);
    std::memcpy(page->data() + within, bytes.data() + done, count);
    entry->page = std::move(page);
    done += count;
  }
}

void Content::zero_within_page(std::uint64_t offset, std::uint64_t length) {
  const auto entry = lower_bound(offset / k_page_bytes);
  if (length == 0 || entry == pages_.end() || entry->index != offset / k_page_bytes) {
    return;
  }
  auto page = std::make_shared<Page>(*entry->page);
  std::memset(page->data() + offset % k_page_bytes, 0, static_cast<std::size_t>(length));
  entry->page = std::move(page);
}

void Content::cut(std::uint64_t size_bytes) {
  size_ = size_bytes;
  pages_.erase(lower_bound(page_count(size_bytes)), pages_.end());
  if (size_bytes % k_page_bytes != 0) {
    zero_within_page(size_bytes, k_page_bytes - size_bytes % k_page_bytes);
  }
}

void Content::punch(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  const std::uint64_t first_whole = page_count(offset);
  const std::uint64_t last_whole = end / k_page_bytes;
  if (first_whole > last_whole) {  // within one page
    zero_within_page(offset, length);
    return;
  }
  zero_within_page(offset, first_whole * k_page_bytes - offset);
  zero_within_page(last_whole * k_page_bytes, end % k_page_bytes);
  pages_.erase(lower_bound(first_whole), lower_bound(last_whole));
}

void Content::allocate(std::uint64_t offset, std::uint64_t length) {
  for (std::uint64_t index = offset / k_page_bytes; index < page_count(offset + length); ++index) {
    const auto entry = lower_bound(index);
    if (entry == pages_.end() || entry->index != index) {
      pages_.insert(entry, Entry{index, zero_page()});
    }
  }
}

std::optional<std::uint64_t> Content::next_data(std::uint64_t offset) const {
  const auto entry = lower_bound(offset / k_page_bytes);
  if (offset >= size_ || entry == pages_.end() || entry->index * k_page_bytes >= size_) {
    return std::nullopt;
  }
  return std::max(offset, entry->index * k_page_bytes);
}

std::uint64_t Content::next_hole(std::uint64_t offset) const {
  std::uint64_t index = offset / k_page_bytes;
  auto entry = lower_bound(index);
  if (entry == pages_.end() || entry->index != index) {
    return std::min(offset, size_);
  }
  while (entry != pages_.end() && entry->index == index) {
    ++entry;
    ++index;
  }
  return std::min(index * k_page_bytes, size_);
}

std::uint64_t Content::hash() const {
  base::Xxh3Stream stream;
  stream.update(std::as_bytes(std::span(&size_, 1)));
  for (const Entry& entry : pages_) {
    const std::uint64_t start = entry.index * k_page_bytes;
    if (start >= size_) {
      break;
    }
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(k_page_bytes, size_ - start));
    if (std::memcmp(entry.page->data(), zero_page()->data(), count) == 0) {
      continue;  // reads as a hole does
    }
    stream.update(std::as_bytes(std::span(&start, 1)));
    stream.update(std::span(*entry.page).first(count));
  }
  return stream.digest();
}

}  // namespace varve::io::simulated
