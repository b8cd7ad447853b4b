// SPDX-License-Identifier: MIT OR Apache-2.0
// One page at a time: framing, the header block of a slot, checksums (sections 2 and 3).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "kladde/layout.hpp"
#include "varve/kladde_types.hpp"
#include "varve/result.hpp"

namespace varve::kladde {

// A framed page whose checksum holds. `content` points into the page.
struct PageView {
  std::uint8_t kind = 0;
  std::uint64_t epoch = 0;
  base::ByteSpan content;
};

// Checks `content_size` and the checksum of a non-slot page of k_page_bytes bytes.
std::expected<PageView, Fault> decode_page(base::ByteSpan page);
// As decode_page, and also that the page is of that kind and not newer than `max_epoch`.
std::expected<PageView, Fault> expect_page(base::ByteSpan page, std::uint8_t kind,
                                           std::uint64_t max_epoch);
// Frames content that stands at k_content_offset already: fills in the rest of the page, zeros
// behind the checksum included.
void seal_page(std::span<std::byte, k_page_bytes> page, std::uint8_t kind, std::uint64_t epoch,
               std::size_t content_bytes);

// The header block, and the epoch that stands behind it.
struct Header {
  std::uint64_t epoch = 0;
  std::uint16_t format_version = k_format_version;
  std::uint16_t min_reader_version = 0;
  std::uint32_t root_allocation = 0;
  std::uint32_t schema_table = 0;
  std::uint32_t consolidator_state = 0;
  Fingerprint root_fingerprint{};
  PageNumber journal_pointer = k_first_free_page;
};

enum class SlotStatus : std::uint8_t {
  valid,
  absent,        // not wholly in the file
  no_magic,      // another magic; zeros where it was never written
  page_size,     // the checksum holds, the page size is another
  content_size,  // content and checksum do not fit
  checksum,
  kind,
  parity,  // an even epoch in slot 1 or an odd one in slot 0
};
const char* to_text(SlotStatus status);

struct Slot {
  SlotStatus status = SlotStatus::absent;
  bool has_magic = false;
  std::uint8_t log2_page_size = 0;
  Header header;                     // meaning only if valid
  std::size_t content_bytes = 0;     // of the root table page, at root_content_offset()
  std::uint32_t stored_crc = 0;      // where content_size fits
  std::uint32_t calculated_crc = 0;  // where content_size fits
  bool valid() const { return status == SlotStatus::valid; }
};

// Where a slot's fields stand, in the page.
inline constexpr std::size_t k_slot_kind_offset = k_header_bytes + k_kind_offset;
inline constexpr std::size_t k_slot_epoch_offset = k_header_bytes + k_epoch_offset;
inline constexpr std::size_t k_slot_content_size_offset = k_header_bytes + k_content_size_offset;
inline constexpr std::size_t k_slot_content_offset = k_header_bytes + k_content_offset;

// Decodes slot `index` (0 or 1). `bytes` is what the file holds from the slot's start: a page or
// less; for slot 0 it may be up to 64 KiB, so that larger pages can be recognised.
Slot decode_slot(unsigned index, base::ByteSpan bytes);
// Writes a whole slot page.
void encode_slot(std::span<std::byte, k_page_bytes> page, const Header& header,
                 base::ByteSpan content);

// The index of the governing slot (section 3), if any is valid.
std::optional<unsigned> governing_slot(const Slot& slot_0, const Slot& slot_1);

}  // namespace varve::kladde
