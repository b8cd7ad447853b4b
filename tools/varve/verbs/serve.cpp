// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve serve`: an archive for its clients, and a page for any store.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/open.hpp"
#include "cli/session.hpp"
#include "serve/context.hpp"
#include "store/open.hpp"

namespace varve::cli {

namespace {

constexpr std::chrono::milliseconds k_nap{50};
constexpr std::uint64_t k_hour_s = 3600;
constexpr std::uint64_t k_longest_look_back_h = std::uint64_t{24} * 366 * 100;
// A stream may be asked for 10,000 DIDs, which stand in the request line.
constexpr std::size_t k_max_head_bytes = std::size_t{1} << 20;

// "8480", "127.0.0.1:8480", "[::1]:0".
Result<void> read_address(std::string_view text, serve::HttpServerOptions& out) {
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  std::string_view host = colon == std::string_view::npos ? "" : text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  VARVE_ASSIGN(const std::uint64_t number, parse_count("listen", port));
  if (number > 65535) {
    return fail(ErrorCode::invalid_argument, "listen", "--listen: a port is at most 65535");
  }
  out.port = static_cast<std::uint16_t>(number);
  if (!host.empty()) {
    out.address = host;
  }
  return {};
}

template <class T>
Result<void> read_count(const Session& session, const std::string& option, T& out) {
  if (session.has(option)) {
    VARVE_ASSIGN(const std::uint64_t value, parse_count(option, session.arguments().value(option)));
    out = static_cast<T>(value);
  }
  return {};
}

Result<serve::HttpServerOptions> server_options(const Session& session) {
  serve::HttpServerOptions out;
  if (session.has("listen")) {
    VARVE_TRY(read_address(session.arguments().value("listen"), out));
  }
  out.allowed_hosts = session.arguments().values("allow-host");
  out.cross_origin_sockets = session.has("cross-origin");
  out.max_head_bytes = k_max_head_bytes;
  VARVE_TRY(read_count(session, "max-connections", out.max_connections));
  return out;
}

Result<serve::ServeSettings> settings_of(const Session& session) {
  serve::ServeSettings out;
  out.cross_origin = session.has("cross-origin");
  VARVE_TRY(read_count(session, "cache-age", out.cache_age_s));
  VARVE_TRY(read_count(session, "max-dids", out.limits.max_dids));
  VARVE_TRY(read_count(session, "max-collections", out.limits.max_collections));
  VARVE_TRY(read_count(session, "max-entries", out.limits.max_entries));
  out.zstd_dictionaries = session.arguments().values("zstd-dictionary");
  std::uint64_t look_back_h = out.look_back_s / k_hour_s;
  VARVE_TRY(read_count(session, "look-back", look_back_h));
  out.look_back_s = std::min(look_back_h, k_longest_look_back_h) * k_hour_s;
  return out;
}

// Each store under the last part of its path, with a number behind it where that was there before.
Result<std::vector<serve::ServedStore>> stores_of(const Session& session) {
  std::vector<serve::ServedStore> out;
  std::set<std::string> names;
  for (std::string path : session.arguments().operands) {
    VARVE_ASSIGN(auto found, store::locate(session.context().formats, session.context().files, path,
                                           session.arguments().value("format")));
    while (path.size() > 1 && path.ends_with('/')) {
      path.pop_back();
    }
    const std::string base = io::split_path(path).name;
    std::string name = base;
    for (int number = 2; !names.insert(name).second; ++number) {
      name = base + "-" + std::to_string(number);
    }
    out.push_back(
        {.name = name, .path = std::move(found.path), .format = std::string(found.format->name())});
  }
  return out;
}

Result<int> serve_stores(Session& session) {
  VARVE_ASSIGN(auto options, server_options(session));
  VARVE_ASSIGN(auto settings, settings_of(session));
  VARVE_ASSIGN(auto stores, stores_of(session));
  VARVE_ASSIGN(const auto archive,
               serve::choose_archive(stores, session.arguments().value("xrpc")));
  std::uint64_t grace_s = 10;
  VARVE_TRY(read_count(session, "grace", grace_s));
  serve::Metrics metrics;
  options.observer = [&metrics](const serve::HttpObservation& seen) { metrics.record(seen); };
  std::vector<std::shared_ptr<void>> kept;  // outlives the server, whose handlers refer to it
  serve::HttpServer server(std::move(options));
  serve::ServeContext context{.server = server,
                              .metrics = metrics,
                              .files = session.context().files,
                              .settings = std::move(settings),
                              .stores = std::move(stores),
                              .archive = archive};
  VARVE_TRY(serve::install_services(context));
  kept = std::move(context.kept);
  const SignalGuard guard;
  VARVE_TRY(server.start());
  session.out().print("serving at " + server.url() + "\n");
  if (!archive && serve::count_archives(context.stores) > 1) {
    session.message(
        "of several archives the download services and streams serve none: --xrpc NAME says which");
  }
  session.out().flush();
  while (SignalGuard::pending() == 0) {
    std::this_thread::sleep_for(k_nap);
  }
  server.stop(std::chrono::seconds(std::min<std::uint64_t>(grace_s, 3600)));
  return k_done;
}

int run_serve(Session& session) {
  const auto code = serve_stores(session);
  return code ? *code : session.report(code.error(), session.arguments().operands.front());
}

const Registration k_serve({
    .name = "serve",
    .group = Group::read,
    .order = 20,
    .summary = "serve an archive and a page of any store over HTTP",
    .description =
        "Answers until it is interrupted: the download services of a jss archive under /xrpc/, the "
        "its streams over WebSocket, the explorer page of every store at /, /healthz, and /metrics "
        "in Prometheus' text form. "
        "Stores are only read, and may be written, sealed and compacted by others meanwhile.\n\n"
        "On a loopback address it answers only to the names of loopback, to numeric addresses and "
        "to what --allow-host names. SIGINT or SIGTERM ends it in order: running answers are "
        "waited for, streams are closed.",
    .operands = {{"STORE", "store to serve", false, true}},
    .examples = {{"serve archive/", "at http://127.0.0.1:8480/"},
                 {"serve --listen 0.0.0.0:80 --cross-origin archive/", "a public archive"},
                 {"serve --listen 127.0.0.1:0 a.jss store.kladde", "any free port, two stores"}},
    .options = {{"listen", "ADDR:PORT",
                 "where to listen (default 127.0.0.1:8480; port 0: a free "
                 "one)"},
                {"allow-host", "NAME", "a further name that requests may be for", 0, true},
                {"cross-origin", "", "let pages of any origin read the archive's endpoints"},
                {"xrpc", "NAME", "which of several archives the endpoints serve"},
                {"cache-age", "SECONDS", "how long clients may keep segments unasked (default 0)"},
                {"max-connections", "N", "connections at a time (default 512)"},
                {"max-dids", "N", "DIDs of a plan request (default 10000; 0: none may be given)"},
                {"max-collections", "N", "collections of one (default 100; 0: none)"},
                {"max-entries", "N", "entries of a page of a plan (default 100000; 0: no limit)"},
                {"look-back", "HOURS",
                 "how far back cursors of streams reach (default 36; 0: nowhere)"},
                {"zstd-dictionary", "FILE", "a dictionary that streams may be compressed with", 0,
                 true},
                {"grace", "SECONDS", "how long running answers are waited for (default 10)"}},
    .shared = k_open_options,
    .run = run_serve,
});

}  // namespace

}  // namespace varve::cli
