// SPDX-License-Identifier: MIT OR Apache-2.0
// The wrappers in src/base beside the bare libraries on the same bytes.
#include <isa-l/crc.h>
#include <lz4.h>
#include <zstd.h>

#include <random>
#include <string>

#include "base/checksum.hpp"
#include "base/compression.hpp"
#include "base/json_writer.hpp"
#include "bench/harness.hpp"

namespace {

using namespace varve;

// Text in the manner of logged events: field names repeat, values do not.
std::string event_text(std::size_t bytes) {
  std::mt19937_64 random(1);
  std::string out;
  while (out.size() < bytes) {
    out +=
        "{\"seq\":" + std::to_string(random() % 1'000'000) + ",\"collection\":\"app.feed.post\",";
    out += "\"text\":\"item " + std::to_string(random()) + " of the day\"}\n";
  }
  out.resize(bytes);
  return out;
}

void checksums(bench::Runner& runner, const std::string& text) {
  for (const std::size_t size : {16, 64, 1024, 65'536}) {
    const base::ByteSpan bytes = base::as_bytes(std::string_view(text).substr(0, size));
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    const std::string of = " of " + std::to_string(size) + " bytes";
    runner.compare({"CRC-32" + of, "bytes", size, bench::Timing::cpu},
                   {{"ISA-L", bench::k_limit, [=] { bench::keep(crc32_gzip_refl(0, data, size)); }},
                    {"varve", bench::k_ours, [=] { bench::keep(base::crc32(bytes)); }}});
    runner.compare({"CRC-32C" + of, "bytes", size, bench::Timing::cpu},
                   {{"ISA-L", bench::k_limit,
                     [=] { bench::keep(~crc32_iscsi(data, static_cast<int>(size), ~0U)); }},
                    {"varve", bench::k_ours, [=] { bench::keep(base::crc32c(bytes)); }}});
  }
}

void codecs(bench::Runner& runner, const std::string& text) {
  base::Bytes frame;
  base::ZstdEncoder(3).encode(base::as_bytes(text), frame);
  std::string room(text.size(), '\0');
  ZSTD_DCtx* context = ZSTD_createDCtx();
  base::ZstdDecoder decoder;
  base::Buffer out;
  runner.compare(
      {"zstd decode, frame of 256 KiB", "bytes", text.size(), bench::Timing::cpu},
      {{"libzstd", bench::k_limit,
        [&] {
          bench::keep(
              ZSTD_decompressDCtx(context, room.data(), room.size(), frame.data(), frame.size()));
        }},
       {"varve", bench::k_ours, [&] { bench::keep(decoder.decode(frame, 1 << 30, out)); }}});
  ZSTD_freeDCtx(context);

  base::Bytes block;
  if (base::lz4_encode(base::as_bytes(text), block)) {
    const auto target = std::as_writable_bytes(std::span(room));
    runner.compare(
        {"LZ4 decode, block of 256 KiB", "bytes", text.size(), bench::Timing::cpu},
        {{"liblz4", bench::k_limit,
          [&] {
            bench::keep(LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()),
                                            room.data(), static_cast<int>(block.size()),
                                            static_cast<int>(room.size())));
          }},
         {"varve", bench::k_ours, [&] { bench::keep(base::lz4_decode(block, target)); }}});
  }
}

void text(bench::Runner& runner, const std::string& source) {
  std::string plain(source);
  std::ranges::replace(plain, '"', '\'');
  std::ranges::replace(plain, '\n', ' ');
  std::string out;
  out.reserve(plain.size() * 2);
  const auto append = [&out](const std::string& from) {
    out.clear();
    base::append_json_text(out, from);
    bench::keep(out.data());
  };
  runner.compare({"JSON text of 256 KiB", "bytes", plain.size(), bench::Timing::cpu},
                 {{"memcpy", bench::k_limit,
                   [&] {
                     out.assign(plain);
                     bench::keep(out.data());
                   }},
                  {"varve, nothing to escape", bench::k_ours, [&] { append(plain); }},
                  {"varve, quotes to escape", bench::k_ours, [&] { append(source); }}});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner("base", argc, argv);
  const std::string source = event_text(256 << 10);
  checksums(runner, source);
  codecs(runner, source);
  text(runner, source);
  return runner.finish();
}
