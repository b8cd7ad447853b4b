// SPDX-License-Identifier: MIT OR Apache-2.0
// Composes the root of a Store v2 on disk: markers, manifest, base and tail segments.
#pragma once

#include <string>
#include <vector>

#include "tay/v2_records.hpp"
#include "tay/v2_root.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay::test {

namespace fs = varve::test::fs;

inline Id v2_id(std::uint8_t last) {
  Id out{};
  out.back() = std::byte{last};
  return out;
}

inline std::string as_string(ByteSpan bytes) { return std::string(base::as_text(bytes)); }

struct V2Store {
  // Payloads of one segment each; base segments are sealed, of the tail all but the last.
  std::vector<std::vector<Bytes>> base;
  std::vector<std::vector<Bytes>> tail = {{}};
  Id store_id = v2_id(1);
  Id epoch_id = v2_id(2);
  // Changes before they are written.
  std::uint64_t manifest_last_sequence_shift = 0;
  bool digest_wrong = false;

  std::string epoch() const { return "epochs/e-" + base::to_hex(epoch_id); }
  std::string segment_file(std::uint64_t id) const {
    return epoch() + "/segments/" + segment_name(id);
  }

  void write(const fs::path& root) {
    fs::create_directories(root / epoch() / "segments");
    Manifest manifest;
    manifest.captured_at = 3'600'000;
    manifest.epoch_id = epoch_id;
    manifest.store_id = store_id;
    std::uint64_t id = 1;
    std::uint64_t sequence = 1;
    for (const auto& payloads : base) {
      const std::uint64_t first = sequence;
      const Bytes bytes = segment(id, sequence, k_type_snapshot, payloads, true);
      BaseSegment entry;
      entry.id = id;
      entry.bytes = bytes.size();
      entry.first_sequence = first;
      entry.last_sequence = sequence - 1 + manifest_last_sequence_shift;
      entry.digest = base::sha256(bytes);
      if (digest_wrong) entry.digest[0] ^= std::byte{1};
      manifest.base_segments.push_back(entry);
      varve::test::write_file(root / segment_file(id++), as_string(bytes));
    }
    manifest.tail_segment_id = id;
    manifest.tail_first_sequence = sequence + manifest_last_sequence_shift;
    for (std::size_t i = 0; i < tail.size(); ++i) {
      const bool sealed = i + 1 < tail.size();
      varve::test::write_file(root / segment_file(id),
                              as_string(segment(id, sequence, k_type_mutation, tail[i], sealed)));
      ++id;
    }
    Bytes map;
    encode_manifest(manifest, map);
    varve::test::write_file(root / epoch() / "MANIFEST", as_string(map));
    Bytes bytes;
    encode_store(store_id, bytes);
    varve::test::write_file(root / "STORE", as_string(bytes));
    bytes.clear();
    encode_marker(k_store_v2_magic, store_id, bytes);
    varve::test::write_file(root / "STORE-V2", as_string(bytes));
    bytes.clear();
    encode_current({store_id, epoch_id, base::sha256(map)}, bytes);
    varve::test::write_file(root / "CURRENT", as_string(bytes));
    varve::test::write_file(root / ".tay-owner.lock", "");
  }

 private:
  Bytes segment(std::uint64_t id, std::uint64_t& sequence, std::uint8_t type,
                const std::vector<Bytes>& payloads, bool sealed) const {
    Bytes out;
    SegmentFooter footer;
    footer.segment_id = id;
    footer.first_sequence = sequence;
    footer.store_id = store_id;
    footer.record_count = payloads.size();
    encode_header({id, sequence, store_id}, out);
    for (const Bytes& payload : payloads) {
      EXPECT_FALSE(encode_record(type, k_event_schema, sequence++, payload, out));
    }
    if (sealed) {
      footer.last_sequence = sequence - 1;
      footer.segment_crc = base::crc32c(out);
      encode_footer(footer, out);
    }
    return out;
  }
};

}  // namespace varve::tay::test
