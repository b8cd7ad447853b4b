// SPDX-License-Identifier: MIT OR Apache-2.0
// Finding the store that a verb was given, checking that the options fit its format, opening it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cli/session.hpp"
#include "varve/store.hpp"

namespace varve::cli {

// A store that was found, with the part of the command line that its format is asked for.
struct Target {
  const Format* format = nullptr;
  std::string path;
  Predicate predicate;                         // --seq, --since, --until and the format's filters
  std::map<std::string, std::string> options;  // the format's own
  unsigned threads = 0;
  std::uint64_t max_memory_bytes = 0;
};

// Errors: as store::locate; invalid_argument if an option or filter has no meaning for the format.
Result<Target> locate_target(const Session& session, const std::string& path);

// The target of a path whose format is known, with its options checked.
Result<Target> target_of(const Session& session, const Format& format, const std::string& path);

// The same for a path where nothing need be yet; --format must have been given.
Result<Target> new_target(const Session& session, const std::string& path);

OpenOptions open_options(const Target& target);
Result<std::unique_ptr<StoreView>> open_view(const Session& session, const Target& target);

// A request of a writing verb.
WriteRequest write_request(const Session& session, const Target& target);

// --payload, --int64, and what the format's own options say about rendering.
RenderOptions render_options(const Session& session, const Target& target);

// --max-findings.
Result<std::size_t> max_findings(const Session& session);

}  // namespace varve::cli
