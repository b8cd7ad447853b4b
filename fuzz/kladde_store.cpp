// SPDX-License-Identifier: MIT OR Apache-2.0
// A kladde file of a few pages, edited; the first byte says of which dialect it is and whether the
// checksums of headers and pages are made right, so that what lies behind them is reached.
#include "fuzz/store_fuzz.hpp"
#include "kladde/codec.hpp"

namespace {

using namespace varve;
using kladde::k_page_bytes;

struct Base {
  explicit Base(const char* dialect) {
    WriteRequest request;
    request.options["dialect"] = dialect;
    image = fuzz::make_base(*find_format("kladde"), request, fuzz::k_store_path, 8, 700, false);
    io::SimulatedFileSystem files(image, {nullptr, false});
    file = files.get(fuzz::k_store_path).value();
    for (std::size_t at = 0; at + k_page_bytes <= file.size(); at += k_page_bytes) {
      const base::ByteSpan page(file.data() + at, k_page_bytes);
      framed.push_back(kladde::decode_page(page).has_value());
    }
  }
  io::simulated::Image image;
  base::Bytes file;
  std::vector<bool> framed;  // pages that had a checksum of their own before
};

void make_checksums_right(base::Bytes& file, const std::vector<bool>& framed) {
  for (std::size_t page = 0; page < framed.size() && (page + 1) * k_page_bytes <= file.size();
       ++page) {
    const std::span<std::byte, k_page_bytes> bytes(file.data() + page * k_page_bytes, k_page_bytes);
    if (page < kladde::k_slot_count) {
      const kladde::Slot slot = kladde::decode_slot(static_cast<unsigned>(page), bytes);
      if (slot.has_magic && slot.content_bytes <= kladde::k_max_header_content) {
        const base::Bytes content(
            bytes.begin() + kladde::k_slot_content_offset,
            bytes.begin() +
                static_cast<std::ptrdiff_t>(kladde::k_slot_content_offset + slot.content_bytes));
        kladde::encode_slot(bytes, slot.header, content);
      }
    } else if (framed[page]) {
      const std::size_t content = base::u16le(bytes.data() + kladde::k_content_size_offset);
      if (content <= kladde::k_max_page_content) {
        kladde::seal_page(bytes, base::u8(bytes[kladde::k_kind_offset]),
                          base::u64le(bytes.data() + kladde::k_epoch_offset), content);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Base stores[2] = {Base("a"), Base("b")};
  fuzz::Script script({reinterpret_cast<const std::byte*>(data), size});
  const std::uint32_t choice = script.number(1);
  const Base& base = stores[choice & 1];
  io::SimulatedFileSystem files(base.image, {nullptr, false});
  base::Bytes bytes = base.file;
  fuzz::edit(bytes, script);
  if ((choice & 2) != 0) {
    make_checksums_right(bytes, base.framed);
  }
  fuzz::require(files.put(fuzz::k_store_path, bytes).has_value());
  OpenOptions options;
  options.max_memory_bytes = 16 << 20;
  options.options["dialect"] = (choice & 1) != 0 ? "b" : "a";
  fuzz::look(*find_format("kladde"), files, fuzz::k_store_path, options);
  return 0;
}
