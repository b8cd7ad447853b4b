// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/owners.hpp"

#include <algorithm>
#include <set>

namespace varve::kladde {

namespace {
constexpr std::size_t k_shown = 4;
}

const char* to_text(PageUse use) {
  switch (use) {
    case PageUse::slot:
      return "slot page";
    case PageUse::table:
      return "table page";
    case PageUse::data:
      return "data page";
    case PageUse::journal:
      return "journal page";
    case PageUse::journal_next:
      return "first page of an empty journal";
    case PageUse::free:
      break;
  }
  return "reusable page";
}

PageOwners::PageOwners(const World& world, const Journal& journal)
    : tables_(world.tree.page_set), pointer_(world.header.journal_pointer) {
  for (const auto& [id, allocation] : world.allocations) {
    allocation.fragments.for_each([&](const Fragment& fragment) {
      if (fragment.kind == FragmentKind::ref) {
        data_[static_cast<PageNumber>(fragment.address / k_page_bytes)].push_back(
            {id, fragment.start, static_cast<std::uint32_t>(fragment.address % k_page_bytes),
             fragment.size});
      }
    });
  }
  for (auto& [page, owners] : data_) {
    std::ranges::sort(owners, {}, &DataOwner::offset);
  }
  if (journal.transactions > 0) {
    for (const PageNumber page : journal.pages) {
      journal_.insert(page);
    }
  }
}

PageUse PageOwners::use(std::uint64_t page) const {
  if (page < k_slot_count) {
    return PageUse::slot;
  }
  if (tables_.contains(page)) {
    return PageUse::table;
  }
  if (data_.contains(static_cast<PageNumber>(page))) {
    return PageUse::data;
  }
  if (journal_.contains(page)) {
    return PageUse::journal;
  }
  return page == pointer_ ? PageUse::journal_next : PageUse::free;
}

const std::vector<DataOwner>& PageOwners::data(PageNumber page) const {
  static const std::vector<DataOwner> none;
  const auto found = data_.find(page);
  return found == data_.end() ? none : found->second;
}

std::string PageOwners::words(std::uint64_t page) const {
  switch (use(page)) {
    case PageUse::slot:
      return "header";
    case PageUse::table:
      return "address table";
    case PageUse::journal:
    case PageUse::journal_next:
      return "journal";
    case PageUse::free:
      return "nobody";
    case PageUse::data:
      break;
  }
  std::set<Id> ids;
  for (const DataOwner& owner : data(static_cast<PageNumber>(page))) {
    ids.insert(owner.id);
  }
  std::string out = ids.size() == 1 ? "allocation " : "allocations ";
  std::size_t shown = 0;
  for (const Id id : ids) {
    if (shown == k_shown) {
      return out + " and " + std::to_string(ids.size() - k_shown) + " more";
    }
    out += (shown++ == 0 ? "" : ", ") + std::to_string(id);
  }
  return out;
}

}  // namespace varve::kladde
