// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain`: the file page by page with the owner of each, every byte field by field.
#include <algorithm>

#include "base/text_coding.hpp"
#include "kladde/explain_journal.hpp"
#include "kladde/fields.hpp"
#include "kladde/owners.hpp"
#include "kladde/view.hpp"
#include "model/verdict_sink.hpp"

namespace varve::kladde {

namespace {

using Check = ExplainRow::Check;
using Class = ExplainRow::Class;
constexpr std::size_t k_raw_bytes = 32;

std::string statement_text(const Statement& statement) {
  std::string out =
      std::string(to_text(statement.kind, statement.sizing)) + "(" + std::to_string(statement.id);
  if (statement.kind != StatementKind::tombstone) {
    out += ", " + std::to_string(statement.offset);
  }
  if (statement.is_content()) {
    out += ", " + std::to_string(statement.size);
  }
  if (statement.kind == StatementKind::ref) {
    out += ", page " + std::to_string(statement.address / k_page_bytes) + " byte " +
           std::to_string(statement.address % k_page_bytes);
  }
  return out + ")";
}

class Explainer {
 public:
  Explainer(const io::File& file, const World* world, const JournalLayout& journal, Dialect dialect,
            bool whole_world, ExplainSink& sink)
      : file_(file),
        world_(world),
        journal_(journal),
        dialect_(dialect),
        whole_world_(whole_world),
        sink_(sink) {}

  Result<void> run(std::uint64_t file_bytes, std::optional<std::uint64_t> wanted,
                   const PageOwners* owners) {
    const std::uint64_t pages = std::min(file_bytes / k_page_bytes, k_max_pages);
    const std::uint64_t first = wanted ? std::min(*wanted / k_page_bytes, pages) : 0;
    const std::uint64_t end = wanted ? std::min(first + 1, pages) : pages;
    PageReader reader(file_, pages);
    for (std::uint64_t page = first; page < end && !stopped_; ++page) {
      VARVE_ASSIGN(bytes_, reader.page(page));
      base_ = page * k_page_bytes;
      explain_page(page, owners);
    }
    const std::uint64_t whole = pages * k_page_bytes;
    if (file_bytes > whole && (!wanted || *wanted >= whole)) {
      ExplainRow row;
      row.offset = whole;
      row.length = file_bytes - whole;
      row.field = "partial page";
      row.meaning = "a file is a whole number of pages: the rest is ignored";
      row.sort = Class::gap;
      std::byte raw[k_raw_bytes];
      VARVE_ASSIGN(const std::size_t got, file_.read_at(raw, whole));
      row.raw = base::as_text(base::ByteSpan(raw).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(got, row.length))));
      send(std::move(row));
    }
    return {};
  }
  std::uint64_t rows() const { return rows_; }

 private:
  void explain_page(std::uint64_t page, const PageOwners* owners) {
    const PageUse use = owners != nullptr     ? owners->use(page)
                        : page < k_slot_count ? PageUse::slot
                                              : PageUse::free;
    ExplainRow row;
    row.offset = base_;
    row.length = k_page_bytes;
    row.container = true;
    row.field = "page " + std::to_string(page);
    row.value = to_text(use);
    row.meaning = owners != nullptr ? "owner: " + owners->words(page) : "no header is valid";
    switch (use) {
      case PageUse::slot:
        return slot(static_cast<unsigned>(page), std::move(row));
      case PageUse::table:
      case PageUse::data:
        return framed(static_cast<PageNumber>(page), use, std::move(row), owners);
      case PageUse::journal:
        send(std::move(row));
        return journal_page(static_cast<PageNumber>(page));
      case PageUse::journal_next:
      case PageUse::free:
        return unreached(std::move(row));
    }
  }

  // A page in no world. One whose checksum holds was a table or data page of an older one, unless
  // the way to it is hurt.
  void unreached(ExplainRow row) {
    const auto view = decode_page(bytes_);
    const bool known = view && (view->kind == k_kind_table || view->kind == k_kind_data);
    if (!known) {
      send(std::move(row));
      return field(0, k_page_bytes, 1, "unused", "", "reachable from nowhere: may hold anything",
                   Class::gap);
    }
    const std::string what = std::string(view->kind == k_kind_table ? "table page" : "data page") +
                             " of epoch " + std::to_string(view->epoch);
    row.check = Check::holds;
    row.meaning += ", " + what;
    if (whole_world_) {
      row.sort = Class::stale;
      row.marks.push_back({ByteMark::Kind::stale, base_, k_page_bytes, what});
    }
    send(std::move(row));
    const std::size_t content = view->content.size();
    const std::uint32_t crc = base::u32le(bytes_.data() + k_content_offset + content);
    table_fields(0, k_frame_fields);
    content_and_rest(k_content_offset, content, crc, crc, view->kind == k_kind_table, nullptr);
  }

