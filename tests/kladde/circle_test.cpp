// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages that name each other in a circle, under checksums that hold: a walk ends, and says where.
#include "base/checksum.hpp"
#include "kladde/codec.hpp"
#include "kladde/view.hpp"
#include "kladde/walker.hpp"
#include "tests/exhaustive/sight.hpp"
#include "tests/kladde/helpers.hpp"
#include "varve/kladde_store.hpp"

namespace varve::kladde::test {
namespace {

constexpr std::size_t k_pages = 6;

// An empty store with a few pages behind its slots, and the page of its governing slot.
struct Empty {
  std::unique_ptr<io::SimulatedFileSystem> files = memory({});
  base::Bytes bytes;
  std::size_t slot = 0;  // where the governing one begins
  Header header;

  Empty() {
    must(Store::create(*files, "/made"));
    bytes = *files->get("/made");
    bytes.resize(k_pages * k_page_bytes);
    const auto view = base::ByteSpan(bytes);
    const Slot first = decode_slot(0, view.first(k_page_bytes));
    const Slot second = decode_slot(1, view.subspan(k_page_bytes, k_page_bytes));
    const unsigned governing = governing_slot(first, second).value();
    slot = governing * k_page_bytes;
    header = (governing == 0 ? first : second).header;
  }
  std::span<std::byte, k_page_bytes> page(PageNumber number) {
    return std::span<std::byte, k_page_bytes>(bytes.data() + number * k_page_bytes, k_page_bytes);
  }
  varve::test::Sight look() {
    must(files->put(k_path, bytes));
    return varve::test::look_at(format(), *files, k_path);
  }
};

TEST(KladdeCircle, OfJournalPages) {
  Empty store;
  const PageNumber first = store.header.journal_pointer;
  const PageNumber second = first + 1;
  // The beginning of a transaction that would fill many pages.
  store.page(first)[0] = std::byte{0xFF};
  store.page(first)[1] = std::byte{0xFF};
  store.page(first)[2] = std::byte{0x03};
  std::uint32_t chain = chain_start(store.header.epoch + 1);
  const auto end_page = [&](PageNumber number, PageNumber next) {
    const auto page = store.page(number);
    base::store_le<std::uint32_t>(page.data() + k_next_offset, next);
    chain = base::crc32c(base::ByteSpan(page).first(k_trailer_crc_offset), chain);
    base::store_le<std::uint32_t>(page.data() + k_trailer_crc_offset, chain);
  };
  end_page(first, second);
  end_page(second, first);
  const auto sight = store.look();
  EXPECT_EQ(to_text(sight.verdict), "damaged");
  EXPECT_EQ(sight.code, word::journal_next);
  EXPECT_EQ(sight.offset, second * k_page_bytes + k_next_offset);
}

TEST(KladdeCircle, OfATablePageWithItself) {
  Empty store;
  const PageNumber child = 4;
  const auto names_child = hex("04 00");  // a child list of one page, no statements
  std::ranges::copy(names_child, store.page(child).begin() + k_content_offset);
  seal_page(store.page(child), k_kind_table, store.header.epoch, names_child.size());
  encode_slot(store.page(static_cast<PageNumber>(store.slot / k_page_bytes)), store.header,
              names_child);
  const auto sight = store.look();
  EXPECT_EQ(to_text(sight.verdict), "damaged");
  EXPECT_EQ(sight.code, word::not_a_tree);
  EXPECT_EQ(sight.offset, child * k_page_bytes);
}

}  // namespace
}  // namespace varve::kladde::test
