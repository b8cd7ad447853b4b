// SPDX-License-Identifier: MIT OR Apache-2.0
// Records, events, snapshots, mutations and manifests of tay: their form is canonical, so what
// decodes encodes to the same bytes.
#include <algorithm>

#include "fuzz/require.hpp"
#include "tay/event.hpp"
#include "tay/record.hpp"
#include "tay/v2_records.hpp"
#include "tay/v2_root.hpp"

namespace {

using namespace varve;
using fuzz::require;

void check_record(base::ByteSpan bytes) {
  const tay::DecodedRecord record = tay::decode_record(bytes);
  if (record.status != tay::RecordStatus::record) {
    return;
  }
  base::Bytes again;
  require(!tay::encode_record(record.header.type, record.header.schema, record.header.sequence,
                              record.payload, again));
  require(std::ranges::equal(again, bytes.first(record.header.frame_bytes())));
}

void check_event(tay::EventType type, base::ByteSpan bytes) {
  const tay::EventBudget budget;
  tay::Event event;
  if (!tay::decode_event(type, bytes, budget, event)) {
    base::Bytes again;
    tay::encode_event(event, again);
    require(std::ranges::equal(again, bytes));
  }
  tay::V2Mutation mutation;
  if (!tay::decode_mutation(bytes, budget, mutation)) {
    base::Bytes again;
    tay::encode_mutation(mutation, again);
    require(std::ranges::equal(again, bytes));
  }
  tay::V2Snapshot snapshot;
  if (!tay::decode_snapshot(bytes, budget, snapshot)) {
    require(snapshot.definition_at <= bytes.size());
  }
}

void check_objects(base::ByteSpan bytes) {
  tay::Manifest manifest;
  if (!tay::decode_manifest(bytes, manifest)) {
    base::Bytes again;
    tay::encode_manifest(manifest, again);
    tay::Manifest other;
    require(!tay::decode_manifest(again, other));
  }
  tay::Current current;
  if (!tay::decode_current(bytes, current)) {
    base::Bytes again;
    tay::encode_current(current, again);
    require(std::ranges::equal(again, bytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const base::ByteSpan rest{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  check_record(rest);
  check_event(static_cast<tay::EventType>(1 + data[0] % 6), rest);
  check_objects(rest);
  return 0;
}
