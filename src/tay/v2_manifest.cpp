// SPDX-License-Identifier: MIT OR Apache-2.0
// The fixed objects of a v2 root, and MANIFEST (section 19).
#include <algorithm>
#include <cstring>

#include "tay/event_matcher.hpp"
#include "tay/v2_root.hpp"

namespace varve::tay {

namespace {

constexpr std::size_t k_manifest_head_bytes = 12;
constexpr std::uint64_t k_most_hours = 2'562'047'788'015;
constexpr std::uint64_t k_most_minutes = k_time_max / 60'000;

void begin(base::ByteWriter& writer, std::string_view magic) {
  writer.text(magic);
  writer.u8(k_version);
  writer.zeros(3);
}
void end(base::ByteWriter& writer, const Bytes& out, std::size_t from) {
  writer.u32be(base::crc32c(ByteSpan(out).subspan(from)));
}

ObjectFault corrupt(const char* word, std::uint64_t offset) {
  return {ObjectFault::Class::corrupt, {word, offset, {}, {}}, 0};
}

base::Sha256 digest(EventMatcher& in) {
  base::Sha256 out{};
  in.opaque(out);
  return out;
}

BaseSegment base_segment(EventMatcher& in) {
  BaseSegment out;
  in.map(5);
  in.key("bytes");
  out.bytes = in.integer(64, k_max_sealed_bytes);
  in.key("digest");
  out.digest = digest(in);
  in.key("first_sequence");
  out.first_sequence = in.sequence();
  in.key("id");
  out.id = in.sequence();
  in.key("last_sequence");
  out.last_sequence = in.sequence();
  return out;
}

void retention(EventMatcher& in, Manifest& out) {
  in.key("terminal_retention");
  if (in.peek_tag() == k_tag_text) {
    in.require(in.key_text() == "infinity");
    return;
  }
  in.map(1);
  if (in.next_is_key("hours")) {
    in.key("hours");
    out.retention_hours = in.integer(1, k_most_hours);
  } else {
    in.key("minutes");
    out.retention_minutes = in.integer(1, k_most_minutes);
  }
}

// The map with exactly the keys of section 19.
bool known_map(ByteSpan map, const EventBudget& budget, Manifest& out) {
  EventMatcher in(map, budget);
  in.map(10);
  in.key("base_segments");
  const std::uint32_t bases = in.list();
  for (std::uint32_t i = 0; i < bases && in.good(); ++i) {
    out.base_segments.push_back(base_segment(in));
  }
  in.key("captured_at");
  out.captured_at = in.time();
  in.key("epoch_id");
  out.epoch_id = in.id();
  in.key("source_epoch_id");
  if (!in.nil()) {
    out.source_epoch_id = in.id();
  }
  in.key("source_frontier");
  out.source_frontier = in.integer(0, k_u64_max);
  in.key("source_segments");
  out.source_segments = in.list();
  for (std::size_t i = 0; i < out.source_segments && in.good(); ++i) {
    in.map(2);
    in.key("digest");
    digest(in);
    in.key("id");
    in.require(in.sequence() == i + 1);
  }
  in.key("store_id");
  out.store_id = in.id();
  in.key("tail_first_sequence");
  out.tail_first_sequence = in.sequence();
  in.key("tail_segment_id");
  out.tail_segment_id = in.sequence();
  retention(in, out);
  return in.good() && in.at_end();
}

// True if the bytes begin with a map that has all the keys of section 19, and more.
bool has_unknown_keys(ByteSpan map) { return base::u32be(map.data() + 1) > 10; }

bool coordinates_fit(const Manifest& manifest) {
  std::uint64_t next = 1;
  for (std::size_t i = 0; i < manifest.base_segments.size(); ++i) {
    const BaseSegment& base = manifest.base_segments[i];
    if (base.id != i + 1 || base.first_sequence != next ||
        base.last_sequence < base.first_sequence) {
      return false;
    }
    next = base.last_sequence + 1;
  }
  return manifest.tail_segment_id == manifest.base_segments.size() + 1 &&
         manifest.tail_first_sequence == next;
}

}  // namespace

std::optional<ObjectFault> decode_marker(ByteSpan bytes, std::string_view magic, Id& out) {
  if (auto fault = check_fixed_object(bytes, magic, k_store_bytes, "incomplete_marker")) {
    return fault;
  }
  if (bytes.size() > k_store_bytes) {
    return corrupt("trailing_marker_bytes", k_store_bytes);
  }
  out = load_id(bytes.data() + k_store_id_at);
  if (is_zero(out)) {
    return corrupt("invalid_id", k_store_id_at);
  }
  return std::nullopt;
}

void encode_marker(std::string_view magic, const Id& id, Bytes& out) {
  const std::size_t from = out.size();
  base::ByteWriter writer(out);
  begin(writer, magic);
  writer.bytes(id);
  end(writer, out, from);
}

std::optional<ObjectFault> decode_current(ByteSpan bytes, Current& out) {
  if (auto fault =
          check_fixed_object(bytes, k_current_magic, k_current_bytes, "incomplete_current")) {
    return fault;
  }
  if (bytes.size() > k_current_bytes) {
    return corrupt("trailing_current_bytes", k_current_bytes);
  }
  out.store_id = load_id(bytes.data() + 8);
  out.epoch_id = load_id(bytes.data() + 24);
  std::memcpy(out.manifest_digest.data(), bytes.data() + 40, out.manifest_digest.size());
  if (is_zero(out.store_id) || is_zero(out.epoch_id)) {
    return corrupt("invalid_id", 8);
  }
  return std::nullopt;
}

void encode_current(const Current& current, Bytes& out) {
  const std::size_t from = out.size();
  base::ByteWriter writer(out);
  begin(writer, k_current_magic);
  writer.bytes(current.store_id);
  writer.bytes(current.epoch_id);
  writer.bytes(current.manifest_digest);
  end(writer, out, from);
}

std::optional<ManifestFault> decode_manifest(ByteSpan bytes, Manifest& out) {
  out = Manifest();
  if (bytes.size() < k_manifest_head_bytes + 4) {
    return ManifestFault{"incomplete_manifest"};
  }
  if (base::as_text(bytes.first(4)) != k_manifest_magic) {
    return ManifestFault{"invalid_magic"};
  }
  const std::uint8_t version = base::u8(bytes[k_version_at]);
  if (version != k_version) {
    return version == 0 ? ManifestFault{"invalid_version"}
                        : ManifestFault{"unsupported_version", false};
  }
  if (base::u32be(bytes.data() + 8) != bytes.size() - k_manifest_head_bytes - 4) {
    return ManifestFault{"manifest_length"};
  }
  const ByteSpan covered = bytes.first(bytes.size() - 4);
  if (base::crc32c(covered) != base::u32be(bytes.data() + covered.size())) {
    return ManifestFault{"checksum"};
  }
  if (base::u8(bytes[5]) != 0 || base::u16be(bytes.data() + 6) != 0) {
    return ManifestFault{"reserved_bytes"};
  }
  const ByteSpan map = covered.subspan(k_manifest_head_bytes);
  // A segment of the lists takes 25 nodes at most; the size bounds what there can be.
  const EventBudget budget{64, k_max_manifest_bytes, k_max_manifest_bytes};
  if (known_map(map, budget, out)) {
    if (!coordinates_fit(out)) {
      return ManifestFault{"manifest_coordinates"};
    }
    return std::nullopt;
  }
  if (const auto fault = check_value(map, budget)) {
    return ManifestFault{fault->word};
  }
  if (base::u8(map[0]) == k_tag_map && has_unknown_keys(map)) {
    return ManifestFault{"manifest_not_understood", false};
  }
  return ManifestFault{"invalid_manifest"};
}

void encode_manifest(const Manifest& manifest, Bytes& bytes) {
  const std::size_t from = bytes.size();
  base::ByteWriter writer(bytes);
  begin(writer, k_manifest_magic);
  writer.u32be(0);
  ValueWriter out(bytes);
  out.map(10);
  out.text("base_segments");
  out.list(static_cast<std::uint32_t>(manifest.base_segments.size()));
  for (const BaseSegment& base : manifest.base_segments) {
    out.map(5);
    out.text("bytes"), out.integer(base.bytes);
    out.text("digest"), out.opaque(base.digest);
    out.text("first_sequence"), out.integer(base.first_sequence);
    out.text("id"), out.integer(base.id);
    out.text("last_sequence"), out.integer(base.last_sequence);
  }
  out.text("captured_at"), out.integer(manifest.captured_at);
  out.text("epoch_id"), out.opaque(manifest.epoch_id);
  out.text("source_epoch_id");
  manifest.source_epoch_id ? out.opaque(*manifest.source_epoch_id) : out.nil();
  out.text("source_frontier"), out.integer(manifest.source_frontier);
  out.text("source_segments"), out.list(0);
  out.text("store_id"), out.opaque(manifest.store_id);
  out.text("tail_first_sequence"), out.integer(manifest.tail_first_sequence);
  out.text("tail_segment_id"), out.integer(manifest.tail_segment_id);
  out.text("terminal_retention");
  if (manifest.retention_hours || manifest.retention_minutes) {
    out.map(1);
    out.text(manifest.retention_hours ? "hours" : "minutes");
    out.integer(manifest.retention_hours.value_or(manifest.retention_minutes.value_or(0)));
  } else {
    out.text("infinity");
  }
  base::store_be(bytes.data() + from + 8,
                 static_cast<std::uint32_t>(bytes.size() - from - k_manifest_head_bytes));
  end(writer, bytes, from);
}

}  // namespace varve::tay
