// SPDX-License-Identifier: MIT OR Apache-2.0
#include <fmt/format.h>
#include <lz4.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <xxhash.h>
#include <zstd.h>

#include "varve/store.hpp"

namespace varve {

std::string_view version() { return VARVE_VERSION; }

std::string version_details() {
#if defined(__x86_64__)
  const char* path = __builtin_cpu_supports("avx512f")  ? "x86-64, AVX-512"
                     : __builtin_cpu_supports("avx2")   ? "x86-64, AVX2"
                     : __builtin_cpu_supports("sse4.2") ? "x86-64, SSE4.2"
                                                        : "x86-64";
#else
  const char* path = "generic";
#endif
  return fmt::format("zstd {}\nlz4 {}\nxxhash {}.{}.{}\nsqlite {}\n{}\ncpu path: {}\n",
                     ZSTD_versionString(), LZ4_versionString(), XXH_versionNumber() / 10000,
                     XXH_versionNumber() / 100 % 100, XXH_versionNumber() % 100,
                     sqlite3_libversion(), OpenSSL_version(OPENSSL_VERSION), path);
}

}  // namespace varve
