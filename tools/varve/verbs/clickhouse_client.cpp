// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/clickhouse_client.hpp"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "serve/remote_http.hpp"

namespace varve::cli {

namespace {

constexpr std::chrono::milliseconds k_first_pause{100};
constexpr std::chrono::milliseconds k_longest_pause{10'000};
constexpr std::chrono::seconds k_connect_time{5};
constexpr std::chrono::seconds k_answer_time{300};
// ClickHouse's own codes of what may be better a moment later: time-outs, sockets and network, too
// many queries or parts, memory, read-only replicas, a lost session with the keeper.
constexpr std::array k_passing_codes{159, 202, 209, 210, 241, 242, 252, 319, 394, 425, 999};

// "Code: 60, ..." begins the answer to a statement that failed.
std::optional<int> exception_code(const std::string& answer) {
  constexpr std::string_view k_begin = "Code: ";
  int code = 0;
  if (!answer.starts_with(k_begin) ||
      std::from_chars(answer.data() + k_begin.size(), answer.data() + answer.size(), code).ec !=
          std::errc()) {
    return std::nullopt;
  }
  return code;
}

bool may_pass(int status, const std::string& answer) {
  if (const auto code = exception_code(answer)) {
    return std::ranges::find(k_passing_codes, *code) != k_passing_codes.end();
  }
  return status >= 500 || status == 429;
}

// The first line of what the server said, without the stack trace that some add.
std::string said(int status, const std::string& answer) {
  std::string line = answer.substr(0, std::min(answer.find('\n'), std::size_t{500}));
  return "HTTP " + std::to_string(status) + (line.empty() ? "" : ": " + line);
}

}  // namespace

struct ClickHouseClient::Impl {
  Impl(const std::string& address, unsigned attempts_)
      : url(address), attempts(attempts_), client(address) {}
  std::string url;
  unsigned attempts;
  httplib::Client client;
};

ClickHouseClient::ClickHouseClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ClickHouseClient::~ClickHouseClient() = default;

Result<std::unique_ptr<ClickHouseClient>> ClickHouseClient::create(const std::string& url,
                                                                   unsigned attempts) {
  std::string address = url;
  if (address.ends_with('/')) {
    address.pop_back();
  }
  const std::size_t host = address.find("://") + 3;
  const bool known = address.starts_with("http://") || address.starts_with("https://");
  if (!known || address.find_first_of("/@?", host) != address.npos || host == address.size()) {
    return fail(ErrorCode::invalid_argument, "usage",
                "--url is http://HOST:PORT or https://HOST:PORT of ClickHouse's HTTP interface");
  }
  auto impl = std::make_unique<Impl>(address, std::max(attempts, 1U));
  if (!impl->client.is_valid()) {
    return fail(ErrorCode::invalid_argument, "usage", "--url: \"" + url + "\" is no address");
  }
  impl->client.set_keep_alive(true);
  impl->client.set_connection_timeout(k_connect_time);
  impl->client.set_read_timeout(k_answer_time);
  impl->client.set_write_timeout(k_answer_time);
  httplib::Headers headers;
  if (const char* user = std::getenv("CLICKHOUSE_USER"); user != nullptr) {
    headers.emplace("X-ClickHouse-User", user);
  }
  if (const char* password = std::getenv("CLICKHOUSE_PASSWORD"); password != nullptr) {
    headers.emplace("X-ClickHouse-Key", password);
  }
  impl->client.set_default_headers(headers);
  return std::unique_ptr<ClickHouseClient>(new ClickHouseClient(std::move(impl)));
}

Result<void> ClickHouseClient::post(const std::string& sql, const std::string& body) {
  const std::string path = "/?query=" + serve::encode_in_query(sql);
  auto pause = k_first_pause;
  for (unsigned attempt = 1;; ++attempt) {
    const httplib::Result answer = impl_->client.Post(path, body, "application/octet-stream");
    if (answer && answer->status == 200) {
      return {};
    }
    const std::string why =
        answer ? said(answer->status, answer->body) : httplib::to_string(answer.error());
    if (attempt == impl_->attempts || (answer && !may_pass(answer->status, answer->body))) {
      return fail(ErrorCode::io, "clickhouse",
                  "ClickHouse did not take it (attempt " + std::to_string(attempt) + "): " + why,
                  impl_->url);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, k_longest_pause);
  }
}

}  // namespace varve::cli
