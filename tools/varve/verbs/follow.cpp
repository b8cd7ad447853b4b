// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve follow`: the log, and then what is appended to it.
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "cli/exit_codes.hpp"
#include "serve/remote_http.hpp"
#include "verbs/scan_verb.hpp"
#include "verbs/verify_text.hpp"

namespace varve::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds k_shortest_wait{20};
constexpr std::chrono::milliseconds k_longest_wait{500};
// A writer may put another file in the place of one: so long a look may fail.
constexpr std::chrono::seconds k_patience{5};

// Names each finding once: a look at the store meets the same ones as the look before.
class NewFindings final : public FindingSink {
 public:
  NewFindings(FindingPrinter& printer) : printer_(printer) {}
  void add(Finding finding) override {
    // The end of a live log is not yet whole; the next look tells.
    if (finding.severity == Severity::error && finding.verdict == Verdict::torn) {
      return;
    }
    if (told_.size() < k_most && told_.emplace(finding.file, finding.offset, finding.code).second) {
      printer_.add(std::move(finding));
    }
  }

 private:
  static constexpr std::size_t k_most = 100'000;
  FindingPrinter& printer_;
  std::set<std::tuple<std::string, std::uint64_t, std::string>> told_;
};

// Where the last row that was printed stands.
struct Cursor {
  std::optional<std::uint64_t> next_seq;  // of formats with sequences
  std::uint64_t rows = 0;                 // of others: rows of the log so far...
  std::string first_line;                 // ...and the first of them, to know the log again
};

// Prints the rows behind the cursor and moves it on.
class FollowSink final : public BatchSink {
 public:
  FollowSink(Session& session, StoreView& view, const RenderOptions& render, Cursor& cursor,
             std::uint64_t& left, bool has_seq)
      : session_(session),
        view_(view),
        render_(render),
        cursor_(cursor),
        left_(left),
        has_seq_(has_seq) {}

  Result<bool> consume(Batch batch) override {
    std::string text;
    view_.render(Face::log, batch, render_, text);
    const int column = has_seq_ ? batch.schema->find("seq") : -1;
    std::size_t at = 0;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      const std::string_view line = std::string_view(text).substr(at, end - at);
      at = end;
      if (has_seq_) {
        cursor_.next_seq =
            batch.columns[static_cast<std::size_t>(column)].value<std::uint64_t>(row) + 1;
      } else if (!is_new(line)) {
        continue;
      }
      VARVE_ASSIGN(const bool more, session_.out().write(line));
      if (!more || --left_ == 0) {
        return false;
      }
    }
    return true;
  }
  bool restarted() const { return restarted_; }

 private:
  // Of a log without sequences: whether the row is behind those that were printed.
  bool is_new(std::string_view line) {
    const std::uint64_t ordinal = seen_++;
    if (ordinal == 0 && line != cursor_.first_line) {
      restarted_ = cursor_.rows != 0;
      cursor_.rows = 0;
      cursor_.first_line = line;
    }
    if (ordinal < cursor_.rows) {
      return false;
    }
    ++cursor_.rows;
    return true;
  }

  Session& session_;
  StoreView& view_;
  const RenderOptions& render_;
  Cursor& cursor_;
  std::uint64_t& left_;
  bool has_seq_;
  std::uint64_t seen_ = 0;
  bool restarted_ = false;
};

// Names, sizes and times of what lies in the store, two levels deep: whether a look is worth it.
void add_signature(const io::Directory& directory, int levels, std::string& out) {
  const auto entries = directory.list();
  if (!entries) {
    out += "?;";
    return;
  }
  for (const io::DirectoryEntry& entry : *entries) {
    const io::FileIdentity& identity = entry.identity;
    out += fmt::format("{}:{}:{}:{};", entry.name, identity.inode, identity.size_bytes,
                       identity.modified_ns);
    if (identity.type == io::FileType::directory && levels > 0) {
      if (const auto below = directory.open_directory(entry.name)) {
        add_signature(**below, levels - 1, out);
      }
    }
  }
}

std::string signature_of(io::FileSystem& files, const std::string& path) {
  constexpr int k_levels = 2;
  std::string out;
  const auto identity = files.identity_of(path);
  if (!identity) {
    return out;
  }
  if (identity->type == io::FileType::directory) {
    if (const auto directory = files.open_directory(path)) {
      add_signature(**directory, k_levels, out);
    }
    return out;
  }
  return fmt::format("{}:{}:{}", identity->inode, identity->size_bytes, identity->modified_ns);
}

// Worth another try: the store changed under the look.
bool passes(const Error& error) {
  return error.code == ErrorCode::locked ||
         (error.code == ErrorCode::io && error.system_errno == ENOENT);
}

class Follower {
 public:
  Follower(Session& session, Target target, std::size_t max_findings)
      : session_(session),
        target_(std::move(target)),
        printer_(session, target_.path, max_findings),
        findings_(printer_) {}

