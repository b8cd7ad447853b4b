// SPDX-License-Identifier: MIT OR Apache-2.0
// zstd and LZ4 with hard caps on what hostile input can make them produce. Contexts are reused:
// keep one object a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.hpp"

namespace varve::base {

enum class CodecStatus : std::uint8_t {
  ok,
  corrupt,         // not decodable, or its checksum does not hold
  over_cap,        // would decompress to more than the cap, or needs too large a window
  trailing_bytes,  // a complete frame, then more bytes
};

// What the header of a zstd frame says, without decompressing anything.
struct ZstdFrameHeader {
  std::optional<std::uint64_t> content_size;
  std::uint64_t window_bytes = 0;
  bool has_checksum = false;
  std::uint32_t dictionary_id = 0;
  std::size_t header_bytes = 0;
};
// nullopt if the bytes do not begin with a whole, well-formed zstd frame header.
std::optional<ZstdFrameHeader> zstd_frame_header(ByteSpan bytes);
// The compressed size of the complete frame that begins at the start of `bytes`; nullopt if there
// is none that ends within them.
std::optional<std::size_t> zstd_frame_size(ByteSpan bytes);

// A growing byte buffer whose memory is reused and not cleared. `data()` is aligned so that
// (address + `misalign`) is a multiple of 8.
class Buffer {
 public:
  explicit Buffer(std::size_t misalign = 0) : misalign_(misalign) {}
  // Makes room for `capacity` bytes; the content survives up to the old size.
  std::byte* reserve(std::size_t capacity);
  void set_size(std::size_t size) { size_ = size; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  ByteSpan span() const { return {data_, size_}; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t misalign_ = 0;
};

class ZstdDecoder {
 public:
  // `max_window_log`: frames that ask for a larger window are refused (over_cap).
  explicit ZstdDecoder(int max_window_log = 27);
  ~ZstdDecoder();
  ZstdDecoder(ZstdDecoder&&) noexcept;
  ZstdDecoder& operator=(ZstdDecoder&&) noexcept;

  // Decompresses exactly one frame that fills `frame` to its last byte; at most `cap` bytes come
  // out. Memory is asked for by the frame's block structure (at most 128 KiB a block), never by a
  // size that it claims, and only the pages that output reaches are touched.
  CodecStatus decode(ByteSpan frame, std::uint64_t cap, Buffer& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A structured dictionary (it begins with 37 a4 30 ec, then its id) made ready for compressing.
// Never changes; threads may share it.
class ZstdDictionary {
 public:
  // Null if the bytes are no structured dictionary.
  static std::shared_ptr<const ZstdDictionary> load(Bytes bytes, int level = 3);
  ~ZstdDictionary();
  ZstdDictionary(const ZstdDictionary&) = delete;
  ZstdDictionary& operator=(const ZstdDictionary&) = delete;

  std::uint32_t id() const { return id_; }  // never 0
  ByteSpan bytes() const { return bytes_; }

 private:
  friend class ZstdEncoder;
  struct Digest;
  ZstdDictionary();
  Bytes bytes_;
  std::uint32_t id_ = 0;
  std::unique_ptr<Digest> digest_;
};

class ZstdEncoder {
 public:
  // Content checksum on, content size written.
  explicit ZstdEncoder(int level = 3);
  ~ZstdEncoder();
  ZstdEncoder(ZstdEncoder&&) noexcept;
  ZstdEncoder& operator=(ZstdEncoder&&) noexcept;
  // Appends one frame to `out`.
  void encode(ByteSpan body, Bytes& out);
  // The same with a dictionary, which also decides the level; its id stands in the frame.
  void encode(ByteSpan body, const ZstdDictionary& dictionary, Bytes& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// LZ4 block format. True if `block` decodes to exactly out.size() bytes and is consumed to its end.
// A match offset of 0, which the format calls invalid, decodes as zeros, as the reference library
// does it; what the bytes are is for the caller's own checksum to say.
bool lz4_decode(ByteSpan block, std::span<std::byte> out);
// Compresses into `out` (resized). False if the result would not be strictly shorter than the
// input.
bool lz4_encode(ByteSpan input, Bytes& out);
// Compresses into memory of the caller's; gives the length, 0 if the result does not fit.
std::size_t lz4_encode_to(ByteSpan input, std::span<std::byte> out);

}  // namespace varve::base
