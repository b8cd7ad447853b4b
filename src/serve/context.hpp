// SPDX-License-Identifier: MIT OR Apache-2.0
// What a service gets to register itself with, and the list of services.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/http_server.hpp"
#include "serve/metrics.hpp"
#include "varve/file_system.hpp"
#include "varve/jss_plan.hpp"
#include "varve/result.hpp"

namespace varve::serve {

struct ServedStore {
  std::string name;  // as URLs call it: unique
  std::string path;
  std::string format;  // "jss"...
};

// What the operator chose. A service adds its own members; the verb fills them.
struct ServeSettings {
  std::uint64_t cache_age_s = 0;  // of segments and blocks; 0: must be revalidated
  jss::SnapshotLimits limits;
  std::vector<std::string> zstd_dictionaries;  // files; of the streams (docs/streams.md)
  std::uint64_t look_back_s = 36 * 3600;       // how far back cursors of streams reach; 0: nowhere
  bool cross_origin = false;                   // pages of other origins may read the XRPC endpoints
};

struct ServeContext {
  HttpServer& server;  // not started yet: routes are added to it
  Metrics& metrics;    // gauges are added to it
  io::FileSystem& files;
  ServeSettings settings;
  std::vector<ServedStore> stores;
  // The one that the XRPC endpoints and streams are about: an index of `stores`, if any.
  std::optional<std::size_t> archive;
  // What handlers refer to; dies after the server has stopped.
  std::vector<std::shared_ptr<void>> kept = {};
};

// Each adds its routes and gauges; an error ends the program before it listens.
Result<void> install_status_pages(ServeContext& context);       // /healthz, /metrics
Result<void> install_archive_endpoints(ServeContext& context);  // XRPC, sections 17.1 to 17.4
Result<void> install_streams(ServeContext& context);            // section 19
Result<void> install_explorer(ServeContext& context);           // "/", /explorer/, /api/

// How many stores are archives that the endpoints could be about.
std::size_t count_archives(const std::vector<ServedStore>& stores);

// The index of the archive that the endpoints are about: the one named `wanted` (invalid_argument
// if none is), or if that is empty the only one of that format. None of several is chosen.
Result<std::optional<std::size_t>> choose_archive(const std::vector<ServedStore>& stores,
                                                  const std::string& wanted);

// All of them, in the order of the table in services.cpp.
Result<void> install_services(ServeContext& context);

}  // namespace varve::serve