  void slot(unsigned index, ExplainRow row) {
    const Slot slot = decode_slot(index, bytes_);
    const bool governs = world_ != nullptr && world_->slot == index;
    row.meaning = governs ? "the governing header" : "the other header slot, not looked at";
    row.check = slot.valid() ? Check::holds : Check::fails;
    if (!slot.valid()) {
      row.meaning += std::string(": ") + to_text(slot.status);
    }
    send(std::move(row));
    if (!slot.has_magic) {
      return field(0, k_page_bytes, 1, "unused", "", "no header was written here", Class::gap);
    }
    table_fields(0, k_header_fields);
    table_fields(k_header_bytes, k_frame_fields);
    const bool fits = slot.status != SlotStatus::content_size;
    if (fits) {
      content_and_rest(k_slot_content_offset, slot.content_bytes, slot.stored_crc,
                       slot.calculated_crc, true, nullptr);
    } else {
      field(k_slot_content_offset, k_page_bytes - k_slot_content_offset, 1, "rest", "",
            "content_size does not fit", Class::gap);
    }
  }

  void table_fields(std::size_t at, std::span<const FieldSpec> fields) {
    for (const FieldSpec& spec : fields) {
      const base::ByteSpan part = bytes_.subspan(at + spec.offset, spec.length);
      // The magic is not all text.
      field(at + spec.offset, spec.length, 1, spec.name,
            spec.type == FieldType::magic ? "kladde"
                                          : model::field_text(spec.type, part, std::endian::little),
            spec.meaning);
    }
  }

  void framed(PageNumber page, PageUse use, ExplainRow row, const PageOwners* owners) {
    const bool table = use == PageUse::table;
    const auto view = expect_page(bytes_, table ? k_kind_table : k_kind_data, world_->header.epoch);
    row.check = view ? Check::holds : Check::fails;
    if (!view) {
      row.meaning += std::string(", refused: ") + view.error().word;
    }
    send(std::move(row));
    const std::size_t content = base::u16le(bytes_.data() + k_content_size_offset);
    const bool fits = content <= k_max_page_content;
    table_fields(0, k_frame_fields);
    if (!fits) {
      return field(k_content_offset, k_page_bytes - k_content_offset, 1, "rest", "",
                   "content_size does not fit", Class::gap);
    }
    const std::uint32_t stored = base::u32le(bytes_.data() + k_content_offset + content);
    const auto decoded = decode_page(bytes_);
    content_and_rest(k_content_offset, content, stored, decoded ? stored : ~stored, table,
                     table ? nullptr : &owners->data(page));
  }

  void content_and_rest(std::size_t at, std::size_t content, std::uint32_t stored,
                        std::uint32_t calculated, bool table,
                        const std::vector<DataOwner>* owners) {
    if (table) {
      table_content(at, content);
    } else if (owners == nullptr) {
      field(at, content, 1, "content", "", "whose it was, only the address table said",
            Class::payload);
    } else {
      data_content(at, content, *owners);
    }
    const auto end = static_cast<std::uint32_t>(at + content);
    ExplainRow row = make(end, k_page_crc_bytes, 1, "crc", to_text(Number::hex32(stored)),
                          "CRC-32C of what stands before content_size, and of the content");
    row.check = stored == calculated ? Check::holds : Check::fails;
    send(std::move(row));
    const std::uint32_t padding = end + k_page_crc_bytes;
    if (padding < k_page_bytes) {
      field(padding, k_page_bytes - padding, 1, "padding", "", "not covered, not read",
            Class::padding);
    }
  }

  void table_content(std::size_t at, std::size_t content) {
    TableDecoder decoder(bytes_.subspan(at, content), dialect_);
    std::string children;
    for (;;) {
      const auto child = decoder.next_child();
      if (!child) {
        return field(at, content, 1, "content", "", "malformed child list", Class::gap);
      }
      if (!*child) {
        break;
      }
      children += (children.empty() ? "" : ", ") + std::to_string(**child);
    }
    std::size_t done = decoder.position();
    field(at, done, 1, "children", children.empty() ? "none" : children, "ends with a zero byte");
    for (;;) {
      const auto statement = decoder.next_statement();
      if (!statement) {
        return field(at + done, content - done, 1, "statements", "",
                     "malformed at byte " + std::to_string(statement.error().offset), Class::gap);
      }
      if (!*statement) {
        return;
      }
      const std::size_t end = decoder.position();
      field(at + done, end - done, 1, "statement", statement_text(**statement), "");
      done = end;
    }
  }

