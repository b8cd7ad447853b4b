// SPDX-License-Identifier: MIT OR Apache-2.0
// Tay: checking, replay, restart, appending and group commit, beside bare system calls, on the file
// system that holds TMPDIR (or /tmp).
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "base/checksum.hpp"
#include "bench/harness.hpp"
#include "tay/activation.hpp"
#include "tay/event.hpp"
#include "tay/initialize.hpp"
#include "tay/view.hpp"
#include "varve/tay.hpp"

namespace {

using namespace varve;
using bench::must;

constexpr std::size_t k_jobs = 10'000;
constexpr std::size_t k_events = 3 * k_jobs;
constexpr std::size_t k_args_bytes =
    1140;                      // makes the store 19.4 MB, as the original's measurement
constexpr int k_appends = 20;  // in one call of a contender
constexpr std::size_t k_payload_bytes = 400;

tay::Budgets no_budgets() {
  tay::Budgets out;
  out.retained_jobs = out.retained_bytes = out.retained_nodes = tay::k_no_limit;
  out.activation_window_ms = tay::k_no_limit;
  return out;
}

tay::JobStoreOptions options_of(tay::Durability durability) {
  tay::JobStoreOptions options;
  options.durability = durability;
  options.rotation_bytes = tay::k_max_sealed_bytes;
  options.budgets = no_budgets();
  return options;
}

tay::JobDefinition definition() {
  tay::JobDefinition out;
  out.worker_key = "mail.send";
  return out;
}

// 10,000 jobs, each inserted, started and finished.
void make_jobs(const std::string& path) {
  auto store =
      tay::JobStore::create(io::posix_file_system(), path, options_of(tay::Durability::write));
  must(store.has_value(), "create");
  tay::JobDefinition work = definition();
  work.args_json = "{\"text\":\"" + std::string(k_args_bytes, 'x') + "\"}";
  for (std::size_t i = 0; i < k_jobs; ++i) {
    const tay::JobId id = (*store)->new_id();
    must((*store)->insert(id, work).has_value(), "insert");
    const auto run = (*store)->start(id);
    must(run && (*store)->finish(id, *run->execution, tay::Outcome::success), "finish");
  }
}

// A writer of a new store, without jobs.
tay::LogWriter open_log(const std::string& path) {
  auto owner = tay::initialize(io::posix_file_system(), path, {});
  must(owner.has_value(), "initialize");
  auto candidate = tay::recover(*std::move(owner), {});
  must(candidate.has_value(), "recover");
  tay::LogWriterOptions options;
  options.rotation_bytes = tay::k_max_sealed_bytes;
  auto writer = tay::activate(*candidate, options);
  must(writer.has_value(), "activate");
  return *std::move(writer);
}

void read_and_hash(int file, std::vector<std::byte>& buffer) {
  std::uint32_t crc = 0;
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file, buffer.data(), buffer.size(), at);
    if (got <= 0) break;
    crc = base::crc32c({buffer.data(), static_cast<std::size_t>(got)}, crc);
    at += got;
  }
  bench::keep(crc);
}

