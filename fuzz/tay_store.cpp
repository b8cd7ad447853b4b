// SPDX-License-Identifier: MIT OR Apache-2.0
// A tay store of two segments, one of them sealed, edited; the first byte says which file is edited
// and whether the checksums are made right, so that what lies behind them is reached.
#include "base/checksum.hpp"
#include "fuzz/store_fuzz.hpp"
#include "tay/layout.hpp"

namespace {

using namespace varve;

void put_crc(base::Bytes& file, std::size_t from, std::size_t at) {
  base::store_be(file.data() + at, base::crc32c({file.data() + from, at - from}));
}

bool begins(const base::Bytes& file, std::size_t at, std::string_view magic) {
  return base::as_text(base::ByteSpan(file).subspan(at)).starts_with(magic);
}

// Of one record; gives where the next begins, or nothing if this one leads nowhere.
std::size_t record_end(base::Bytes& file, std::size_t at) {
  const std::size_t left = file.size() - at;
  if (left < tay::k_record_frame_bytes) {
    return 0;
  }
  const std::uint32_t length = base::u32be(file.data() + at + tay::k_record_length_at);
  if (length > left - tay::k_record_frame_bytes) {
    return 0;
  }
  put_crc(file, at, at + tay::k_record_header_crc_at);
  std::uint32_t crc = base::crc32c({file.data() + at, tay::k_record_header_crc_at});
  crc = base::crc32c({file.data() + at + tay::k_record_header_bytes, length}, crc);
  const std::size_t trailer = at + tay::k_record_header_bytes + length;
  base::store_be(file.data() + trailer, crc);
  return trailer + tay::k_record_trailer_bytes;
}

void make_checksums_right(base::Bytes& file) {
  if (file.size() == tay::k_store_bytes) {
    return put_crc(file, 0, tay::k_store_crc_at);
  }
  if (file.size() < tay::k_header_bytes) {
    return;
  }
  put_crc(file, 0, tay::k_header_crc_at);
  std::size_t at = tay::k_header_bytes;
  while (at != 0 && at < file.size() && !begins(file, at, tay::k_footer_magic)) {
    at = record_end(file, at);
  }
  if (at != 0 && file.size() - at == tay::k_footer_bytes) {
    base::store_be(file.data() + at + tay::k_footer_segment_crc_at,
                   base::crc32c({file.data(), at}));
    put_crc(file, at, at + tay::k_footer_crc_at);
  }
}

struct Base {
  Base() {
    image = fuzz::make_base(*find_format("tay"), {}, fuzz::k_store_path, 4, 30, true);
    io::SimulatedFileSystem files(image, {nullptr, false});
    for (const std::string& path : fuzz::members_of(files)) {
      if (path.ends_with("STORE") || path.ends_with(".tay")) {
        members.push_back(path);
      }
    }
    fuzz::require(members.size() == 3);
  }
  io::simulated::Image image;
  std::vector<std::string> members;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Base base;
  fuzz::Script script({reinterpret_cast<const std::byte*>(data), size});
  const std::uint32_t choice = script.number(1);
  io::SimulatedFileSystem files(base.image, {nullptr, false});
  const std::string path = base.members[(choice >> 1) % base.members.size()];
  auto bytes = files.get(path).value();
  fuzz::edit(bytes, script);
  if ((choice & 1) != 0) {
    make_checksums_right(bytes);
  }
  fuzz::require(files.put(path, bytes).has_value());
  OpenOptions options;
  options.max_memory_bytes = 16 << 20;
  fuzz::look(*find_format("tay"), files, fuzz::k_store_path, options);
  return 0;
}
