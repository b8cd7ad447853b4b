// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/record.hpp"

#include <algorithm>

#include "base/mutant.hpp"

namespace varve::tay {

namespace {

DecodedRecord failed(DecodedRecord out, RecordStatus status, Fault fault) {
  out.status = status;
  out.fault = fault;
  return out;
}

// Steps 5 to 9: the values of a header whose CRC holds, and those that an encoder refuses.
std::optional<Fault> check_values(std::uint8_t flags, const RecordHeader& header,
                                  std::uint64_t length) {
  if (flags != 0 && !base::mutant("tay-flags")) {
    return Fault{"flags", k_record_flags_at, Number::decimal(0), Number::decimal(flags)};
  }
  if (header.type == 0 || header.type > k_max_type + (base::mutant("tay-type-range") ? 1 : 0)) {
    return Fault{"reserved_type", k_record_type_at, {}, Number::decimal(header.type)};
  }
  if (header.schema == 0 && !base::mutant("tay-schema")) {
    return Fault{"invalid_schema", k_record_schema_at, {}, Number::decimal(0)};
  }
  if (header.sequence == 0 && !base::mutant("tay-sequence-zero")) {
    return Fault{"invalid_sequence", k_record_sequence_at, {}, Number::decimal(0)};
  }
  if (length > k_max_payload_bytes && !base::mutant("tay-payload-length")) {
    return Fault{"payload_length_exceeds_format", k_record_length_at,
                 Number::decimal(k_max_payload_bytes), Number::decimal(length)};
  }
  return std::nullopt;
}

}  // namespace

DecodedRecord decode_record_header(ByteSpan available, std::uint32_t payload_budget) {
  DecodedRecord out;
  out.available = available.size();
  const std::size_t magic = std::min(available.size(), k_magic_bytes);
  for (std::size_t i = 0; i < magic; ++i) {
    if (base::u8(available[i]) != static_cast<std::uint8_t>(k_record_magic[i])) {
      return failed(out, RecordStatus::corrupt, {"invalid_magic", 0, {}, {}});
    }
  }
  if (available.size() <= k_record_version_at) {
    return out;
  }
  const std::uint8_t version = base::u8(available[k_record_version_at]);
  if (version != k_version && !base::mutant("tay-record-version")) {
    return failed(out, version == 0 ? RecordStatus::corrupt : RecordStatus::unsupported,
                  {version == 0 ? "invalid_format" : "format", k_record_version_at,
                   Number::decimal(k_version), Number::decimal(version)});
  }
  if (available.size() < k_record_header_bytes) {
    return out;
  }
  const std::uint32_t crc = base::crc32c(available.first(k_record_header_crc_at));
  out.header = load_record_header(available.data());
  if (crc != out.header.header_crc && !base::mutant("tay-header-crc")) {
    return failed(out, RecordStatus::corrupt,
                  {"header_checksum", k_record_header_crc_at, Number::hex32(out.header.header_crc),
                   Number::hex32(crc)});
  }
  const std::uint8_t flags = base::u8(available[k_record_flags_at]);
  if (auto fault = check_values(flags, out.header, out.header.payload_length)) {
    return failed(out, flags != 0 ? RecordStatus::unsupported : RecordStatus::corrupt, *fault);
  }
  out.header_proven = true;
  if (out.header.payload_length > payload_budget && !base::mutant("tay-payload-budget")) {
    return failed(out, RecordStatus::resource_limit,
                  {"payload_length", k_record_length_at, Number::decimal(payload_budget),
                   Number::decimal(out.header.payload_length)});
  }
  out.status = RecordStatus::record;
  return out;
}

DecodedRecord decode_record(ByteSpan available, std::uint32_t payload_budget) {
  DecodedRecord out = decode_record_header(available, payload_budget);
  if (out.status != RecordStatus::record) {
    return out;
  }
  const std::size_t length = out.header.payload_length;
  const std::size_t behind_header = available.size() - k_record_header_bytes;
  if (behind_header + (base::mutant("tay-trailer") ? 1 : 0) < length + k_record_trailer_bytes) {
    out.status = behind_header < length ? RecordStatus::incomplete_payload
                                        : RecordStatus::incomplete_checksum;
    return out;
  }
  const ByteSpan payload = available.subspan(k_record_header_bytes, length);
  const std::uint32_t crc = base::crc32c(payload, out.header.header_crc);
  const std::uint32_t stored = base::u32be(payload.data() + length);
  if (crc != stored && !base::mutant("tay-record-crc")) {
    return failed(out, RecordStatus::corrupt,
                  {"record_checksum", k_record_header_bytes + length, Number::hex32(stored),
                   Number::hex32(crc)});
  }
  out.payload = payload;
  out.record_crc = crc;
  return out;
}

std::optional<Fault> encode_record(std::uint8_t type, std::uint8_t schema, std::uint64_t sequence,
                                   ByteSpan payload, Bytes& out) {
  RecordHeader header;
  header.type = type;
  header.schema = schema;
  header.sequence = sequence;
  if (auto fault = check_values(0, header, payload.size())) {
    return fault;
  }
  const std::size_t begin = out.size();
  base::ByteWriter writer(out);
  writer.text(k_record_magic);
  writer.u8(k_version);
  writer.u8(type);
  writer.u8(0);
  writer.u8(schema);
  writer.u64be(sequence);
  writer.u32be(static_cast<std::uint32_t>(payload.size()));
  const std::uint32_t header_crc = base::crc32c(ByteSpan(out).subspan(begin));
  writer.u32be(header_crc);
  writer.bytes(payload);
  writer.u32be(base::crc32c(payload, base::mutant("tay-record-crc-chain") ? 0 : header_crc));
  return std::nullopt;
}

}  // namespace varve::tay
