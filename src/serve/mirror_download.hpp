// SPDX-License-Identifier: MIT OR Apache-2.0
// One segment, downloaded to the working directory of a mirror by the rules of section 17.5: in
// parts, several at once, all of one generation; what an earlier run has brought is not fetched
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "serve/remote_archive.hpp"
#include "varve/file_system.hpp"

namespace varve::serve {

struct DownloadOptions {
  unsigned parts_at_once = 8;
  std::uint64_t part_bytes = std::uint64_t{16} << 20;
  // Called with the bytes of each piece that arrived, from several threads; may be null.
  std::function<void(std::uint64_t bytes)> arrived;
  // Asked between pieces, from several threads; true ends the download with the reason
  // "interrupted". May be null.
  std::function<bool()> interrupted;
};

struct Downloaded {
  std::uint64_t bytes = 0;         // of the segment
  std::uint64_t bytes_before = 0;  // of them from an earlier run
};

// Leaves the segment in `NAME.part`, synced. On an error what has arrived stays for the next run.
// Errors: locked, "changed-while-reading", if the server replaced the segment three times; limit
// for more than 1 GiB.
Result<Downloaded> download_segment(io::Directory& work, RemoteArchive& archive,
                                    const std::string& segment, const DownloadOptions& options);

}  // namespace varve::serve
