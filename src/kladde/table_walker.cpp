// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/table_walker.hpp"

#include <algorithm>
#include <cassert>

namespace varve::kladde {

namespace {

constexpr std::size_t k_largest_page = std::size_t{1} << k_max_reserved_log2;

Finding store_finding(const char* code, Verdict verdict, std::string message) {
  Finding finding;
  finding.code = code;
  finding.verdict = verdict;
  finding.unit = "header";
  finding.message = std::move(message);
  return finding;
}

// Section 15, the rows that apply when no slot is valid.
Finding why_no_header(const Slots& slots, std::uint64_t file_bytes) {
  if (file_bytes < k_page_bytes) {
    Finding finding = store_finding(word::not_kladde, Verdict::damaged,
                                    "not a kladde file: shorter than one page");
    finding.length = file_bytes;
    finding.expected = Number::decimal(k_page_bytes);
    finding.actual = Number::decimal(file_bytes);
    return finding;
  }
  for (const Slot& slot : slots.slot) {
    if (slot.status == SlotStatus::page_size) {
      Finding finding =
          store_finding(word::page_size, Verdict::unknown,
                        "the header declares another page size than 4096 bytes (log2 12)");
      finding.expected = Number::decimal(k_log2_page_bytes);
      finding.actual = Number::decimal(slot.log2_page_size);
      return finding;
    }
  }
  if (!slots.slot[0].has_magic && !slots.slot[1].has_magic) {
    return store_finding(word::not_kladde, Verdict::damaged,
                         "not a kladde file: neither slot begins with the magic");
  }
  const unsigned seen = slots.slot[0].has_magic ? 0 : 1;
  const Slot& slot = slots.slot[seen];
  Finding finding =
      store_finding(word::no_header, Verdict::damaged,
                    std::string("no valid header: slot 0: ") + to_text(slots.slot[0].status) +
                        ", slot 1: " + to_text(slots.slot[1].status));
  finding.offset = seen * k_page_bytes;
  finding.length = k_page_bytes;
  if (slot.status == SlotStatus::checksum) {
    finding.expected = Number::hex32(slot.stored_crc);
    finding.actual = Number::hex32(slot.calculated_crc);
  }
  return finding;
}

// One page that waits to be walked.
struct Waiting {
  PageNumber page;
  std::uint32_t parent;
};

class TreeWalk {
 public:
  TreeWalk(PageReader& reader, const Slots& slots, unsigned root, const TableLimits& limits,
           const Policy& policy)
      : reader_(reader), slots_(slots), root_(root), limits_(limits), policy_(policy) {}

  Result<TableTree> run() {
    const Slot& slot = slots_.slot[root_];
    const auto content =
        base::ByteSpan(slots_.bytes[root_]).subspan(k_slot_content_offset, slot.content_bytes);
    VARVE_TRY(take_page({root_, 0}, slot.header.epoch, content));
    while (!waiting_.empty()) {
      const Waiting next = waiting_.back();
      waiting_.pop_back();
      VARVE_TRY(visit(next, slot.header.epoch));
    }
    return std::move(tree_);
  }

 private:
  Result<void> complain(PageNumber page, const Fault& fault, std::string message) {
    tree_.complete = false;
    return policy_.complain(page_finding(page, "table page", fault, std::move(message)));
  }

  Result<void> visit(const Waiting& waiting, std::uint64_t max_epoch) {
    const PageNumber parent = tree_.pages[waiting.parent].page;
    const std::string from = "table page " + std::to_string(waiting.page) + ", a child of page " +
                             std::to_string(parent) + ", ";
    if (waiting.page >= reader_.page_count()) {
      return complain(parent, {word::not_a_tree, 0, {}, Number::decimal(waiting.page)},
                      from + "lies past the end of the file");
    }
    if (!tree_.page_set.insert(waiting.page)) {
      return complain(waiting.page, {word::not_a_tree, 0, {}, Number::decimal(waiting.page)},
                      from + "is named twice");
    }
    VARVE_ASSIGN(const base::ByteSpan bytes, reader_.page(waiting.page));
    const auto view = expect_page(bytes, k_kind_table, max_epoch);
    if (!view) {
      const std::string_view code = view.error().word;
      return complain(waiting.page, view.error(),
                      from + (code == word::page_check  ? "fails its checksum"
                              : code == word::page_kind ? "is of another kind"
                                                        : "is newer than the header"));
    }
    return take_page(waiting, view->epoch, view->content);
  }

