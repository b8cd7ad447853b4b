// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/identifiers.hpp"

#include <algorithm>

namespace varve::jss {

namespace {

constexpr std::size_t k_max_nsid_bytes = 317;
constexpr std::size_t k_min_nsid_labels = 3;
constexpr std::size_t k_max_label_bytes = 63;
constexpr std::size_t k_max_filter_did_bytes = 2048;
constexpr std::string_view k_wildcard = ".*";

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }

bool is_label_length(std::string_view label) {
  return !label.empty() && label.size() <= k_max_label_bytes;
}

bool is_domain_label(std::string_view label) {
  return is_label_length(label) && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool is_name_label(std::string_view label) {
  return is_label_length(label) && is_letter(label.front()) &&
         std::ranges::all_of(label, is_alphanumeric);
}

// An NSID of `head` and, behind a dot, a last label of `last_bytes` bytes that is known to be good.
bool is_nsid_head(std::string_view head, std::size_t last_bytes) {
  if (head.size() + 1 + last_bytes > k_max_nsid_bytes || head.empty() || !is_letter(head.front())) {
    return false;
  }
  std::size_t labels = 1;
  for (;;) {
    const std::size_t dot = head.find('.');
    if (!is_domain_label(head.substr(0, dot))) {
      return false;
    }
    ++labels;
    if (dot == std::string_view::npos) {
      return labels >= k_min_nsid_labels;
    }
    head.remove_prefix(dot + 1);
  }
}

}  // namespace

bool is_nsid(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) {
    return false;
  }
  const std::string_view last = text.substr(dot + 1);
  return is_name_label(last) && is_nsid_head(text.substr(0, dot), last.size());
}

bool is_collection_wildcard(std::string_view text) {
  return text.ends_with(k_wildcard) &&
         is_nsid_head(text.substr(0, text.size() - k_wildcard.size()), 1);
}

bool is_did(std::string_view text) {
  constexpr std::string_view k_scheme = "did:";
  if (text.size() > k_max_filter_did_bytes || !text.starts_with(k_scheme)) {
    return false;
  }
  text.remove_prefix(k_scheme.size());
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 ||
      !std::ranges::all_of(text.substr(0, colon), is_lower)) {
    return false;
  }
  const std::string_view id = text.substr(colon + 1);
  return !id.empty() && id.back() != ':' && id.back() != '%' && std::ranges::all_of(id, [](char c) {
    return is_alphanumeric(c) || std::string_view("._:%-").find(c) != std::string_view::npos;
  });
}

}  // namespace varve::jss
