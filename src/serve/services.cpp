// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of services, and the pages that tell how the server is.
#include <algorithm>
#include <array>

#include "serve/answers.hpp"
#include "serve/context.hpp"

namespace varve::serve {

namespace {

// One line a service.
constexpr std::array k_services{
    install_status_pages,
    install_archive_endpoints,
    install_streams,
    install_explorer,
};

}  // namespace

Result<void> install_status_pages(ServeContext& context) {
  HttpServer& server = context.server;
  Metrics& metrics = context.metrics;
  server.add("GET", "/healthz",
             [](const HttpRequest&) { return text_answer("ok\n", "text/plain"); });
  server.add("GET", "/metrics", [&metrics](const HttpRequest&) {
    return text_answer(metrics.text(), "text/plain; version=0.0.4; charset=utf-8");
  });
  const auto count = [&server](std::uint64_t HttpCounts::* member) {
    return [&server, member] { return static_cast<double>(server.counts().*member); };
  };
  metrics.add({"varve_connections_open", "Connections now.", count(&HttpCounts::open_connections)});
  metrics.add({"varve_streams_open", "WebSockets now.", count(&HttpCounts::open_sockets)});
  metrics.add(
      {"varve_connections_total", "Connections accepted.", count(&HttpCounts::connections), true});
  metrics.add({"varve_connections_refused_total", "Connections beyond the limit.",
               count(&HttpCounts::refused), true});
  return {};
}

std::size_t count_archives(const std::vector<ServedStore>& stores) {
  return static_cast<std::size_t>(std::ranges::count(stores, "jss", &ServedStore::format));
}

Result<std::optional<std::size_t>> choose_archive(const std::vector<ServedStore>& stores,
                                                  const std::string& wanted) {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (stores[i].format != "jss" || (!wanted.empty() && stores[i].name != wanted)) {
      continue;
    }
    if (out) {
      return std::nullopt;
    }
    out = i;
  }
  if (!wanted.empty() && !out) {
    return fail(ErrorCode::invalid_argument, "xrpc", "--xrpc " + wanted + ": no such archive");
  }
  return out;
}

Result<void> install_services(ServeContext& context) {
  for (const auto install : k_services) {
    VARVE_TRY(install(context));
  }
  return {};
}

}  // namespace varve::serve
