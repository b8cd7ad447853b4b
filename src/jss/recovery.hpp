// SPDX-License-Identifier: MIT OR Apache-2.0
// Recovery of an active segment (section 14.2): what its bytes prove, and what may be done with the
// rest. Deciding reads only; applying writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "jss/encode.hpp"
#include "jss/segment_file.hpp"
#include "jss/segment_summary.hpp"
#include "jss/walker.hpp"
#include "varve/file_system.hpp"

namespace varve::jss {

enum class RecoveryStep : std::uint8_t {
  none,           // the file ends with a whole frame
  write_header,   // a creation that never became durable: empty, or one header of zeros
  truncate,       // cut a torn tail, a zero tail, or an orphaned footer
  complete_seal,  // the footer is whole: write the header
};
std::string_view to_text(RecoveryStep step);

struct RecoveryDecision {
  RecoveryStep step = RecoveryStep::none;
  TailState tail = TailState::whole;
  std::uint64_t size_bytes = 0;       // of the file as it is
  std::uint64_t frames_end = 0;       // where the rows end; what is behind it is cut
  SegmentSummary summary;             // of all frames
  std::optional<SealedParts> sealed;  // of complete_seal: the header to write
};

struct RecoveryOptions {
  unsigned threads = 0;
  // Whether an orphaned footer that is the very one a seal would write is completed rather than
  // cut. Cutting loses no row either; a writer that goes on appending cuts.
  bool complete_seals = false;
};

// Whether a file is a creation that never became durable: no bytes, or a header's worth of zeros.
Result<bool> is_unborn(const SegmentFile& file);

// Decodes each frame of an active segment and decides about its end. ErrorCode::damaged where a
// committed frame is hurt or the end is nothing that may be cut (the file is then left alone);
// ErrorCode::invalid_argument with reason "SegmentSealed" for a sealed one.
Result<RecoveryDecision> decide_recovery(const SegmentFile& file, const RecoveryOptions& options);

// Does what was decided; the handle is of the same file. Every step is synced.
Result<void> apply_recovery(io::File& file, const RecoveryDecision& decision);

}  // namespace varve::jss
