// SPDX-License-Identifier: MIT OR Apache-2.0
// Stores with tiny segments in memory, written through the journal, and their log read back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "arena/journal.hpp"
#include "arena/log_frames.hpp"
#include "io/fixed_environment.hpp"
#include "view_support.hpp"

namespace varve::arena::test {

// Version 4 with segments of 2048 bytes that grow by 512; version 3 with segments of 1024.
inline constexpr Geometry k_small_growing{4, 2048, 512};
inline constexpr Geometry k_small_fixed{3, 1024, 1024};

inline std::string small_manifest(const Geometry& geometry) {
  return manifest_text({geometry.version, geometry.segment_bytes});
}

// A bare arena without a segment: what create_store leaves before the first one.
inline void put_bare_arena(io::SimulatedFileSystem& files, const Geometry& geometry,
                           const std::string& path = "/arena") {
  put(files, path + "/format.json", small_manifest(geometry));
}
// A store of schema 2 around such an arena.
inline void put_store(io::SimulatedFileSystem& files, const Geometry& geometry,
                      const std::string& path = "/store") {
  put(files, path + "/store.json", k_schema_2);
  put(files, path + "/vectors_data.bin/format.json", small_manifest(geometry));
}

inline JournalOptions quiet_options(io::Environment* environment = nullptr) {
  JournalOptions options;
  options.zero_ahead_bytes = 0;
  options.threads = 1;
  options.environment = environment;
  return options;
}

inline std::unique_ptr<Journal> must_open(io::FileSystem& files, const std::string& path,
                                          const Geometry& geometry,
                                          const JournalOptions& options = quiet_options()) {
  auto journal = open_journal(files, path, options, geometry);
  EXPECT_TRUE(journal.has_value()) << journal.error().text();
  return journal ? *std::move(journal) : nullptr;
}

inline Result<Appended> append(Journal& journal, std::string_view payload) {
  return journal.append(base::as_bytes(payload));
}

// Payloads that LZ4 does not shorten, of a length that varies with the number.
inline std::string payload_text(std::uint64_t number) {
  std::string out = "payload " + std::to_string(number) + ":";
  std::uint64_t state = number * 0x9E3779B97F4A7C15ULL + 1;
  for (std::uint64_t i = 0; i < 40 + number % 7 * 31; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out += static_cast<char>('!' + state % 90);
  }
  return out;
}

// Bytes that LZ4 does not shorten.
inline std::string noise(std::uint64_t length, std::uint64_t seed = 1) {
  std::string out;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  while (out.size() < length) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out += static_cast<char>(state >> 32);
  }
  return out;
}

struct LogFrame {
  LogPlace place;
  std::uint32_t seq = 0;
  std::string payload;
};

// Every frame of the live log, checked, up to its end.
inline std::vector<LogFrame> read_log(io::FileSystem& files, const std::string& path,
                                      const Geometry& geometry) {
  std::vector<LogFrame> out;
  auto map = map_store(files, path, {"", geometry});
  EXPECT_TRUE(map.has_value()) << map.error().text();
  if (!map || map->segments.empty()) {
    return out;
  }
  base::Buffer data;
  base::Buffer room;
  for (std::size_t i = 0; i < map->segments.size(); ++i) {
    const auto image = map->open_segment(i);
    EXPECT_TRUE(image.has_value());
    for (std::uint64_t offset = 0;;) {
      const auto unit = check_at(**image, offset, data, room);
      EXPECT_TRUE(unit.has_value());
      if (!unit || unit->kind != UnitKind::frame) {
        break;
      }
      out.push_back({{map->segments[i].number, offset},
                     unit->header.seq,
                     std::string(base::as_text(unit->payload))});
      offset += unit->header.frame_bytes();
    }
  }
  return out;
}

inline std::vector<std::string> payloads_in(const std::vector<LogFrame>& frames) {
  std::vector<std::string> out;
  for (const LogFrame& frame : frames) {
    out.push_back(frame.payload);
  }
  return out;
}

inline std::string text_of_file(io::SimulatedFileSystem& files, const std::string& path) {
  const auto bytes = files.get(path);
  EXPECT_TRUE(bytes.has_value()) << path;
  return bytes ? std::string(base::as_text(*bytes)) : std::string();
}

}  // namespace varve::arena::test
