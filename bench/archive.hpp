// SPDX-License-Identifier: MIT OR Apache-2.0
// jss archives for benchmarks of what reads them, written as `varve append` writes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "bench/harness.hpp"
#include "varve/store.hpp"

namespace varve::bench {

// Makes an archive of `events` events, the line of each by its number; `options` are those of
// `varve append`. What the last segment holds stays unsealed.
inline void make_archive(const std::string& path, std::uint64_t events,
                         const std::map<std::string, std::string>& options,
                         const std::function<std::string(std::uint64_t)>& line) {
  const Format& format = *find_format("jss");
  std::filesystem::create_directory(path);
  must(format.init(io::posix_file_system(), path, {}).has_value(), "init");
  WriteRequest request;
  request.options = options;
  auto appender = format.open_appender(io::posix_file_system(), path, request);
  must(appender.has_value(), "append");
  for (std::uint64_t i = 0; i < events; ++i) {
    must((*appender)->append_line(line(i)).has_value(), "append");
    if (i % 100'000 == 0) {
      must((*appender)->flush().has_value(), "append");
    }
  }
  must((*appender)->sync().has_value() && (*appender)->close().has_value(), "append");
}

}  // namespace varve::bench
