// SPDX-License-Identifier: MIT OR Apache-2.0
// What an arena must look like after a crash.
#pragma once

#include <string>
#include <vector>

#include "tests/exhaustive/every_call.hpp"
#include "tests/exhaustive/every_crash.hpp"
#include "tests/support.hpp"
#include "writer_support.hpp"

namespace varve::arena::test {

using varve::test::CallOptions;
using varve::test::CallOutcome;
using varve::test::Claim;
using varve::test::CrashOutcome;
using varve::test::every_call;
using varve::test::every_crash;
using varve::test::Promises;

inline io::CrashOptions crash_options() {
  io::CrashOptions options;
  options.max_candidates = varve::test::small_run() ? 400 : 20'000;
  return options;
}
inline CallOptions call_options() {
  CallOptions options;
  options.crash_candidates = varve::test::small_run() ? 2 : 8;
  options.stride = varve::test::small_run() ? 7 : 1;
  return options;
}

// How the reopened stores looked.
struct Tally {
  std::uint64_t opened = 0;
  std::uint64_t strict = 0;   // refused although nothing acknowledged is hurt (section 7.2)
  std::uint64_t consent = 0;  // opened, but appending waits for a word on frames behind the end
  std::string text() const {
    return std::to_string(opened + consent) + " opened, " + std::to_string(consent) +
           " of them with frames behind the end; " + std::to_string(strict) +
           " refused as section 7.2 says.";
  }
};

inline std::vector<base::ByteSpan> spans_of(const std::vector<std::string>& texts) {
  std::vector<base::ByteSpan> out;
  for (const std::string& text : texts) {
    out.push_back(base::as_bytes(text));
  }
  return out;
}

// Of some sectors now and then, so that a frame can lose its middle.
inline std::string crash_payload(std::uint64_t number) {
  return payload_text(number) + noise(number * 211 % 700, number);
}

// What is wrong with a log that must hold crash_payload(0), (1)..., or nothing.
inline std::string check_frames(const std::vector<LogFrame>& frames, std::uint64_t owed) {
  if (frames.size() < owed) {
    return "only " + std::to_string(frames.size()) + " frames of " + std::to_string(owed);
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].payload != crash_payload(i)) {
      return "frame " + std::to_string(i) + " is not what it was";
    }
  }
  return "";
}

// Opens, looks, goes on, and looks again.
inline std::string check_log(io::SimulatedFileSystem& files, const Geometry& geometry,
                             const Claim& claim, Tally& tally) {
  const std::uint64_t owed = claim.owed();
  std::vector<LogFrame> frames = read_log(files, "/arena", geometry);
  if (std::string problem = check_frames(frames, owed); !problem.empty()) {
    return problem;
  }
  auto journal = open_journal(files, "/arena", quiet_options(), geometry);
  if (!journal) {
    // The one case that a mere crash leads to: a write that lost a part in its middle.
    if (journal.error().reason != "corrupt-committed" || !claim.power_cut) {
      return "refused: " + journal.error().text();
    }
    ++tally.strict;
    return check_frames(read_log(files, "/arena", geometry), owed);
  }
  const std::string next = crash_payload(frames.size());
  if ((*journal)->opening().frames_behind_end) {
    ++tally.consent;
    if (append(**journal, next).error().reason != "frames-behind-end") {
      return "frames behind the end would be overwritten";
    }
    (*journal).reset();
    JournalOptions options = quiet_options();
    options.discard_frames_behind_end = true;
    journal = open_journal(files, "/arena", options, geometry);
    if (!journal) {
      return "refused with consent: " + journal.error().text();
    }
  } else {
    ++tally.opened;
  }
  if (!append(**journal, next) || !(*journal)->close()) {
    return "cannot be appended to";
  }
  frames = read_log(files, "/arena", geometry);
  if (std::string problem = check_frames(frames, owed + 1); !problem.empty()) {
    return "after an append: " + problem;
  }
  const auto view = open_view(files, "/arena", {}, geometry);
  const Verified seen = verify(*view);
  return seen.report.verdict == Verdict::clean && seen.words(Severity::warning).empty()
             ? ""
             : "after recovery: " + seen.words();
}

}  // namespace varve::arena::test
