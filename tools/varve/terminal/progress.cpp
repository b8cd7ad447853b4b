// SPDX-License-Identifier: MIT OR Apache-2.0
#include "terminal/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "terminal/numbers.hpp"
#include "terminal/style.hpp"
#include "varve/json.hpp"

namespace varve::terminal {

namespace {

// Work that is done sooner than this needs no progress line.
constexpr std::chrono::milliseconds k_first_after{700};
constexpr std::chrono::milliseconds k_line_interval{100};
constexpr std::chrono::milliseconds k_json_interval{500};

}  // namespace

ProgressMode progress_mode(std::string_view when, bool error_is_terminal) {
  if (when == "json") {
    return ProgressMode::json;
  }
  return when != "never" && error_is_terminal ? ProgressMode::line : ProgressMode::never;
}

Progress::Progress(OutputStream& err, ProgressMode mode, std::string verb, std::string path)
    : err_(err), mode_(mode), verb_(std::move(verb)), path_(std::move(path)) {}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

bool Progress::due() {
  if (mode_ == ProgressMode::never) {
    return false;
  }
  const Clock::time_point now = Clock::now();
  const auto interval = mode_ == ProgressMode::json ? k_json_interval : k_line_interval;
  if (now - shown_ < interval || (mode_ == ProgressMode::line && now - start_ < k_first_after)) {
    return false;
  }
  shown_ = now;
  return true;
}

void Progress::show(std::string line) {
  const auto width = static_cast<std::size_t>(terminal_width(err_.descriptor()) - 1);
  if (line.size() > width) {
    line.resize(width);
  }
  err_.print("\r" + line + "\x1b[K");
  err_.flush();
  line_shown_ = true;
}

void Progress::update_rows(std::uint64_t rows) {
  if (!due()) {
    return;
  }
  const double seconds = elapsed_s();
  if (mode_ == ProgressMode::json) {
    err_.print(Json::object()
                   .set("schema", "varve.progress/1")
                   .set("verb", verb_)
                   .set("path", path_)
                   .set("done_rows", rows)
                   .set("elapsed_s", seconds)
                   .text() +
               '\n');
    err_.flush();
    return;
  }
  show(fmt::format("{} {}: {}, {}/s", verb_, printable(path_), counted(rows, "row"),
                   grouped(static_cast<std::uint64_t>(static_cast<double>(rows) / seconds))));
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (!due()) {
    return;
  }
  const double seconds = elapsed_s();
  if (mode_ == ProgressMode::json) {
    Json json = Json::object();
    json.set("schema", "varve.progress/1")
        .set("verb", verb_)
        .set("path", path_)
        .set("done_bytes", done)
        .set("total_bytes", total)
        .set("elapsed_s", seconds);
    err_.print(json.text() + '\n');
    err_.flush();
    return;
  }
  const double rate = static_cast<double>(done) / seconds;
  std::string line =
      fmt::format("{} {}: {} of {}", verb_, printable(path_),
                  human_bytes(static_cast<double>(done)), human_bytes(static_cast<double>(total)));
  if (total > 0 && done > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const double left_s = seconds * (1 - share) / share;
    line += fmt::format(", {:.0f} %, {}/s, {} left", share * 100, human_bytes(rate),
                        human_seconds(left_s));
  }
  show(std::move(line));
}

void Progress::finish() {
  if (line_shown_) {
    err_.print("\r\x1b[K");
    err_.flush();
    line_shown_ = false;
  }
}

}  // namespace varve::terminal
