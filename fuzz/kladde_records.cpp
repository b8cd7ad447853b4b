// SPDX-License-Identifier: MIT OR Apache-2.0
// Records of a transaction, table pages and header slots of kladde: what decodes encodes again, and
// every length lies within its input.
#include <algorithm>

#include "fuzz/require.hpp"
#include "kladde/codec.hpp"
#include "kladde/record.hpp"

namespace {

using namespace varve;
using fuzz::require;

void check_records(base::ByteSpan bytes) {
  kladde::RecordDecoder decoder(bytes);
  base::Bytes again;
  std::vector<kladde::Record> records;
  for (;;) {
    const auto record = decoder.next();
    if (!record) {
      return;
    }
    if (!*record) {
      break;
    }
    require(kladde::within_bounds(**record));
    const base::ByteSpan payload =
        (*record)->has_payload() ? decoder.payload(**record) : base::ByteSpan();
    kladde::append_record(again, **record, payload);
    records.push_back(**record);
  }
  kladde::RecordDecoder second(again);
  for (const kladde::Record& record : records) {
    const auto other = second.next();
    require(other && *other && (*other)->kind == record.kind && (*other)->id == record.id &&
            (*other)->offset == record.offset && (*other)->length == record.length &&
            (*other)->source == record.source);
    require(!record.has_payload() ||
            std::ranges::equal(second.payload(**other), decoder.payload(record)));
  }
  require(again.size() <= bytes.size());
}

void check_page(base::ByteSpan bytes) {
  std::array<std::byte, kladde::k_page_bytes> page{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), page.size()), page.begin());
  (void)kladde::decode_page(page);
  for (unsigned index = 0; index < kladde::k_slot_count; ++index) {
    (void)kladde::decode_slot(index, bytes);
  }
  const std::size_t content = base::u16le(page.data() + kladde::k_content_size_offset);
  if (content <= kladde::k_max_page_content) {
    const std::uint8_t kind = base::u8(page[0]);
    const std::uint64_t epoch = base::u64le(page.data() + kladde::k_epoch_offset);
    kladde::seal_page(page, kind, epoch, content);
    const auto view = kladde::decode_page(page);
    require(!view ||
            (view->kind == kind && view->epoch == epoch && view->content.size() == content));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::ByteSpan bytes{reinterpret_cast<const std::byte*>(data), size};
  check_records(bytes);
  check_page(bytes);
  return 0;
}
