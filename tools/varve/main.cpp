// SPDX-License-Identifier: MIT OR Apache-2.0
#include <string>
#include <vector>

#include "cli/interrupt.hpp"
#include "cli/session.hpp"

int main(int argc, char** argv) {
  varve::cli::set_up_signals();
  const varve::cli::Context context{varve::formats(), varve::io::posix_file_system(),
                                    varve::io::system_environment()};
  return varve::cli::run(context, std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
