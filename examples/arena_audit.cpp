// SPDX-License-Identifier: MIT OR Apache-2.0
// An audit log on an arena journal:
//
//   example_arena_audit DIRECTORY record WHO WHAT    durable before it returns
//   example_arena_audit DIRECTORY show               every entry, after the log was checked
//
// An entry is one frame with a checksum, and carries the hash of the entry before it: an entry that
// was changed, or taken out, with all checksums made to fit, still shows.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "varve/arena.hpp"

namespace {

using namespace varve;

int complain(const Error& error) {
  std::fprintf(stderr, "example_arena_audit: %s\n", error.text().c_str());
  return exit_code(error);
}

// FNV-1a: enough to show the idea. A log that must stand up to people needs a keyed hash.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3U;
  }
  return to_text(Number::hex64(hash));
}

// Calls `take` with each entry.
class Entries final : public BatchSink {
 public:
  explicit Entries(std::function<void(std::string_view)> take) : take_(std::move(take)) {}
  Result<bool> consume(Batch batch) override {
    const int payload = batch.schema->find("payload");
    for (std::size_t row = 0; row < batch.rows; ++row) {
      take_(batch.columns[static_cast<std::size_t>(payload)].bytes(row));
    }
    return true;
  }

 private:
  std::function<void(std::string_view)> take_;
};

// Reads the log; the first damage is an error.
Result<void> read(const std::string& directory, std::function<void(std::string_view)> take) {
  VARVE_ASSIGN(const auto store, open_store(directory));
  FindingList findings;
  VARVE_ASSIGN(const VerifyReport report, store->verify({}, findings));
  if (report.verdict == Verdict::damaged) {
    return std::unexpected(to_error(findings.findings().front()));
  }
  Entries entries(std::move(take));
  VARVE_TRY(store->scan({}, entries, findings));
  return {};
}

Result<void> record(const std::string& directory, const std::string& who, const std::string& what) {
  io::FileSystem& files = io::posix_file_system();
  if (!std::filesystem::exists(directory)) {
    arena::CreateOptions options;
    options.bare = true;
    VARVE_TRY(arena::create_store(files, directory, options));
  }
  // The lock comes first, so that nothing is appended between the look and the append.
  VARVE_ASSIGN(const auto journal, arena::Journal::open(files, directory));
  std::string last;
  VARVE_TRY(read(directory, [&](std::string_view entry) { last = entry; }));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string entry =
      hash_of(last) + ' ' +
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count()) + ' ' + who +
      ": " + what;
  VARVE_TRY(journal->append(std::as_bytes(std::span(entry))));
  return journal->close();
}

Result<bool> show(const std::string& directory) {
  std::string last;
  bool unbroken = true;
  VARVE_TRY(read(directory, [&](std::string_view entry) {
    const bool follows = entry.starts_with(hash_of(last));
    unbroken = unbroken && follows;
    std::printf("%s %.*s\n", follows ? "ok    " : "BROKEN", static_cast<int>(entry.size()),
                entry.data());
    last = entry;
  }));
  return unbroken;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[2] : "";
  if (verb == "record" && argc == 5) {
    const auto done = record(argv[1], argv[3], argv[4]);
    return done ? 0 : complain(done.error());
  }
  if (verb == "show" && argc == 3) {
    const auto unbroken = show(argv[1]);
    return !unbroken ? complain(unbroken.error()) : *unbroken ? 0 : 2;
  }
  std::fprintf(stderr, "usage: example_arena_audit DIRECTORY record WHO WHAT | show\n");
  return 64;
}
