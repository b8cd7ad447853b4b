// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/flush.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/mutant.hpp"

namespace varve::kladde {

namespace {

constexpr std::size_t k_run_pages = 64;  // written in one call, where they follow each other
constexpr std::uint32_t k_least_cut_bytes = 200;  // less room than that is left empty: 5 %

// Collects framed pages and writes those that follow each other together.
class PageRun {
 public:
  explicit PageRun(StoreCore& store) : store_(store) {}

  // The next page's image, for content to be put into.
  std::span<std::byte, k_page_bytes> image() {
    bytes_.resize(bytes_.size() + k_page_bytes);
    return std::span<std::byte, k_page_bytes>(bytes_.data() + bytes_.size() - k_page_bytes,
                                              k_page_bytes);
  }
  // Seals the image that was given last; it goes to `page`, `next` follows (0: none).
  Result<void> add(PageNumber page, std::uint8_t kind, std::uint64_t epoch, std::size_t content,
                   PageNumber next) {
    seal_page(std::span<std::byte, k_page_bytes>(bytes_.data() + bytes_.size() - k_page_bytes,
                                                 k_page_bytes),
              kind, epoch, content);
    first_ = bytes_.size() == k_page_bytes ? page : first_;
    if (next == page + 1 && bytes_.size() < k_run_pages * k_page_bytes) {
      return {};
    }
    VARVE_TRY(store_.write_page(first_, bytes_));
    bytes_.clear();
    return {};
  }

