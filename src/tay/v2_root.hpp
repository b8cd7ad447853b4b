// SPDX-License-Identifier: MIT OR Apache-2.0
// The root of a Store v2 (sections 19 and 21): STORE-V2, CURRENT, and the epoch that it names.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/checksum.hpp"
#include "tay/snapshot.hpp"

namespace varve::tay {

struct Current {
  Id store_id{};
  Id epoch_id{};
  base::Sha256 manifest_digest{};
};
std::optional<ObjectFault> decode_current(ByteSpan bytes, Current& out);
void encode_current(const Current& current, Bytes& out);

// STORE-V2 ("TAY2") and ADOPTION ("TAYA"): an id under a CRC.
std::optional<ObjectFault> decode_marker(ByteSpan bytes, std::string_view magic, Id& out);
void encode_marker(std::string_view magic, const Id& id, Bytes& out);

struct BaseSegment {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  base::Sha256 digest{};
};

struct Manifest {
  std::vector<BaseSegment> base_segments;
  std::uint64_t captured_at = 0;
  Id epoch_id{};
  std::optional<Id> source_epoch_id;
  std::uint64_t source_frontier = 0;
  std::size_t source_segments = 0;
  Id store_id{};
  std::uint64_t tail_segment_id = 0;
  std::uint64_t tail_first_sequence = 0;
  std::optional<std::uint64_t> retention_hours;  // neither: `infinity`
  std::optional<std::uint64_t> retention_minutes;
};
// What is wrong with a manifest. `understood` false: it is sound, but says more than this build
// knows.
struct ManifestFault {
  const char* word = "";
  bool understood = true;
};
std::optional<ManifestFault> decode_manifest(ByteSpan bytes, Manifest& out);
void encode_manifest(const Manifest& manifest, Bytes& out);

// What a snapshot of a v2 root knows beside the segments.
struct V2State {
  Current current;
  Manifest manifest;
};

// Turns the snapshot of a root with CURRENT into that of its epoch.
Result<void> open_epoch(Snapshot& snapshot);

// Compares the base segments' bytes with the digests in the manifest.
Result<void> check_base_digests(const Snapshot& snapshot,
                                const std::function<void(Refusal)>& refuse);

// Compares the sequences of the base segments, once they were walked, with the manifest's.
void check_base_coordinates(const Snapshot& snapshot, const std::vector<Segment>& walked,
                            const std::function<void(Refusal)>& refuse);

// Adds the fields of CURRENT and MANIFEST to `info`'s detail.
void add_v2_detail(const Snapshot& snapshot, Json& detail);

}  // namespace varve::tay
