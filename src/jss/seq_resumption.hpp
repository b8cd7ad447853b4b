// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the numbers of a directory go on (section 15).
#pragma once

#include <cstdint>
#include <vector>

#include "jss/segment_directory.hpp"

namespace varve::jss {

// Whether the highest segment is to be resumed: it is active, or was never born. A sealed one is
// believed once its checksum holds; ErrorCode::damaged otherwise.
Result<bool> last_is_active(const io::Directory& directory,
                            const std::vector<NumberedSegment>& segments);

// The highest number in the highest sealed segment that has blocks, rows left in it or not; 0 if
// there is none. Active segments are passed over.
Result<std::uint64_t> last_sealed_seq(const io::Directory& directory,
                                      const std::vector<NumberedSegment>& segments);

}  // namespace varve::jss