 private:
  StoreCore& store_;
  base::Bytes bytes_;
  PageNumber first_ = 0;
};

}  // namespace

Result<void> StoreCore::write_page(PageNumber page, base::ByteSpan bytes) {
  bytes_written += bytes.size();
  return file->write_at(bytes, std::uint64_t{page} * k_page_bytes);
}

Result<void> StoreCore::flush() {
  Consolidation consolidation;
  if (options.consolidate && !recovering) {
    VARVE_ASSIGN(consolidation, choose_consolidation(*this, Effort::budgeted));
  }
  return Flush(*this, std::move(consolidation)).run();
}

Flush::Flush(StoreCore& store, Consolidation consolidation)
    : store_(store),
      consolidation_(std::move(consolidation)),
      epoch_(store.header.epoch + 1),
      slot_(static_cast<PageNumber>(epoch_ % 2)),
      old_slot_(1 - slot_) {}

Result<void> Flush::run() {
  if (auto prepared = prepare(); !prepared) {
    store_.space.give_back(taken_);
    return prepared;
  }
  VARVE_TRY(store_.poison_on_error(write()));
  commit();
  return {};
}

Result<std::vector<PageNumber>> Flush::take(std::size_t count) {
  VARVE_ASSIGN(std::vector<PageNumber> pages, store_.space.take(*store_.file, count));
  taken_.insert(taken_.end(), pages.begin(), pages.end());
  return pages;
}

Result<void> Flush::prepare() {
  choose_dropped();
  for (const PageNumber page : dropped_pages_) {
    VARVE_TRY(read_dropped(page));
  }
  plans_ = FlushPlanner({store_.options.dialect, store_.options.inline_bytes, store_.state,
                         store_.ledger, dropped_, dropped_pages_, consolidation_.rewrites})
               .run();
  place_data();
  VARVE_ASSIGN(data_pages_, take(data_page_count_));
  VARVE_TRY(make_statements());
  LayoutRequest request;
  request.dialect = store_.options.dialect;
  request.slot = slot_;
  request.old = &store_.shape;
  request.leaves = store_.shape.leaves;
  request.rebuild = !store_.mixed_tables.empty() || consolidation_.rebuild_interior;
  for (const PageNumber page : dropped_pages_) {
    request.leaves.erase(page);
  }
  VARVE_ASSIGN(layout_, lay_out(request, statements_, payloads_,
                                [this](std::size_t count) { return take(count); }));
  old_journal_ = store_.must_flush ? 0 : store_.header.journal_pointer;
  next_journal_ = store_.space.reserve();
  if (const auto filled = store_.space.fill(*store_.file, next_journal_); !filled) {
    store_.space.unreserve(next_journal_);
    store_.space.reserve(store_.header.journal_pointer);
    return filled;
  }
  return {};
}

// The table pages that the new header will not name: the old header always, those whose statements
// decide nothing any more, and those that a consolidation rewrites.
void Flush::choose_dropped() {
  dropped_pages_ = store_.ledger.dead_tables();
  dropped_pages_.insert(store_.mixed_tables.begin(), store_.mixed_tables.end());
  dropped_pages_.insert(consolidation_.tables.begin(), consolidation_.tables.end());
  dropped_pages_.insert(old_slot_);
}

Result<void> Flush::read_dropped(PageNumber page) {
  std::array<std::byte, k_page_bytes> bytes;
  VARVE_TRY(store_.read_bytes(std::uint64_t{page} * k_page_bytes, bytes));
  const std::size_t at = page < k_slot_count ? k_slot_content_offset : k_content_offset;
  const std::size_t size = base::u16le(bytes.data() + at - 2);
  const auto changed = [&] {
    return fail(ErrorCode::damaged, word::page_check,
                "table page " + std::to_string(page) + " is not what was read or written before",
                store_.path);
  };
  if (at + size > k_page_bytes) {
    return changed();
  }
  TableDecoder decoder(base::ByteSpan(bytes).subspan(at, size), store_.options.dialect);
  for (;;) {
    const auto child = decoder.next_child();
    if (!child) {
      return changed();
    }
    if (!*child) {
      break;
    }
  }
  for (;;) {
    const auto statement = decoder.next_statement();
    if (!statement) {
      return changed();
    }
    if (!*statement) {
      return {};
    }
    const Statement& taken = **statement;
    const bool anchor =
        taken.kind == StatementKind::shrink || taken.kind == StatementKind::tombstone;
    dropped_[taken.id].push_back({taken.offset, anchor ? UINT64_MAX : taken.end(), page});
  }
}

bool Flush::needs_page(const PlannedContent& content) const {
  return content.kind == PlannedContent::Kind::bytes && content.size > store_.options.inline_bytes;
}

// Packs the bytes that are too long for the table into data pages.
void Flush::place_data() {
  std::uint32_t used = k_max_page_content;
  for (const bool aged : {false, true}) {
    next_aged_ = pieces_.size();
    for (std::uint32_t p = 0; p < plans_.size(); ++p) {
      for (std::uint32_t c = 0; c < plans_[p].content.size(); ++c) {
        const PlannedContent& content = plans_[p].content[c];
        if (content.aged == aged && needs_page(content)) {
          place(p, c, used);
        }
      }
    }
  }
}

// `used` bytes of the last page are taken.
void Flush::place(std::uint32_t plan, std::uint32_t content, std::uint32_t& used) {
  const PlannedContent& whole = plans_[plan].content[content];
  for (std::uint32_t done = 0; done < whole.size;) {
    const std::uint32_t left = whole.size - done;
    std::uint32_t room = static_cast<std::uint32_t>(k_max_page_content) - used;
    if (room == 0 || (room < left && room < k_least_cut_bytes)) {
      ++data_page_count_;
      used = 0;
      room = k_max_page_content;
    }
    const std::uint32_t size = std::min(left, room);
    pieces_.push_back({plan, content, whole.start + done, size,
                       static_cast<std::uint32_t>(data_page_count_ - 1), used});
    used += size;
    done += size;
  }
}

Result<void> Flush::make_statements() {
  for (std::uint32_t p = 0; p < plans_.size(); ++p) {
    const PlannedId& plan = plans_[p];
    const std::size_t first = statements_.size();
    for (const PlannedContent& content : plan.content) {
      VARVE_TRY(add_content(content));
    }
    add_size(plan);
    for (std::size_t i = first; i < statements_.size(); ++i) {
      statements_[i].statement.id = plan.id;
      statements_[i].plan = p;
      statements_[i].untouched = !plan.touched;
    }
  }
  return {};
}

Result<void> Flush::add_content(const PlannedContent& content) {
  NewStatement out;
  out.statement.offset = content.start;
  out.statement.size = content.size;
  switch (content.kind) {
    case PlannedContent::Kind::zero:
      out.statement.kind = StatementKind::zero;
      break;
    case PlannedContent::Kind::ref:
      out.statement.kind = StatementKind::ref;
      out.statement.address = content.address;
      break;
    case PlannedContent::Kind::bytes:
      if (needs_page(content)) {
        out.statement.kind = StatementKind::ref;
        std::size_t& piece = content.aged ? next_aged_ : next_new_;
        for (std::uint32_t done = 0; done < content.size; ++piece) {
          const DataPiece& part = pieces_[piece];
          out.statement.offset = part.start;
          out.statement.size = part.size;
          out.statement.address = std::uint64_t{data_pages_[part.page]} * k_page_bytes +
                                  k_content_offset + part.in_page;
          statements_.push_back(out);
          done += part.size;
        }
        return {};
      }
      out.statement.kind = StatementKind::in_line;
      out.payload = payloads_.size();
      for (const ByteSource& source : content.sources) {
        payloads_.resize(payloads_.size() + source.size);
        VARVE_TRY(store_.read_bytes(source.address, std::span(payloads_).last(source.size)));
      }
      break;
  }
  statements_.push_back(out);
  return {};
}

void Flush::add_size(const PlannedId& plan) {
  NewStatement out;
  out.statement.offset = plan.size;
  switch (plan.size_statement) {
    case PlannedId::Size::nothing:
      if (!plan.tombstone) {
        return;
      }
      out.statement.kind = StatementKind::tombstone;
      out.statement.offset = 0;
      break;
    case PlannedId::Size::star:
      statements_.back().statement.sizing = true;
      return;
    case PlannedId::Size::shrink:
      out.statement.kind = StatementKind::shrink;
      break;
    case PlannedId::Size::grow:
      out.statement.kind = StatementKind::grow;
      break;
    case PlannedId::Size::size:
      out.statement.kind = StatementKind::size;
      break;
  }
  statements_.push_back(out);
}

Result<void> Flush::write() {
  VARVE_TRY(write_data());
  VARVE_TRY(write_tables());
  if (store_.first_flush && next_journal_ < store_.space.page_count()) {
    // A lost header of this epoch may have had transactions in this very page (section 11).
    const std::array<std::byte, k_page_bytes> zeros{};
    VARVE_TRY(store_.write_page(next_journal_, zeros));
  }
  if (!base::mutant("kladde-flush-sync")) {
    VARVE_TRY(store_.file->data_sync());
  }
  return write_slot();
}

Result<void> Flush::write_data() {
  PageRun run(store_);
  std::size_t source = 0;      // of the content at hand
  std::uint32_t consumed = 0;  // bytes of that source
  std::span<std::byte> image;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const DataPiece& piece = pieces_[i];
    const PlannedContent& content = plans_[piece.plan].content[piece.content];
    if (piece.start == content.start) {
      source = 0;
      consumed = 0;
    }
    if (piece.in_page == 0) {
      image = run.image();
    }
    auto to = image.subspan(k_content_offset + piece.in_page, piece.size);
    while (!to.empty()) {
      const ByteSource& from = content.sources[source];
      const std::size_t size = std::min<std::size_t>(to.size(), from.size - consumed);
      VARVE_TRY(store_.read_bytes(from.address + consumed, to.first(size)));
      to = to.subspan(size);
      consumed += static_cast<std::uint32_t>(size);
      if (consumed == from.size) {
        ++source;
        consumed = 0;
      }
    }
    if (i + 1 == pieces_.size() || pieces_[i + 1].page != piece.page) {
      const PageNumber next = i + 1 < pieces_.size() ? data_pages_[pieces_[i + 1].page] : 0;
      VARVE_TRY(
          run.add(data_pages_[piece.page], k_kind_data, epoch_, piece.in_page + piece.size, next));
    }
  }
  return {};
}

Result<void> Flush::write_tables() {
  PageRun run(store_);
  for (std::size_t i = 0; i < layout_.pages.size(); ++i) {
    const NewTable& table = layout_.pages[i];
    base::copy_bytes(run.image().data() + k_content_offset, table.content.data(),
                     table.content.size());
    const PageNumber next = i + 1 < layout_.pages.size() ? layout_.pages[i + 1].page : 0;
    VARVE_TRY(run.add(table.page, k_kind_table, epoch_, table.content.size(), next));
  }
  return {};
}

Result<void> Flush::write_slot() {
  Header header = store_.header;
  header.epoch = epoch_;
  header.format_version = k_format_version;
  header.min_reader_version = 0;
  header.root_allocation = store_.roots.root_allocation;
  header.schema_table = store_.roots.schema_table;
  header.consolidator_state = store_.roots.consolidator_state;
  header.root_fingerprint = store_.roots.root_fingerprint;
  header.journal_pointer = next_journal_;
  std::array<std::byte, k_page_bytes> page;
  encode_slot(page, header, layout_.header_content);
  VARVE_TRY(store_.write_page(slot_, page));
  store_.header = header;
  return {};
}

}  // namespace varve::kladde
