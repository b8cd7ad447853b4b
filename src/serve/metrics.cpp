// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace varve::serve {

namespace {

void append_kind(std::string& out, std::string_view name, std::string_view help,
                 std::string_view kind) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}

}  // namespace

void Metrics::add(Gauge gauge) {
  const std::lock_guard lock(mutex_);
  gauges_.push_back(std::move(gauge));
}

void Metrics::add(std::function<void(std::string&)> lines) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(lines));
}

void Metrics::record(const HttpObservation& observation) {
  const double seconds = std::chrono::duration<double>(observation.handling).count();
  const std::string_view route = observation.route.empty() ? "none" : observation.route;
  const std::lock_guard lock(mutex_);
  auto place = endpoints_.find(route);
  if (place == endpoints_.end()) {
    place = endpoints_.emplace(std::string(route), Endpoint{}).first;
  }
  Endpoint& endpoint = place->second;
  ++endpoint.answers[observation.status];
  endpoint.bytes += observation.bytes_sent;
  if (observation.status != 101) {
    const auto bucket = std::ranges::lower_bound(k_bounds, seconds) - k_bounds.begin();
    ++endpoint.handled[static_cast<std::size_t>(bucket)];
    endpoint.seconds += seconds;
  }
}

void Metrics::append_requests(std::string& out) const {
  const auto to = std::back_inserter(out);
  append_kind(out, "varve_http_requests_total", "Answers, by endpoint and status.", "counter");
  for (const auto& [route, endpoint] : endpoints_) {
    for (const auto& [status, count] : endpoint.answers) {
      fmt::format_to(to, "varve_http_requests_total{{endpoint=\"{}\",status=\"{}\"}} {}\n", route,
                     status, count);
    }
  }
  append_kind(out, "varve_http_sent_bytes_total", "Bytes of answers, by endpoint.", "counter");
  for (const auto& [route, endpoint] : endpoints_) {
    fmt::format_to(to, "varve_http_sent_bytes_total{{endpoint=\"{}\"}} {}\n", route,
                   endpoint.bytes);
  }
}

void Metrics::append_latency(std::string& out) const {
  constexpr std::string_view k_name = "varve_http_handling_seconds";
  const auto to = std::back_inserter(out);
  append_kind(out, k_name, "Time until an answer was ready to be sent, by endpoint.", "histogram");
  for (const auto& [route, endpoint] : endpoints_) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < endpoint.handled.size(); ++i) {
      total += endpoint.handled[i];
      const std::string bound = i < k_bounds.size() ? fmt::format("{}", k_bounds[i]) : "+Inf";
      fmt::format_to(to, "{}_bucket{{endpoint=\"{}\",le=\"{}\"}} {}\n", k_name, route, bound,
                     total);
    }
    fmt::format_to(to, "{0}_sum{{endpoint=\"{1}\"}} {2}\n{0}_count{{endpoint=\"{1}\"}} {3}\n",
                   k_name, route, endpoint.seconds, total);
  }
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  append_requests(out);
  append_latency(out);
  for (const Gauge& gauge : gauges_) {
    append_kind(out, gauge.name, gauge.help, gauge.counter ? "counter" : "gauge");
    fmt::format_to(std::back_inserter(out), "{} {}\n", gauge.name, gauge.read());
  }
  for (const auto& append : lines_) {
    append(out);
  }
  return out;
}

}  // namespace varve::serve
