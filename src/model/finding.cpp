// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/finding.hpp"

#include <utility>

namespace varve {

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return "clean";
    case Verdict::torn:
      return "torn";
    case Verdict::unknown:
      return "unknown";
    case Verdict::damaged:
      return "damaged";
  }
  return "unknown";
}

std::string_view to_text(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return 0;
    case Verdict::torn:
      return 1;
    case Verdict::damaged:
      return 2;
    case Verdict::unknown:
      return 3;
  }
  return 3;
}

void FindingList::add(Finding finding) {
  switch (finding.severity) {
    case Severity::error:
      ++errors_;
      verdict_ = worse(verdict_, finding.verdict);
      break;
    case Severity::warning:
      ++warnings_;
      break;
    case Severity::note:
      ++notes_;
      break;
  }
  if (findings_.size() < limit_) {
    findings_.push_back(std::move(finding));
  }
}

namespace {

Verdict verdict_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::damaged:
      return Verdict::damaged;
    case ErrorCode::torn:
      return Verdict::torn;
    default:
      return Verdict::unknown;
  }
}

ErrorCode code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::torn:
      return ErrorCode::torn;
    case Verdict::unknown:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::damaged;
  }
}

}  // namespace

Finding to_finding(const Error& error) {
  Finding finding;
  finding.verdict = verdict_of(error.code);
  finding.code = error.reason;
  finding.file = error.path;
  finding.offset = error.offset;
  finding.length = error.length;
  finding.unit = error.unit;
  finding.expected = error.expected;
  finding.actual = error.actual;
  finding.message = error.message;
  return finding;
}

Error to_error(const Finding& finding) {
  Error error;
  error.code = code_of(finding.verdict);
  error.reason = finding.code;
  error.path = finding.file;
  error.offset = finding.offset;
  error.length = finding.length;
  error.unit = finding.unit;
  error.expected = finding.expected;
  error.actual = finding.actual;
  error.message = finding.message;
  return error;
}

}  // namespace varve
