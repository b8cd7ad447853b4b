// SPDX-License-Identifier: MIT OR Apache-2.0
// What tests of every folder share: scratch directories, whole files, the shared fixtures, and the
// built program with its output captured.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Skips the running test where the shared specification data is not on this machine.
#define VARVE_REQUIRE_SHARED()                                                                   \
  do {                                                                                           \
    if (!::varve::test::shared_present()) {                                                      \
      GTEST_SKIP() << "the shared fixtures are absent (looked in " << VARVE_TEST_SHARED_DIR      \
                   << "); configure with -DVARVE_SHARED_DIR=... or set VARVE_SHARED_DIR to use " \
                      "them";                                                                    \
    }                                                                                            \
  } while (false)

namespace varve::test {

namespace fs = std::filesystem;

// The directory that holds `fixtures/` and `formats/`: the environment wins over the build.
inline fs::path shared_root() {
  const char* chosen = std::getenv("VARVE_SHARED_DIR");
  return chosen != nullptr && *chosen != '\0' ? fs::path(chosen) : fs::path(VARVE_TEST_SHARED_DIR);
}
inline bool shared_present() { return fs::is_directory(shared_root() / "fixtures"); }
// shared_path("fixtures/jss/active.jss")
inline fs::path shared_path(std::string_view relative) { return shared_root() / relative; }

// How often a random or exhaustive test goes round: `full`, or a sixteenth (at least once) where
// VARVE_TEST_SMALL is set, as `.ci/run` does for the sanitizers.
inline bool small_run() {
  const char* chosen = std::getenv("VARVE_TEST_SMALL");
  return chosen != nullptr && *chosen != '\0' && std::string_view(chosen) != "0";
}
inline std::uint64_t scaled(std::uint64_t full) {
  return small_run() ? std::max<std::uint64_t>(1, full / 16) : full;
}

// Which sanitizer the test was built with: their shadow counts as resident memory.
constexpr bool address_sanitized() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer);
#else
  return false;
#endif
}
constexpr bool thread_sanitized() {
#if defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
  return __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const fs::path& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

// The lines of a text, without their ends.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// A new empty directory that is removed, with all that is in it, when the object dies.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (fs::temp_directory_path() / "varve-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a scratch directory " + pattern);
    }
    path_ = pattern;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  fs::path operator/(const fs::path& relative) const { return path_ / relative; }

 private:
  fs::path path_;
};

// Copies a file or a directory tree to `to` (which must not exist) and makes the copy writable.
inline fs::path copy_tree(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto allow_writing = [](const fs::path& path) {
    if (!fs::is_symlink(path)) {
      fs::permissions(path, fs::perms::owner_write | fs::perms::owner_read, fs::perm_options::add);
    }
  };
  allow_writing(to);
  if (fs::is_directory(to)) {
    for (const auto& entry : fs::recursive_directory_iterator(to)) {
      allow_writing(entry.path());
    }
  }
  return to;
}

// One file's name, type, size, content and times, for "nothing was changed" checks.
inline std::string tree_snapshot(const fs::path& root) {
  std::vector<std::string> lines;
  const auto describe = [&](const fs::path& path) {
    std::string line = fs::relative(path, root).string();
    line += ' ' + std::to_string(fs::last_write_time(path).time_since_epoch().count()) + ' ';
    line += fs::is_directory(path) ? std::string("directory")
                                   : std::to_string(std::hash<std::string>{}(read_file(path))) +
                                         ' ' + std::to_string(fs::file_size(path));
    lines.push_back(std::move(line));
  };
  describe(root);
  if (fs::is_directory(root)) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      describe(entry.path());
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) {
    out += line + '\n';
  }
  return out;
}

struct RunOptions {
  std::string input;                                             // given on stdin
  std::vector<std::pair<std::string, std::string>> environment;  // added to the caller's
  fs::path directory;                                            // to run in; empty: here
  std::size_t stop_reading_after = SIZE_MAX;  // bytes of stdout after which the pipe is closed
};

struct RunResult {
  int exit_code = -1;  // 128 + number if a signal ended it
  std::string out;
  std::string err;
};

namespace detail {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe");
    }
    read_end = ends[0];
    write_end = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  static void close_end(int& end) {
    if (end >= 0) {
      ::close(std::exchange(end, -1));
    }
  }
};

// In the child: becomes the program. Never returns.
[[noreturn]] inline void become(const std::vector<std::string>& command, const RunOptions& options,
                                int in, int out, int err) {
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (const auto& [name, value] : options.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) {
    ::_exit(126);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

// Appends what is there to `text`; closes the end when there is no more.
inline void drain(int& end, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t n = ::read(end, buffer.data(), buffer.size());
  if (n > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  } else if (n == 0 || errno != EINTR) {
    Pipe::close_end(end);
  }
}

}  // namespace detail

// Runs a command to its end.
inline RunResult run_command(const std::vector<std::string>& command,
                             const RunOptions& options = {}) {
  detail::Pipe in;
  detail::Pipe out;
  detail::Pipe err;
  const pid_t child = ::fork();
  if (child < 0) {
    throw std::runtime_error("fork");
  }
  if (child == 0) {
    detail::become(command, options, in.read_end, out.write_end, err.write_end);
  }
  detail::Pipe::close_end(in.read_end);
  detail::Pipe::close_end(out.write_end);
  detail::Pipe::close_end(err.write_end);
  ::fcntl(in.write_end, F_SETFL, O_NONBLOCK);
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  RunResult result;
  std::size_t written = 0;
  while (out.read_end >= 0 || err.read_end >= 0) {
    if (in.write_end >= 0 && written == options.input.size()) {
      detail::Pipe::close_end(in.write_end);
    }
    std::array<pollfd, 3> waits{pollfd{out.read_end, POLLIN, 0}, pollfd{err.read_end, POLLIN, 0},
                                pollfd{in.write_end, POLLOUT, 0}};
    ::poll(waits.data(), waits.size(), -1);
    if (out.read_end >= 0 && waits[0].revents != 0) {
      detail::drain(out.read_end, result.out);
      if (result.out.size() >= options.stop_reading_after) {
        detail::Pipe::close_end(out.read_end);
      }
    }
    if (err.read_end >= 0 && waits[1].revents != 0) {
      detail::drain(err.read_end, result.err);
    }
    if (in.write_end >= 0 && waits[2].revents != 0) {
      const ssize_t n =
          ::write(in.write_end, options.input.data() + written, options.input.size() - written);
      if (n > 0) {
        written += static_cast<std::size_t>(n);
      } else if (errno != EINTR && errno != EAGAIN) {
        detail::Pipe::close_end(in.write_end);
      }
    }
  }
  std::signal(SIGPIPE, old_handler);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

// Runs the built program: run_tool({"verify", path}).
inline RunResult run_tool(std::vector<std::string> arguments, const RunOptions& options = {}) {
  arguments.insert(arguments.begin(), VARVE_TEST_TOOL);
  return run_command(arguments, options);
}

}  // namespace varve::test
