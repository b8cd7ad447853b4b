// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/http_connection.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <exception>

#include "serve/answers.hpp"
#include "serve/http_date.hpp"
#include "serve/web_socket.hpp"

namespace varve::serve {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds k_linger{2'000};

std::uint64_t body_bytes(const HttpResponse& answer) {
  std::uint64_t total = 0;
  for (const auto& part : answer.body) {
    const auto* text = std::get_if<std::string>(&part);
    total += text != nullptr ? text->size() : std::get<FileBody>(part).length;
  }
  return total;
}

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

std::string answer_head(const HttpResponse& answer, bool keep_alive) {
  std::string out = "HTTP/1.1 " + std::to_string(answer.status) + ' ';
  out += reason_phrase(answer.status);
  out += "\r\nDate: " + http_date(std::time(nullptr)) + "\r\n";
  for (const auto& [name, value] : answer.headers) {
    out += name + ": ";
    // A line break in a value would begin another header.
    std::ranges::copy_if(value, std::back_inserter(out),
                         [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
    out += "\r\n";
  }
  if (may_have_body(answer.status)) {
    out += "Content-Length: " + std::to_string(body_bytes(answer)) + "\r\n";
  }
  if (answer.status != 101) {
    out += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  }
  return out + "\r\n";
}

HttpResponse call_handler(const HttpHandler& handler, const HttpRequest& request) {
  try {
    return handler(request);
  } catch (const std::exception& e) {
    return error_answer(500, std::string("the server failed: ") + e.what());
  }
}

void HttpConnection::run() {
  const std::size_t most = shared_.options.max_requests_a_connection;
  for (std::size_t served = 1; served <= most; ++served) {
    if (serve_one(served == most) == Step::closed) {
      return;
    }
  }
}

bool HttpConnection::write_answer(const HttpResponse& answer, bool without_body, bool keep_alive) {
  const auto timeout = shared_.options.progress_timeout;
  // Text goes out together with what was before it; the stretch of a file follows at once.
  std::string text = answer_head(answer, keep_alive);
  if (!without_body && may_have_body(answer.status)) {
    for (const auto& part : answer.body) {
      if (const auto* more = std::get_if<std::string>(&part)) {
        text += *more;
        continue;
      }
      const auto& file = std::get<FileBody>(part);
      if (!socket_.write_all(text, timeout, true) || !socket_.send_file(file, timeout)) {
        return false;
      }
      text.clear();
    }
  }
  return socket_.write_all(text, timeout);
}

HttpConnection::Step HttpConnection::refuse(const HttpResponse& answer, std::string_view route) {
  if (answer.status != 0) {
    const std::uint64_t before = socket_.bytes_sent();
    write_answer(answer, false, false);
    socket_.linger(k_linger);
    if (shared_.options.observer) {
      shared_.options.observer({route, answer.status, socket_.bytes_sent() - before, {}});
    }
  }
  return Step::closed;
}

// Before the body is read: what no handler needs to see.
std::optional<HttpResponse> HttpConnection::refusal(const HttpHead& head,
                                                    const Route* route) const {
  const HttpRequest& request = head.request;
  if (const std::string* host = request.header("Host"); host && !shared_.hosts.allows(*host)) {
    return error_answer(421, "this server is not named " + *host + " (--allow-host adds a name)");
  }
  if (route == nullptr) {
    return error_answer(404, "nothing is at " + request.path);
  }
  if (route->is_socket() ? request.method != "GET" : route->handler(request.method) == nullptr) {
    HttpResponse answer = error_answer(405, request.path + " takes " + route->allowed_methods());
    answer.headers.emplace_back("Allow", route->allowed_methods());
    return answer;
  }
  return std::nullopt;
}

HttpConnection::Step HttpConnection::serve_one(bool last) {
  HttpHead head;
  HeadFault fault{0, {}};
  if (!read_head(head, fault)) {
    return fault.status == 0 ? Step::closed : refuse(error_answer(fault.status, fault.message), "");
  }
  const Route* route = shared_.router.find(head.request.path);
  const std::string_view label = route != nullptr ? std::string_view(route->path) : "";
  std::optional<HttpResponse> answer = refusal(head, route);
  if (answer && head.has_body()) {
    return refuse(*answer, label);
  }
  if (!answer) {
    if (route->is_socket()) {
      return upgrade(head, *route);
    }
    if (auto refused = read_body(head)) {
      return refuse(*refused, label);
    }
    head.request.peer = peer_;
  }
  const auto begin = Clock::now();
  if (!answer) {
    answer = call_handler(*route->handler(head.request.method), head.request);
  }
  const auto handling = Clock::now() - begin;
  const bool keep_alive = head.keep_alive && !last && !shared_.stopping.raised();
  const std::uint64_t before = socket_.bytes_sent();
  const bool written = write_answer(*answer, head.request.method == "HEAD", keep_alive);
  if (shared_.options.observer) {
    shared_.options.observer({label, answer->status, socket_.bytes_sent() - before, handling});
  }
  if (written && !keep_alive) {
    socket_.linger(k_linger);
  }
  return written && keep_alive ? Step::next : Step::closed;
}

HttpConnection::Step HttpConnection::upgrade(const HttpHead& head, const Route& route) {
  HttpRequest request = head.request;
  request.peer = peer_;
  const std::string* origin = request.header("Origin");
  const std::string* host = request.header("Host");
  if (origin && !shared_.options.cross_origin_sockets &&
      !(host && HostPolicy::same_origin(*origin, *host))) {
    return refuse(error_answer(403, "pages of " + *origin + " may not open streams here"),
                  route.path);
  }
  if (head.has_body()) {
    return refuse(error_answer(400, "an upgrade has no body"), route.path);
  }
  auto accepted = route.socket.accept(request);
  if (const auto* refused = std::get_if<HttpResponse>(&accepted)) {
    return refuse(*refused, route.path);
  }
  const HttpResponse answer = web_socket_answer(request, route.socket.subprotocol);
  if (answer.status != 101) {
    return refuse(answer, route.path);
  }
  const std::uint64_t before = socket_.bytes_sent();
  if (socket_.write_all(answer_head(answer, true), shared_.options.progress_timeout)) {
    shared_.open_sockets.fetch_add(1);
    run_web_socket(socket_, std::move(pending_), route.socket.max_message_bytes, shared_.options,
                   shared_.stopping, std::get<WebSocketSession>(accepted));
    shared_.open_sockets.fetch_sub(1);
  }
  if (shared_.options.observer) {
    shared_.options.observer({route.path, 101, socket_.bytes_sent() - before, {}});
  }
  return Step::closed;
}

}  // namespace varve::serve
