// SPDX-License-Identifier: MIT OR Apache-2.0
// SQL over a jss archive beside the bare scan of the columns that the statement names, and how much
// is read for a DID that few blocks hold. The archive is VARVE_BENCH_DATA.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "bench/harness.hpp"
#include "bench/scans.hpp"
#include "query/sql.hpp"
#include "store/open.hpp"

namespace {

using namespace varve;

std::uint64_t scan(const std::string& path, std::vector<std::string> columns, unsigned threads) {
  const auto view = bench::taken(open_store(path));
  bench::RowCounter sink;
  FindingList findings;
  ScanRequest request;
  request.columns = std::move(columns);
  request.threads = threads;
  bench::taken(view->scan(request, sink, findings));
  return sink.rows;
}

class LastRow final : public query::SqlSink {
 public:
  Result<void> columns(std::span<const std::string>) override { return {}; }
  Result<bool> row(std::span<const query::SqlValue> values) override {
    ++rows;
    if (const auto* count = std::get_if<std::int64_t>(&values.back())) {
      last = *count;
    }
    return true;
  }
  std::uint64_t rows = 0;
  std::int64_t last = 0;
};

LastRow ask(const std::string& path, const std::string& statement, unsigned threads) {
  io::FileSystem& files = io::posix_file_system();
  const auto located = bench::taken(store::locate(formats(), files, path));
  query::StoreSource source;
  source.format = located.format;
  source.files = &files;
  source.path = located.path;
  source.open.threads = threads;
  source.request.threads = threads;
  const auto tables = bench::taken(query::StoreTables::open(std::move(source)));
  FindingList findings;
  LastRow sink;
  bench::taken(query::run_sql(*tables, statement, findings, sink));
  return sink;
}

// Bytes that this process has asked the system for so far.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value) {
    if (name == "rchar:") {
      return value;
    }
  }
  return 0;
}

// A DID that lies in a few blocks, at most five.
std::string rare_did(const std::string& path) {
  class Blocks final : public BatchSink {
   public:
    Result<bool> consume(Batch batch) override {
      const auto did = static_cast<std::size_t>(batch.schema->find("did"));
      for (std::size_t row = 0; row < batch.rows; ++row) {
        ++blocks_of[std::string(batch.columns[did].bytes(row))][block_];
      }
      ++block_;
      return true;
    }
    std::map<std::string, std::map<std::uint64_t, std::uint64_t>> blocks_of;

   private:
    std::uint64_t block_ = 0;
  } blocks;
  const auto view = bench::taken(open_store(path));
  FindingList findings;
  ScanRequest request;
  request.columns = {"did"};
  bench::taken(view->scan(request, blocks, findings));
  std::string best;
  std::size_t most = 0;
  for (const auto& [did, in] : blocks.blocks_of) {
    if (in.size() <= 5 && in.size() > most) {
      best = did;
      most = in.size();
    }
  }
  return best;
}

void note_bytes(bench::Runner& runner, const std::string& path) {
  if (!runner.wants("bytes")) {
    return;
  }
  const std::string did = rare_did(path);
  if (did.empty()) {
    std::printf("every DID lies in more than five blocks\n\n");
    return;
  }
  const auto view = bench::taken(open_store(path));
  const std::uint64_t archive = bench::taken(view->info()).bytes;
  ScanRequest request;
  request.predicate.terms = {{"did", did}};
  const Json plan = bench::taken(view->plan(request));
  const Json* blocks = plan.find("bytes_to_read");
  const std::uint64_t in_blocks = blocks->as_uint64() != nullptr ? *blocks->as_uint64() : 0;
  const std::uint64_t before = bytes_read();
  const LastRow rows = ask(path, "select seq, record from log where did = '" + did + "'", 1);
  const std::uint64_t read = bytes_read() - before;
  runner.note("rows of the DID", static_cast<double>(rows.rows), "rows");
  runner.note("bytes of its blocks",
              100.0 * static_cast<double>(in_blocks) / static_cast<double>(archive),
              "% of the archive");
  runner.note("bytes read besides",
              100.0 * static_cast<double>(read - in_blocks) / static_cast<double>(archive),
              "% of the archive");
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("sql", argc, argv);
  const char* data = std::getenv("VARVE_BENCH_DATA");
  const std::string path = data == nullptr ? "." : data;
  const std::uint64_t events = scan(path, {"seq"}, 2);
  for (const unsigned threads : {1U, 2U}) {
    const std::string on = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    runner.compare(
        {"an archive of " + std::to_string(events) + " events, " + on, "events", events,
         bench::Timing::wall},
        {{"bare scan of collection", bench::k_limit,
          [&] { bench::keep(scan(path, {"collection"}, threads)); }},
         {"select collection, count(*) group by 1", bench::k_ours,
          [&] {
            bench::keep(ask(path, "select collection, count(*) from log group by 1", threads).last);
          }},
         {"the same row by row: count(seq)", bench::k_ours, [&] {
            bench::keep(
                ask(path, "select collection, count(seq) from log group by 1", threads).last);
          }}});
  }
  note_bytes(runner, path);
  return runner.finish();
}
