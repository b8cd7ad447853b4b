// SPDX-License-Identifier: MIT OR Apache-2.0
// Salvage of a large store with one hurt unit in its middle, beside verifying it and beside copying
// as many bytes, on the file system that holds TMPDIR (or /tmp). VARVE_BENCH_SALVAGE_MB: the size
// of the payloads (default 2000). `--only tay` and the like choose the format.
#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "bench/harness.hpp"
#include "varve/salvage.hpp"

namespace {

using namespace varve;
using bench::must;
namespace fs = std::filesystem;

constexpr std::size_t k_text_bytes = 4000;

// The number, then letters that compress to three quarters; other ones for each number.
std::string letters(std::uint64_t number) {
  static constexpr std::string_view k_alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";
  std::mt19937_64 random(number);
  std::string out = std::to_string(1'000'000'000 + number);
  while (out.size() < k_text_bytes) {
    out += k_alphabet[random() % k_alphabet.size()];
  }
  return out;
}

void make_store(const Format& format, const std::string& path, std::uint64_t payload_bytes) {
  WriteRequest request;
  if (format.name() == "arena") {
    request.options["bare"] = "1";
  } else if (format.name() == "jss") {
    fs::create_directory(path);
  }
  must(format.init(io::posix_file_system(), path, request).has_value(), "init");
  request.options.clear();
  if (format.name() == "tay") {
    for (const char* cap : {"retained-jobs", "retained-bytes", "retained-nodes"}) {
      request.options[cap] = "1000000000000";
    }
  }
  auto appender = format.open_appender(io::posix_file_system(), path, request);
  must(appender.has_value(), "open for appending");
  for (std::uint64_t number = 0; number * k_text_bytes < payload_bytes; ++number) {
    const auto record = format.probe_record(number, letters(number));
    must(record && (*appender)->append_line(record->line).has_value(), "append");
    if (number % 4096 == 4095) {
      must((*appender)->sync().has_value(), "sync");
    }
  }
  must((*appender)->end_of_input().has_value() && (*appender)->sync().has_value() &&
           (*appender)->close().has_value(),
       "close");
}

// The files with records, in order of their names.
std::vector<fs::path> members(const std::string& path) {
  std::vector<fs::path> out;
  if (fs::is_regular_file(path)) {
    return {path};
  }
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && entry.file_size() > (1 << 20)) {
      out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

void hurt_the_middle(const std::string& path) {
  const std::vector<fs::path> files = members(path);
  must(!files.empty(), "finding the store's files");
  const fs::path& file = files[files.size() / 2];
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(file) / 2);
  stream.seekg(middle);
  const int byte = stream.get();
  stream.seekp(middle);
  stream.put(static_cast<char>(byte ^ 0x10));
  must(stream.good(), "hurting the store");
}

void copy_and_sync(const std::string& from, const std::string& to) {
  fs::copy(from, to, fs::copy_options::recursive);
  for (const fs::path& file : members(to)) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    must(descriptor >= 0 && ::fsync(descriptor) == 0, "sync of the copy");
    ::close(descriptor);
  }
}

void salvage(const Format& format, const std::string& path, const std::string& target) {
  SalvageRequest request;
  request.target = target;
  FindingList findings;
  const auto report = format.salvage(io::posix_file_system(), path, request, findings);
  must(report.has_value() && report->verdict == Verdict::damaged, "salvage");
  must(report->lost.bytes < (std::uint64_t{32} << 20), "keeping nearly all");
}

void verify(const Format& format, const std::string& path) {
  auto view = format.open(io::posix_file_system(), path, {});
  must(view.has_value(), "open");
  FindingList findings;
  const auto report = (*view)->verify({}, findings);
  must(report.has_value() && report->verdict == Verdict::damaged, "verify");
}

void measure(bench::Runner& runner, const Format& format, std::uint64_t payload_bytes) {
  const std::string name = std::string(format.name()) + ", one hurt unit in the middle";
  if (!runner.wants(name)) {
    return;
  }
  const std::string folder = bench::scratch_directory();
  const std::string path = folder + "/store";
  make_store(format, path, payload_bytes);
  hurt_the_middle(path);
  std::uint64_t bytes = 0;
  for (const fs::path& file : members(path)) {
    bytes += fs::file_size(file);
  }
  const auto clear = [&] {
    fs::remove_all(folder + "/new");
    fs::remove_all(folder + "/new.lost+found");
  };
  runner.compare({name, "bytes", bytes, bench::Timing::wall},
                 {{"verify", bench::k_limit, [&] { verify(format, path); }},
                  {"salvage, a rehearsal", bench::k_ours, [&] { salvage(format, path, ""); }},
                  {"salvage, written and synced", bench::k_ours,
                   [&] {
                     clear();
                     salvage(format, path, folder + "/new");
                   }},
                  {"copy and sync", bench::k_peer, [&] {
                     clear();
                     copy_and_sync(path, folder + "/new");
                   }}});
  fs::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("salvage", argc, argv);
  const char* megabytes = std::getenv("VARVE_BENCH_SALVAGE_MB");
  const std::uint64_t payload_bytes =
      1'000'000 * (megabytes != nullptr ? std::strtoull(megabytes, nullptr, 10) : 2000);
  for (const Format* format : formats()) {
    measure(runner, *format, payload_bytes);
  }
  return runner.finish();
}
