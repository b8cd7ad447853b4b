// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/v2_judge.hpp"

#include <algorithm>
#include <utility>

#include "tay/refusal.hpp"
#include "tay/v2_records.hpp"

namespace varve::tay {

namespace {

Refusal rejected(const char* word, std::string message) {
  return semantic_refusal(RefusalKind::consumer_rejected, word, std::move(message));
}

bool makes_available(const Event& event) {
  return event.type == EventType::available || event.type == EventType::retried ||
         (event.type == EventType::inserted && event.due_at <= event.at);
}

}  // namespace

std::optional<Refusal> V2Judge::judge(const RecordHeader& header, std::uint64_t offset,
                                      ByteSpan payload, std::uint32_t segment) {
  const bool base = segment < base_segments_;
  const bool known = header.type == k_type_snapshot || header.type == k_type_mutation;
  if (!known || header.schema != k_event_schema) {
    certain_ = false;
    return semantic_refusal(RefusalKind::unsupported_semantics,
                            known ? "unsupported_payload_schema" : "unknown_event_type",
                            "the record has a type or schema that this build does not know");
  }
  if (!base) {
    if (auto refusal = finish()) {
      return refusal;
    }
  }
  if (base != (header.type == k_type_snapshot)) {
    certain_ = false;
    return rejected(base ? "mutation_in_base" : "snapshot_in_tail",
                    "base segments hold snapshots, tail segments mutations, and nothing else");
  }
  return base ? snapshot(offset, payload, segment) : mutation(offset, payload, segment);
}

std::optional<Refusal> V2Judge::finish() {
  return std::exchange(base_done_, true) ? std::nullopt : check_base();
}

std::optional<Refusal> V2Judge::snapshot(std::uint64_t offset, ByteSpan payload,
                                         std::uint32_t segment) {
  V2Snapshot found;
  if (const auto fault = decode_snapshot(payload, budget_, found)) {
    certain_ = false;
    return payload_refusal(*fault);
  }
  const bool ascending = previous_ < found.job.id;
  previous_ = found.job.id;
  if (found.job.available_sequence != 0) {
    base_orders_.push_back(found.job.available_sequence);
  }
  found.job.definition_segment = segment;
  found.job.definition_offset =
      static_cast<std::uint32_t>(offset + k_record_header_bytes + found.definition_at);
  if (!jobs_.add(found.job, found.queue_key, found.worker_key) || !ascending) {
    return rejected("snapshot_order", "snapshots stand in ascending order of their jobs' ids");
  }
  return std::nullopt;
}

// The available jobs of the base are numbered 1..n.
std::optional<Refusal> V2Judge::check_base() {
  std::ranges::sort(base_orders_);
  bool numbered = true;
  for (std::size_t i = 0; i < base_orders_.size(); ++i) {
    numbered = numbered && base_orders_[i] == i + 1;
  }
  next_order_ = base_orders_.empty() ? 1 : base_orders_.back() + 1;
  if (numbered || !certain_) {
    return std::nullopt;
  }
  return rejected("availability_order", "the base does not number its available jobs from 1");
}

std::optional<Refusal> V2Judge::mutation(std::uint64_t offset, ByteSpan payload,
                                         std::uint32_t segment) {
  V2Mutation found;
  if (const auto fault = decode_mutation(payload, budget_, found)) {
    certain_ = false;
    return payload_refusal(*fault);
  }
  const std::uint64_t expected_order = makes_available(found.event) ? next_order_ : 0;
  const bool order_fits =
      found.availability_order == expected_order || (!certain_ && found.availability_order != 0);
  EventPlace place;
  place.revision = found.new_revision;
  place.order = found.availability_order;
  place.segment = segment;
  place.definition_offset =
      static_cast<std::uint32_t>(offset + k_record_header_bytes + found.definition_at);
  if (!order_fits || !jobs_.apply(found.event, place)) {
    if (!std::exchange(certain_, false)) {
      return std::nullopt;
    }
    return rejected(order_fits ? "invalid_transition" : "availability_order",
                    "the job's state does not allow the mutation");
  }
  if (found.availability_order != 0) {
    next_order_ = found.availability_order + 1;
  }
  return std::nullopt;
}

}  // namespace varve::tay
