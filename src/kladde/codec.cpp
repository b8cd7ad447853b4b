// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/codec.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/checksum.hpp"
#include "base/endian.hpp"
#include "base/mutant.hpp"

namespace varve::kladde {

namespace {

// The checksum of a frame that begins with `lead` bytes in front of content_size (section 2.3).
std::uint32_t frame_crc(const std::byte* frame, std::size_t lead, std::size_t content_bytes) {
  const std::uint32_t crc = base::crc32c({frame, lead});
  return base::crc32c({frame + lead + 2, content_bytes}, crc);
}

bool is_magic(base::ByteSpan bytes) {
  return bytes.size() >= k_magic.size() &&
         std::memcmp(bytes.data(), k_magic.data(), k_magic.size()) == 0;
}

Header decode_header(const std::byte* block) {
  Header header;
  header.format_version = base::u16le(block + k_format_version_offset);
  header.min_reader_version = base::u16le(block + k_min_reader_version_offset);
  header.root_allocation = base::u32le(block + k_root_allocation_offset);
  header.schema_table = base::u32le(block + k_schema_table_offset);
  header.consolidator_state = base::u32le(block + k_consolidator_state_offset);
  std::memcpy(header.root_fingerprint.data(), block + k_root_fingerprint_offset,
              k_fingerprint_bytes);
  header.journal_pointer = base::u32le(block + k_journal_pointer_offset);
  header.epoch = base::u64le(block + k_slot_epoch_offset);
  return header;
}

}  // namespace

std::expected<PageView, Fault> decode_page(base::ByteSpan page) {
  assert(page.size() == k_page_bytes);
  PageView view;
  view.kind = base::u8(page[k_kind_offset]);
  view.epoch = base::u64le(page.data() + k_epoch_offset);
  const std::size_t content_bytes = base::u16le(page.data() + k_content_size_offset);
  if (content_bytes > k_max_page_content + (base::mutant("kladde-page-content") ? 1U : 0U)) {
    return std::unexpected(Fault{word::page_check, k_content_size_offset,
                                 Number::decimal(k_max_page_content),
                                 Number::decimal(content_bytes)});
  }
  view.content = page.subspan(k_content_offset, content_bytes);
  const std::size_t crc_offset = k_content_offset + content_bytes;
  const std::uint32_t stored = base::u32le(page.data() + crc_offset);
  const std::uint32_t calculated = frame_crc(page.data(), k_content_size_offset, content_bytes);
  if (stored != calculated && !base::mutant("kladde-page-crc")) {
    return std::unexpected(
        Fault{word::page_check, crc_offset, Number::hex32(stored), Number::hex32(calculated)});
  }
  return view;
}

std::expected<PageView, Fault> expect_page(base::ByteSpan page, std::uint8_t kind,
                                           std::uint64_t max_epoch) {
  auto view = decode_page(page);
  if (!view) {
    return view;
  }
  if (view->kind != kind && !base::mutant("kladde-page-kind")) {
    return std::unexpected(
        Fault{word::page_kind, k_kind_offset, Number::hex8(kind), Number::hex8(view->kind)});
  }
  if (view->epoch > max_epoch && !base::mutant("kladde-page-newer")) {
    return std::unexpected(Fault{word::page_newer, k_epoch_offset, Number::decimal(max_epoch),
                                 Number::decimal(view->epoch)});
  }
  return view;
}

void seal_page(std::span<std::byte, k_page_bytes> page, std::uint8_t kind, std::uint64_t epoch,
               std::size_t content_bytes) {
  assert(content_bytes <= k_max_page_content);
  page[k_kind_offset] = static_cast<std::byte>(kind);
  base::store_le(page.data() + k_epoch_offset, epoch);
  base::store_le(page.data() + k_content_size_offset, static_cast<std::uint16_t>(content_bytes));
  const std::size_t crc_offset = k_content_offset + content_bytes;
  base::store_le(page.data() + crc_offset,
                 frame_crc(page.data(), k_content_size_offset, content_bytes));
  if (!base::mutant("kladde-page-tail")) {
    std::memset(page.data() + crc_offset + k_page_crc_bytes, 0,
                k_page_bytes - crc_offset - k_page_crc_bytes);
  }
}

const char* to_text(SlotStatus status) {
  switch (status) {
    case SlotStatus::valid:
      return "valid";
    case SlotStatus::absent:
      return "absent";
    case SlotStatus::no_magic:
      return "no magic";
    case SlotStatus::page_size:
      return "another page size";
    case SlotStatus::content_size:
      return "content size does not fit";
    case SlotStatus::checksum:
      return "checksum does not hold";
    case SlotStatus::kind:
      return "wrong page kind";
    case SlotStatus::parity:
      return "epoch of the wrong parity";
  }
  return "";
}

Slot decode_slot(unsigned index, base::ByteSpan bytes) {
  Slot slot;
  slot.has_magic = is_magic(bytes);
  if (bytes.size() < k_page_bytes) {
    return slot;
  }
  slot.log2_page_size = base::u8(bytes[k_log2_page_size_offset]);
  if (!slot.has_magic) {
    slot.status = SlotStatus::no_magic;
    return slot;
  }
  const bool other_size = slot.log2_page_size != k_log2_page_bytes;
  std::size_t page_bytes = k_page_bytes;
  if (slot.log2_page_size > k_log2_page_bytes && slot.log2_page_size <= k_max_reserved_log2) {
    page_bytes = std::min(bytes.size(), std::size_t{1} << slot.log2_page_size);
  }
  slot.content_bytes = base::u16le(bytes.data() + k_slot_content_size_offset);
  if (k_slot_content_offset + slot.content_bytes +
          (base::mutant("kladde-slot-size") ? 0 : k_page_crc_bytes) >
      page_bytes) {
    slot.status = SlotStatus::content_size;
    return slot;
  }
  slot.stored_crc = base::u32le(bytes.data() + k_slot_content_offset + slot.content_bytes);
  slot.calculated_crc = frame_crc(bytes.data(), k_slot_content_size_offset, slot.content_bytes);
  slot.header = decode_header(bytes.data());
  if (slot.stored_crc != slot.calculated_crc && !base::mutant("kladde-slot-crc")) {
    slot.status = SlotStatus::checksum;
  } else if (other_size) {
    slot.status = SlotStatus::page_size;
  } else if (base::u8(bytes[k_slot_kind_offset]) != k_kind_table &&
             !base::mutant("kladde-slot-kind")) {
    slot.status = SlotStatus::kind;
  } else if (slot.header.epoch % 2 != index && !base::mutant("kladde-slot-parity")) {
    slot.status = SlotStatus::parity;
  } else {
    slot.status = SlotStatus::valid;
  }
  return slot;
}

void encode_slot(std::span<std::byte, k_page_bytes> page, const Header& header,
                 base::ByteSpan content) {
  assert(content.size() <= k_max_header_content);
  std::memset(page.data(), 0, page.size());
  std::byte* block = page.data();
  std::memcpy(block, k_magic.data(), k_magic.size());
  block[k_log2_page_size_offset] = static_cast<std::byte>(k_log2_page_bytes);
  base::store_le(block + k_format_version_offset, header.format_version);
  base::store_le(block + k_min_reader_version_offset, header.min_reader_version);
  base::store_le(block + k_root_allocation_offset, header.root_allocation);
  base::store_le(block + k_schema_table_offset, header.schema_table);
  base::store_le(block + k_consolidator_state_offset, header.consolidator_state);
  std::memcpy(block + k_root_fingerprint_offset, header.root_fingerprint.data(),
              k_fingerprint_bytes);
  base::store_le(block + k_journal_pointer_offset, header.journal_pointer);
  block[k_slot_kind_offset] = static_cast<std::byte>(k_kind_table);
  base::store_le(block + k_slot_epoch_offset, header.epoch);
  base::store_le(block + k_slot_content_size_offset, static_cast<std::uint16_t>(content.size()));
  base::copy_bytes(block + k_slot_content_offset, content.data(), content.size());
  base::store_le(block + k_slot_content_offset + content.size(),
                 frame_crc(block, k_slot_content_size_offset, content.size()));
}

std::optional<unsigned> governing_slot(const Slot& slot_0, const Slot& slot_1) {
  if (slot_0.valid() && slot_1.valid()) {
    return (slot_0.header.epoch > slot_1.header.epoch) != base::mutant("kladde-older-governs") ? 0U
                                                                                               : 1U;
  }
  if (slot_0.valid()) {
    return 0U;
  }
  if (slot_1.valid()) {
    return 1U;
  }
  return std::nullopt;
}

}  // namespace varve::kladde
