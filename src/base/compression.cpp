// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/compression.hpp"

#include <lz4.h>
// The frame header parser is in the part of the API that is only linked statically by promise; it
// has been in every release since 1.3 and in the shared library.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstring>

namespace varve::base {

namespace {

constexpr std::uint64_t k_zstd_max_block_bytes = 128 * 1024;

// The most that a whole frame can yield by its own structure: raw and run-length blocks say their
// size, a compressed one yields at most 128 KiB. Unlike ZSTD_decompressBound this does not believe
// the content size in the frame header. `frame` is a complete frame.
std::uint64_t structural_bound(ByteSpan frame, const ZstdFrameHeader& header) {
  const std::uint64_t block_cap = std::min<std::uint64_t>(
      k_zstd_max_block_bytes, std::max<std::uint64_t>(header.window_bytes, 1));
  std::uint64_t bound = 0;
  std::size_t at = header.header_bytes;
  while (at + 3 <= frame.size()) {
    const std::uint32_t block = std::uint32_t{u8(frame[at])} |
                                std::uint32_t{u8(frame[at + 1])} << 8 |
                                std::uint32_t{u8(frame[at + 2])} << 16;
    const std::uint32_t size = block >> 3;
    const std::uint32_t type = (block >> 1) & 3;
    bound += type == 2 ? block_cap : size;
    at += 3 + (type == 1 ? std::size_t{1} : std::size_t{size});
    if ((block & 1) != 0) {
      break;
    }
  }
  return bound;
}

}  // namespace

std::optional<ZstdFrameHeader> zstd_frame_header(ByteSpan bytes) {
  ZSTD_frameHeader header{};
  if (ZSTD_getFrameHeader(&header, bytes.data(), bytes.size()) != 0 ||
      header.frameType != ZSTD_frame) {
    return std::nullopt;
  }
  ZstdFrameHeader out;
  if (header.frameContentSize != ZSTD_CONTENTSIZE_UNKNOWN) {
    out.content_size = header.frameContentSize;
  }
  out.window_bytes = header.windowSize;
  out.has_checksum = header.checksumFlag != 0;
  out.dictionary_id = header.dictID;
  out.header_bytes = header.headerSize;
  return out;
}

std::optional<std::size_t> zstd_frame_size(ByteSpan bytes) {
  const std::size_t size = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) {
    return std::nullopt;
  }
  return size;
}

std::byte* Buffer::reserve(std::size_t capacity) {
  if (capacity <= capacity_) {
    return data_;
  }
  // Some more than asked for, so that a row of slightly larger units does not reallocate each time.
  capacity = std::max(capacity, capacity_ + capacity_ / 4);
  // new[] without initialisation: the decoder overwrites what it uses.
  auto memory = std::make_unique_for_overwrite<std::byte[]>(capacity + 16);
  std::byte* data = memory.get();
  while ((reinterpret_cast<std::uintptr_t>(data) + misalign_) % 8 != 0) {
    ++data;
  }
  if (size_ != 0) {
    std::memcpy(data, data_, size_);
  }
  memory_ = std::move(memory);
  data_ = data;
  capacity_ = capacity;
  return data_;
}

struct ZstdDecoder::Impl {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  int max_window_log = 27;
  ~Impl() { ZSTD_freeDCtx(context); }
};

ZstdDecoder::ZstdDecoder(int max_window_log) : impl_(std::make_unique<Impl>()) {
  impl_->max_window_log = max_window_log;
  ZSTD_DCtx_setParameter(impl_->context, ZSTD_d_windowLogMax, max_window_log);
}
ZstdDecoder::~ZstdDecoder() = default;
ZstdDecoder::ZstdDecoder(ZstdDecoder&&) noexcept = default;
ZstdDecoder& ZstdDecoder::operator=(ZstdDecoder&&) noexcept = default;

