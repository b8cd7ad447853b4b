// SPDX-License-Identifier: MIT OR Apache-2.0
// Why a Tay store is refused (Tay specification, section 12.1). A refusal never changes anything:
// the store is to be preserved as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "varve/finding.hpp"
#include "varve/json.hpp"
#include "varve/result.hpp"

namespace varve::tay {

enum class RefusalKind : std::uint8_t {
  argument,                 // bad options
  ownership_busy,           // the lock is held elsewhere
  ownership_unavailable,    // root or lock missing, owner lost
  initialization_required,  // STORE is missing
  discovery,                // names and types of directory entries, missing history
  unsupported_physical,     // a newer version, or flags, in a record or fixed object
  physical_corruption,
  continuity,             // sequences do not follow one another
  incomplete_tail,        // the highest segment ends inside a unit
  unsupported_semantics,  // unknown event type or schema
  invalid_payload,
  consumer_rejected,  // an event that the state machine does not allow
  resource_limit,     // a budget or deadline
  io,
  changed_view,          // something changed between two looks
  callback,              // a caller's function misbehaved
  uncertain_activation,  // a failure after the store began to be changed
};

// The kind's word on paper: "incomplete_tail"...
std::string_view to_text(RefusalKind kind);

struct Refusal {
  RefusalKind kind = RefusalKind::physical_corruption;
  std::string stage;          // options, ownership, listing, store, segments, topology, recheck,
                              // replay or activation
  std::string physical_kind;  // `corrupt_footer`...; empty if there is none
  Json reason;                // the reason word, or a list of it and its arguments
  std::string word;           // the reason word alone
  std::optional<std::uint64_t> segment_id;
  std::optional<std::uint64_t> offset;  // where the record or object begins in its file
  std::optional<std::uint64_t> sequence;
  // The rest serves findings and messages.
  Verdict verdict = Verdict::damaged;
  std::string file;  // relative to the data directory
  std::string unit;  // record, header, footer, STORE, segment, entry
  std::uint64_t length = 0;
  std::optional<std::uint64_t> index;  // ordinal of the record in its segment
  Number expected;
  Number actual;
  std::string message;
  int system_errno = 0;
};

// The fields of section 12.1: state, kind, physical_kind, stage, reason, segment_id, offset,
// sequence, mutation, action. A reason of more than 1 KiB of text reads `details_redacted`.
Json to_json(const Refusal& refusal);
Finding to_finding(const Refusal& refusal);
Error to_error(const Refusal& refusal);

}  // namespace varve::tay
