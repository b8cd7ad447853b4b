// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs the text scripts in tests/cli/cases/. A script is a list of commands with what they print:
//
//   # a comment
//   needs shared                  skip the script where the shared fixtures are absent
//   $ varve verify $SHARED/...    run by bash in a scratch directory; stdout is compared with the
//                                 lines that follow, up to a blank line:
//     damaged  {{.*}}             a line as it is, {{...}} holding a regular expression
//     ...                         any number of lines
//   ! text                        stderr contains this; without any such line stderr must be empty
//   = 2                           the exit code, 0 if not given
//
// Printed lines are indented by two spaces; a printed blank line is two spaces and nothing else. In
// commands `varve` is the built program, SHARED the shared data, CHECK the schema checker.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "tests/support.hpp"

namespace varve::test {
namespace {

struct Step {
  int line_number = 0;
  std::string command;
  std::vector<std::string> printed;
  std::vector<std::string> complaints;
  int exit_code = 0;
};

struct Script {
  bool needs_shared = false;
  std::vector<Step> steps;
};

Script read_script(const fs::path& path) {
  Script script;
  std::istringstream in(read_file(path));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line == "needs shared") {
      script.needs_shared = true;
    } else if (line.starts_with("$ ")) {
      script.steps.push_back({number, line.substr(2), {}, {}, 0});
    } else if (line.empty() || line.starts_with("#")) {
      continue;
    } else if (script.steps.empty()) {
      throw std::runtime_error("line " + std::to_string(number) + " stands before any command");
    } else if (line.starts_with("  ")) {
      script.steps.back().printed.push_back(line.substr(2));
    } else if (line.starts_with("! ")) {
      script.steps.back().complaints.push_back(line.substr(2));
    } else if (line.starts_with("= ")) {
      script.steps.back().exit_code = std::stoi(line.substr(2));
    } else {
      throw std::runtime_error("line " + std::to_string(number) + " is not understood: " + line);
    }
  }
  return script;
}

// A line of a script as a regular expression.
std::regex pattern_of(const std::string& line) {
  std::string out;
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t open = std::min(line.find("{{", at), line.size());
    for (; at < open; ++at) {
      if (std::string_view("\\^$.|?*+()[]{}").find(line[at]) != std::string_view::npos) {
        out += '\\';
      }
      out += line[at];
    }
    if (open < line.size()) {
      const std::size_t close = line.find("}}", open);
      out += '(' + line.substr(open + 2, close - open - 2) + ')';
      at = close + 2;
    }
  }
  return std::regex(out);
}

bool lines_match(const std::vector<std::string>& wanted, std::size_t i,
                 const std::vector<std::string>& got, std::size_t j) {
  for (; i < wanted.size(); ++i, ++j) {
    if (wanted[i] == "...") {
      for (std::size_t skip = j; skip <= got.size(); ++skip) {
        if (lines_match(wanted, i + 1, got, skip)) {
          return true;
        }
      }
      return false;
    }
    if (j >= got.size() || !std::regex_match(got[j], pattern_of(wanted[i]))) {
      return false;
    }
  }
  return j == got.size();
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

class Case : public testing::TestWithParam<std::string> {};

TEST_P(Case, PrintsWhatTheScriptSays) {
  const fs::path path = fs::path(VARVE_TEST_SOURCE_DIR) / "tests/cli/cases" / (GetParam() + ".txt");
  const Script script = read_script(path);
  if (script.needs_shared) {
    VARVE_REQUIRE_SHARED();
  }
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "bin");
  fs::create_symlink(VARVE_TEST_TOOL, scratch / "bin/varve");
  fs::create_directory(scratch / "work");
  RunOptions options;
  options.directory = scratch / "work";
  options.environment = {
      {"PATH", (scratch / "bin").string() + ":" + std::getenv("PATH")},
      {"SHARED", shared_root().string()},
      {"CHECK", std::string(VARVE_TEST_SOURCE_DIR) + "/tests/cli/check_json.py"}};
  for (const Step& step : script.steps) {
    const RunResult result = run_command({"bash", "-o", "pipefail", "-c", step.command}, options);
    const std::string place =
        GetParam() + ".txt:" + std::to_string(step.line_number) + ": $ " + step.command;
    EXPECT_EQ(result.exit_code, step.exit_code) << place << '\n' << result.err;
    EXPECT_TRUE(lines_match(step.printed, 0, split_lines(result.out), 0)) << place << "\nprinted:\n"
                                                                          << result.out;
    for (const std::string& complaint : step.complaints) {
      EXPECT_THAT(result.err, testing::HasSubstr(complaint)) << place;
    }
    if (step.complaints.empty()) {
      EXPECT_EQ(result.err, "") << place;
    }
  }
}

std::vector<std::string> script_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(VARVE_TEST_SOURCE_DIR) / "tests/cli/cases")) {
    if (entry.path().extension() == ".txt") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Scripts, Case, testing::ValuesIn(script_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(CaseRunner, NoticesDifferences) {
  EXPECT_TRUE(lines_match({"a {{[0-9]+}} b", "...", "z"}, 0, {"a 12 b", "x", "y", "z"}, 0));
  EXPECT_TRUE(lines_match({"...", "z"}, 0, {"z"}, 0));
  EXPECT_FALSE(lines_match({"a {{[0-9]+}} b"}, 0, {"a  b"}, 0));
  EXPECT_FALSE(lines_match({"a.c"}, 0, {"abc"}, 0));
  EXPECT_FALSE(lines_match({"a"}, 0, {"a", "b"}, 0));
  EXPECT_FALSE(lines_match({"a", "b"}, 0, {"a"}, 0));
}

}  // namespace
}  // namespace varve::test
