// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/encryption.hpp"

#include <argon2.h>
#include <openssl/evp.h>

#include <memory>

#include "arena/layout.hpp"

namespace varve::arena {

Result<Key> derive_key(std::string_view passphrase, base::ByteSpan salt) {
  if (salt.size() != k_salt_bytes) {
    return fail(ErrorCode::damaged, "decrypt-failed", "encryption.salt is not 16 bytes long");
  }
  Key key;
  const int status =
      argon2id_hash_raw(k_argon2_passes, k_argon2_memory_kib, k_argon2_lanes, passphrase.data(),
                        passphrase.size(), salt.data(), salt.size(), key.data(), key.size());
  if (status != ARGON2_OK) {
    return fail(ErrorCode::invalid_argument, "decrypt-failed", argon2_error_message(status));
  }
  return key;
}

bool open_envelope(const Key& key, base::ByteSpan envelope, base::Bytes& out) {
  if (envelope.size() < k_nonce_bytes + k_tag_bytes) {
    return false;
  }
  thread_local const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(
      EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  const auto bytes = [](base::ByteSpan span) {
    return reinterpret_cast<const unsigned char*>(span.data());
  };
  const base::ByteSpan nonce = envelope.first(k_nonce_bytes);
  const base::ByteSpan tag = envelope.last(k_tag_bytes);
  const base::ByteSpan text =
      envelope.subspan(k_nonce_bytes, envelope.size() - k_nonce_bytes - k_tag_bytes);
  out.resize(text.size());
  auto* plain = reinterpret_cast<unsigned char*>(out.data());
  int written = 0;
  // The tag argument lacks a const in OpenSSL's signature; it is only read.
  void* tag_bytes = const_cast<unsigned char*>(bytes(tag));
  return context != nullptr &&
         EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes(key), bytes(nonce)) ==
             1 &&
         EVP_DecryptUpdate(context.get(), plain, &written, bytes(text),
                           static_cast<int>(text.size())) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(k_tag_bytes),
                             tag_bytes) == 1 &&
         EVP_DecryptFinal_ex(context.get(), plain + written, &written) == 1;
}

}  // namespace varve::arena
