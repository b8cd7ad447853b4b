// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/encode.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checksum.hpp"
#include "jss/bloom.hpp"

namespace varve::jss {

namespace {

// Section 7: one blob with every DID, then one a block, all of these of one size.
void append_did_bloom(base::Bytes& out, const SegmentSummary& summary) {
  BloomBuilder bloom(bloom_parameters(summary.dids().size()));
  for (std::uint32_t did = 0; did < summary.dids().size(); ++did) {
    bloom.insert(summary.dids().key(did));
  }
  bloom.marshal(out);
}

void append_block_blooms(base::Bytes& out, const SegmentSummary& summary) {
  const std::size_t blocks = summary.entries().size();
  std::size_t most = 1;
  for (std::size_t block = 0; block < blocks; ++block) {
    most = std::max(most, summary.block_dids(block).size());
  }
  const BloomParameters parameters = bloom_parameters(most);
  base::ByteWriter writer(out);
  writer.u32le(static_cast<std::uint32_t>(blocks));
  writer.u32le(blocks == 0 ? 0 : static_cast<std::uint32_t>(parameters.blob_bytes()));
  for (std::size_t block = 0; block < blocks; ++block) {
    BloomBuilder bloom(parameters);
    for (const std::uint32_t did : summary.block_dids(block)) {
      bloom.insert(summary.dids().key(did));
    }
    bloom.marshal(out);
  }
}

// Section 8. False if the body would be too large.
bool append_collection_index(base::Bytes& out, const SegmentSummary& summary,
                             base::ZstdEncoder& encoder) {
  const std::size_t blocks = summary.entries().size();
  const std::size_t bitmask_bytes = (summary.names().size() + 7) / 8;
  std::uint64_t body_bytes = std::uint64_t{blocks} * bitmask_bytes;
  for (const SegmentSummary::Name& name : summary.names()) {
    body_bytes += k_collection_entry_fixed_bytes + name.text.size();
  }
  if (body_bytes > k_max_body_bytes) {
    return false;
  }
  base::Bytes body;
  body.reserve(body_bytes);
  base::ByteWriter body_writer(body);
  for (const SegmentSummary::Name& name : summary.names()) {
    body_writer.u8(static_cast<std::uint8_t>(name.text.size()));
    body_writer.u32le(static_cast<std::uint32_t>(name.rows));
    body_writer.text(name.text);
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t from = body.size();
    body_writer.zeros(bitmask_bytes);
    for (const std::uint32_t name : summary.block_names(block)) {
      body[from + name / 8] |= static_cast<std::byte>(1U << (name % 8));
    }
  }
  base::ByteWriter writer(out);
  writer.u32le(static_cast<std::uint32_t>(summary.names().size()));
  writer.u32le(static_cast<std::uint32_t>(blocks));
  writer.u32le(static_cast<std::uint32_t>(bitmask_bytes));
  writer.u32le(static_cast<std::uint32_t>(body.size()));
  append_frame(out, body, encoder);
  return true;
}

std::unexpected<Error> no_room(const char* what) {
  return fail(ErrorCode::limit, "limit", std::string("the format has no room for ") + what);
}

}  // namespace

HeaderBytes active_header() {
  HeaderBytes out{};
  std::memcpy(out.data(), k_magic.data(), k_magic.size());
  return out;
}

HeaderBytes encode_header(const Header& header) {
  HeaderBytes out = active_header();
  std::byte* p = out.data();
  base::store_le(p + k_checksum_offset, header.checksum);
  base::store_le(p + k_version_offset, header.version);
  base::store_le(p + k_block_count_offset, header.block_count);
  base::store_le(p + k_event_count_offset, header.event_count);
  base::store_le(p + k_unique_did_count_offset, header.unique_did_count);
  base::store_le(p + k_min_seq_offset, header.min_seq);
  base::store_le(p + k_max_seq_offset, header.max_seq);
  base::store_le(p + k_min_witnessed_at_offset,
                 static_cast<std::uint64_t>(header.min_witnessed_at));
  base::store_le(p + k_max_witnessed_at_offset,
                 static_cast<std::uint64_t>(header.max_witnessed_at));
  base::store_le(p + k_footer_offset_offset, header.footer_offset);
  base::store_le(p + k_did_bloom_offset_offset, header.did_bloom_offset);
  base::store_le(p + k_block_did_bloom_offset_offset, header.block_did_bloom_offset);
  base::store_le(p + k_collection_index_offset_offset, header.collection_index_offset);
  base::store_le(p + k_block_index_offset_offset, header.block_index_offset);
  return out;
}

void append_index_entry(base::Bytes& out, const IndexEntry& entry) {
  base::ByteWriter writer(out);
  writer.u64le(entry.offset);
  writer.u32le(entry.compressed_size);
  writer.u32le(entry.uncompressed_size);
  writer.u32le(entry.event_count);
  writer.u64le(entry.min_seq);
  writer.u64le(entry.max_seq);
  writer.i64le(entry.min_witnessed_at);
  writer.i64le(entry.max_witnessed_at);
}

void append_frame(base::Bytes& out, base::ByteSpan body, base::ZstdEncoder& encoder) {
  if (body.empty()) {
    const auto frame = std::as_bytes(std::span(k_empty_body_frame));
    out.insert(out.end(), frame.begin(), frame.end());
    return;
  }
  encoder.encode(body, out);
}

Envelope envelope_of(const SegmentSummary& summary) {
  return {summary.min_seq(), summary.max_seq(), summary.min_witnessed_at(),
          summary.max_witnessed_at()};
}

std::uint64_t metadata_checksum(const HeaderBytes& header, base::ByteSpan footer) {
  base::Xxh3Stream hash;
  hash.update(base::ByteSpan(header).subspan(k_checksum_from));
  hash.update(footer);
  return hash.digest();
}

Result<SealedParts> encode_footer(const SegmentSummary& summary, std::uint64_t footer_offset,
                                  const Envelope& envelope, base::ZstdEncoder& encoder) {
  if (summary.entries().size() > k_max_blocks) return no_room("more than 2^20 blocks");
  if (summary.names().size() > k_max_collections) return no_room("more than 2^20 collections");
  if (summary.event_count() > std::numeric_limits<std::uint32_t>::max()) {
    return no_room("more than 2^32-1 rows");
  }
  SealedParts out;
  Header& header = out.header;
  header.version = k_version;
  header.block_count = static_cast<std::uint32_t>(summary.entries().size());
  header.event_count = static_cast<std::uint32_t>(summary.event_count());
  header.unique_did_count = static_cast<std::uint32_t>(summary.dids().size());
  header.min_seq = envelope.min_seq;
  header.max_seq = envelope.max_seq;
  header.min_witnessed_at = envelope.min_witnessed_at;
  header.max_witnessed_at = envelope.max_witnessed_at;
  header.footer_offset = footer_offset;
  header.block_index_offset = footer_offset;
  for (const IndexEntry& entry : summary.entries()) {
    append_index_entry(out.footer, entry);
  }
  header.did_bloom_offset = footer_offset + out.footer.size();
  append_did_bloom(out.footer, summary);
  header.block_did_bloom_offset = footer_offset + out.footer.size();
  append_block_blooms(out.footer, summary);
  header.collection_index_offset = footer_offset + out.footer.size();
  if (!append_collection_index(out.footer, summary, encoder)) {
    return no_room("2^30 bytes of collection index");
  }
  header.checksum = metadata_checksum(encode_header(header), out.footer);
  if (header.checksum == 0) return no_room("a checksum of 0, which means active");
  out.header_bytes = encode_header(header);
  return out;
}

}  // namespace varve::jss
