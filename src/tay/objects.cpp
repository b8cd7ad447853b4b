// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/objects.hpp"

#include <algorithm>
#include <cstring>

#include "base/checksum.hpp"
#include "base/mutant.hpp"

namespace varve::tay {

namespace {

using Class = ObjectFault::Class;

ObjectFault corrupt(const char* word, std::uint64_t offset, Number expected = {},
                    Number actual = {}) {
  return {Class::corrupt, {word, offset, expected, actual}, 0};
}

// The common beginning of every object, and its CRC at the end.
void begin(base::ByteWriter& writer, std::string_view magic) {
  writer.text(magic);
  writer.u8(k_version);
  writer.zeros(3);
}
void end(base::ByteWriter& writer, const Bytes& out, std::size_t from) {
  writer.u32be(base::crc32c(ByteSpan(out).subspan(from)));
}

}  // namespace

Id load_id(const std::byte* from) {
  Id id;
  std::memcpy(id.data(), from, id.size());
  return id;
}

std::optional<ObjectFault> check_fixed_object(ByteSpan bytes, std::string_view magic,
                                              std::size_t size, const char* incomplete_word) {
  const std::size_t present = std::min(bytes.size(), k_magic_bytes);
  for (std::size_t i = 0; i < present; ++i) {
    if (base::u8(bytes[i]) != static_cast<std::uint8_t>(magic[i])) {
      return corrupt("invalid_magic", 0);
    }
  }
  const ObjectFault incomplete{
      Class::incomplete,
      {incomplete_word, 0, Number::decimal(size), Number::decimal(bytes.size())},
      bytes.size()};
  if (bytes.size() <= k_version_at) {
    return incomplete;
  }
  const std::uint8_t version = base::u8(bytes[k_version_at]);
  if (version != k_version) {
    ObjectFault fault = corrupt(version == 0 ? "invalid_version" : "unsupported_version",
                                k_version_at, Number::decimal(k_version), Number::decimal(version));
    fault.type = version == 0 ? Class::corrupt : Class::unsupported;
    return fault;
  }
  if (bytes.size() < size) {
    return incomplete;
  }
  const std::size_t crc_at = size - 4;
  const std::uint32_t stored = base::u32be(bytes.data() + crc_at);
  const std::uint32_t computed = base::crc32c(bytes.first(crc_at));
  if (stored != computed && !base::mutant("tay-object-crc")) {
    return corrupt("checksum", crc_at, Number::hex32(stored), Number::hex32(computed));
  }
  const std::uint8_t flags = base::u8(bytes[k_flags_at]);
  if (flags != 0 && !base::mutant("tay-object-flags")) {
    ObjectFault fault =
        corrupt("unsupported_flags", k_flags_at, Number::decimal(0), Number::decimal(flags));
    fault.type = Class::unsupported;
    return fault;
  }
  const std::uint16_t reserved = base::u16be(bytes.data() + k_reserved_at);
  if (reserved != 0 && !base::mutant("tay-object-reserved")) {
    return corrupt("reserved_bytes", k_reserved_at, Number::decimal(0), Number::decimal(reserved));
  }
  return std::nullopt;
}

std::optional<ObjectFault> decode_store(ByteSpan bytes, Id& out) {
  if (auto fault = check_fixed_object(bytes, k_store_magic, k_store_bytes, "incomplete_store")) {
    return fault;
  }
  if (bytes.size() > k_store_bytes && !base::mutant("tay-store-trailing")) {
    return corrupt("trailing_store_bytes", k_store_bytes, Number::decimal(k_store_bytes),
                   Number::decimal(bytes.size()));
  }
  out = load_id(bytes.data() + k_store_id_at);
  if (is_zero(out) && !base::mutant("tay-store-id-zero")) {
    return corrupt("invalid_store_id", k_store_id_at);
  }
  return std::nullopt;
}

void encode_store(const Id& store_id, Bytes& out) {
  const std::size_t from = out.size();
  base::ByteWriter writer(out);
  begin(writer, k_store_magic);
  writer.bytes(store_id);
  end(writer, out, from);
}

std::optional<ObjectFault> decode_header(ByteSpan bytes, SegmentHeader& out) {
  if (auto fault =
          check_fixed_object(bytes, k_header_magic, k_header_bytes, "incomplete_segment_header")) {
    return fault;
  }
  out.segment_id = base::u64be(bytes.data() + k_header_id_at);
  out.first_sequence = base::u64be(bytes.data() + k_header_first_at);
  out.store_id = load_id(bytes.data() + k_header_store_id_at);
  if (out.segment_id == 0) {
    return corrupt("invalid_segment_id", k_header_id_at, {}, Number::decimal(0));
  }
  if (out.first_sequence == 0) {
    return corrupt("invalid_first_sequence", k_header_first_at, {}, Number::decimal(0));
  }
  if (is_zero(out.store_id)) {
    return corrupt("invalid_store_id", k_header_store_id_at);
  }
  return std::nullopt;
}

std::optional<ObjectFault> check_header_place(const SegmentHeader& header, std::uint64_t name_id,
                                              const Id& store_id, std::uint64_t file_bytes) {
  ObjectFault fault;
  fault.type = Class::mismatch;
  if (header.segment_id != name_id && !base::mutant("tay-header-id")) {
    fault.fault = {"id", k_header_id_at, Number::decimal(name_id),
                   Number::decimal(header.segment_id)};
    return fault;
  }
  if (header.store_id != store_id && !base::mutant("tay-header-store")) {
    fault.fault = {"store_id", k_header_store_id_at, Number::hex64(base::u64be(store_id.data())),
                   Number::hex64(base::u64be(header.store_id.data()))};
    return fault;
  }
  if (file_bytes > k_max_sealed_bytes) {
    return corrupt("segment_size_exceeds_format", 0, Number::decimal(k_max_sealed_bytes),
                   Number::decimal(file_bytes));
  }
  return std::nullopt;
}

void encode_header(const SegmentHeader& header, Bytes& out) {
  const std::size_t from = out.size();
  base::ByteWriter writer(out);
  begin(writer, k_header_magic);
  writer.u64be(header.segment_id);
  writer.u64be(header.first_sequence);
  writer.bytes(header.store_id);
  end(writer, out, from);
}

std::optional<ObjectFault> decode_footer(ByteSpan bytes, SegmentFooter& out) {
  if (auto fault = check_fixed_object(bytes, k_footer_magic, k_footer_bytes, "incomplete_footer")) {
    return fault;
  }
  out.segment_id = base::u64be(bytes.data() + k_footer_id_at);
  out.first_sequence = base::u64be(bytes.data() + k_footer_first_at);
  out.last_sequence = base::u64be(bytes.data() + k_footer_last_at);
  out.record_count = base::u64be(bytes.data() + k_footer_count_at);
  out.store_id = load_id(bytes.data() + k_footer_store_id_at);
  out.segment_crc = base::u32be(bytes.data() + k_footer_segment_crc_at);
  if (out.segment_id == 0) {
    return corrupt("invalid_segment_id", k_footer_id_at, {}, Number::decimal(0));
  }
  if (out.first_sequence == 0) {
    return corrupt("invalid_first_sequence", k_footer_first_at, {}, Number::decimal(0));
  }
  if (out.last_sequence == 0) {
    return corrupt("invalid_last_sequence", k_footer_last_at, {}, Number::decimal(0));
  }
  if (out.record_count == 0 || out.record_count > k_max_segment_records) {
    return corrupt("invalid_record_count", k_footer_count_at,
                   Number::decimal(k_max_segment_records), Number::decimal(out.record_count));
  }
  return std::nullopt;
}

std::optional<ObjectFault> check_footer_header(const SegmentFooter& footer,
                                               const SegmentHeader& header) {
  if (footer.segment_id != header.segment_id && !base::mutant("tay-footer-id")) {
    return corrupt("mismatch_id", k_footer_id_at, Number::decimal(header.segment_id),
                   Number::decimal(footer.segment_id));
  }
  if (footer.first_sequence != header.first_sequence && !base::mutant("tay-footer-first")) {
    return corrupt("mismatch_first_sequence", k_footer_first_at,
                   Number::decimal(header.first_sequence), Number::decimal(footer.first_sequence));
  }
  if (is_zero(footer.store_id)) {
    return corrupt("invalid_store_id", k_footer_store_id_at);
  }
  if (footer.store_id != header.store_id && !base::mutant("tay-footer-store")) {
    return corrupt("mismatch_store_id", k_footer_store_id_at,
                   Number::hex64(base::u64be(header.store_id.data())),
                   Number::hex64(base::u64be(footer.store_id.data())));
  }
  if (footer.record_count - 1 > k_u64_max - footer.first_sequence ||
      (footer.last_sequence != footer.first_sequence + (footer.record_count - 1) &&
       !base::mutant("tay-relation"))) {
    return corrupt("count_sequence_relation", k_footer_last_at,
                   Number::decimal(footer.first_sequence + (footer.record_count - 1)),
                   Number::decimal(footer.last_sequence));
  }
  return std::nullopt;
}

std::optional<ObjectFault> check_footer_records(const SegmentFooter& footer,
                                                std::uint64_t record_count,
                                                std::uint64_t last_sequence,
                                                std::uint32_t segment_crc) {
  if (footer.record_count != record_count && !base::mutant("tay-footer-count")) {
    return corrupt("mismatch_count", k_footer_count_at, Number::decimal(footer.record_count),
                   Number::decimal(record_count));
  }
  if (footer.last_sequence != last_sequence && !base::mutant("tay-footer-last")) {
    return corrupt("mismatch_last_sequence", k_footer_last_at,
                   Number::decimal(footer.last_sequence), Number::decimal(last_sequence));
  }
  if (footer.segment_crc != segment_crc && !base::mutant("tay-footer-crc")) {
    return ObjectFault{Class::segment_crc,
                       {"mismatch_segment_crc", k_footer_segment_crc_at,
                        Number::hex32(footer.segment_crc), Number::hex32(segment_crc)},
                       0};
  }
  return std::nullopt;
}

void encode_footer(const SegmentFooter& footer, Bytes& out) {
  const std::size_t from = out.size();
  base::ByteWriter writer(out);
  begin(writer, k_footer_magic);
  writer.u64be(footer.segment_id);
  writer.u64be(footer.first_sequence);
  writer.u64be(footer.last_sequence);
  writer.u64be(footer.record_count);
  writer.bytes(footer.store_id);
  writer.u32be(footer.segment_crc);
  end(writer, out, from);
}

}  // namespace varve::tay
