// SPDX-License-Identifier: MIT OR Apache-2.0
// XXH3 through the dispatching build of libxxhash, SHA-256 through libcrypto.
#include <openssl/evp.h>
#include <xxhash.h>
// After xxhash.h: replaces the calls by ones that pick the best instruction set at run time.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif

#include <cstdio>
#include <cstdlib>

#include "base/checksum.hpp"

namespace varve::base {

std::uint64_t xxh3_64(ByteSpan bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hash128 xxh3_128(ByteSpan bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

struct Xxh3Stream::Impl {
  XXH3_state_t* state = XXH3_createState();
  ~Impl() { XXH3_freeState(state); }
};

Xxh3Stream::Xxh3Stream() : impl_(std::make_unique<Impl>()) { XXH3_64bits_reset(impl_->state); }
Xxh3Stream::~Xxh3Stream() = default;
void Xxh3Stream::update(ByteSpan bytes) {
  if (!bytes.empty()) {
    XXH3_64bits_update(impl_->state, bytes.data(), bytes.size());
  }
}
std::uint64_t Xxh3Stream::digest() const { return XXH3_64bits_digest(impl_->state); }

struct Sha256Stream::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

namespace {

// A hash that could not be computed must never look like one: without a working libcrypto, or
// without memory, the process ends.
void must(bool fine) {
  if (!fine) {
    std::fputs("varve: libcrypto cannot compute SHA-256 on this system\n", stderr);
    std::abort();
  }
}

// Fetched once: looking an algorithm up by name for each hash costs more than a short hash.
const EVP_MD* sha256_algorithm() {
  static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  must(algorithm != nullptr);
  return algorithm;
}

}  // namespace

Sha256Stream::Sha256Stream() : impl_(std::make_unique<Impl>()) {
  must(EVP_DigestInit_ex2(impl_->context, sha256_algorithm(), nullptr) == 1);
}
Sha256Stream::~Sha256Stream() = default;
void Sha256Stream::update(ByteSpan bytes) {
  must(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1);
}
Sha256 Sha256Stream::digest() {
  Sha256 out{};
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  must(EVP_DigestFinal_ex(impl_->context, to, nullptr) == 1);
  return out;
}

Sha256 sha256(ByteSpan bytes) {
  thread_local std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                               &EVP_MD_CTX_free);
  Sha256 out{};
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  must(EVP_DigestInit_ex2(context.get(), sha256_algorithm(), nullptr) == 1 &&
       EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
       EVP_DigestFinal_ex(context.get(), to, nullptr) == 1);
  return out;
}

}  // namespace varve::base