  // Decodes a page whose checksum holds.
  Result<void> take_page(const Waiting& waiting, std::uint64_t epoch, base::ByteSpan content) {
    const auto index = static_cast<std::uint32_t>(tree_.pages.size());
    tree_.pages.push_back({});
    TablePage page;
    page.page = waiting.page;
    page.epoch = epoch;
    page.parent = waiting.parent;
    page.content_bytes = static_cast<std::uint32_t>(content.size());
    page.first_statement = static_cast<std::uint32_t>(tree_.statements.size());
    TableDecoder decoder(content, limits_.dialect);
    const auto fault = take_content(decoder, index, page);
    page.statement_count =
        static_cast<std::uint32_t>(tree_.statements.size()) - page.first_statement;
    tree_.pages[index] = page;
    if (fault) {
      VARVE_TRY(complain(waiting.page, *fault,
                         "table page " + std::to_string(waiting.page) + " is malformed at byte " +
                             std::to_string(fault->offset) + " of its content"));
    }
    if (tree_.statements.size() * sizeof(Statement) > limits_.max_memory_bytes) {
      return policy_.complain(limit_finding());
    }
    return {};
  }

  std::optional<Fault> take_content(TableDecoder& decoder, std::uint32_t index, TablePage& page) {
    const std::size_t first_child = waiting_.size();
    for (;;) {
      const auto child = decoder.next_child();
      if (!child) {
        std::reverse(waiting_.begin() + static_cast<std::ptrdiff_t>(first_child), waiting_.end());
        return child.error();
      }
      if (!*child) {
        break;
      }
      waiting_.push_back({**child, index});
      ++page.children;
    }
    std::reverse(waiting_.begin() + static_cast<std::ptrdiff_t>(first_child), waiting_.end());
    page.child_list_bytes = static_cast<std::uint32_t>(decoder.position());
    for (;;) {
      auto statement = decoder.next_statement();
      if (!statement) {
        return statement.error();
      }
      if (!*statement) {
        return std::nullopt;
      }
      Statement& taken = **statement;
      taken.table = index;
      if (taken.kind == StatementKind::in_line) {
        taken.address += content_address(page.page);
      }
      tree_.statements.push_back(taken);
    }
  }

  Finding limit_finding() const {
    Finding finding;
    finding.code = word::limit;
    finding.verdict = Verdict::unknown;
    finding.unit = "address table";
    finding.actual = Number::decimal(tree_.statements.size());
    finding.message = "the address table has more statements than the memory limit allows";
    return finding;
  }

  PageReader& reader_;
  const Slots& slots_;
  unsigned root_;
  const TableLimits& limits_;
  const Policy& policy_;
  TableTree tree_;
  std::vector<Waiting> waiting_;  // a stack; the next page is the last
};

}  // namespace

Result<Slots> read_slots(const io::File& file) {
  Slots out;
  for (unsigned i = 0; i < k_slot_count; ++i) {
    // Slot 0 is read far enough to recognise larger pages.
    out.bytes[i].resize(i == 0 ? k_largest_page : k_page_bytes);
    VARVE_ASSIGN(const std::size_t got, file.read_at(out.bytes[i], i * k_page_bytes));
    out.bytes[i].resize(got);
    out.slot[i] = decode_slot(i, out.bytes[i]);
    out.bytes[i].resize(std::min(got, k_page_bytes));
  }
  out.governing = governing_slot(out.slot[0], out.slot[1]);
  return out;
}

Result<std::optional<unsigned>> choose_slot(const Slots& slots, std::uint64_t file_bytes,
                                            Generation generation, const Policy& policy) {
  if (!slots.governing) {
    VARVE_TRY(policy.complain(why_no_header(slots, file_bytes)));
    return std::nullopt;
  }
  unsigned chosen = *slots.governing;
  if (generation == Generation::older) {
    chosen = 1 - chosen;
    if (!slots.slot[chosen].valid()) {
      VARVE_TRY(
          policy.complain(store_finding(word::no_header, Verdict::damaged,
                                        "there is no older world: slot " + std::to_string(chosen) +
                                            ": " + to_text(slots.slot[chosen].status))));
      return std::nullopt;
    }
  }
  const Header& header = slots.slot[chosen].header;
  if (header.min_reader_version > k_reader_version) {
    Finding finding =
        store_finding(word::version, Verdict::unknown, "the file asks for a newer reader");
    finding.offset = chosen * k_page_bytes;
    finding.length = k_page_bytes;
    finding.expected = Number::decimal(k_reader_version);
    finding.actual = Number::decimal(header.min_reader_version);
    VARVE_TRY(policy.complain(std::move(finding)));
    return std::nullopt;
  }
  return chosen;
}

Result<TableTree> walk_tables(PageReader& reader, const Slots& slots, unsigned root,
                              const TableLimits& limits, const Policy& policy) {
  assert(slots.slot[root].valid());
  return TreeWalk(reader, slots, root, limits, policy).run();
}

}  // namespace varve::kladde
