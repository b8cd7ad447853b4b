// SPDX-License-Identifier: MIT OR Apache-2.0
// The bloom filter of the footer ("gloom", serialization version 1; section 9), bit for bit. A DID
// is hashed once, into a BloomKey; the key is then tested against any number of filters.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "varve/result.hpp"

namespace varve::jss {

// The part of a key's hash that decides its bits (section 9.2).
struct BloomKey {
  std::uint64_t high = 0;    // picks the block
  std::uint32_t folded = 0;  // picks the bits within it

  static BloomKey of(base::ByteSpan key);
  static BloomKey of(std::string_view key) { return of(base::as_bytes(key)); }
  friend bool operator==(const BloomKey&, const BloomKey&) = default;
};

// Section 9.4: `blocks` bit blocks of 64 bytes, `hash_count` (the spec's k) bits a key.
struct BloomParameters {
  std::uint64_t blocks = 1;
  std::uint32_t hash_count = 0;

  std::uint64_t blob_bytes() const;
  friend bool operator==(const BloomParameters&, const BloomParameters&) = default;
};

// The rate that every filter of a segment is sized for.
inline constexpr double k_bloom_rate = 0.001;

// The parameters for `items` keys at false-positive rate `rate`. Takes about a millisecond.
BloomParameters compute_bloom_parameters(std::uint64_t items, double rate);
// The same at k_bloom_rate, remembered by `items`. Thread-safe.
BloomParameters bloom_parameters(std::uint64_t items);
// The expected rate of false positives of a filter of these parameters that holds `items` keys.
double expected_bloom_rate(const BloomParameters& parameters, std::uint64_t items);

// The words of the faults that decoding a blob can meet, in the order of the checks (section 9.1).
// A reader reports them all under the class `Decode`.
inline constexpr const char* k_bloom_too_short = "bloom-too-short";
inline constexpr const char* k_bloom_version_unknown = "bloom-version";
inline constexpr const char* k_bloom_hash_count = "bloom-k";
inline constexpr const char* k_bloom_block_count = "bloom-num-blocks";
inline constexpr const char* k_bloom_length = "bloom-length";
inline constexpr const char* k_bloom_crc = "bloom-crc";

// A decoded blob. Holds a view: the blob's bytes must outlive it.
class BloomView {
 public:
  // Checks everything that section 9.1 asks for; fault offsets count from the blob's start.
  static std::expected<BloomView, Fault> parse(base::ByteSpan blob);

  // False only if the key was never inserted.
  bool may_contain(const BloomKey& key) const;
  // Asks the processor for the memory that may_contain(key) will look at.
  void prefetch(const BloomKey& key) const;
  BloomParameters parameters() const { return parameters_; }
  // The number of insertions, as the blob says; informative.
  std::uint64_t count() const { return count_; }

 private:
  BloomView(const std::byte* bits, BloomParameters parameters, std::uint64_t count)
      : bits_(bits), parameters_(parameters), count_(count) {}
  const std::byte* bits_;
  BloomParameters parameters_;
  std::uint64_t count_;
};

// A filter being filled. The caller inserts each distinct key once.
class BloomBuilder {
 public:
  explicit BloomBuilder(BloomParameters parameters);
  void insert(const BloomKey& key);
  // Appends the blob to `out`.
  void marshal(base::Bytes& out) const;

 private:
  BloomParameters parameters_;
  std::vector<std::uint64_t> words_;  // eight a block
  std::uint64_t count_ = 0;
};

}  // namespace varve::jss
