// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/filter.hpp"

#include <algorithm>

#include "jss/identifiers.hpp"
#include "jss/layout.hpp"

namespace varve::jss {

std::optional<KindMask> kinds_of_public_name(std::string_view name) {
  if (name == "commit") {
    return k_commit_kinds;
  }
  for (std::uint8_t kind = k_min_kind; kind <= k_max_kind; ++kind) {
    if (!is_commit(kind) && name == k_kind_names[kind]) {
      return static_cast<KindMask>(1U << kind);
    }
  }
  return std::nullopt;
}

std::optional<KindMask> kinds_of_name(std::string_view name) {
  for (std::uint8_t kind = k_min_kind; kind <= k_max_kind; ++kind) {
    if (name == k_kind_names[kind]) {
      return static_cast<KindMask>(1U << kind);
    }
  }
  return kinds_of_public_name(name);
}

bool CollectionMatcher::add(std::string_view text, WildcardRule rule) {
  constexpr std::string_view k_wildcard = ".*";
  if (is_nsid(text)) {
    names_.emplace(text);
    return true;
  }
  const bool taken = rule == WildcardRule::any_prefix
                         ? text.size() > k_wildcard.size() && text.ends_with(k_wildcard)
                         : is_collection_wildcard(text);
  if (!taken) {
    return false;
  }
  prefixes_.emplace_back(text.substr(0, text.size() - 1));
  return true;
}

bool CollectionMatcher::matches(std::string_view name) const {
  return empty() || names_.contains(name) ||
         std::ranges::any_of(prefixes_,
                             [&](const std::string& prefix) { return name.starts_with(prefix); });
}

Result<RowFilter> RowFilter::compile(const std::vector<std::string>& kinds,
                                     const std::vector<std::string>& dids,
                                     const std::vector<std::string>& collections,
                                     WildcardRule rule) {
  RowFilter filter;
  if (!kinds.empty()) {
    filter.has_kinds_ = true;
    filter.kinds_ = 0;
    for (const std::string& name : kinds) {
      const auto mask = kinds_of_name(name);
      if (!mask) {
        return fail(ErrorCode::invalid_argument, "kind", "no kind is named \"" + name + "\"");
      }
      filter.kinds_ |= *mask;
    }
  }
  for (const std::string& did : dids) {
    if (!is_did(did)) {
      return fail(ErrorCode::invalid_argument, "did", "not a DID: \"" + did + "\"");
    }
    if (filter.dids_.insert(did).second) {
      filter.did_keys_.push_back(BloomKey::of(did));
    }
  }
  for (const std::string& collection : collections) {
    if (!filter.collections_.add(collection, rule)) {
      return fail(ErrorCode::invalid_argument, "collection",
                  "neither an NSID nor an NSID prefix and .*: \"" + collection + "\"");
    }
  }
  return filter;
}

}  // namespace varve::jss
