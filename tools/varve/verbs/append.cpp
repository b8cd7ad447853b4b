// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve append`: JSON Lines from stdin into a store.
#include <fmt/format.h>

#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/open.hpp"
#include "output/report_json.hpp"
#include "terminal/numbers.hpp"
#include "verbs/line_reader.hpp"

namespace varve::cli {

namespace {

constexpr std::uint64_t k_default_batch = 1000;
// Records that wait for a batch to fill are made durable after this long without input.
constexpr int k_idle_ms = 1000;

// Feeds lines to an appender and keeps count of what is durable.
class Feed {
 public:
  Feed(Session& session, Appender& appender, SyncMode mode, std::uint64_t batch)
      : session_(session), appender_(appender), mode_(mode), batch_(batch) {}

  Result<void> take(std::string_view line) {
    VARVE_TRY(appender_.append_line(line));
    ++appended_;
    ++pending_;
    return pending_ >= (mode_ == SyncMode::each ? 1 : batch_) ? settle() : Result<void>();
  }

  // Makes what is pending durable, or with --sync none hands it to the system. A transaction whose
  // end has not come waits.
  Result<void> settle() {
    if (pending_ <= appender_.held()) {
      return {};
    }
    if (mode_ == SyncMode::none) {
      VARVE_TRY(appender_.flush());
    } else {
      VARVE_ASSIGN(const std::uint64_t acknowledged, appender_.sync());
      durable_ = appended();
      if (session_.has("ack")) {
        session_.out().print(
            Json::object().set("acknowledged", acknowledged).text(session_.int64_as_string()) +
            '\n');
        session_.out().flush();
      }
    }
    pending_ = appender_.held();
    return {};
  }

  // The input has ended as it should.
  Result<void> finish() {
    VARVE_TRY(appender_.end_of_input());
    return settle();
  }

  // What is in the store, or will be once it is settled.
  std::uint64_t appended() const { return appended_ - appender_.held(); }
  std::uint64_t durable() const { return durable_; }

