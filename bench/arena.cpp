// SPDX-License-Identifier: MIT OR Apache-2.0
// The arena journal: appending beside bare system calls and the write-ahead logs of RocksDB and
// LevelDB, verifying beside the bare LZ4 + CRC loop, and opening; on the file system that holds
// TMPDIR (or /tmp).
#include <fcntl.h>
#include <lz4.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "arena/codec.hpp"
#include "arena/manifest.hpp"
#include "arena/view.hpp"
#include "base/checksum.hpp"
#include "bench/arena_peers.hpp"
#include "bench/harness.hpp"
#include "varve/arena.hpp"

namespace {

using namespace varve;
using bench::must;

constexpr int k_threads = 8;

// JSON-like text, a third of its size when compressed.
std::string payload_of(std::size_t bytes, std::uint64_t number) {
  std::string out;
  std::uint64_t state = number * 0x9E3779B97F4A7C15ULL + 1;
  while (out.size() < bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out += "{\"Vector\":{\"id\":\"v" + std::to_string(state % 100'000) + "\",\"indices\":[" +
           std::to_string(state % 4096) + "]}},";
  }
  out.resize(bytes);
  return out;
}

class BareLog {
 public:
  explicit BareLog(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    must(file_ >= 0, "open");
  }
  ~BareLog() { ::close(file_); }
  BareLog(const BareLog&) = delete;
  BareLog& operator=(const BareLog&) = delete;

  // What no journal of such frames can do without: LZ4, CRC-32, one pwrite.
  void append(const std::string& payload, bool sync) {
    frame_.resize(16 +
                  static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(payload.size()))));
    const int stored =
        LZ4_compress_default(payload.data(), frame_.data() + 16, static_cast<int>(payload.size()),
                             static_cast<int>(frame_.size()) - 16);
    const std::uint32_t crc = base::crc32(base::as_bytes(payload));
    std::memcpy(frame_.data(), &crc, sizeof crc);
    const std::size_t length = 16 + static_cast<std::size_t>(stored);
    must(::pwrite(file_, frame_.data(), length, end_) == static_cast<ssize_t>(length), "pwrite");
    end_ += static_cast<off_t>(length);
    must(!sync || ::fdatasync(file_) == 0, "fdatasync");
  }
  // The payload alone.
  void write(const std::string& payload) {
    const auto length = static_cast<ssize_t>(payload.size());
    must(::pwrite(file_, payload.data(), payload.size(), end_) == length, "pwrite");
    end_ += length;
  }

 private:
  int file_;
  off_t end_ = 0;
  std::vector<char> frame_;
};

std::unique_ptr<arena::Journal> new_journal(const std::string& path, bool sync_each,
                                            std::uint64_t buffer_bytes = 0) {
  must(arena::create_store(io::posix_file_system(), path, {.version = 4, .bare = true}).has_value(),
       "create");
  arena::JournalOptions options;
  options.sync_each = sync_each;
  options.buffer_bytes = buffer_bytes;
  auto journal = arena::Journal::open(io::posix_file_system(), path, options);
  must(journal.has_value(), "open");
  return *std::move(journal);
}

template <class Append>
void by_threads(int each, const std::vector<std::string>& payloads, Append append) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        append(payloads[static_cast<std::size_t>(t * each + i) % payloads.size()]);
      }
    });
  }
}

