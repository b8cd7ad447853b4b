// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/torture_writer.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <thread>

#include "verbs/torture_run.hpp"

namespace varve::cli {

namespace {

// A writer that says nothing for this long hangs.
constexpr int k_silence_ms = 120'000;

// The child's side of the pipe: one letter and a number, or a text, a line. Lines are far shorter
// than PIPE_BUF, so that each is there whole or not at all.
class Voice {
 public:
  explicit Voice(int pipe) : pipe_(pipe) {}
  void say(char letter, const std::string& text) const {
    const std::string line = letter + text + '\n';
    if (::write(pipe_, line.data(), line.size()) < 0) {
      ::_exit(1);  // nobody listens
    }
  }

 private:
  int pipe_;
};

Result<void> keep_up(io::FileSystem& files, const Format& format, const std::string& path,
                     const std::string& upkeep) {
  const WriteRequest request;
  const auto done = upkeep == "compact"   ? format.compact(files, path, request)
                    : upkeep == "seal"    ? format.seal(files, path, request)
                    : upkeep == "recover" ? format.recover(files, path, request)
                                          : Result<WriteReport>();
  if (!done && done.error().code != ErrorCode::unsupported) {
    return std::unexpected(done.error());
  }
  return {};
}

Result<void> write_records(io::FileSystem& files, const Format& format, const std::string& path,
                           const WriterPlan& plan, const Voice& voice) {
  VARVE_TRY(keep_up(files, format, path, plan.upkeep));
  VARVE_ASSIGN(const auto appender, format.open_appender(files, path, {}));
  std::uint64_t number = plan.first;
  for (const std::uint64_t end = plan.first + plan.records; number < end;) {
    const std::uint64_t until = std::min(end, number + plan.batch);
    voice.say('b', std::to_string(until));
    for (; number < until; ++number) {
      const auto record = format.probe_record(number, torture_text(plan.seed, number));
      VARVE_TRY(appender->append_line(record->line));
    }
    VARVE_TRY(appender->sync());
    voice.say('a', std::to_string(number));
  }
  return appender->close();
}

[[noreturn]] void live_as_writer(io::FileSystem& files, const Format& format,
                                 const std::string& path, const WriterPlan& plan, int pipe) {
  const Voice voice(pipe);
  try {
    const auto done = write_records(files, format, path, plan, voice);
    if (!done) {
      voice.say('e', done.error().text());
    }
    ::_exit(done ? 0 : 1);
  } catch (const std::exception& error) {
    voice.say('e', std::string("exception: ") + error.what());
    ::_exit(1);
  }
}

// The parent's side.
class Listener {
 public:
  Listener(int pipe, WriterEnd& end) : pipe_(pipe), end_(end) {}
  ~Listener() { ::close(pipe_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  enum class News : std::uint8_t { some, end, silence };
  News listen(int timeout_ms) {
    pollfd wanted{pipe_, POLLIN, 0};
    if (::poll(&wanted, 1, timeout_ms) == 0) {
      return News::silence;
    }
    char buffer[4096];
    const ssize_t got = ::read(pipe_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      return News::some;
    }
    if (got <= 0) {
      return News::end;
    }
    text_.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t line = 0; (line = text_.find('\n')) != std::string::npos;
         text_.erase(0, line + 1)) {
      take(text_.substr(0, line));
    }
    return News::some;
  }
  std::uint64_t acknowledgements() const { return acknowledgements_; }

 private:
  void take(const std::string& line) {
    if (line.front() == 'e') {
      end_.failure = "the writer's call failed: " + line.substr(1);
      return;
    }
    std::uint64_t number = 0;
    std::from_chars(line.data() + 1, line.data() + line.size(), number);
    if (line.front() == 'b') {
      end_.begun = number;
    } else {
      end_.acknowledged = number;
      ++acknowledgements_;
    }
  }

  int pipe_;
  WriterEnd& end_;
  std::string text_;
  std::uint64_t acknowledgements_ = 0;
};

void kill_as_planned(pid_t child, Listener& listener, const WriterKill& kill, WriterEnd& end) {
  auto news = Listener::News::some;
  while (news == Listener::News::some &&
         listener.acknowledgements() < kill.after_acknowledgements) {
    news = listener.listen(k_silence_ms);
  }
  if (news == Listener::News::silence) {
    end.failure = "the writer has said nothing for two minutes";
  }
  if (news == Listener::News::some) {
    std::this_thread::sleep_for(kill.and_then);
  }
  ::kill(child, SIGKILL);
  while (listener.listen(-1) == Listener::News::some) {
  }
}

}  // namespace

Result<WriterEnd> run_writer(io::FileSystem& files, const Format& format, const std::string& path,
                             const WriterPlan& plan, const WriterKill& kill) {
  int pipe[2];
  if (::pipe(pipe) != 0) {
    return fail_errno(errno, "pipe", path);
  }
  const pid_t child = ::fork();
  if (child < 0) {
    const int number = errno;
    ::close(pipe[0]);
    ::close(pipe[1]);
    return fail_errno(number, "fork", path);
  }
  if (child == 0) {
    ::close(pipe[0]);
    live_as_writer(files, format, path, plan, pipe[1]);
  }
  ::close(pipe[1]);
  WriterEnd end;
  end.acknowledged = plan.first;
  end.begun = plan.first;
  Listener listener(pipe[0], end);
  kill_as_planned(child, listener, kill, end);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (!end.killed && end.failure.empty() && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
    end.failure = fmt::format("the writer ended with wait status {:#x}", status);
  }
  return end;
}

}  // namespace varve::cli
