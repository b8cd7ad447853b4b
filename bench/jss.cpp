// SPDX-License-Identifier: MIT OR Apache-2.0
// Reading an event segment beside bare libzstd over the same frames. The segment lies in
// VARVE_BENCH_DATA, where scripts/bench has bench/jss.data put one of a million events.
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>

#include "bench/harness.hpp"
#include "bench/scans.hpp"
#include "jss/layout.hpp"
#include "output/json_lines.hpp"

namespace {

using namespace varve;

// The frames of a sealed segment, in memory.
struct Frames {
  std::string file;
  std::vector<std::string_view> frames;
  std::size_t largest_body = 0;

  explicit Frames(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
    const auto* bytes = reinterpret_cast<const std::byte*>(file.data());
    const std::size_t end = jss::load_header(bytes).footer_offset;
    for (std::size_t at = jss::k_first_frame_offset; at < end;) {
      const std::size_t length = base::u64le(bytes + at);
      frames.push_back(std::string_view(file).substr(at + 8, length));
      const auto size = ZSTD_getFrameContentSize(frames.back().data(), length);
      largest_body = std::max<std::size_t>(largest_body, size);
      at += 8 + length;
    }
  }
};

// Decompresses all frames, each thread into one buffer that it uses again and again.
void bare_decompress(const Frames& frames, unsigned threads) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                       &ZSTD_freeDCtx);
    const auto body = std::make_unique_for_overwrite<char[]>(frames.largest_body);
    for (std::size_t i = next++; i < frames.frames.size(); i = next++) {
      const std::string_view frame = frames.frames[i];
      bench::keep(ZSTD_decompressDCtx(context.get(), body.get(), frames.largest_body, frame.data(),
                                      frame.size()));
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < threads; ++i) {
    others.emplace_back(work);
  }
  work();
}

class NullSink final : public output::ByteSink {
 public:
  Result<bool> write(std::string_view text) override {
    bytes += text.size();
    return true;
  }
  std::uint64_t bytes = 0;
};

// All columns of the log. Gives the number of rows.
std::uint64_t scan(const std::string& path, unsigned threads) {
  const auto view = bench::taken(open_store(path));
  bench::RowCounter sink;
  FindingList findings;
  ScanRequest request;
  request.threads = threads;
  if (const auto done = view->scan(request, sink, findings); !done) {
    bench::give_up(done.error());
  }
  return sink.rows;
}

// What `varve cat` does, into nothing. Gives the number of bytes.
std::uint64_t cat(const std::string& path, unsigned threads, PayloadForm payload) {
  const auto view = bench::taken(open_store(path));
  RenderOptions options;
  options.payload = payload;
  const output::LineRenderer renderer(*view, Face::log, options);
  NullSink out;
  output::LineSink sink(renderer, out);
  FindingList findings;
  ScanRequest request;
  request.threads = threads;
  request.mapper = &renderer;
  if (const auto done = view->scan(request, sink, findings); !done) {
    bench::give_up(done.error());
  }
  return out.bytes;
}

void verify(const std::string& path, unsigned threads) {
  const auto view = bench::taken(open_store(path));
  FindingList findings;
  VerifyRequest request;
  request.threads = threads;
  const auto report = view->verify(request, findings);
  if (!report || report->verdict != Verdict::clean) {
    std::fprintf(stderr, "the sample is not clean\n");
    std::exit(74);
  }
}

// The peak memory of a process that does nothing else.
template <class Work>
void note_peak(bench::Runner& runner, const std::string& what, Work work) {
  int ends[2];
  if (!runner.wants("peak") || ::pipe(ends) != 0) {
    return;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    const std::uint64_t peak = bench::peak_resident_bytes();
    ::_exit(::write(ends[1], &peak, sizeof peak) == sizeof peak ? 0 : 1);
  }
  ::close(ends[1]);
  std::uint64_t peak = 0;
  if (::read(ends[0], &peak, sizeof peak) == sizeof peak) {
    runner.note("peak memory of " + what, static_cast<double>(peak) / (1 << 20), "MiB");
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
}

void with_threads(bench::Runner& runner, const Frames& frames, const std::string& path,
                  std::uint64_t events, unsigned threads) {
  const std::string on = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  // With one thread all work is done on the caller's.
  const auto timing = threads == 1 ? bench::Timing::cpu : bench::Timing::wall;
  runner.compare(
      {"a segment of " + std::to_string(events) + " events, " + on, "events", events, timing},
      {{"libzstd", bench::k_limit, [&] { bare_decompress(frames, threads); }},
       {"scan, all columns", bench::k_ours, [&] { bench::keep(scan(path, threads)); }},
       {"verify", bench::k_ours, [&] { verify(path, threads); }},
       {"cat --payload none", bench::k_ours,
        [&] { bench::keep(cat(path, threads, PayloadForm::none)); }},
       {"cat", bench::k_ours, [&] { bench::keep(cat(path, threads, PayloadForm::json)); }}});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("jss", argc, argv);
  const char* data = std::getenv("VARVE_BENCH_DATA");
  const std::string path = std::string(data == nullptr ? "." : data) + "/seg_0000000000.jss";
  if (!std::filesystem::exists(path)) {
    std::fprintf(stderr, "no %s: run scripts/bench jss\n", path.c_str());
    return 66;
  }
  // First, while this process is still small.
  for (const unsigned threads : {1U, 2U}) {
    const std::string on = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    note_peak(runner, "scan, " + on, [&] { scan(path, threads); });
    note_peak(runner, "verify, " + on, [&] { verify(path, threads); });
    note_peak(runner, "cat, " + on, [&] { cat(path, threads, PayloadForm::json); });
  }
  const Frames frames(path);
  const std::uint64_t events = scan(path, 1);
  with_threads(runner, frames, path, events, 1);
  with_threads(runner, frames, path, events, 2);
  return runner.finish();
}
