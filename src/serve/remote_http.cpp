// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/remote_http.hpp"

#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/whole_number.hpp"

namespace varve::serve {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Of what a server says with a refusal.
constexpr std::size_t k_most_said_bytes = 2048;
// A body that comes slower than this on average, after the time that silence is allowed to take,
// is given up: a server that sends a byte now and then must not hold a reader for ever.
constexpr std::uint64_t k_least_bytes_per_second = 1024;
// What of an answer lies in the kernel is lost when the process is killed, and sent again.
constexpr int k_receive_buffer_bytes = 1 << 20;
constexpr milliseconds k_longest_nap{100};
// Some servers give the seconds to wait in RateLimit-Reset, others the time; no wait is this long.
constexpr std::int64_t k_first_unix_time = 1'000'000'000;

std::optional<std::int64_t> number_in(const RemoteAnswer& answer, std::string_view name) {
  const std::string* text = answer.header(name);
  return text != nullptr ? base::whole_number<std::int64_t>(*text) : std::nullopt;
}

// How long the server asks to wait.
std::optional<milliseconds> asked_wait(const RemoteAnswer& answer) {
  std::optional<std::int64_t> seconds = number_in(answer, "Retry-After");
  if (!seconds) {
    seconds = number_in(answer, "RateLimit-Reset");
    if (seconds && *seconds >= k_first_unix_time) {
      *seconds -= std::time(nullptr);
    }
  }
  if (!seconds) {
    return std::nullopt;
  }
  return milliseconds(std::clamp<std::int64_t>(*seconds, 0, 3600) * 1000);
}

RemoteFailure final_failure(Error error) { return {std::move(error), false, {}}; }

Error io_error(std::string reason, std::string message) {
  Error error;
  error.code = ErrorCode::io;
  error.reason = std::move(reason);
  error.message = std::move(message);
  return error;
}

// What a refusal by the server is to the user.
RemoteFailure refusal(const RemoteAnswer& answer) {
  RemoteFailure out;
  std::string said = answer.body.substr(0, answer.body.find('\n'));
  std::ranges::replace_if(
      said, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  out.error = io_error("http-" + std::to_string(answer.status),
                       "the server answered " + std::to_string(answer.status) +
                           (said.empty() ? std::string() : ": " + said.substr(0, 300)));
  out.may_pass = answer.status >= 500 || answer.status == 429;
  if (answer.status == 501) {
    out.may_pass = false;
  } else if (answer.status == 429 || answer.status == 503) {
    out.error.code = ErrorCode::locked;
    out.wait = asked_wait(answer);
  } else if (answer.status == 401 || answer.status == 403) {
    out.error.system_errno = EACCES;
  } else if (answer.status == 404) {
    out.error.system_errno = ENOENT;
  }
  return out;
}

// The receiving end of one attempt.
class Exchange {
 public:
  Exchange(const RemoteRequest& request, const BodyReceiver* receiver, milliseconds patience)
      : request_(request), receiver_(receiver), patience_(patience) {}

  bool begin(const httplib::Response& response) {
    begun_ = true;
    answer.status = response.status;
    for (const auto& [name, value] : response.headers) {
      answer.headers.emplace(name, value);
    }
    if (!wanted()) {
      return true;
    }
    if (receiver_ != nullptr) {
      if (auto taken = receiver_->begin(answer); !taken) {
        failure = std::move(taken).error();
        return false;
      }
    }
    const auto length = number_in(answer, "Content-Length");
    if (length && (*length < 0 || static_cast<std::uint64_t>(*length) > request_.max_bytes)) {
      failure = io_error("remote-answer", "the server's answer is longer than it may be");
      return false;
    }
    return true;
  }

  bool take(std::string_view piece) {
    if (!wanted()) {
      answer.body += piece.substr(0, k_most_said_bytes - answer.body.size());
      return answer.body.size() < k_most_said_bytes;
    }
    received_ += piece.size();
    if (received_ > request_.max_bytes) {
      failure = io_error("remote-answer", "the server's answer is longer than it may be");
      return false;
    }
    if (too_slow()) {
      return false;
    }
    if (receiver_ == nullptr) {
      answer.body += piece;
      return true;
    }
    if (auto taken = receiver_->take(piece); !taken) {
      failure = std::move(taken).error();
      return false;
    }
    return true;
  }

  bool begun() const { return begun_; }
  bool wanted() const { return answer.status == 200 || answer.status == 206; }

  RemoteAnswer answer;
  std::optional<Error> failure;  // what the receiving end objected to

 private:
  bool too_slow() const {
    const auto elapsed = Clock::now() - start_;
    const auto allowed = patience_ + milliseconds(received_ * 1000 / k_least_bytes_per_second);
    return elapsed > allowed;
  }

  const RemoteRequest& request_;
  const BodyReceiver* receiver_;
  milliseconds patience_;
  Clock::time_point start_ = Clock::now();
  std::uint64_t received_ = 0;
  bool begun_ = false;
};

httplib::Request raw_request(const RemoteRequest& request, Exchange& exchange) {
  httplib::Request raw;
  raw.method = request.method;
  raw.path = request.target;
  raw.body = request.body;
  for (const auto& [name, value] : request.headers) {
    raw.headers.emplace(name, value);
  }
  if (request.method == "POST") {
    raw.headers.emplace("Content-Type", "application/json");
  }
  // Compression would make lengths and ranges mean something else, and bodies unbounded.
  raw.headers.emplace("Accept-Encoding", "identity");
  raw.content_receiver = [&exchange](const char* data, std::size_t size, std::uint64_t,
                                     std::uint64_t) { return exchange.take({data, size}); };
  return raw;
}

}  // namespace

const std::string* RemoteAnswer::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? nullptr : &found->second;
}

