// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/http_server.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "serve/answers.hpp"
#include "serve/http_connection.hpp"

namespace varve::serve {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_backlog = 1024;
constexpr std::size_t k_max_lingering = 64;
constexpr std::chrono::seconds k_lingering_time{2};
constexpr std::chrono::milliseconds k_rest_without_descriptors{100};
constexpr int k_look_ms = 1000;  // for threads that have ended

// "127.0.0.1:8480", "[::1]:8480", and the port alone.
std::pair<std::string, std::uint16_t> address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  std::uint16_t port = 0;
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    ::inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
    port = ntohs(six.sin6_port);
    return {'[' + std::string(text.data()) + "]:" + std::to_string(port), port};
  }
  sockaddr_in four{};
  std::memcpy(&four, &address, sizeof four);
  ::inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
  port = ntohs(four.sin_port);
  return {std::string(text.data()) + ':' + std::to_string(port), port};
}

Result<io::Descriptor> listen_on(const addrinfo& where, const std::string& name) {
  constexpr int k_on = 1;
  io::Descriptor out(
      ::socket(where.ai_family, where.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.valid()) {
    return fail_errno(errno, "socket", name);
  }
  ::setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &k_on, sizeof k_on);
  if (::bind(out.get(), where.ai_addr, where.ai_addrlen) != 0) {
    return fail_errno(errno, "bind", name);
  }
  if (::listen(out.get(), k_backlog) != 0) {
    return fail_errno(errno, "listen", name);
  }
  return out;
}

Result<io::Descriptor> listen_at(const std::string& address, std::uint16_t port) {
  const std::string name = address + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return fail(ErrorCode::invalid_argument, "getaddrinfo", ::gai_strerror(error), name);
  }
  Result<io::Descriptor> out = fail(ErrorCode::io, "getaddrinfo", "no address", name);
  for (const addrinfo* one = found; one != nullptr && !out; one = one->ai_next) {
    out = listen_on(*one, name);
  }
  ::freeaddrinfo(found);
  return out;
}

// Connections beyond the limit: told so, and kept a moment so that they can read it.
class Refused {
 public:
  void take(io::Descriptor descriptor) {
    HttpResponse answer = error_answer(503, "too many connections");
    answer.headers.emplace_back("Retry-After", "5");
    const std::string text = answer_head(answer, false) + std::get<std::string>(answer.body[0]);
    ::send(descriptor.get(), text.data(), text.size(), MSG_NOSIGNAL);
    ::shutdown(descriptor.get(), SHUT_WR);
    if (waiting_.size() < k_max_lingering) {
      waiting_.push_back({std::move(descriptor), Clock::now() + k_lingering_time});
    }
  }
  void add_to(std::vector<pollfd>& set) const {
    for (const Waiting& one : waiting_) {
      set.push_back({one.descriptor.get(), POLLIN, 0});
    }
  }
  // Lets go of those that have ended or waited long enough.
  void tidy() {
    std::erase_if(waiting_, [](const Waiting& one) {
      std::array<char, 4096> swallowed;
      const ssize_t n = ::recv(one.descriptor.get(), swallowed.data(), swallowed.size(), 0);
      return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || Clock::now() > one.until;
    });
  }

 private:
  struct Waiting {
    io::Descriptor descriptor;
    Clock::time_point until;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace

struct HttpServer::Impl {
  explicit Impl(HttpServerOptions options) : shared(std::move(options)) {}

  void accept_loop();
  // False where the system has no more descriptors.
  bool accept_waiting(Refused& refused);
  void begin(io::Descriptor descriptor, std::string peer);
  void join_ended();

  HttpShared shared;
  io::Descriptor listener;
  std::string place;  // "127.0.0.1:8480"
  std::uint16_t port = 0;
  std::thread acceptor;

