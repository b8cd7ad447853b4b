// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve torture`: writers killed on this machine's file system.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/open.hpp"
#include "terminal/numbers.hpp"
#include "verbs/torture_run.hpp"

namespace varve::cli {

namespace {

using Clock = std::chrono::steady_clock;
using terminal::counted;
using terminal::grouped;

constexpr std::uint64_t k_default_rounds = 50;
constexpr int k_lost = 2;

struct Settings {
  std::vector<const Format*> formats;
  TortureRequest request;
  std::optional<std::chrono::milliseconds> time;  // of each format
};

Result<std::vector<const Format*>> formats_of(const Session& session) {
  const std::string wanted = session.arguments().value("format");
  std::vector<const Format*> out;
  for (const Format* format : session.context().formats) {
    if ((wanted.empty() || format->name() == wanted) &&
        format->probe_record(0, torture_text(0, 0))) {
      out.push_back(format);
    }
  }
  if (out.empty()) {
    return fail(ErrorCode::unsupported, "not_offered", "no format here can be tortured");
  }
  return out;
}

Result<Settings> settings_of(const Session& session) {
  Settings settings;
  settings.request.directory = session.arguments().operands.front();
  VARVE_ASSIGN(settings.formats, formats_of(session));
  if (session.has("seed")) {
    VARVE_ASSIGN(settings.request.seed, parse_count("seed", session.arguments().value("seed")));
  } else {
    io::Environment& environment = session.context().environment;
    settings.request.seed = static_cast<std::uint64_t>(environment.now_us()) % 1'000'000'000;
  }
  settings.request.rounds = session.has("time") ? ~std::uint64_t{0} : k_default_rounds;
  if (session.has("rounds")) {
    VARVE_ASSIGN(settings.request.rounds,
                 parse_count("rounds", session.arguments().value("rounds")));
  }
  if (session.has("time")) {
    VARVE_ASSIGN(const std::uint64_t seconds,
                 parse_count("time", session.arguments().value("time")));
    settings.time = std::chrono::milliseconds(std::min<std::uint64_t>(seconds, 1'000'000'000) *
                                              1000 / settings.formats.size());
  }
  if (settings.request.rounds == 0 || (settings.time && settings.time->count() == 0)) {
    return fail(ErrorCode::invalid_argument, "rounds", "--rounds and --time: at least 1 is wanted");
  }
  return settings;
}

std::string again(const Settings& settings, const Format& format, const TortureResult& result) {
  return fmt::format("varve torture --format {} --seed {} --rounds {} {}", format.name(),
                     settings.request.seed, result.rounds, settings.request.directory);
}

void say(Session& session, const Settings& settings, const Format& format,
         const TortureResult& result) {
  session.out().print(fmt::format(
      "{:<7} {}: {} killed, {} acknowledged, {} found, {} torn; {}\n", format.name(),
      counted(result.rounds, "round"), counted(result.kills, "writer"),
      counted(result.acknowledged, "record"), grouped(result.found), grouped(result.torn),
      result.failure.empty() ? "nothing lost" : session.style().bold("FAILED")));
  if (!result.failure.empty()) {
    session.out().print(fmt::format("  {}\n  store kept: {}\n  again: {}\n", result.failure,
                                    result.kept, again(settings, format, result)));
  }
  session.out().flush();
}

Json document(const Settings& settings, const Format& format, const TortureResult& result) {
  Json json = Json::object();
  json.set("format", format.name())
      .set("rounds", result.rounds)
      .set("writers_killed", result.kills)
      .set("acknowledged", result.acknowledged)
      .set("found", result.found)
      .set("torn", result.torn);
  json.set("failure", result.failure.empty() ? Json() : Json(result.failure));
  if (!result.failure.empty()) {
    json.set("kept", result.kept).set("again", again(settings, format, result));
  }
  return json;
}

Result<int> run(Session& session) {
  VARVE_ASSIGN(const Settings settings, settings_of(session));
  io::FileSystem& files = session.context().files;
  VARVE_TRY(files.make_directories(settings.request.directory));
  const SignalGuard guard;
  bool lost = false;
  Json results = Json::array();
  for (const Format* format : settings.formats) {
    TortureRequest request = settings.request;
    const auto end = Clock::now() + settings.time.value_or(std::chrono::milliseconds(0));
    request.finished = [&] {
      return SignalGuard::pending() != 0 || (settings.time && Clock::now() >= end);
    };
    VARVE_ASSIGN(const TortureResult result, torture(files, *format, request));
    lost = lost || !result.failure.empty();
    if (session.json()) {
      results.push(document(settings, *format, result));
    } else {
      say(session, settings, *format, result);
    }
    if (SignalGuard::pending() != 0) {
      break;
    }
  }
  if (session.json()) {
    session.print_json(Json::object()
                           .set("schema", "varve.torture/1")
                           .set("directory", settings.request.directory)
                           .set("seed", settings.request.seed)
                           .set("verdict", lost ? "failed" : "nothing_lost")
                           .set("formats", results));
  } else {
    session.out().print(
        lost ? "failed: see above\n"
             : fmt::format("nothing acknowledged was lost (seed {})\n", settings.request.seed));
  }
  const int signal = SignalGuard::pending();
  return lost ? k_lost : signal != 0 ? 128 + signal : k_done;
}

int run_torture(Session& session) {
  const auto code = run(session);
  return code ? *code : session.report(code.error(), session.arguments().operands.front());
}

const Registration k_torture({
    .name = "torture",
    .group = Group::other,
    .order = 0,
    .summary = "kill writers on this machine's file system and look at what they left",
    .description =
        "Makes stores in DIR. Child processes append to them, make each batch durable and say so; "
        "SIGKILL ends them at random moments: while they open, recover, compact, write or sync. "
        "After each kill the store is verified and read. Everything that was acknowledged must be "
        "there, whatever is there must be the records in their order, and verify must find clean "
        "or torn. Then the next writer takes the store over.\n\n"
        "The exit code is 0 only if nothing acknowledged was lost, else 2; then the store is kept, "
        "and a line says how to repeat the run. The same seed gives the same records and plans, "
        "but the moment of a kill is the machine's: repeat a few times. A killed process loses "
        "nothing that the system holds in memory; power cuts are what the tests enumerate "
        "(docs/testing.md).",
    .operands = {{"DIR", "a directory on the file system in question; made if missing"}},
    .examples = {{"torture /mnt/new-disk", "50 rounds of each format"},
                 {"torture --format tay --time 600 scratch", "ten minutes of one format"}},
    .options = {{"rounds", "N", "rounds of each format (default 50; with --time: no limit)"},
                {"time", "SECONDS", "stop after this long, all formats together"},
                {"seed", "N", "of the records and plans (default: from the clock)"}},
    .shared = k_json_option | k_open_options,
    .run = run_torture,
});

}  // namespace

}  // namespace varve::cli
