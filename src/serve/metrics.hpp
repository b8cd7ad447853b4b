// SPDX-License-Identifier: MIT OR Apache-2.0
// What /metrics tells, in Prometheus' text form. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/http_server.hpp"

namespace varve::serve {

// A number that a service is asked for each time.
struct Gauge {
  std::string name;  // "varve_streams_open"
  std::string help;  // one line
  std::function<double()> read;
  bool counter = false;  // only ever grows
};

class Metrics {
 public:
  void add(Gauge gauge);
  // Something that appends its own lines, in the same form.
  void add(std::function<void(std::string&)> lines);
  // Counts an answer; `observation.route` must come from a bounded set of names.
  void record(const HttpObservation& observation);
  std::string text() const;

 private:
  // Upper bounds in seconds of the histogram of handling times.
  static constexpr std::array k_bounds{0.0001, 0.0005, 0.001, 0.005, 0.01,
                                       0.05,   0.1,    0.5,   1.0,   5.0};
  struct Endpoint {
    std::map<int, std::uint64_t> answers;  // by status
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, k_bounds.size() + 1> handled{};
    double seconds = 0;
  };
  void append_requests(std::string& out) const;
  void append_latency(std::string& out) const;

  mutable std::mutex mutex_;
  std::map<std::string, Endpoint, std::less<>> endpoints_;
  std::vector<Gauge> gauges_;
  std::vector<std::function<void(std::string&)>> lines_;
};

}  // namespace varve::serve
