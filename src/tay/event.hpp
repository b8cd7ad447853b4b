// SPDX-License-Identifier: MIT OR Apache-2.0
// The six events of v1 (section 14): payload bytes to fields and back. Nothing here looks at a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "tay/objects.hpp"
#include "tay/value.hpp"
#include "varve/tay_job.hpp"

namespace varve::tay {

enum class EventType : std::uint8_t {
  inserted = 1,
  available = 2,
  started = 3,
  finished = 4,
  cancelled = 5,
  retried = 6,
};
inline constexpr std::uint8_t k_event_types = 6;
inline constexpr std::uint8_t k_event_schema = 1;

// "inserted"...; "snapshot" and "mutation" for the records of Store v2; empty for others.
std::string_view event_name(std::uint8_t type);
// The type of that name, or 0.
std::uint8_t event_type_of(std::string_view name);

// Stands for nil where a Time may be absent. Tokens, sequences and attempts use 0.
inline constexpr std::uint64_t k_nil = k_u64_max;

// The dispositions of section 14.2.
enum class Disposition : std::uint8_t { completed = 0, retryable = 1, discarded = 2 };

// A definition as it stands in an inserted event (14.1). The spans lie in the payload.
struct DefinitionView {
  ByteSpan bytes;  // the canonical map, whole
  ByteSpan args;   // the value of its key `args`
  std::string_view queue_key;
  std::string_view worker_key;
  std::uint64_t nodes = 0;             // of the whole map, for the charge
  std::uint64_t scheduled_at = k_nil;  // or nil
  std::uint32_t max_attempts = 0;
  std::uint32_t timeout_ms = 0;
};

// One decoded event. Which fields have a meaning depends on the type.
struct Event {
  EventType type = EventType::inserted;
  Id job_id{};
  std::uint64_t at = 0;
  std::uint64_t expected_revision = 0;
  // inserted: eligible_at; available: due_at; finished: next_due_at or nil; retried: new_due_at
  std::uint64_t due_at = k_nil;
  // started: cycle_token; finished: execution_token; cancelled: execution_token, 0 for nil
  std::uint64_t token = 0;
  std::uint32_t attempt = 0;     // started: attempt; finished: next_attempt, 0 for nil
  std::uint8_t outcome = 0;      // finished
  std::uint8_t disposition = 0;  // finished
  std::uint8_t diagnostic = 0;   // finished: its code, 0 for nil
  std::uint8_t mode = 0;         // retried: 0 expedite, 1 new cycle
  DefinitionView definition;     // inserted
};

// Decodes a payload of a known type with schema 1. On failure gives what section 13 finds wrong
// with the value, else `invalid_event` for a breach of section 14.
std::optional<ValueFault> decode_event(EventType type, ByteSpan payload, const EventBudget& budget,
                                       Event& out);

// Decodes one definition map; nullopt if it is none. Budgets count from its own root at `depth`.
std::optional<DefinitionView> decode_definition(ByteSpan bytes, const EventBudget& budget,
                                                std::uint64_t depth = 1);

// Appends the canonical payload. The fields must be legal: encode and decode assert each other.
void encode_event(const Event& event, Bytes& out);

// What a definition is made of when a producer builds one.
struct DefinitionFields {
  ByteSpan args;  // one canonical map without opaque bytes
  std::string_view worker_key;
  std::string_view queue_key = "default";
  std::uint32_t max_attempts = 10;
  std::uint32_t timeout_ms = 30'000;
  std::uint64_t scheduled_at = k_nil;
};
void encode_definition(const DefinitionFields& fields, Bytes& out);

// Whether outcome, disposition, diagnostic, next attempt and due time of a finish are a row of the
// table of section 14.2.
bool is_legal_finish(const Event& event);

// True for a Key: 1..255 bytes of UTF-8 without U+0000.
bool is_key(std::string_view text);

}  // namespace varve::tay
