// SPDX-License-Identifier: MIT OR Apache-2.0
// Appending, sealing and compacting the rows of a segment of a million events beside bare libzstd
// over the same block bodies. The segment lies in VARVE_BENCH_DATA (bench/jss-write.data).
#include <unistd.h>
#include <zstd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>

#include "bench/harness.hpp"
#include "jss/block.hpp"
#include "jss/block_builder.hpp"
#include "jss/layout.hpp"
#include "jss/names.hpp"
#include "jss/press.hpp"
#include "jss/writing.hpp"
#include "varve/jss.hpp"
#include "varve/jss_compact.hpp"

namespace {

using namespace varve;
namespace fs = std::filesystem;

template <class T>
T need(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().text().c_str());
    std::exit(74);
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

std::string read_whole(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string threads_text(unsigned threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

// The decoded blocks of the sample.
struct Sample {
  std::deque<jss::Block> blocks;
  std::uint64_t events = 0;
  std::uint64_t body_bytes = 0;
  std::size_t largest_body = 0;

  explicit Sample(const fs::path& path) {
    const std::string file = read_whole(path);
    const base::ByteSpan bytes = base::as_bytes(file);
    const std::size_t end = jss::load_header(bytes.data()).footer_offset;
    jss::FrameDecoder decoder;
    for (std::size_t at = jss::k_first_frame_offset; at < end;) {
      const std::size_t length = base::u64le(bytes.data() + at);
      jss::Block& block = blocks.emplace_back();
      if (decoder.decode(bytes.subspan(at + 8, length), jss::k_max_body_bytes, block)) {
        std::fprintf(stderr, "the sample does not decode\n");
        std::exit(74);
      }
      events += block.columns.rows;
      body_bytes += block.body.size();
      largest_body = std::max(largest_body, block.body.size());
      at += 8 + length;
    }
  }
};

// Compresses all bodies, each thread into one buffer that it uses again and again.
void bare_compress(const Sample& sample, unsigned threads) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                       &ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, jss::k_compression_level);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
    const std::size_t room = ZSTD_compressBound(sample.largest_body);
    const auto frame = std::make_unique_for_overwrite<char[]>(room);
    for (std::size_t i = next++; i < sample.blocks.size(); i = next++) {
      const base::ByteSpan body = sample.blocks[i].body.span();
      bench::keep(ZSTD_compress2(context.get(), frame.get(), room, body.data(), body.size()));
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < threads; ++i) {
    others.emplace_back(work);
  }
  work();
}

// A directory that is made anew for each store and removed in the end.
class Scratch {
 public:
  Scratch() : path_(fs::temp_directory_path() / ("varve-bench-" + std::to_string(::getpid()))) {}
  ~Scratch() { fs::remove_all(path_); }
  std::string fresh() const {
    fs::remove_all(path_);
    return path_.string();
  }
  std::string segment(std::uint64_t number) const {
    return (path_ / *jss::segment_name(number)).string();
  }