  Result<int> run() {
    VARVE_TRY(read_options());
    std::string signature;
    Clock::time_point last_news = Clock::now();
    std::chrono::milliseconds wait = k_shortest_wait;
    for (;;) {
      std::string now = signature_of(session_.context().files, target_.path);
      if (now != signature || now.empty()) {
        VARVE_ASSIGN(const bool settled, look());
        if (settled) {
          signature = std::move(now);
        }
        if (left_ == 0 || session_.out().closed_by_reader()) {
          return finish();
        }
        if (news_) {
          last_news = Clock::now();
          wait = k_shortest_wait;
        }
      }
      if (idle_exit_ && Clock::now() - last_news >= *idle_exit_) {
        return finish();
      }
      std::this_thread::sleep_for(wait);
      wait = std::min(wait * 2, k_longest_wait);
    }
  }

 private:
  Result<void> read_options() {
    const Arguments& arguments = session_.arguments();
    if (arguments.has("from")) {
      if (!target_.format->has_seq()) {
        return fail(
            ErrorCode::invalid_argument, "from",
            fmt::format("--from: {} records have no sequence numbers", target_.format->name()));
      }
      VARVE_ASSIGN(cursor_.next_seq, parse_count("from", arguments.value("from")));
    }
    if (arguments.has("limit")) {
      VARVE_ASSIGN(left_, parse_count("limit", arguments.value("limit")));
    }
    if (arguments.has("idle-exit")) {
      VARVE_ASSIGN(const std::uint64_t seconds,
                   parse_count("idle-exit", arguments.value("idle-exit")));
      idle_exit_ = std::chrono::seconds(std::min<std::uint64_t>(seconds, 1'000'000'000));
    }
    return {};
  }

  // One look from the cursor on. False if the store changed under it: look again.
  Result<bool> look() {
    const std::optional<std::uint64_t> seq_before = cursor_.next_seq;
    const std::uint64_t left_before = left_;
    auto looked = look_once();
    news_ = left_ != left_before || cursor_.next_seq != seq_before;
    session_.out().flush();
    if (looked) {
      failing_since_.reset();
      return true;
    }
    if (!passes(looked.error())) {
      return std::unexpected(std::move(looked).error());
    }
    const Clock::time_point now = Clock::now();
    if (!failing_since_ || news_) {
      failing_since_ = now;
    }
    if (now - *failing_since_ > k_patience) {
      return std::unexpected(std::move(looked).error());
    }
    return false;
  }

  Result<void> look_once() {
    VARVE_ASSIGN(const auto view, open_view(session_, target_));
    ScanRequest request;
    request.face = Face::log;
    request.predicate = target_.predicate;
    request.threads = target_.threads;
    request.max_memory_bytes = target_.max_memory_bytes;
    request.options = target_.options;
    if (cursor_.next_seq) {
      request.predicate.seq_first =
          std::max(*cursor_.next_seq, request.predicate.seq_first.value_or(0));
    }
    const RenderOptions render = render_options(session_, target_);
    FollowSink sink(session_, *view, render, cursor_, left_, target_.format->has_seq());
    VARVE_ASSIGN(const ScanSummary summary, view->scan(request, sink, findings_));
    if (sink.restarted()) {
      session_.message(target_.path + ": the log was rewritten; printed from its beginning");
    }
    if (summary.verdict != Verdict::torn) {
      verdict_ = worse(verdict_, summary.verdict);
    }
    return {};
  }

  Result<int> finish() {
    session_.out().flush();
    printer_.finish();
    return exit_code(verdict_);
  }

  Session& session_;
  Target target_;
  FindingPrinter printer_;
  NewFindings findings_;
  Cursor cursor_;
  std::uint64_t left_ = UINT64_MAX;
  std::optional<std::chrono::seconds> idle_exit_;
  std::optional<Clock::time_point> failing_since_;
  bool news_ = false;
  Verdict verdict_ = Verdict::clean;
};

Result<int> follow(Session& session, const std::string& path) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  if (serve::is_remote(path)) {
    return fail(ErrorCode::unsupported, "not_offered",
                "a remote archive is not followed; `varve mirror --watch` keeps a local copy of it "
                "that is",
                path);
  }
  VARVE_ASSIGN(Target target, locate_target(session, path));
  return Follower(session, std::move(target), limit).run();
}

int run_follow(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto code = follow(session, path);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_follow({
    .name = "follow",
    .group = Group::read,
    .order = 6,
    .summary = "print the log like `cat`, then what is appended to it",
    .description =
        "Prints the log, waits, and prints each record that a writer appends, once it is whole: "
        "through rotation, sealing and compaction. An unfinished last record is waited for, not "
        "complained about.\n\n"
        "Where records have no sequence numbers and the log is rewritten (a compaction, a fold), "
        "the new log is printed from its beginning, and stderr says so. It ends with Ctrl-C, "
        "with --limit, with --idle-exit, or when the reader closes the pipe.",
    .operands = {{"STORE", "file or directory of any format"}},
    .examples = {{"follow archive/ | jq .did", "all records, then each new one"},
                 {"follow --from 1000 archive/", "go on where an earlier run ended"}},
    .options = {{"from", "SEQ", "begin with this sequence number"},
                {"limit", "N", "end after so many records"},
                {"idle-exit", "SECONDS", "end when nothing came for so long"}},
    .shared = k_json_option | k_payload_option | k_findings_option | k_open_options,
    .run = run_follow,
});

}  // namespace

}  // namespace varve::cli
