// SPDX-License-Identifier: MIT OR Apache-2.0
// The log of a remote archive: the client loop of section 17.5. The server's plan says which
// segments and blocks can hold rows of a filtered request; they are fetched side by side, filtered
// exactly and delivered in plan order.
#pragma once

#include <string>
#include <vector>

#include "serve/remote_files.hpp"
#include "varve/scan.hpp"
#include "varve/store.hpp"

namespace varve::serve {

struct RemoteScanSource {
  RemoteFileSystem* files = nullptr;
  // All segments of the store, ascending.
  std::vector<std::string> segments;
  // The store is one segment, named by the address: findings do not name it again.
  bool single = false;
};

// What a segment or block that cannot be fetched costs is its rows: a finding `remote-read` stands
// at its place, what follows is still delivered, and the scan ends in the error of the first one.
Result<ScanSummary> scan_remote_log(const RemoteScanSource& source, const ScanRequest& request,
                                    BatchSink& sink, FindingSink& findings);

// The request for a plan that names what a predicate may want: as much of it as the protocol can
// say, so too much rather than too little. nullopt: nothing that a plan could leave out.
std::optional<jss::SnapshotRequest> plan_request_of(const Predicate& predicate);

}  // namespace varve::serve