 private:
  fs::path path_;
};

// A new store with the rows of the sample, durable, in one active segment.
std::unique_ptr<jss::Writer> append_all(const Sample& sample, const std::string& path,
                                        unsigned threads) {
  io::FileSystem& files = io::posix_file_system();
  need(jss::Writer::create(files, path));
  auto writer = need(jss::Writer::open(
      files, path, {.threads = threads, .rotation_bytes = std::uint64_t{1} << 40}));
  for (const jss::Block& block : sample.blocks) {
    for (std::size_t row = 0; row < block.columns.rows; ++row) {
      need(writer->append(jss::event_at(block.columns, row)));
    }
  }
  need(writer->sync());
  return writer;
}

// Seconds of one call, the median of several; `prepare` runs before each, untimed.
template <class Prepare, class Work>
double median_seconds(Prepare prepare, Work work) {
  constexpr int k_rounds = 5;
  std::vector<double> seconds;
  for (int i = 0; i < k_rounds; ++i) {
    auto prepared = prepare();
    const auto from = std::chrono::steady_clock::now();
    work(prepared);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

void append(bench::Runner& runner, const Sample& sample, unsigned threads) {
  const Scratch scratch;
  // With one thread all work is done on the caller's; then what the disk takes is left out.
  const auto timing = threads == 1 ? bench::Timing::cpu : bench::Timing::wall;
  runner.compare(
      {"append " + std::to_string(sample.events) + " events, " + threads_text(threads), "events",
       sample.events, timing},
      {{"libzstd", bench::k_limit, [&] { bare_compress(sample, threads); }},
       {"append and sync", bench::k_ours, [&] { append_all(sample, scratch.fresh(), threads); }}});
}

void seal(bench::Runner& runner, const Sample& sample, unsigned threads) {
  const std::string what =
      " of " + std::to_string(sample.events) + " events, " + threads_text(threads);
  if (!runner.wants("seal" + what)) {
    return;
  }
  const Scratch scratch;
  const double by_writer =
      median_seconds([&] { return append_all(sample, scratch.fresh(), threads); },
                     [](const auto& writer) { need(writer->seal()); });
  runner.note("seal" + what + ", by the writer", by_writer, "s");
  const double resumed = median_seconds(
      [&] {
        append_all(sample, scratch.fresh(), threads);
        return 0;
      },
      [&](int) {
        WriteRequest request;
        request.threads = threads;
        need(jss::seal_store(io::posix_file_system(), scratch.segment(0), request));
      });
  runner.note("seal" + what + ", by a process that resumes", resumed, "s");
}

// A sealed segment without superseded rows, and one behind it with a delete for one row in each
// `every`-th block.
void compaction(bench::Runner& runner, const Sample& sample, unsigned threads, std::size_t every,
                const std::string& share) {
  const std::string what = "compact, " + share + " of the blocks change, " + threads_text(threads);
  if (!runner.wants(what)) {
    return;
  }
  const Scratch scratch;
  const std::string archive = scratch.fresh();
  const std::string first = scratch.segment(0);
  const auto pass = [&] {
    return need(
        jss::compact(io::posix_file_system(), archive, {.threads = threads, .watermark = 0}));
  };
  need(append_all(sample, archive, threads)->seal());
  pass();  // the sample has updates and deletes of its own
  const Sample left(first);
  {
    const auto writer =
        need(jss::Writer::open(io::posix_file_system(), archive, {.threads = threads}));
    for (std::size_t i = 0; i < left.blocks.size(); i += every) {
      const jss::BlockColumns& c = left.blocks[i].columns;
      for (std::size_t row = 0; row < c.rows; ++row) {
        jss::Event event = jss::event_at(c, row);
        if (event.kind == 1) {
          event.kind = 3;
          event.seq = 0;
          event.payload = {};
          need(writer->append(event));
          break;
        }
      }
    }
    need(writer->seal());
  }
  const std::string before = read_whole(first);
  std::uint64_t blocks = 0;
  const double seconds = median_seconds(
      [&] {
        std::ofstream(first, std::ios::binary) << before;
        return 0;
      },
      [&](int) { blocks = pass().rewritten.at(0).blocks_changed; });
  runner.note(
      what + " (" + std::to_string(blocks) + " of " + std::to_string(left.blocks.size()) + ")",
      static_cast<double>(before.size()) / seconds / 1e6, "MB/s of segment");
  runner.note(what + ", decoded bodies", static_cast<double>(left.body_bytes) / seconds / 1e6,
              "MB/s");
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("jss-write", argc, argv);
  const char* data = std::getenv("VARVE_BENCH_DATA");
  const fs::path path = fs::path(data == nullptr ? "." : data) / "seg_0000000000.jss";
  if (!fs::exists(path)) {
    std::fprintf(stderr, "no %s: run scripts/bench jss-write\n", path.c_str());
    return 66;
  }
  const Sample sample(path);
  for (const unsigned threads : {1U, 2U}) {
    append(runner, sample, threads);
    seal(runner, sample, threads);
    compaction(runner, sample, threads, 100, "1 %");
    compaction(runner, sample, threads, 2, "50 %");
  }
  return runner.finish();
}
