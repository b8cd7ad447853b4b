// SPDX-License-Identifier: MIT OR Apache-2.0
// How long clicks in the explorer take on a jss archive of a gigabyte: of each kind of click 40, at
// places drawn by chance and never the same, from the request to the whole answer. Told are the
// median, the slowest, and the slowest single answer (what takes longer is asked for again).
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "base/text_coding.hpp"
#include "bench/archive.hpp"
#include "serve/explorer.hpp"

namespace varve::bench {
namespace {

constexpr std::uint64_t k_events = 1'200'000;
constexpr int k_clicks = 40;
constexpr char k_api[] = "/api/archive/";

using Parameters = std::multimap<std::string, std::string>;

// Payloads of 300 to 1,200 random bytes, which hardly compress; 5,000 accounts.
class Events {
 public:
  std::string line(std::uint64_t number) {
    std::vector<std::byte> bytes(300 + draw(900));
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random_());
    }
    const std::string account = std::to_string(10'000 + draw(5'000));
    return R"({"kind":"create","witnessed_at":)" +
           std::to_string(1'783'000'000'000'000 + number * 1'000) + R"(,"did":"did:web:a)" +
           account + R"(.example.net","collection":"app.bsky.feed.)" +
           (number % 4 == 0 ? "post" : "like") + R"(","rkey":"r)" + std::to_string(number) +
           R"(","rev":"3kaaaaaaaaaa2","record":{"text":")" + base::to_base64(bytes) + "\"}}";
  }
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

 private:
  std::mt19937_64 random_{7};
};

class Clicks {
 public:
  Clicks(serve::Explorer& explorer, Runner& runner) : explorer_(explorer), runner_(runner) {}

  // The milliseconds until the whole answer is there.
  double click(const std::string& what, const Parameters& parameters, double& slowest_answer) {
    const auto begin = std::chrono::steady_clock::now();
    while (true) {
      serve::HttpRequest request;
      request.method = "GET";
      request.path = k_api + what;
      request.parameters = parameters;
      const auto asked = std::chrono::steady_clock::now();
      const int status = explorer_.handle(request).status;
      slowest_answer = std::max(slowest_answer, since(asked));
      must(status == 200 || status == 202, what.c_str());
      if (status == 200) {
        return since(begin);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  template <class Draw>
  void measure(const std::string& name, const std::string& what, Draw draw) {
    std::vector<double> times;
    double slowest_answer = 0;
    for (int i = 0; i < k_clicks; ++i) {
      times.push_back(click(what, draw(i), slowest_answer));
    }
    std::ranges::sort(times);
    runner_.note(name + ", median", times[times.size() / 2], "ms");
    runner_.note(name + ", slowest", times.back(), "ms");
    runner_.note(name + ", slowest single answer", slowest_answer, "ms");
  }

 private:
  static double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  }

  serve::Explorer& explorer_;
  Runner& runner_;
};

void run(Runner& runner, const std::string& directory) {
  Events events;
  const Format& format = *find_format("jss");
  make_archive(directory + "/archive", k_events, {},
               [&](std::uint64_t number) { return events.line(number); });
  serve::Explorer explorer(io::posix_file_system(), {{&format, directory + "/archive"}});
  Clicks clicks(explorer, runner);
  double slowest = 0;
  runner.note("the first overview", clicks.click("overview", {}, slowest), "ms");
  runner.note("the check and the map, in the background", clicks.click("map", {}, slowest), "ms");
  const auto seq_below = [&](std::uint64_t top) { return std::to_string(1 + events.draw(top)); };
  const auto some_file = [&] { return "seg_000000000" + std::to_string(events.draw(3)) + ".jss"; };
  const std::uint64_t sealed = 950'000;
  clicks.measure("map of all files", "map", [](int) { return Parameters(); });
  clicks.measure("map, zoomed", "map", [&](int) {
    const std::uint64_t from = events.draw(200'000'000);
    return Parameters{{"file", some_file()},
                      {"from", std::to_string(from)},
                      {"to", std::to_string(from + 1 + events.draw(50'000'000))}};
  });
  clicks.measure("findings", "findings", [](int) { return Parameters(); });
  clicks.measure("next page", "records", [](int i) {
    return i == 0 ? Parameters() : Parameters{{"after", std::to_string(i * 100)}};
  });
  clicks.measure("page behind a seq, sealed segments", "records",
                 [&](int) { return Parameters{{"after", seq_below(sealed)}}; });
  clicks.measure("page before a seq, sealed segments", "records",
                 [&](int) { return Parameters{{"before", seq_below(sealed)}}; });
  clicks.measure("page behind a seq, unsealed segment", "records", [&](int) {
    return Parameters{{"after", std::to_string(k_events - 100 - events.draw(100'000))}};
  });
  clicks.measure("one record, sealed segments", "record",
                 [&](int) { return Parameters{{"key", seq_below(sealed)}}; });
  clicks.measure("bytes", "explain", [&](int) {
    return Parameters{{"file", some_file()}, {"offset", std::to_string(events.draw(260'000'000))}};
  });
  clicks.measure("records of one account, first page", "records", [&](int) {
    return Parameters{
        {"f.did", "did:web:a" + std::to_string(10'000 + events.draw(5'000)) + ".example.net"},
        {"limit", "10"}};
  });
  clicks.measure("overview", "overview", [](int) { return Parameters(); });
  runner.note("memory of all of it", static_cast<double>(peak_resident_bytes()) / 1048576, "MiB");
}

}  // namespace
}  // namespace varve::bench

int main(int argc, char** argv) {
  varve::bench::Runner runner("explorer", argc, argv);
  const std::string directory = varve::bench::scratch_directory();
  varve::bench::run(runner, directory);
  std::filesystem::remove_all(directory);
  return runner.finish();
}
