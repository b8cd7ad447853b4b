// SPDX-License-Identifier: MIT OR Apache-2.0
// Durable appends through src/io beside the bare pwrite + fdatasync loop, on the file system that
// holds TMPDIR (or /tmp).
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "bench/harness.hpp"
#include "io/group_commit.hpp"
#include "io/zero_ahead.hpp"

namespace {

using namespace varve;
using bench::must;

constexpr std::size_t k_record_bytes = 100;
constexpr int k_appends = 20;  // in one call of a contender
constexpr int k_threads = 8;

std::unique_ptr<io::File> open_log(const std::string& path) {
  auto file = io::posix_file_system().open_file(path, io::OpenMode::create);
  must(file.has_value(), "open");
  must((*file)->truncate(0).has_value(), "truncate");
  return std::move(*file);
}

struct Record {
  std::array<std::byte, k_record_bytes> bytes{};
};

// Eight threads append through one queue; each waits for its own record.
void append_by_threads(io::GroupCommit<Record>& queue) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < k_appends; ++i) {
        Record record;
        must(queue.submit(record).has_value(), "submit");
      }
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("append", argc, argv);
  const std::string directory = bench::scratch_directory();
  const std::array<std::byte, k_record_bytes> record{};

  const int bare = ::open((directory + "/bare").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  must(bare >= 0, "open");
  off_t bare_end = 0;
  const auto plain = open_log(directory + "/plain");
  std::uint64_t plain_end = 0;
  const auto filled = open_log(directory + "/filled");
  std::uint64_t filled_end = 0;
  io::ZeroAhead ahead(0, 16 << 20, std::uint64_t{1} << 40);
  const auto checked = open_log(directory + "/checked");
  std::uint64_t checked_end = 0;

  runner.compare(
      {"durable appends of 100 bytes, one thread", "appends", k_appends},
      {{"pwrite + fdatasync", bench::k_limit,
        [&] {
          for (int i = 0; i < k_appends; ++i) {
            must(::pwrite(bare, record.data(), record.size(), bare_end) ==
                     static_cast<ssize_t>(record.size()),
                 "pwrite");
            bare_end += static_cast<off_t>(record.size());
            must(::fdatasync(bare) == 0, "fdatasync");
          }
        }},
       {"commit_bytes", bench::k_ours,
        [&] {
          for (int i = 0; i < k_appends; ++i) {
            must(commit_bytes(*plain, record, plain_end, {}).has_value(), "commit");
            plain_end += record.size();
          }
        }},
       {"commit_bytes, read back", bench::k_ours,
        [&] {
          for (int i = 0; i < k_appends; ++i) {
            must(commit_bytes(*checked, record, checked_end, {true, true}).has_value(), "commit");
            checked_end += record.size();
          }
        }},
       {"commit_bytes over zeros ahead", bench::k_ours, [&] {
          for (int i = 0; i < k_appends; ++i) {
            must(ahead.reserve(*filled, filled_end + record.size()).has_value(), "reserve");
            must(commit_bytes(*filled, record, filled_end, {}).has_value(), "commit");
            filled_end += record.size();
          }
        }}});

  const auto shared = open_log(directory + "/shared");
  std::uint64_t shared_end = 0;
  std::atomic<std::uint64_t> batches = 0;
  std::vector<std::byte> batch_bytes;
  io::GroupCommit<Record> queue([&](std::span<Record* const> batch) -> Result<void> {
    batch_bytes.clear();
    for (const Record* one : batch) {
      batch_bytes.insert(batch_bytes.end(), one->bytes.begin(), one->bytes.end());
    }
    VARVE_TRY(commit_bytes(*shared, batch_bytes, shared_end, {}));
    shared_end += batch_bytes.size();
    ++batches;
    return {};
  });
  runner.compare({"durable appends of 100 bytes, eight threads", "appends", k_threads * k_appends},
                 {{"pwrite + fdatasync, one by one", bench::k_limit,
                   [&] {
                     for (int i = 0; i < k_threads * k_appends; ++i) {
                       must(::pwrite(bare, record.data(), record.size(), bare_end) > 0, "pwrite");
                       bare_end += static_cast<off_t>(record.size());
                       must(::fdatasync(bare) == 0, "fdatasync");
                     }
                   }},
                  {"group commit", bench::k_ours, [&] { append_by_threads(queue); }}});
  ::close(bare);
  std::filesystem::remove_all(directory);
  return runner.finish();
}