void check_and_replay(bench::Runner& runner, const std::string& directory) {
  const std::string store = directory + "/jobs";
  make_jobs(store);
  const std::string segment = store + "/segments/" + tay::segment_name(1);
  const std::uint64_t bytes = std::filesystem::file_size(segment);
  const int file = ::open(segment.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<std::byte> buffer(256 << 10);
  const auto verify = [&](unsigned threads, bool quick) {
    auto view = tay::format().open(io::posix_file_system(), store, {});
    FindingList findings;
    VerifyRequest request;
    request.threads = threads;
    request.quick = quick;
    must((*view)->verify(request, findings).has_value() && findings.errors() == 0, "verify");
  };
  const auto walk = [&](unsigned threads) {
    tay::RecoveryOptions options;
    options.threads = threads;
    options.semantic = false;
    must(tay::recover(io::posix_file_system(), store, options).has_value(), "walk");
  };
  runner.compare({"check 19.4 MB of jobs", "bytes", bytes},
                 {{"pread + CRC-32C", bench::k_limit, [&] { read_and_hash(file, buffer); }},
                  {"physical pass, 1 thread", bench::k_ours, [&] { walk(1); }},
                  {"physical pass, all cores", bench::k_ours, [&] { walk(0); }},
                  {"verify with replay, 1 thread", bench::k_ours, [&] { verify(1, false); }},
                  {"verify with replay, all cores", bench::k_ours, [&] { verify(0, false); }}});
  ::close(file);
  const auto recover = [&](unsigned threads) {
    tay::RecoveryOptions options;
    options.threads = threads;
    must(tay::recover(io::posix_file_system(), store, options).has_value(), "recover");
  };
  const auto restart = [&](unsigned threads) {
    tay::JobStoreOptions options = options_of(tay::Durability::sync);
    options.threads = threads;
    must(tay::JobStore::open(io::posix_file_system(), store, options).has_value(), "open");
  };
  runner.compare({"recover 10,000 jobs (30,000 events)", "events", k_events},
                 {{"recovery, 1 thread", bench::k_ours, [&] { recover(1); }},
                  {"recovery, all cores", bench::k_ours, [&] { recover(0); }},
                  {"JobStore::open, 1 thread", bench::k_ours, [&] { restart(1); }},
                  {"JobStore::open, all cores", bench::k_ours, [&] { restart(0); }}});
}

void append(bench::Runner& runner, const std::string& directory) {
  const std::vector<std::byte> payload(k_payload_bytes);
  const std::vector<std::byte> frame(k_payload_bytes + 28);
  const int bare = ::open((directory + "/bare").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  must(bare >= 0, "open");
  off_t end = 0;
  const auto write_bare = [&](bool sync) {
    for (int i = 0; i < k_appends; ++i) {
      must(::pwrite(bare, frame.data(), frame.size(), end) > 0, "pwrite");
      end += static_cast<off_t>(frame.size());
      must(!sync || ::fdatasync(bare) == 0, "fdatasync");
    }
  };
  tay::LogWriter writer = open_log(directory + "/log");
  const auto write_log = [&](bool sync, int batch) {
    for (int i = 0; i < k_appends; i += batch) {
      for (int k = 0; k < batch; ++k) {
        must(writer.add(1, 1, payload).has_value(), "add");
      }
      must(writer.commit(sync).has_value(), "commit");
    }
  };
  runner.compare({"append 428-byte records, not synced", "appends", k_appends},
                 {{"pwrite", bench::k_limit, [&] { write_bare(false); }},
                  {"tay, one by one", bench::k_ours, [&] { write_log(false, 1); }},
                  {"tay, 20 at once", bench::k_ours, [&] { write_log(false, 20); }}});
  runner.compare({"append 428-byte records, synced", "appends", k_appends},
                 {{"pwrite + fdatasync", bench::k_limit, [&] { write_bare(true); }},
                  {"tay, one by one", bench::k_ours, [&] { write_log(true, 1); }},
                  {"tay, 20 at once", bench::k_ours, [&] { write_log(true, 20); }}});
  ::close(bare);
}

void group_commit(bench::Runner& runner, const std::string& directory) {
  const int bare = ::open((directory + "/alone").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  must(bare >= 0, "open");
  const std::vector<std::byte> frame(k_payload_bytes + 28);
  off_t end = 0;
  auto store = tay::JobStore::create(io::posix_file_system(), directory + "/shared",
                                     options_of(tay::Durability::sync));
  must(store.has_value(), "create");
  const tay::JobDefinition work = definition();
  const auto insert = [&](int callers, int each) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < callers; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < each; ++i) {
          must((*store)->insert((*store)->new_id(), work).has_value(), "insert");
        }
      });
    }
  };
  constexpr int k_alone = 100;  // syncs of a run that shares none
  for (const int callers : {1, 10, 100}) {
    const int each = callers == 1 ? k_alone : 50;
    const double share = static_cast<double>(k_alone) / (callers * each);
    runner.compare({"insert jobs, " + std::to_string(callers) + " callers", "inserts",
                    static_cast<std::uint64_t>(callers * each)},
                   {{"pwrite + fdatasync, one by one", bench::k_limit,
                     [&] {
                       for (int i = 0; i < k_alone; ++i) {
                         must(::pwrite(bare, frame.data(), frame.size(), end) > 0, "pwrite");
                         end += static_cast<off_t>(frame.size());
                         must(::fdatasync(bare) == 0, "fdatasync");
                       }
                     },
                     share},
                    {"JobStore, one caller", bench::k_peer, [&] { insert(1, k_alone); }, share},
                    {"JobStore, all callers", bench::k_ours, [&] { insert(callers, each); }}});
  }
  ::close(bare);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("tay", argc, argv);
  const std::string directory = bench::scratch_directory();
  check_and_replay(runner, directory);
  append(runner, directory);
  group_commit(runner, directory);
  runner.note("peak resident memory", static_cast<double>(bench::peak_resident_bytes()), "bytes");
  std::filesystem::remove_all(directory);
  return runner.finish();
}