CodecStatus ZstdDecoder::decode(ByteSpan frame, std::uint64_t cap, Buffer& out) {
  out.set_size(0);
  const auto header = zstd_frame_header(frame);
  if (!header || header->dictionary_id != 0) {
    return CodecStatus::corrupt;
  }
  if (header->content_size && *header->content_size > cap) {
    return CodecStatus::over_cap;
  }
  const auto frame_size = zstd_frame_size(frame);
  if (!frame_size) {
    return CodecStatus::corrupt;
  }
  if (*frame_size != frame.size()) {
    return CodecStatus::trailing_bytes;
  }
  if (header->window_bytes >
      std::max(std::uint64_t{1} << impl_->max_window_log, header->content_size.value_or(0))) {
    return CodecStatus::over_cap;
  }

  // Memory is asked for by what the frame's own structure can yield, never by a claim. Pages that
  // the decoder does not reach stay untouched. Decoding in one call needs no window of its own.
  const std::uint64_t bound = structural_bound(frame, *header);
  if (header->content_size && *header->content_size > bound) {
    return CodecStatus::corrupt;
  }
  const std::uint64_t room =
      header->content_size ? *header->content_size : std::min(bound, cap + 1);
  out.reserve(static_cast<std::size_t>(std::max<std::uint64_t>(room, 1)));
  const std::size_t n = ZSTD_decompressDCtx(
      impl_->context, out.data(), static_cast<std::size_t>(room), frame.data(), frame.size());
  if (ZSTD_isError(n) != 0) {
    return room > cap && ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall ? CodecStatus::over_cap
                                                                             : CodecStatus::corrupt;
  }
  if (n > cap) {
    return CodecStatus::over_cap;
  }
  out.set_size(n);
  return CodecStatus::ok;
}

struct ZstdDictionary::Digest {
  ZSTD_CDict* dictionary = nullptr;
  ~Digest() { ZSTD_freeCDict(dictionary); }
};

ZstdDictionary::ZstdDictionary() : digest_(std::make_unique<Digest>()) {}
ZstdDictionary::~ZstdDictionary() = default;

std::shared_ptr<const ZstdDictionary> ZstdDictionary::load(Bytes bytes, int level) {
  std::shared_ptr<ZstdDictionary> out(new ZstdDictionary());
  out->bytes_ = std::move(bytes);
  out->id_ = ZSTD_getDictID_fromDict(out->bytes_.data(), out->bytes_.size());
  if (out->id_ == 0) {
    return nullptr;
  }
  out->digest_->dictionary = ZSTD_createCDict_advanced(
      out->bytes_.data(), out->bytes_.size(), ZSTD_dlm_byRef, ZSTD_dct_fullDict,
      ZSTD_getCParams(level, ZSTD_CONTENTSIZE_UNKNOWN, out->bytes_.size()), ZSTD_defaultCMem);
  return out->digest_->dictionary != nullptr ? out : nullptr;
}

struct ZstdEncoder::Impl {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~Impl() { ZSTD_freeCCtx(context); }
};

ZstdEncoder::ZstdEncoder(int level) : impl_(std::make_unique<Impl>()) {
  ZSTD_CCtx_setParameter(impl_->context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(impl_->context, ZSTD_c_checksumFlag, 1);
}
ZstdEncoder::~ZstdEncoder() = default;
ZstdEncoder::ZstdEncoder(ZstdEncoder&&) noexcept = default;
ZstdEncoder& ZstdEncoder::operator=(ZstdEncoder&&) noexcept = default;

void ZstdEncoder::encode(ByteSpan body, Bytes& out) {
  const std::size_t at = out.size();
  out.resize(at + ZSTD_compressBound(body.size()));
  const std::size_t n =
      ZSTD_compress2(impl_->context, out.data() + at, out.size() - at, body.data(), body.size());
  // Compressing memory into a buffer of compressBound bytes cannot fail.
  out.resize(at + n);
}

void ZstdEncoder::encode(ByteSpan body, const ZstdDictionary& dictionary, Bytes& out) {
  ZSTD_CCtx_refCDict(impl_->context, dictionary.digest_->dictionary);
  encode(body, out);
  ZSTD_CCtx_refCDict(impl_->context, nullptr);
}

bool lz4_decode(ByteSpan block, std::span<std::byte> out) {
  if (block.size() > LZ4_MAX_INPUT_SIZE || out.size() > LZ4_MAX_INPUT_SIZE) {
    return false;
  }
  const int n = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()),
                                    reinterpret_cast<char*>(out.data()),
                                    static_cast<int>(block.size()), static_cast<int>(out.size()));
  return n >= 0 && static_cast<std::size_t>(n) == out.size();
}

bool lz4_encode(ByteSpan input, Bytes& out) {
  if (input.size() < 2) {
    return false;
  }
  out.resize(input.size() - 1);
  const std::size_t n = lz4_encode_to(input, out);
  if (n == 0) {
    return false;
  }
  out.resize(n);
  return true;
}

std::size_t lz4_encode_to(ByteSpan input, std::span<std::byte> out) {
  if (input.size() > LZ4_MAX_INPUT_SIZE || out.empty()) {
    return 0;
  }
  const std::size_t room = std::min<std::size_t>(out.size(), LZ4_MAX_INPUT_SIZE);
  const int n = LZ4_compress_default(reinterpret_cast<const char*>(input.data()),
                                     reinterpret_cast<char*>(out.data()),
                                     static_cast<int>(input.size()), static_cast<int>(room));
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

}  // namespace varve::base