 private:
  Session& session_;
  Appender& appender_;
  SyncMode mode_;
  std::uint64_t batch_;
  std::uint64_t appended_ = 0;
  std::uint64_t durable_ = 0;
  std::uint64_t pending_ = 0;
};

Error at_line(Error error, std::uint64_t line) {
  if (error.code == ErrorCode::invalid_argument) {
    error.path = "standard input";
    error.message =
        fmt::format("line {}: {}", line, error.message.empty() ? error.reason : error.message);
  }
  return error;
}

// Reads to the end of the input, to a fault, or to a signal.
Result<void> feed_all(Feed& feed, LineReader& lines) {
  for (;;) {
    VARVE_ASSIGN(const LineReader::Event event, lines.next(k_idle_ms));
    switch (event.kind) {
      case LineReader::Kind::line:
        if (event.line.find_first_not_of(" \t\r") == std::string_view::npos) {
          break;
        }
        if (auto taken = feed.take(event.line); !taken) {
          return std::unexpected(at_line(std::move(taken).error(), lines.line_number()));
        }
        break;
      case LineReader::Kind::idle:
        VARVE_TRY(feed.settle());
        break;
      case LineReader::Kind::interrupted:
      case LineReader::Kind::end:
        return {};
    }
    if (SignalGuard::pending() != 0) {
      return {};
    }
  }
}

struct Settings {
  SyncMode mode = SyncMode::batch;
  std::uint64_t batch = k_default_batch;
};

Result<Settings> settings_of(const Session& session) {
  Settings settings;
  const std::string mode = session.arguments().value("sync", "batch");
  settings.mode = mode == "each"   ? SyncMode::each
                  : mode == "none" ? SyncMode::none
                                   : SyncMode::batch;
  if (session.has("batch")) {
    VARVE_ASSIGN(settings.batch, parse_count("batch", session.arguments().value("batch")));
    if (settings.batch == 0) {
      return fail(ErrorCode::invalid_argument, "batch", "--batch 0: at least 1 is wanted");
    }
  }
  return settings;
}

// `failed`: writing or syncing did. Then only what was made durable is known to be in the store.
void say_result(Session& session, const Target& target, const Appender& appender, const Feed& feed,
                SyncMode mode, bool failed) {
  WriteReport report;
  report.actions.assign(appender.opening().begin(), appender.opening().end());
  if (session.json()) {
    report.detail.set("appended", failed ? feed.durable() : feed.appended());
    report.detail.set("durable", feed.durable());
    session.print_json(output::write_json("append", target.path, target.format->name(), report));
    return;
  }
  for (const WriteReport::Action& action : report.actions) {
    session.message(fmt::format("{}: when opened: {}, {} at byte {}, {}", target.path, action.what,
                                terminal::counted(action.length, "byte"), action.offset,
                                action.file));
  }
  if (failed) {
    session.message(fmt::format("{}: {} durable; what is in the store of {} more is unknown",
                                target.path, terminal::counted(feed.durable(), "record"),
                                terminal::grouped(feed.appended() - feed.durable())));
    return;
  }
  session.message(fmt::format("{}: appended {}, {}", target.path,
                              terminal::counted(feed.appended(), "record"),
                              mode == SyncMode::none ? "not synced"
                              : feed.durable() == feed.appended()
                                  ? "all durable"
                                  : fmt::format("{} durable", terminal::grouped(feed.durable()))));
}

Result<int> append(Session& session, const std::string& path) {
  VARVE_ASSIGN(const Settings settings, settings_of(session));
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  const SignalGuard guard;
  VARVE_ASSIGN(const auto appender,
               target.format->open_appender(session.context().files, target.path,
                                            write_request(session, target)));
  Feed feed(session, *appender, settings.mode, settings.batch);
  LineReader lines(session.context().input, target.max_memory_bytes);
  auto done = feed_all(feed, lines);
  // A bad line ends the input, but what came before it is kept.
  Result<void> settled;
  const bool usable = done || done.error().code == ErrorCode::invalid_argument;
  if (usable) {
    // An interrupted input may have stopped within a transaction.
    settled = done && SignalGuard::pending() == 0 ? feed.finish() : feed.settle();
    if (settled) {
      settled = appender->close();
    }
  }
  say_result(session, target, *appender, feed, settings.mode, !usable || !settled);
  if (!done) {
    return std::unexpected(std::move(done).error());
  }
  if (!settled) {
    return std::unexpected(std::move(settled).error());
  }
  if (const int signal = SignalGuard::pending(); signal != 0) {
    session.message("interrupted; what is reported above is in the store");
    return 128 + signal;
  }
  return k_done;
}

int run_append(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto code = append(session, path);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_append({
    .name = "append",
    .group = Group::write,
    .order = 2,
    .summary = "append JSON Lines from stdin",
    .description =
        "Reads records from stdin, one JSON object a line, in the shape that `varve cat` prints, "
        "and appends them. Derived keys and `at` are ignored. The input is never held in "
        "memory.\n\n"
        "--sync each makes every record durable before the next is read; batch (the default) does "
        "so every --batch records, at the end, and after a second without input; none leaves it to "
        "the system. --ack prints {\"acknowledged\":N} after each sync: N records in all are "
        "safe. A line that is no record ends the run with code 64; what came before it is kept. "
        "Ctrl-C syncs what was read, then ends with 130.",
    .operands = {{"STORE", "an existing store"}},
    .examples = {{"append events.jss < new.jsonl", "append a file of records"},
                 {"append --sync each --ack jobs/ < new.jsonl",
                  "durable one by one, with receipts"},
                 {"cat a.jss | varve append b.jss", "copy a log"}},
    .options = {{"sync", "WHEN", "when records are made durable (default batch)", 0, false,
                 "each batch none"},
                {"batch", "N", "records to a batch (default 1000)"},
                {"ack", "", "print {\"acknowledged\":N} after each sync"}},
    .shared = k_json_option | k_open_options,
    .run = run_append,
});

}  // namespace

}  // namespace varve::cli