  std::mutex mutex;
  std::condition_variable changed;
  std::list<std::thread> running;
  std::list<std::thread> ended;  // to be joined
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refusals = 0;
  std::atomic<std::uint64_t> open = 0;
};

void HttpServer::Impl::join_ended() {
  std::list<std::thread> joined;
  {
    const std::lock_guard lock(mutex);
    joined.swap(ended);
  }
  for (std::thread& thread : joined) {
    thread.join();
  }
}

void HttpServer::Impl::begin(io::Descriptor descriptor, std::string peer) {
  const std::lock_guard lock(mutex);
  const auto place_of_thread = running.emplace(running.end());
  open.fetch_add(1);
  try {
    *place_of_thread = std::thread(
        [this, place_of_thread, peer = std::move(peer), fd = descriptor.get()]() mutable {
          HttpConnection(io::Descriptor(fd), std::move(peer), shared).run();
          const std::lock_guard ending(mutex);
          open.fetch_sub(1);
          ended.splice(ended.end(), running, place_of_thread);
          changed.notify_all();
        });
    descriptor.release();
  } catch (const std::system_error&) {  // no more threads: the connection is closed
    open.fetch_sub(1);
    running.erase(place_of_thread);
  }
}

bool HttpServer::Impl::accept_waiting(Refused& refused) {
  constexpr int k_on = 1;
  for (;;) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    io::Descriptor descriptor(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&address),
                                        &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!descriptor.valid()) {
      return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    }
    accepted.fetch_add(1);
    if (open.load() >= shared.options.max_connections) {
      refusals.fetch_add(1);
      refused.take(std::move(descriptor));
      continue;
    }
    ::setsockopt(descriptor.get(), IPPROTO_TCP, TCP_NODELAY, &k_on, sizeof k_on);
    begin(std::move(descriptor), address_text(address).first);
  }
}

void HttpServer::Impl::accept_loop() {
  Refused refused;
  bool descriptors_left = true;
  while (!shared.stopping.raised()) {
    std::vector<pollfd> set{{shared.stopping.descriptor(), POLLIN, 0}};
    int timeout = k_look_ms;
    if (descriptors_left) {
      set.push_back({listener.get(), POLLIN, 0});
    } else {
      timeout = static_cast<int>(k_rest_without_descriptors.count());
    }
    refused.add_to(set);
    ::poll(set.data(), set.size(), timeout);
    refused.tidy();
    join_ended();
    if (!shared.stopping.raised()) {
      descriptors_left = accept_waiting(refused);
    }
  }
}

HttpServer::HttpServer(HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpServer::~HttpServer() { stop(std::chrono::milliseconds(0)); }

void HttpServer::add(const std::string& method, const std::string& path, HttpHandler handler) {
  impl_->shared.router.add(method, path, std::move(handler));
}
void HttpServer::add_prefix(const std::string& method, const std::string& prefix,
                            HttpHandler handler) {
  impl_->shared.router.add_prefix(method, prefix, std::move(handler));
}
void HttpServer::add(WebSocketRoute route) { impl_->shared.router.add(std::move(route)); }

Result<void> HttpServer::start() {
  if (!impl_->shared.stopping.valid() || !impl_->shared.abort.valid()) {
    return fail_errno(EMFILE, "eventfd", {});
  }
  auto listener = listen_at(impl_->shared.options.address, impl_->shared.options.port);
  if (!listener) {
    return std::unexpected(std::move(listener).error());
  }
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener->get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return fail_errno(errno, "getsockname", impl_->shared.options.address);
  }
  std::tie(impl_->place, impl_->port) = address_text(address);
  impl_->listener = *std::move(listener);
  impl_->acceptor = std::thread([this] { impl_->accept_loop(); });
  return {};
}

std::uint16_t HttpServer::port() const { return impl_->port; }
std::string HttpServer::url() const { return "http://" + impl_->place + "/"; }

HttpCounts HttpServer::counts() const {
  return {.open_connections = impl_->open.load(),
          .open_sockets = impl_->shared.open_sockets.load(),
          .connections = impl_->accepted.load(),
          .refused = impl_->refusals.load()};
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  impl_->shared.stopping.raise();
  if (impl_->acceptor.joinable()) {
    impl_->acceptor.join();
  }
  impl_->listener = {};
  {
    std::unique_lock lock(impl_->mutex);
    const auto none = [&] { return impl_->running.empty(); };
    if (!impl_->changed.wait_for(lock, grace, none)) {
      impl_->shared.abort.raise();
      impl_->changed.wait(lock, none);
    }
  }
  impl_->join_ended();
}

}  // namespace varve::serve
