// SPDX-License-Identifier: MIT OR Apache-2.0
// The exit codes of CONTRACT section 2, as a table and as a rule for several stores.
#pragma once

#include <span>
#include <string_view>

namespace varve::cli {

inline constexpr int k_done = 0;
inline constexpr int k_usage = 64;
inline constexpr int k_bug = 70;
inline constexpr int k_cannot_create = 73;
inline constexpr int k_system_error = 74;
inline constexpr int k_interrupted = 130;

struct ExitCode {
  int code;
  std::string_view meaning;
};
std::span<const ExitCode> exit_codes();

// The code of a run over several stores from the code so far (0 at the start) and the next one: the
// first of 70, 74, 77, 66, 75, 64 that occurred, else 2 before 3 before 1 before 0.
int combined_exit_code(int so_far, int next);

}  // namespace varve::cli