struct HttpClient::Impl {
  Impl(std::string origin_, RemoteOptions options_)
      : origin(std::move(origin_)),
        options(std::move(options_)),
        watch([this](const std::stop_token& stop) { look_at_deadlines(stop); }) {}

  // A connection for one request; waits while all are in use.
  std::unique_ptr<httplib::Client> take() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return in_use < std::max(options.connections, 1U); });
    ++in_use;
    if (!idle.empty()) {
      auto client = std::move(idle.back());
      idle.pop_back();
      return client;
    }
    lock.unlock();
    return connect();
  }

  void give_back(std::unique_ptr<httplib::Client> client) {
    {
      const std::lock_guard lock(mutex);
      --in_use;
      idle.push_back(std::move(client));
    }
    changed.notify_one();
  }

  std::unique_ptr<httplib::Client> connect() const {
    auto client = std::make_unique<httplib::Client>(origin);
    client->set_keep_alive(true);
    client->set_tcp_nodelay(true);
    client->set_url_encode(false);
    client->set_decompress(false);
    client->set_connection_timeout(options.connect_timeout);
    client->set_read_timeout(options.read_timeout);
    client->set_write_timeout(options.read_timeout);
    client->set_socket_options([](socket_t socket) {
      ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &k_receive_buffer_bytes,
                   sizeof k_receive_buffer_bytes);
    });
    if (!options.api_key.empty()) {
      client->set_bearer_token_auth(options.api_key);
    }
    return client;
  }

  // Ends requests whose answer has not begun in time: the library below knows only the longest
  // silence, and would collect headers for ever.
  void look_at_deadlines(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      const auto now = Clock::now();
      auto next = now + std::chrono::hours(1);
      for (auto& [client, deadline] : waiting) {
        if (deadline <= now) {
          client->stop();
          deadline = Clock::time_point::max();
        } else {
          next = std::min(next, deadline);
        }
      }
      news = false;
      deadlines_changed.wait_until(lock, stop, next, [this] { return news; });
    }
  }

  std::string origin;
  RemoteOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable_any deadlines_changed;
  bool news = false;  // a deadline was added
  unsigned in_use = 0;
  std::vector<std::unique_ptr<httplib::Client>> idle;
  std::map<httplib::Client*, Clock::time_point> waiting;  // for the head of an answer
  std::jthread watch;                                     // last: stopped first
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::create(const RemoteAddress& address,
                                                       RemoteOptions options) {
  auto impl = std::make_unique<Impl>(address.origin, std::move(options));
  auto first = impl->connect();
  if (!first->is_valid()) {
    return fail(ErrorCode::invalid_argument, "usage", "this is no address that can be connected to",
                address.origin);
  }
  impl->idle.push_back(std::move(first));
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(impl)));
}

const RemoteOptions& HttpClient::options() const { return impl_->options; }

std::expected<RemoteAnswer, RemoteFailure> HttpClient::attempt(const RemoteRequest& request,
                                                               const BodyReceiver* receiver) {
  Impl& impl = *impl_;
  Exchange exchange(request, receiver, impl.options.read_timeout);
  httplib::Request raw = raw_request(request, exchange);
  auto client = impl.take();
  {
    const std::lock_guard lock(impl.mutex);
    impl.waiting[client.get()] =
        Clock::now() + impl.options.connect_timeout + impl.options.read_timeout;
    impl.news = true;
  }
  impl.deadlines_changed.notify_one();
  const auto no_longer_waiting = [&impl, waiter = client.get()] {
    const std::lock_guard lock(impl.mutex);
    impl.waiting.erase(waiter);
  };
  raw.response_handler = [&](const httplib::Response& response) {
    no_longer_waiting();
    return exchange.begin(response);
  };
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  const bool done = client->send(raw, response, error);
  no_longer_waiting();
  if (!done) {
    client->stop();  // what is left of the answer must not be taken for the next one's
  }
  impl.give_back(std::move(client));

  if (exchange.failure) {
    return std::unexpected(final_failure(*std::move(exchange.failure)));
  }
  if (exchange.begun() && !exchange.wanted() && exchange.answer.status != 416) {
    return std::unexpected(refusal(exchange.answer));
  }
  if (!done && !(exchange.begun() && exchange.answer.status == 416)) {
    RemoteFailure failure;
    failure.error =
        io_error("network", exchange.begun() ? "the server's answer broke off"
                                             : "no answer: " + httplib::to_string(error));
    failure.may_pass =
        error != httplib::Error::SSLServerVerification && error != httplib::Error::SSLLoadingCerts;
    return std::unexpected(std::move(failure));
  }
  return std::move(exchange.answer);
}

Result<RemoteAnswer> HttpClient::send(const RemoteRequest& request) {
  RetryPauses pauses(impl_->options);
  for (;;) {
    auto answer = attempt(request);
    if (answer) {
      return *std::move(answer);
    }
    if (!pauses.wait_after(answer.error())) {
      return std::unexpected(std::move(answer).error().error);
    }
  }
}

bool RetryPauses::wait_after(const RemoteFailure& failure) {
  if (!failure.may_pass || ++made_ >= options_.attempts) {
    return false;
  }
  milliseconds pause = options_.first_pause * (1 << std::min(made_ - 1, 10U));
  if (failure.wait) {
    pause = *failure.wait;
  }
  const auto until = Clock::now() + std::min(pause, options_.longest_pause);
  while (Clock::now() < until) {
    if (options_.interrupted && options_.interrupted()) {
      return false;
    }
    std::this_thread::sleep_for(std::min<Clock::duration>(k_longest_nap, until - Clock::now()));
  }
  return true;
}

}  // namespace varve::serve
