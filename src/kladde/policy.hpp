// SPDX-License-Identifier: MIT OR Apache-2.0
// What a walk does with a fault: stop at the first (strict), or report it and go on.
#pragma once

#include <string>

#include "kladde/layout.hpp"
#include "varve/finding.hpp"
#include "varve/result.hpp"

namespace varve::kladde {

class Policy {
 public:
  static Policy strict(std::string path) { return Policy(std::move(path), nullptr); }
  // `sink` is not owned.
  static Policy report(FindingSink& sink) { return Policy({}, &sink); }

  // Strict: gives the finding back as an error. Report: hands it on.
  Result<void> complain(Finding finding) const {
    if (sink_ == nullptr) {
      Error error = to_error(finding);
      error.path = path_;
      if (finding.code == word::limit) {
        error.code = ErrorCode::limit;
      } else if (finding.code == word::not_kladde) {
        error.code = ErrorCode::not_a_store;
      }
      return std::unexpected(std::move(error));
    }
    sink_->add(std::move(finding));
    return {};
  }
  bool is_strict() const { return sink_ == nullptr; }

 private:
  Policy(std::string path, FindingSink* sink) : path_(std::move(path)), sink_(sink) {}
  std::string path_;
  FindingSink* sink_;
};

// An error finding about a whole page, or about `fault.offset` in it.
inline Finding page_finding(PageNumber page, const char* unit, const Fault& fault,
                            std::string message) {
  Finding finding;
  finding.code = fault.word;
  finding.offset = std::uint64_t{page} * k_page_bytes;
  finding.length = k_page_bytes;
  finding.unit = unit;
  finding.index = page;
  finding.expected = fault.expected;
  finding.actual = fault.actual;
  finding.message = std::move(message);
  return finding;
}

}  // namespace varve::kladde