void append_of(bench::Runner& runner, const std::string& directory, std::size_t bytes,
               const std::string& size) {
  std::vector<std::string> payloads;
  for (std::uint64_t i = 0; i < 64; ++i) {
    payloads.push_back(payload_of(bytes, i));
  }
  const std::string at = directory + "/" + std::to_string(bytes);
  std::filesystem::create_directory(at);
  const auto all = [&](int count, auto append) {
    for (int i = 0; i < count; ++i) {
      append(payloads[static_cast<std::size_t>(i) % payloads.size()]);
    }
  };
  BareLog bare(at + "/bare");
  BareLog plain(at + "/plain");
  bench::RocksLog rocks(at + "/rocks");
  bench::LevelLog level(at + "/level");
  const auto lazy = new_journal(at + "/lazy", false);
  const auto buffered = new_journal(at + "/buffered", false, 256 << 10);
  const auto durable = new_journal(at + "/durable", true);
  const auto into = [](arena::Journal& journal) {
    return [&journal](const std::string& payload) {
      must(journal.append(base::as_bytes(payload)).has_value(), "append");
    };
  };
  std::vector<base::ByteSpan> batch;
  for (const std::string& payload : payloads) {
    batch.push_back(base::as_bytes(payload));
  }
  const int unsynced = bytes > 10'000 ? 64 : 640;
  runner.compare(
      {"append " + size + ", not synced", "appends", static_cast<std::uint64_t>(unsynced)},
      {{"LZ4 + CRC + pwrite", bench::k_limit,
        [&] { all(unsynced, [&](const auto& payload) { bare.append(payload, false); }); }},
       {"pwrite alone", bench::k_peer,
        [&] { all(unsynced, [&](const auto& payload) { plain.write(payload); }); }},
       {"arena, one by one", bench::k_ours, [&] { all(unsynced, into(*lazy)); }},
       {"arena, one by one, a buffer of 256 KiB", bench::k_ours,
        [&] { all(unsynced, into(*buffered)); }},
       {"arena, 64 at once", bench::k_ours,
        [&] {
          for (int i = 0; i < unsynced; i += 64) {
            must(lazy->append_all(batch, false).has_value(), "append_all");
          }
        }},
       {"RocksDB", bench::k_peer,
        [&] { all(unsynced, [&](const auto& payload) { rocks.append(payload, false); }); }},
       {"LevelDB", bench::k_peer,
        [&] { all(unsynced, [&](const auto& payload) { level.append(payload, false); }); }}});
  runner.compare({"append " + size + ", synced each", "appends", 20},
                 {{"LZ4 + CRC + pwrite + fdatasync", bench::k_limit,
                   [&] { all(20, [&](const auto& payload) { bare.append(payload, true); }); }},
                  {"arena", bench::k_ours, [&] { all(20, into(*durable)); }},
                  {"RocksDB", bench::k_peer,
                   [&] { all(20, [&](const auto& payload) { rocks.append(payload, true); }); }},
                  {"LevelDB", bench::k_peer,
                   [&] { all(20, [&](const auto& payload) { level.append(payload, true); }); }}});
  runner.compare(
      {"append " + size + ", synced, eight threads", "appends", k_threads * 10},
      {{"LZ4 + CRC + pwrite + fdatasync, one by one", bench::k_limit,
        [&] { all(k_threads * 10, [&](const auto& payload) { bare.append(payload, true); }); }},
       {"arena, group commit", bench::k_ours, [&] { by_threads(10, payloads, into(*durable)); }},
       {"RocksDB", bench::k_peer,
        [&] {
          by_threads(10, payloads, [&](const auto& payload) { rocks.append(payload, true); });
        }},
       {"LevelDB", bench::k_peer, [&] {
          by_threads(10, payloads, [&](const auto& payload) { level.append(payload, true); });
        }}});
}

