// SPDX-License-Identifier: MIT OR Apache-2.0
// The records of a Store v2 epoch (section 20): snapshots of jobs, and mutations of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tay/explain_rows.hpp"
#include "tay/job_table.hpp"
#include "tay/record.hpp"

namespace varve::tay {

// A job as compaction wrote it. The keys lie in the payload.
struct V2Snapshot {
  Job job;
  std::string_view queue_key;
  std::string_view worker_key;
  std::size_t definition_at = 0;  // in the payload
};
std::optional<ValueFault> decode_snapshot(ByteSpan payload, const EventBudget& budget,
                                          V2Snapshot& out);

// A change of one job. The event's definition lies in the payload.
struct V2Mutation {
  Event event;
  std::uint64_t new_revision = 0;
  std::uint64_t availability_order = 0;  // 0 for nil
  std::size_t definition_at = 0;         // inserted: in the payload
};
std::optional<ValueFault> decode_mutation(ByteSpan payload, const EventBudget& budget,
                                          V2Mutation& out);
// Appends the payload of a mutation, or of a snapshot: the inverse of decoding.
void encode_mutation(const V2Mutation& mutation, Bytes& out);
void encode_snapshot(const Job& job, ByteSpan definition, Bytes& out);

// Job and time (k_nil for a snapshot) of a record that decodes; false if it does not.
bool read_v2_facts(const RecordHeader& header, ByteSpan payload, const EventBudget& budget,
                   Event& out);

// Bytes of the fixed prefix before the map; 0 if the payload is too short for one.
std::size_t v2_prefix_bytes(std::uint8_t type, ByteSpan payload);
void explain_v2_prefix(RowWriter& rows, std::uint64_t offset, std::uint8_t type, ByteSpan prefix,
                       unsigned depth);
// Appends the JSON object of a payload that decodes: the prefix's fields, then those of the map.
void append_v2_json(std::string& out, bool is_snapshot, ByteSpan payload, bool int64_as_string);

}  // namespace varve::tay
