// SPDX-License-Identifier: MIT OR Apache-2.0
// Measures contenders side by side: interleaved rounds in one process, warmed up, median and
// spread, and the ratio to the limit (the bare library or system call on the same data).
//
//   int main(int argc, char** argv) {
//     bench::Runner runner("crc", argc, argv);
//     runner.compare({"CRC-32C of 64 KiB", "bytes", data.size(), bench::Timing::cpu},
//                    {{"ISA-L", bench::k_limit, [&] { ... }}, {"varve", bench::k_ours, [&] { ...
//                    }}});
//     return runner.finish();
//   }
//
// Arguments: --rounds N (default 9), --min-ms N (least time of one run, default 40), --only TEXT
// (measurements whose name holds it), --json FILE, --quick (3 rounds of 5 ms, to see that it runs).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "varve/json.hpp"
#include "varve/store.hpp"

namespace varve::bench {

// Keeps the compiler from removing work whose result nobody uses.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// Ends the program where the work itself went wrong: its figures would mean nothing.
inline void must(bool fine, const char* what) {
  if (!fine) {
    std::fprintf(stderr, "%s failed\n", what);
    std::exit(74);
  }
}

// A new empty directory, which the caller removes.
inline std::string scratch_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "varve-bench-XXXXXX").string();
  must(::mkdtemp(name.data()) != nullptr, "mkdtemp");
  return name;
}

enum class Role : std::uint8_t {
  limit,  // what the machine or the bare library can do at best
  ours,
  peer,  // what a user would pick instead
};
inline constexpr Role k_limit = Role::limit;
inline constexpr Role k_ours = Role::ours;
inline constexpr Role k_peer = Role::peer;

// What is counted as the time of a run. Work of one thread that only computes is measured by the
// time its thread got, which a busy machine does not distort; everything else by the wall clock.
enum class Timing : std::uint8_t { wall, cpu };

struct Measurement {
  std::string name;
  std::string unit;        // what `work` counts: "bytes", "records", "appends"
  std::uint64_t work = 0;  // done by one call of each contender
  Timing timing = Timing::wall;
};

struct Contender {
  std::string name;
  Role role = Role::ours;
  std::function<void()> run;
  double share = 1;  // of the measurement's items that one run does: slow ones may do fewer
};

// The peak resident memory of this process so far.
inline std::uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) {
      return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    }
  }
  return 0;
}

// What the figures were taken on.
inline Json machine() {
  const auto first_after = [](const char* file, std::string_view key) {
    std::ifstream in(file);
    std::string line;
    while (std::getline(in, line)) {
      const std::size_t colon = line.find(':');
      if (line.starts_with(key) && colon != std::string::npos) {
        return line.substr(line.find_first_not_of(" \t", colon + 1));
      }
    }
    return std::string("unknown");
  };
  std::ifstream release("/proc/sys/kernel/osrelease");
  std::string kernel;
  std::getline(release, kernel);
  Json out = Json::object();
  out.set("cpu", first_after("/proc/cpuinfo", "model name"));
  out.set("cores", std::uint64_t{std::thread::hardware_concurrency()});
  out.set("memory", first_after("/proc/meminfo", "MemTotal"));
  out.set("kernel", kernel);
#if defined(__clang__)
  out.set("compiler", "clang " __clang_version__);
#else
  out.set("compiler", "g++ " __VERSION__);
#endif
  out.set("varve", version());
  return out;
}