// A log of frames of 4 KiB, and a bare loop over it.
void verify(bench::Runner& runner, const std::string& directory) {
  constexpr std::size_t k_frames = 32'000;
  const std::string path = directory + "/verify";
  {
    const auto journal = new_journal(path, false);
    for (std::uint64_t i = 0; i < k_frames; ++i) {
      must(journal->append(base::as_bytes(payload_of(4096, i))).has_value(), "append");
    }
    must(journal->close().has_value(), "close");
  }
  const int file = ::open((path + "/seg_0.bin").c_str(), O_RDONLY | O_CLOEXEC);
  must(file >= 0, "open");
  std::vector<std::byte> log(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)));
  std::vector<std::byte> payload(4096);
  const auto bare = [&] {
    for (std::size_t at = 0; at < log.size(); at += 256 << 10) {
      const std::size_t length = std::min<std::size_t>(256 << 10, log.size() - at);
      must(::pread(file, log.data() + at, length, static_cast<off_t>(at)) ==
               static_cast<ssize_t>(length),
           "pread");
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i < k_frames; ++i) {
      const auto header = arena::decode_header(log.data() + at);
      const auto* data = reinterpret_cast<const char*>(log.data() + at + 16);
      must(LZ4_decompress_safe(data, reinterpret_cast<char*>(payload.data()),
                               static_cast<int>(header.comp_len), 4096) == 4096 &&
               base::crc32(payload) == header.crc32,
           "frame");
      at += header.frame_bytes();
    }
  };
  const auto ours = [&](unsigned threads) {
    auto view = arena::ArenaView::open(io::posix_file_system(), path, {});
    FindingList findings;
    VerifyRequest request;
    request.threads = threads;
    must((*view)->verify(request, findings).has_value() && findings.errors() == 0, "verify");
  };
  runner.compare({"verify 32,000 frames of 4 KiB", "bytes", k_frames * 4096},
                 {{"pread + LZ4 + CRC, one thread", bench::k_limit, bare},
                  {"varve verify, 1 thread", bench::k_ours, [&] { ours(1); }},
                  {"varve verify, all cores", bench::k_ours, [&] { ours(0); }}});
  ::close(file);
}

// Ten segments of 1 GiB. Opening walks the last one only, so that only its frames are real; those
// before it are sparse and end early, which the format allows.
void open_ten_gib(bench::Runner& runner, const std::string& directory) {
  const std::string path = directory + "/ten";
  must(arena::create_store(io::posix_file_system(), path, {.version = 2, .bare = true}).has_value(),
       "create");
  for (std::uint32_t i = 1; i < 10; ++i) {
    const std::string segment = path + "/" + arena::segment_name(i);
    const int file = ::open(segment.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(file >= 0 && ::ftruncate(file, off_t{1} << 30) == 0, "segment");
    ::close(file);
  }
  {
    auto journal = arena::Journal::open(io::posix_file_system(), path, {.sync_each = false});
    must(journal.has_value(), "open");
    const std::string payload = payload_of(1 << 16, 1);
    while ((*journal)->end().segment == 9 &&
           (*journal)->end().offset < (std::uint64_t{900} << 20)) {
      must((*journal)->append(base::as_bytes(payload)).has_value(), "append");
    }
    must((*journal)->close().has_value(), "close");
  }
  runner.compare(
      {"open a 10 GiB arena, 900 MiB of frames in the last segment", "opens", 1},
      {{"to append, 1 thread", bench::k_ours,
        [&] {
          must(arena::Journal::open(io::posix_file_system(), path, {.threads = 1}).has_value(),
               "open");
        }},
       {"to append, all cores", bench::k_ours,
        [&] { must(arena::Journal::open(io::posix_file_system(), path, {}).has_value(), "open"); }},
       {"to read, with info", bench::k_ours, [&] {
          auto view = arena::ArenaView::open(io::posix_file_system(), path, {});
          must(view.has_value() && (*view)->info().has_value(), "info");
        }}});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("arena", argc, argv);
  const std::string directory = bench::scratch_directory();
  if (runner.wants("append")) {
    append_of(runner, directory, 100, "100 B");
    append_of(runner, directory, 1024, "1 KiB");
    append_of(runner, directory, 64 << 10, "64 KiB");
  }
  if (runner.wants("verify")) {
    verify(runner, directory);
  }
  if (runner.wants("open a 10 GiB arena")) {
    open_ten_gib(runner, directory);
  }
  runner.note("peak resident memory", static_cast<double>(bench::peak_resident_bytes()), "bytes");
  std::filesystem::remove_all(directory);
  return runner.finish();
}
