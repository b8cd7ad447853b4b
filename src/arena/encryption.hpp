// SPDX-License-Identifier: MIT OR Apache-2.0
// Opening encrypted payloads (section 11): AES-256-GCM under a key that Argon2id makes of a
// passphrase. The cost parameters are inferred, not confirmed by a real store.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "varve/result.hpp"

namespace varve::arena {

inline constexpr std::size_t k_nonce_bytes = 12;
inline constexpr std::size_t k_tag_bytes = 16;
inline constexpr std::size_t k_key_bytes = 32;

// Argon2id version 0x13 with these costs (the defaults of the original's library).
inline constexpr std::uint32_t k_argon2_memory_kib = 19456;
inline constexpr std::uint32_t k_argon2_passes = 2;
inline constexpr std::uint32_t k_argon2_lanes = 1;

using Key = std::array<std::byte, k_key_bytes>;

// `salt`: the bytes of encryption.salt, k_salt_bytes of them.
Result<Key> derive_key(std::string_view passphrase, base::ByteSpan salt);

// The transaction in an envelope of nonce, ciphertext and tag; false if the tag does not hold (a
// wrong key, or not an envelope). `out` is resized. Thread-safe.
bool open_envelope(const Key& key, base::ByteSpan envelope, base::Bytes& out);

}  // namespace varve::arena
