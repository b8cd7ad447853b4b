// SPDX-License-Identifier: MIT OR Apache-2.0
// Case files: damage and what must be said about it, a line a case. README.md explains the form.
#pragma once

#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/damage/mutation.hpp"
#include "tests/exhaustive/sight.hpp"

namespace varve::test {

struct DamageCase {
  int line_number = 0;
  std::string store;   // as the `store` line above it names it
  std::string damage;  // in the language of mutation.hpp; empty: none
  std::string verdict;
  std::string code;                      // "*": any; "-": none
  std::optional<std::uint64_t> offset;   // of the first finding
  std::optional<std::uint64_t> records;  // lines of the log that are kept
};

struct CaseFile {
  std::string format;
  std::map<std::string, std::string> options;  // for opening
  std::vector<DamageCase> cases;
  std::string problem;  // what is wrong with the file itself
};

// Reads the expectation behind "->": VERDICT CODE [@OFFSET] [records=N].
inline bool parse_expectation(const std::string& text, DamageCase& out) {
  const auto words = Mutator::words_of(text);
  if (words.size() < 2) {
    return false;
  }
  out.verdict = words[0];
  out.code = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i].starts_with('@')) {
      out.offset = parse_number(words[i].substr(1));
      if (!out.offset) return false;
    } else if (words[i].starts_with("records=")) {
      out.records = parse_number(words[i].substr(8));
      if (!out.records) return false;
    } else {
      return false;
    }
  }
  return true;
}

inline CaseFile read_cases(std::istream& in) {
  CaseFile out;
  std::string line;
  std::string store;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto words = Mutator::words_of(line);
    if (words.empty() || words[0].starts_with('#')) {
      continue;
    }
    if (words[0] == "format" && words.size() == 2) {
      out.format = words[1];
    } else if (words[0] == "store" && words.size() == 2) {
      store = words[1];
    } else if (words[0] == "option" && words.size() == 3) {
      out.options[words[1]] = words[2];
    } else {
      const std::size_t arrow = line.find("->");
      DamageCase one;
      one.line_number = number;
      one.store = store;
      one.damage = line.substr(0, std::min(arrow, line.size()));
      if (arrow == std::string::npos || store.empty() ||
          !parse_expectation(line.substr(arrow + 2), one)) {
        out.problem = "line " + std::to_string(number) + " is not a case: " + line;
        return out;
      }
      out.cases.push_back(std::move(one));
    }
  }
  return out;
}

// The rows of `explain` over the whole store; empty if the format cannot say.
inline std::vector<ExplainRow> explain_rows(const Format& format, io::FileSystem& files,
                                            const std::string& path, const OpenOptions& options) {
  struct Collector final : ExplainSink {
    std::vector<ExplainRow> rows;
    bool add(ExplainRow row) override {
      rows.push_back(std::move(row));
      return true;
    }
  } sink;
  auto view = format.open(files, path, options);
  if (view) {
    FindingList findings;
    (void)(*view)->explain(ExplainRequest{}, sink, findings);
  }
  return sink.rows;
}

// Carries one case out on a copy of the store at `path` in `image`: what differs, or nothing.
inline std::string run_case(const Format& format, const io::simulated::Image& image,
                            const std::string& path, const DamageCase& one,
                            const std::map<std::string, std::string>& options) {
  io::SimulatedFileSystem files(image, {nullptr, false});
  OpenOptions open;
  open.threads = 1;
  open.options = options;
  Mutator mutator(files, path, [&] { return explain_rows(format, files, path, open); });
  if (const std::string problem = mutator.apply(one.damage); !problem.empty()) {
    return problem;
  }
  SightOptions sight_options;
  sight_options.options = options;
  sight_options.state = false;
  const Sight sight = look_at(format, files, path, sight_options);
  files.set_hook(nullptr);
  if (!mutator.live_problem().empty()) {
    return mutator.live_problem();
  }
  std::string wrong;
  const auto differs = [&](const std::string& what, const std::string& expected,
                           const std::string& actual) {
    wrong += (wrong.empty() ? "" : "; ") + what + " is " + actual + ", not " + expected;
  };
  if (to_text(sight.verdict) != one.verdict) {
    differs("the verdict", one.verdict, std::string(to_text(sight.verdict)));
  }
  const std::string code = sight.code.empty() ? "-" : sight.code;
  if (one.code != "*" && code != one.code) {
    differs("the code", one.code, code);
  }
  if (one.offset && sight.offset != *one.offset) {
    differs("the offset", std::to_string(*one.offset), std::to_string(sight.offset));
  }
  if (one.records && sight.log.size() != *one.records) {
    differs("the number of records", std::to_string(*one.records),
            std::to_string(sight.log.size()));
  }
  return wrong;
}

}  // namespace varve::test