  // Live stretches by owner; dead bytes between them.
  void data_content(std::size_t at, std::size_t content, const std::vector<DataOwner>& owners) {
    std::size_t done = at;
    const std::size_t end = at + content;
    for (const DataOwner& owner : owners) {
      const std::size_t from = std::clamp<std::size_t>(owner.offset, done, end);
      const std::size_t to = std::clamp<std::size_t>(owner.offset + owner.size, from, end);
      if (from > done) {
        field(done, from - done, 1, "dead bytes", "", "no statement that wins refers to them",
              Class::gap);
      }
      if (to > from) {
        field(from, to - from, 1, "content", "allocation " + std::to_string(owner.id),
              "bytes " + std::to_string(owner.start) + " to " +
                  std::to_string(std::uint64_t{owner.start} + owner.size),
              Class::payload);
      }
      done = to;
    }
    if (done < end) {
      field(done, end - done, 1, "dead bytes", "", "no statement that wins refers to them",
            Class::gap);
    }
  }

  void journal_page(PageNumber page) {
    std::uint32_t done = 0;
    for (const JournalPart& part : journal_.parts(page)) {
      ExplainRow row = make(part.offset, part.length, 1, part.field, part.value, part.meaning);
      row.check = part.checked ? Check::holds : Check::none;
      send(std::move(row));
      done = part.offset + part.length;
    }
    if (done < k_page_bytes) {
      field(done, k_page_bytes - done, 1, "tail", "",
            "behind the last whole transaction: stale bytes, zeros or an unfinished one",
            Class::gap);
    }
  }

  ExplainRow make(std::size_t offset, std::size_t length, unsigned depth, std::string name,
                  std::string value, std::string meaning) {
    ExplainRow row;
    row.offset = base_ + offset;
    row.length = length;
    row.depth = depth;
    row.field = std::move(name);
    row.value = std::move(value);
    row.meaning = std::move(meaning);
    row.raw = base::as_text(bytes_.subspan(offset, std::min(length, k_raw_bytes)));
    return row;
  }
  void field(std::size_t offset, std::size_t length, unsigned depth, std::string name,
             std::string value, std::string meaning, Class sort = Class::unset) {
    if (length > 0) {
      ExplainRow row =
          make(offset, length, depth, std::move(name), std::move(value), std::move(meaning));
      row.sort = sort;
      send(std::move(row));
    }
  }
  void send(ExplainRow row) {
    if (!stopped_) {
      ++rows_;
      stopped_ = !sink_.add(std::move(row));
    }
  }

  const io::File& file_;
  const World* world_;
  const JournalLayout& journal_;
  Dialect dialect_;
  bool whole_world_;  // nothing in it is hurt: what it does not reach is not part of it
  ExplainSink& sink_;
  base::ByteSpan bytes_;  // of the page at hand
  std::uint64_t base_ = 0;
  std::uint64_t rows_ = 0;
  bool stopped_ = false;
};

}  // namespace

Result<ScanSummary> View::explain_once(const ExplainRequest& request, ExplainSink& sink,
                                       FindingSink& out) {
  if (!request.file.empty()) {
    return fail(ErrorCode::invalid_argument, "not_found", "a kladde store is one file: use @OFFSET",
                path_);
  }
  model::VerdictSink findings(&out);
  const Policy policy = Policy::report(findings);
  const LoadRequest load_options = load_request(false);
  VARVE_ASSIGN(const io::FileIdentity identity, file_->identity());
  auto loaded = load(load_options, policy);
  if (!loaded && loaded.error().code != ErrorCode::damaged &&
      loaded.error().code != ErrorCode::unsupported && loaded.error().code != ErrorCode::limit) {
    return std::unexpected(std::move(loaded).error());
  }
  if (!loaded) {
    findings.add(to_finding(loaded.error()));  // the pages can be told by themselves
  }
  const std::optional<World> world = loaded ? *std::move(loaded) : std::nullopt;
  JournalLayout layout;
  std::optional<PageOwners> owners;
  if (world) {
    VARVE_ASSIGN(const Journal journal,
                 read_journal(*file_, *world, load_options, policy,
                              [&](const JournalTransaction& transaction,
                                  std::span<const Record> records) -> Result<bool> {
                                layout.add(transaction, records);
                                return true;
                              }));
    layout.finish(journal);
    owners.emplace(*world, journal);
  }
  const bool whole_world = world && findings.verdict() != Verdict::damaged;
  Explainer explainer(*file_, world ? &*world : nullptr, layout, dialect_, whole_world, sink);
  VARVE_TRY(explainer.run(identity.size_bytes, request.offset, owners ? &*owners : nullptr));
  ScanSummary summary;
  summary.rows = explainer.rows();
  summary.verdict = findings.verdict();
  return summary;
}

}  // namespace varve::kladde
