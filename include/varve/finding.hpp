// SPDX-License-Identifier: MIT OR Apache-2.0
// Findings: damage and oddities that a checker met. They are data, not errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/result.hpp"

namespace varve {

// CONTRACT section 4. Ordered so that the worse verdict is the greater value, except that callers
// must use `worse` (damage wins over unknown, unknown over torn).
enum class Verdict : std::uint8_t { clean, torn, unknown, damaged };

enum class Severity : std::uint8_t { note, warning, error };

std::string_view to_text(Verdict verdict);
std::string_view to_text(Severity severity);
int exit_code(Verdict verdict);  // 0 clean, 1 torn, 2 damaged, 3 unknown
constexpr Verdict worse(Verdict a, Verdict b) { return a < b ? b : a; }

struct Finding {
  Severity severity = Severity::error;
  Verdict verdict = Verdict::damaged;  // meaning only for errors; warnings and notes print null
  std::string code;                    // the format's own reason word (CONTRACT section 4)
  std::string kind;                    // tay's refusal kind; empty elsewhere
  std::string stage;                   // jss: open, decode or verify; empty elsewhere
  std::string file;                    // relative to the store; empty if the store is the file
  std::uint64_t offset = 0;            // where the damaged unit begins, unless the spec differs
  std::uint64_t length = 0;
  std::string unit;                    // "record", "block"...
  std::optional<std::uint64_t> index;  // ordinal of the unit in its file
  Number expected;
  Number actual;
  std::string message;
};

// Receives findings as they are met, in log order. Implementations must be cheap: a checker calls
// this from the thread that delivers in order, never from several threads at once.
class FindingSink {
 public:
  virtual ~FindingSink() = default;
  virtual void add(Finding finding) = 0;
};

// Keeps the first `limit` findings and counts the rest, by severity.
class FindingList final : public FindingSink {
 public:
  explicit FindingList(std::size_t limit = 10'000) : limit_(limit) {}
  void add(Finding finding) override;

  const std::vector<Finding>& findings() const { return findings_; }
  std::vector<Finding>& findings() { return findings_; }
  std::uint64_t total() const { return errors_ + warnings_ + notes_; }
  std::uint64_t errors() const { return errors_; }
  std::uint64_t warnings() const { return warnings_; }
  std::uint64_t notes() const { return notes_; }
  bool truncated() const { return total() > findings_.size(); }
  // The worst verdict of all error findings seen, also of those not kept.
  Verdict verdict() const { return verdict_; }

 private:
  std::size_t limit_;
  std::vector<Finding> findings_;
  std::uint64_t errors_ = 0;
  std::uint64_t warnings_ = 0;
  std::uint64_t notes_ = 0;
  Verdict verdict_ = Verdict::clean;
};

// An Error as the finding it stands for (severity error; verdict by code), and the reverse.
Finding to_finding(const Error& error);
Error to_error(const Finding& finding);

}  // namespace varve
