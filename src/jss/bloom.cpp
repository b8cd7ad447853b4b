// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/bloom.hpp"

#include <array>

#include "base/checksum.hpp"
#include "jss/bloom_partitions.hpp"
#include "jss/layout.hpp"

namespace varve::jss {

namespace {

std::uint64_t block_of(std::uint64_t high, std::uint64_t blocks) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Product>(high) * blocks) >> 64);
}

// Calls visit(bit) for the key's bits in its block until it returns false.
template <class Visit>
bool for_each_bit(std::uint32_t hash_count, std::uint32_t folded, Visit visit) {
  const auto parts = bloom_parts(hash_count);
  const auto reciprocals = bloom_reciprocals(hash_count);
  std::uint32_t offset = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!visit(offset + bloom_remainder(folded, parts[i], reciprocals[i]))) {
      return false;
    }
    offset += parts[i];
  }
  return true;
}

}  // namespace

BloomKey BloomKey::of(base::ByteSpan key) {
  const base::Hash128 hash = base::xxh3_128(key);
  return {hash.high,
          static_cast<std::uint32_t>(hash.low) ^ static_cast<std::uint32_t>(hash.low >> 32)};
}

std::uint64_t BloomParameters::blob_bytes() const {
  return k_bloom_fixed_bytes + k_bloom_block_bytes * blocks;
}

std::expected<BloomView, Fault> BloomView::parse(base::ByteSpan blob) {
  const std::uint64_t size = blob.size();
  if (size < k_bloom_fixed_bytes) {
    return std::unexpected(
        Fault{k_bloom_too_short, 0, Number::decimal(k_bloom_fixed_bytes), Number::decimal(size)});
  }
  const std::byte* p = blob.data();
  const std::uint8_t version = base::u8(p[0]);
  if (version != k_bloom_version) {
    return std::unexpected(Fault{k_bloom_version_unknown, 0, Number::decimal(k_bloom_version),
                                 Number::decimal(version)});
  }
  BloomParameters parameters;
  parameters.hash_count = base::u32le(p + 1);
  if (bloom_parts(parameters.hash_count).empty()) {
    return std::unexpected(
        Fault{k_bloom_hash_count, 1, {}, Number::decimal(parameters.hash_count)});
  }
  parameters.blocks = base::u64le(p + 5);
  if (parameters.blocks == 0 || parameters.blocks > k_max_bloom_blocks) {
    return std::unexpected(Fault{k_bloom_block_count, 5, {}, Number::decimal(parameters.blocks)});
  }
  if (size != parameters.blob_bytes()) {
    return std::unexpected(
        Fault{k_bloom_length, 0, Number::decimal(parameters.blob_bytes()), Number::decimal(size)});
  }
  const std::uint64_t crc_at = size - k_bloom_crc_bytes;
  const std::uint32_t stored = base::u32le(p + crc_at);
  const std::uint32_t computed = base::crc32c(blob.first(crc_at));
  if (stored != computed) {
    return std::unexpected(
        Fault{k_bloom_crc, crc_at, Number::hex32(stored), Number::hex32(computed)});
  }
  return BloomView(p + k_bloom_header_bytes, parameters, base::u64le(p + 13));
}

void BloomView::prefetch(const BloomKey& key) const {
  __builtin_prefetch(bits_ + k_bloom_block_bytes * block_of(key.high, parameters_.blocks));
}

bool BloomView::may_contain(const BloomKey& key) const {
  const std::byte* block = bits_ + k_bloom_block_bytes * block_of(key.high, parameters_.blocks);
  return for_each_bit(parameters_.hash_count, key.folded, [&](std::uint32_t bit) {
    return ((base::u8(block[bit / 8]) >> (bit % 8)) & 1) != 0;
  });
}

BloomBuilder::BloomBuilder(BloomParameters parameters)
    : parameters_(parameters), words_(parameters.blocks * 8) {}

void BloomBuilder::insert(const BloomKey& key) {
  std::uint64_t* block = words_.data() + 8 * block_of(key.high, parameters_.blocks);
  for_each_bit(parameters_.hash_count, key.folded, [&](std::uint32_t bit) {
    block[bit / 64] |= std::uint64_t{1} << (bit % 64);
    return true;
  });
  ++count_;
}

void BloomBuilder::marshal(base::Bytes& out) const {
  const std::size_t from = out.size();
  base::ByteWriter writer(out);
  writer.u8(k_bloom_version);
  writer.u32le(parameters_.hash_count);
  writer.u64le(parameters_.blocks);
  writer.u64le(count_);
  for (const std::uint64_t word : words_) {
    writer.u64le(word);
  }
  writer.u32le(base::crc32c(base::ByteSpan(out).subspan(from)));
}

}  // namespace varve::jss
