// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <utility>

namespace varve::cli {

namespace {

// Read and written by the handler: lock-free atomics only.
std::atomic<bool> g_guarded{false};
std::atomic<int> g_pending{0};
std::atomic<const char*> g_doomed{nullptr};  // of the RemoveWhenInterrupted
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<const char*>::is_always_lock_free);

void on_signal(int number) {
  if (g_guarded && g_pending == 0) {
    g_pending = number;
    return;
  }
  if (const char* doomed = g_doomed; doomed != nullptr) {
    ::unlink(doomed);
  }
  constexpr char k_message[] = "\nvarve: interrupted\n";
  [[maybe_unused]] const ssize_t ignored = ::write(2, k_message, sizeof k_message - 1);
  ::_exit(128 + number);
}

}  // namespace

void set_up_signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;  // without SA_RESTART: a blocking read returns
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit of file sizes is an error instead
}

SignalGuard::SignalGuard() {
  g_pending = 0;
  g_guarded = true;
}
SignalGuard::~SignalGuard() { g_guarded = false; }
int SignalGuard::pending() { return g_pending; }

RemoveWhenInterrupted::RemoveWhenInterrupted(std::string path) : path_(std::move(path)) {
  g_doomed = path_.c_str();
}
RemoveWhenInterrupted::~RemoveWhenInterrupted() { g_doomed = nullptr; }

}  // namespace varve::cli
