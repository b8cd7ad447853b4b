// SPDX-License-Identifier: MIT OR Apache-2.0
// Stores of transactions that are compacted, and their state.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arena/state_source.hpp"
#include "transactions.hpp"
#include "writer_support.hpp"

namespace varve::arena::test {

// Large enough for the snapshot's frames, small enough for several segments.
inline constexpr Geometry k_compacted{4, 8192, 2048};

inline std::vector<std::string> state_lines(io::FileSystem& files, const std::string& path,
                                            const Geometry& geometry = k_compacted) {
  const auto view = open_view(files, path, {}, geometry);
  if (!view) {
    return {"not opened"};
  }
  Scanned seen = state_of(*view);
  EXPECT_FALSE(seen.error.has_value()) << seen.error->text();
  return std::move(seen.lines);
}

inline std::uint64_t frames_in(io::FileSystem& files) {
  return read_log(files, "/store", k_compacted).size();
}

// The built-in source, with appends that arrive after the state was written.
class BusySource final : public LiveStateSource {
 public:
  BusySource(
      io::FileSystem& files, Journal& journal, std::vector<std::string> payloads,
      std::function<void(std::uint64_t appended)> told = [](std::uint64_t) {})
      : inner_(files, "/store", k_compacted, parse_schema(k_schema_2).value(), {}, 1),
        journal_(journal),
        payloads_(std::move(payloads)),
        told_(std::move(told)) {}

  Result<void> freeze(const JournalEnd& end) override { return inner_.freeze(end); }
  Result<void> write(PayloadSink& sink) override {
    VARVE_TRY(inner_.write(sink));
    for (const std::string& payload : payloads_) {
      VARVE_TRY(journal_.append(base::as_bytes(payload)));
      told_(++appended);
    }
    return {};
  }
  Result<std::optional<std::string>> carry(std::span<const std::byte> payload) override {
    return inner_.carry(payload);
  }
  Result<void> confirm(std::span<const std::byte> payload) override {
    return inner_.confirm(payload);
  }
  Result<void> confirmed() override { return inner_.confirmed(); }

  std::uint64_t appended = 0;  // acknowledged

 private:
  StateSource inner_;
  Journal& journal_;
  std::vector<std::string> payloads_;
  std::function<void(std::uint64_t appended)> told_;
};

}  // namespace varve::arena::test
