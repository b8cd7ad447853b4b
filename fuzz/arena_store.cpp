// SPDX-License-Identifier: MIT OR Apache-2.0
// An arena of a few frames, edited; the first byte says which file is edited and whether the
// frames' checksums are made right, so that what lies behind them is reached.
#include "arena/codec.hpp"
#include "base/checksum.hpp"
#include "base/compression.hpp"
#include "fuzz/store_fuzz.hpp"

namespace {

using namespace varve;

// As far as lengths lead from frame to frame.
void make_checksums_right(base::Bytes& segment) {
  constexpr std::uint32_t k_most_bytes = 1 << 20;
  base::Bytes room(k_most_bytes);
  std::size_t at = 0;
  while (segment.size() - at >= arena::k_header_bytes) {
    const arena::FrameHeader header = arena::decode_header(segment.data() + at);
    const std::size_t left = segment.size() - at - arena::k_header_bytes;
    if (header.comp_len == 0 || header.comp_len > left || header.raw_len > k_most_bytes) {
      return;
    }
    const base::ByteSpan data(segment.data() + at + arena::k_header_bytes, header.comp_len);
    base::ByteSpan payload = data;
    if (header.compressed()) {
      if (!base::lz4_decode(data, std::span(room).first(header.raw_len))) {
        return;
      }
      payload = base::ByteSpan(room).first(header.raw_len);
    }
    base::store_le(segment.data() + at + arena::k_crc32_offset, base::crc32(payload));
    at += arena::k_header_bytes + header.comp_len;
  }
}

struct Base {
  explicit Base(bool bare) {
    WriteRequest request;
    if (bare) {
      request.options["bare"] = "1";
    }
    const Format& format = *find_format("arena");
    image = fuzz::make_base(format, request, fuzz::k_store_path, 6, 40, false);
    io::SimulatedFileSystem files(image, {nullptr, false});
    members = fuzz::members_of(files);
    // The zeros behind the frames would only cost time.
    for (const std::string& path : members) {
      if (path.find("seg_") != std::string::npos) {
        segment = path;
        fuzz::require(files.set_size(path, 2048).has_value());
      }
    }
    image = files.image();
  }
  io::simulated::Image image;
  std::vector<std::string> members;
  std::string segment;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Base stores[2] = {Base(false), Base(true)};
  fuzz::Script script({reinterpret_cast<const std::byte*>(data), size});
  const std::uint32_t choice = script.number(1);
  const Base& base = stores[choice & 1];
  io::SimulatedFileSystem files(base.image, {nullptr, false});
  const bool other = (choice & 12) == 12;
  const std::string path = other ? base.members[(choice >> 4) % base.members.size()] : base.segment;
  auto bytes = files.get(path).value();
  fuzz::edit(bytes, script);
  if ((choice & 2) != 0 && path == base.segment) {
    make_checksums_right(bytes);
  }
  fuzz::require(files.put(path, bytes).has_value());
  OpenOptions options;
  options.max_memory_bytes = 16 << 20;
  fuzz::look(*find_format("arena"), files, fuzz::k_store_path, options);
  return 0;
}
