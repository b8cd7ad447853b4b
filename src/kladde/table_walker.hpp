// SPDX-License-Identifier: MIT OR Apache-2.0
// The two slots, and the tree of address-table pages below one of them (sections 2.4, 3 and 6.2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kladde/codec.hpp"
#include "kladde/page_reader.hpp"
#include "kladde/page_set.hpp"
#include "kladde/policy.hpp"
#include "kladde/statement.hpp"

namespace varve::kladde {

// Which header's world is looked at.
enum class Generation : std::uint8_t { newer, older };

struct Slots {
  std::array<Slot, 2> slot;
  std::array<base::Bytes, 2> bytes;  // as read: a page each, less where the file ends before
  std::optional<unsigned> governing;
};

// Reads both slots. Errors are those of reading.
Result<Slots> read_slots(const io::File& file);
// Chooses the slot of that generation and checks what section 15 asks of headers, in its order.
// nullopt only where the policy went on after a fault.
Result<std::optional<unsigned>> choose_slot(const Slots& slots, std::uint64_t file_bytes,
                                            Generation generation, const Policy& policy);

struct TablePage {
  PageNumber page = 0;
  std::uint64_t epoch = 0;
  std::uint32_t parent = 0;  // index in TableTree::pages; the root is its own
  std::uint32_t children = 0;
  std::uint32_t first_statement = 0;
  std::uint32_t statement_count = 0;
  std::uint32_t content_bytes = 0;
  std::uint32_t child_list_bytes = 0;  // the zero byte included
};

struct TableTree {
  std::vector<TablePage> pages;  // the root slot first, then depth first
  std::vector<Statement> statements;
  PageSet page_set;      // without the slot
  bool complete = true;  // false if a fault hides a part
};

struct TableLimits {
  Dialect dialect = Dialect::a;
  std::uint64_t max_memory_bytes = UINT64_MAX;
};

// Walks the tree below a valid slot. Statements of inline payloads carry file addresses.
Result<TableTree> walk_tables(PageReader& reader, const Slots& slots, unsigned root,
                              const TableLimits& limits, const Policy& policy);

// The first byte of a table page's content, in the file.
constexpr std::uint64_t content_address(PageNumber page) {
  return std::uint64_t{page} * k_page_bytes +
         (page < k_slot_count ? k_slot_content_offset : k_content_offset);
}

}  // namespace varve::kladde
