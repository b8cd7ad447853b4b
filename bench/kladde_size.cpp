// SPDX-License-Identifier: MIT OR Apache-2.0
// Kladde: how large the file gets under several loads, how many bytes are written for each byte of
// payload, how long a flush takes; with consolidation and without. On the file system that holds
// TMPDIR (or /tmp). `--only "8 MiB"` and the like choose the sizes.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <random>

#include "bench/harness.hpp"
#include "varve/kladde_store.hpp"

namespace {

using namespace varve;
using bench::must;

constexpr std::uint64_t k_mib = std::uint64_t{1} << 20;
constexpr std::uint32_t k_block_bytes = 1024;
constexpr std::uint32_t k_blocks_an_allocation = 64;
constexpr std::uint32_t k_flush_bytes = 128 << 10;
constexpr std::uint64_t k_times_written = 8;

class Target {
 public:
  Target(std::string path, bool consolidate) : path_(std::move(path)) {
    must(kladde::Store::create(io::posix_file_system(), path_).has_value(), "create");
    kladde::StoreOptions options;
    options.consolidate = consolidate;
    auto store = kladde::Store::open(io::posix_file_system(), path_, options);
    must(store.has_value(), "open");
    store_ = *std::move(store);
  }
  ~Target() {
    store_.reset();
    std::filesystem::remove(path_);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  std::uint64_t random() { return random_(); }
  void write(kladde::Id id, std::uint32_t offset, std::uint32_t size) {
    bytes_.resize(size);
    for (std::size_t i = 0; i + 8 <= size; i += 8) {
      const std::uint64_t word = random_();
      std::memcpy(bytes_.data() + i, &word, 8);
    }
    transaction_.write(id, offset, bytes_);
    payload_ += size;
    pending_ += size;
    if (pending_ >= k_flush_bytes) {
      flush();
    }
  }
  void free(kladde::Id id) { transaction_.free(id); }
  void flush() {
    must(store_->commit(transaction_).has_value(), "commit");
    transaction_.clear();
    pending_ = 0;
    const auto begin = std::chrono::steady_clock::now();
    must(store_->flush().has_value(), "flush");
    flushes_.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  // What was done so far is not counted.
  void start() {
    payload_ = 0;
    flushes_.clear();
    written_before_ = store_->status().bytes_written;
  }
  void report(bench::Runner& runner, const std::string& name, std::uint64_t live) {
    const kladde::StoreStatus status = store_->status();
    const auto part = [](double a, double b) { return a / b; };
    runner.note(
        name + ": file at the end",
        part(static_cast<double>(std::filesystem::file_size(path_)), static_cast<double>(live)),
        "times the live data");
    runner.note(name + ": written",
                part(static_cast<double>(status.bytes_written - written_before_),
                     static_cast<double>(payload_)),
                "bytes a byte of payload");
    std::ranges::sort(flushes_);
    runner.note(name + ": flush p50", flushes_[flushes_.size() / 2] * 1000, "ms");
    runner.note(name + ": flush p99", flushes_[flushes_.size() * 99 / 100] * 1000, "ms");
  }
  std::uint64_t file_bytes() const { return std::filesystem::file_size(path_); }
  void compact() { must(store_->compact().has_value(), "compact"); }

 private:
  std::string path_;
  std::unique_ptr<kladde::Store> store_;
  kladde::Transaction transaction_;
  std::mt19937_64 random_{11};
  std::vector<std::byte> bytes_;
  std::vector<double> flushes_;
  std::uint64_t payload_ = 0;
  std::uint64_t pending_ = 0;
  std::uint64_t written_before_ = 0;
};

void write_block(Target& target, std::uint64_t block) {
  target.write(static_cast<kladde::Id>(1 + block / k_blocks_an_allocation),
               static_cast<std::uint32_t>(block % k_blocks_an_allocation) * k_block_bytes,
               k_block_bytes);
}

void overwrites(bench::Runner& runner, const std::string& name, Target& target, std::uint64_t live,
                const std::function<std::uint64_t(std::uint64_t blocks)>& choose) {
  const std::uint64_t blocks = live / k_block_bytes;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    write_block(target, block);
  }
  target.flush();
  target.start();
  for (std::uint64_t i = 0; i < k_times_written * blocks; ++i) {
    write_block(target, choose(blocks));
  }
  target.flush();
  target.report(runner, name, live);
}

// Logs that grow by 200 bytes at a time.
void appends(bench::Runner& runner, const std::string& name, Target& target, std::uint64_t live) {
  constexpr std::uint32_t k_logs = 64;
  constexpr std::uint32_t k_record_bytes = 200;
  std::vector<std::uint32_t> ends(k_logs);
  target.start();
  for (std::uint64_t done = 0; done < live; done += k_record_bytes) {
    const auto log = static_cast<std::uint32_t>(target.random() % k_logs);
    target.write(log + 1, ends[log], k_record_bytes);
    ends[log] += k_record_bytes;
  }
  target.flush();
  target.report(runner, name, live);
}

// Objects of 100 to 4000 bytes come and go; so much of them is there at any time.
void churn(bench::Runner& runner, const std::string& name, Target& target, std::uint64_t live) {
  std::vector<std::pair<kladde::Id, std::uint32_t>> objects;
  kladde::Id next = 1;
  std::vector<kladde::Id> freed;
  std::uint64_t held = 0;
  const auto make = [&] {
    const auto size = static_cast<std::uint32_t>(100 + target.random() % 3900);
    kladde::Id id = next;
    if (freed.size() > 1000) {
      id = freed.back();
      freed.pop_back();
    } else {
      ++next;
    }
    objects.emplace_back(id, size);
    held += size;
    target.write(id, 0, size);
  };
  while (held < live) {
    make();
  }
  target.flush();
  target.start();
  for (std::uint64_t done = 0; done < k_times_written * live;) {
    auto& object = objects[target.random() % objects.size()];
    target.free(object.first);
    freed.push_back(object.first);
    held -= object.second;
    object = objects.back();
    objects.pop_back();
    while (held < live) {
      make();
      done += objects.back().second;
    }
  }
  target.flush();
  target.report(runner, name, held);
}

// Three quarters of the allocations go at once.
void freeing(bench::Runner& runner, const std::string& name, Target& target, std::uint64_t live) {
  constexpr std::uint32_t k_value_bytes = 1000;
  const auto count = static_cast<kladde::Id>(4 * live / k_value_bytes);
  for (kladde::Id id = 1; id <= count; ++id) {
    target.write(id, 0, k_value_bytes);
  }
  target.flush();
  target.start();
  std::uint64_t left = 0;
  for (kladde::Id id = 1; id <= count; ++id) {
    if (id == 1 || target.random() % 4 != 0) {
      target.free(id);
    } else {
      left += k_value_bytes;
    }
  }
  target.flush();
  const auto times = [&] {
    return static_cast<double>(target.file_bytes()) / static_cast<double>(left);
  };
  int flushes = 0;
  for (; flushes < 100 && times() >= 1.3; ++flushes) {
    target.write(1, 0, 100);
    target.flush();
  }
  runner.note(name + ": flushes until the file is under 1.3 times the live data", flushes, "");
  for (; flushes < 16; ++flushes) {
    target.write(1, 0, 100);
    target.flush();
  }
  runner.note(name + ": file after 16 flushes", times(), "times the live data");
  target.compact();
  runner.note(name + ": file after compact", times(), "times the live data");
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("kladde_size", argc, argv);
  const std::string directory = bench::scratch_directory();
  const std::string path = directory + "/store";
  for (const std::uint64_t mib : {8, 64, 256}) {
    const std::uint64_t live = mib * k_mib;
    const auto each = [&](const std::string& load, const auto& run) {
      for (const bool consolidate : {true, false}) {
        const std::string name = load + ", " + std::to_string(mib) + " MiB live" +
                                 (consolidate ? "" : ", without consolidation");
        if (runner.wants(name)) {
          Target target(path, consolidate);
          run(name, target);
        }
      }
    };
    each("uniform overwrites", [&](const std::string& name, Target& target) {
      overwrites(runner, name, target, live,
                 [&](std::uint64_t blocks) { return target.random() % blocks; });
    });
    each("skewed overwrites", [&](const std::string& name, Target& target) {
      overwrites(runner, name, target, live, [&](std::uint64_t blocks) {
        const std::uint64_t hot = blocks / 10;
        return target.random() % 10 != 0 ? target.random() % hot
                                         : hot + target.random() % (blocks - hot);
      });
    });
    each("appends",
         [&](const std::string& name, Target& target) { appends(runner, name, target, live); });
    each("churn",
         [&](const std::string& name, Target& target) { churn(runner, name, target, live); });
    each("three quarters freed",
         [&](const std::string& name, Target& target) { freeing(runner, name, target, live); });
  }
  std::filesystem::remove_all(directory);
  return runner.finish();
}