class Runner {
 public:
  Runner(std::string name, int argc, char** argv) : name_(std::move(name)) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view argument = argv[i];
      const char* value = i + 1 < argc ? argv[i + 1] : "";
      if (argument == "--quick") {
        rounds_ = 3;
        min_seconds_ = 0.005;
        continue;
      }
      if (argument == "--rounds") {
        rounds_ = std::max(1, std::atoi(value));
      } else if (argument == "--min-ms") {
        min_seconds_ = std::atof(value) / 1000;
      } else if (argument == "--only") {
        only_ = value;
      } else if (argument == "--json") {
        json_file_ = value;
      } else {
        std::fprintf(stderr, "unknown argument %s\n", argv[i]);
        std::exit(64);
      }
      ++i;
    }
  }

  // True if a measurement of that name is wanted; to spare the making of its data.
  bool wants(std::string_view measurement) const {
    return only_.empty() || measurement.find(only_) != std::string_view::npos;
  }

  void compare(const Measurement& measurement, const std::vector<Contender>& contenders) {
    if (!wants(measurement.name)) {
      return;
    }
    // Warm up, and find how many calls make a run of at least the least time.
    std::vector<std::uint64_t> calls;
    for (const Contender& contender : contenders) {
      std::uint64_t count = 1;
      while (time(measurement, contender, count) < min_seconds_ &&
             count < (std::uint64_t{1} << 40)) {
        count *= 2;
      }
      calls.push_back(count);
    }
    std::vector<std::vector<double>> seconds(contenders.size());  // of one call
    for (int round = 0; round < rounds_; ++round) {
      for (std::size_t i = 0; i < contenders.size(); ++i) {
        const std::size_t at = (i + static_cast<std::size_t>(round)) % contenders.size();
        seconds[at].push_back(time(measurement, contenders[at], calls[at]) /
                              static_cast<double>(calls[at]) / contenders[at].share);
      }
    }
    report(measurement, contenders, seconds);
  }

  // A figure that is not a time: memory, bytes a record.
  void note(const std::string& what, double value, const std::string& unit) {
    std::printf("%s: %.4g %s\n\n", what.c_str(), value, unit.c_str());
    Json entry = Json::object();
    entry.set("name", what).set("value", value).set("unit", unit);
    notes_.push(std::move(entry));
  }

  // Writes the JSON file if one was asked for. The exit code of main.
  int finish() {
    if (json_file_.empty()) {
      return 0;
    }
    Json out = Json::object();
    out.set("schema", "varve.bench/1").set("bench", name_).set("machine", machine());
    out.set("rounds", std::int64_t{rounds_});
    out.set("measurements", std::move(measurements_)).set("notes", std::move(notes_));
    std::string text;
    out.write_pretty(text);
    std::ofstream file(json_file_);
    file << text << "\n";
    file.close();
    return file.good() ? 0 : 73;
  }

 private:
  static double now_seconds(Timing timing) {
    timespec now{};
    ::clock_gettime(timing == Timing::cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  static double time(const Measurement& measurement, const Contender& contender,
                     std::uint64_t calls) {
    const double begin = now_seconds(measurement.timing);
    for (std::uint64_t i = 0; i < calls; ++i) {
      contender.run();
    }
    return now_seconds(measurement.timing) - begin;
  }

  static double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }

  static std::string rate_text(double per_second, const std::string& unit) {
    char text[64];
    const double scale = per_second >= 1e9   ? 1e9
                         : per_second >= 1e6 ? 1e6
                         : per_second >= 1e3 ? 1e3
                                             : 1;
    const char* prefix = scale == 1e9 ? "G" : scale == 1e6 ? "M" : scale == 1e3 ? "k" : "";
    const std::string what = unit == "bytes" ? "B" : *prefix == 0 ? unit : " " + unit;
    std::snprintf(text, sizeof text, "%.3g %s%s/s", per_second / scale, prefix, what.c_str());
    return text;
  }

  void report(const Measurement& measurement, const std::vector<Contender>& contenders,
              const std::vector<std::vector<double>>& seconds) {
    const auto limit = std::ranges::find(contenders, Role::limit, &Contender::role);
    const auto limit_index = static_cast<std::size_t>(limit - contenders.begin());
    std::printf("### %s\n\n| contender | rate | spread | of the limit |\n|---|---|---|---|\n",
                measurement.name.c_str());
    Json rows = Json::array();
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      std::vector<double> rates;
      std::vector<double> ratios;  // round by round, so that a slow moment hits both
      for (std::size_t round = 0; round < seconds[i].size(); ++round) {
        rates.push_back(static_cast<double>(measurement.work) / seconds[i][round]);
        if (limit != contenders.end()) {
          ratios.push_back(seconds[limit_index][round] / seconds[i][round]);
        }
      }
      const auto [least, most] = std::ranges::minmax(rates);
      const double middle = median(rates);
      char spread[32];
      std::snprintf(spread, sizeof spread, "%.0f%%..%.0f%%", 100 * least / middle,
                    100 * most / middle);
      char ratio[32] = "";
      Json row = Json::object();
      row.set("contender", contenders[i].name);
      row.set("role", contenders[i].role == Role::limit  ? "limit"
                      : contenders[i].role == Role::ours ? "ours"
                                                         : "peer");
      row.set("median_per_s", middle).set("least_per_s", least).set("most_per_s", most);
      if (!ratios.empty()) {
        std::snprintf(ratio, sizeof ratio, "%.2f", median(ratios));
        row.set("of_the_limit", median(ratios));
      }
      std::printf("| %s | %s | %s | %s |\n", contenders[i].name.c_str(),
                  rate_text(middle, measurement.unit).c_str(), spread, ratio);
      rows.push(std::move(row));
    }
    std::printf("\n");
    std::fflush(stdout);
    Json entry = Json::object();
    entry.set("name", measurement.name).set("unit", measurement.unit);
    entry.set("work", measurement.work);
    entry.set("timing", measurement.timing == Timing::cpu ? "cpu" : "wall");
    entry.set("contenders", std::move(rows));
    measurements_.push(std::move(entry));
  }

  std::string name_;
  int rounds_ = 9;
  double min_seconds_ = 0.040;
  std::string only_;
  std::string json_file_;
  Json measurements_ = Json::array();
  Json notes_ = Json::array();
};

}  // namespace varve::bench
