// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/exit_codes.hpp"

#include <algorithm>
#include <array>

namespace varve::cli {

namespace {

constexpr std::array k_table{
    ExitCode{0, "done; the store, where one was read, is clean"},
    ExitCode{1,
             "torn: the log ends in an incomplete or unverifiable last unit; everything before it "
             "is proven"},
    ExitCode{2,
             "damage: a unit that was committed is hurt, or a rule of the format is broken; for "
             "`cat`, `export`, `sql`: something could not be read and was said on stderr; for "
             "`state`: the format refuses the log"},
    ExitCode{3, "cannot tell: unsupported version, dialect, encryption, a limit"},
    ExitCode{4, "`diff` found differences"},
    ExitCode{64, "wrong usage"},
    ExitCode{66, "no such path, or nothing of any known format"},
    ExitCode{70, "a bug in Varve"},
    ExitCode{73, "output cannot be created, or exists (nothing is overwritten without --force)"},
    ExitCode{74, "input/output error of the system"},
    ExitCode{75, "locked, or changing too fast: try later"},
    ExitCode{77, "no permission"},
    ExitCode{130, "interrupted by Ctrl-C (143: by SIGTERM)"},
};

constexpr std::array k_precedence{70, 74, 77, 66, 75, 64, 2, 3, 1, 0};

}  // namespace

std::span<const ExitCode> exit_codes() { return k_table; }

int combined_exit_code(int so_far, int next) {
  const auto rank = [](int code) {
    return std::find(k_precedence.begin(), k_precedence.end(), code) - k_precedence.begin();
  };
  return rank(next) < rank(so_far) ? next : so_far;
}

}  // namespace varve::cli
