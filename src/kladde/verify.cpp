// SPDX-License-Identifier: MIT OR Apache-2.0
// `verify`: slots, table tree, statements, data pages, journal, leaks, pages that nothing reaches.
#include <algorithm>
#include <array>

#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "kladde/data_pages.hpp"
#include "kladde/reach.hpp"
#include "kladde/view.hpp"
#include "model/receipt_work.hpp"
#include "model/verdict_sink.hpp"

namespace varve::kladde {

namespace {

// Adds to the first complaint about the table that the other dialect would read it.
class HintSink final : public FindingSink {
 public:
  HintSink(FindingSink& next, std::function<std::string()> hint)
      : next_(next), hint_(std::move(hint)) {}
  void add(Finding finding) override {
    if (!hinted_ && (finding.code == word::table_page || finding.code == word::uncovered)) {
      hinted_ = true;
      finding.message += hint_();
    }
    next_.add(std::move(finding));
  }

 private:
  FindingSink& next_;
  std::function<std::string()> hint_;
  bool hinted_ = false;
};

// Notices complaints about anything but the data pages.
class TableSink final : public FindingSink {
 public:
  explicit TableSink(FindingSink& next) : next_(next) {}
  void add(Finding finding) override {
    whole_ = whole_ && (finding.severity != Severity::error || finding.unit == k_data_page_unit);
    next_.add(std::move(finding));
  }
  bool whole() const { return whole_; }

 private:
  FindingSink& next_;
  bool whole_ = true;
};

bool all_zero(base::ByteSpan bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

void note_slots(const World& world, FindingSink& findings) {
  const unsigned other = 1 - world.slot;
  const Slot& slot = world.slots.slot[other];
  if (slot.valid() || all_zero(world.slots.bytes[other])) {
    return;
  }
  // A warning: the damage may be to the newer header, and the other one then tells of an older
  // state.
  Finding finding = aside(Severity::warning, word::other_slot, other * k_page_bytes,
                          "slot " + std::to_string(other) +
                              ", which does not govern, is invalid: " + to_text(slot.status));
  finding.unit = "header";
  finding.index = other;
  findings.add(std::move(finding));
}

void note_partial_page(const World& world, FindingSink& findings) {
  const std::uint64_t whole = world.page_count * k_page_bytes;
  if (world.file_bytes > whole && world.page_count < k_max_pages) {
    Finding finding = aside(Severity::note, word::partial_page, whole,
                            "the file ends in a part of a page, which is ignored");
    finding.length = world.file_bytes - whole;
    findings.add(std::move(finding));
  }
}

void note_unsized(const World& world, Dialect dialect, FindingSink& findings) {
  if (const auto id = find_unsized(world, dialect)) {
    Finding finding = aside(Severity::warning, word::no_size, world.slot * k_page_bytes,
                            "allocation " + std::to_string(*id) +
                                " has content and nothing states its size: is the store of "
                                "dialect a?");
    finding.unit = "allocation";
    finding.index = *id;
    findings.add(std::move(finding));
  }
}

// Pages in no world that look framed but fail their checksum: free to hold anything.
Result<void> note_unreached(const io::File& file, const World& world, const Journal& journal,
                            FindingSink& findings) {
  PageReader pages(file, world.page_count);
  PageSet in_journal;
  for (const PageNumber page : journal.pages) {
    in_journal.insert(page);
  }
  std::uint64_t bad = 0;
  std::uint64_t first = 0;
  for (std::uint64_t page = k_first_free_page; page < world.page_count; ++page) {
    const auto number = static_cast<PageNumber>(page);
    if (world.uses(number) || in_journal.contains(page)) {
      continue;
    }
    VARVE_ASSIGN(const std::uint64_t data, next_data_page(file, page));
    if (data > page) {
      page = data - 1;
      continue;
    }
    VARVE_ASSIGN(const base::ByteSpan bytes, pages.page(page));
    const std::uint8_t kind = base::u8(bytes[k_kind_offset]);
    if ((kind == k_kind_table || kind == k_kind_data) && !decode_page(bytes)) {
      first = bad++ == 0 ? page : first;
    }
  }
  if (bad > 0) {
    Finding finding = aside(Severity::note, word::unreached, first * k_page_bytes,
                            std::to_string(bad) +
                                " pages that nothing reaches fail their checksums (they may hold "
                                "anything, journal remains included)");
    finding.length = k_page_bytes;
    finding.unit = "page";
    finding.index = first;
    findings.add(std::move(finding));
  }
  return {};
}

void report_tail(const Journal& journal, FindingSink& findings) {
  Finding finding;
  finding.offset = journal.stop_place.file_offset();
  finding.unit = "transaction";
  finding.index = journal.transactions;
  if (journal.went_on) {
    finding.verdict = Verdict::torn;
    finding.code = word::torn_tail;
    finding.message = std::string("the journal went on behind its last whole transaction (") +
                      to_text(journal.stop) +
                      "); the format opens the store without the unfinished one";
    findings.add(std::move(finding));
  } else if (!journal.tail_is_zero) {
    finding.severity = Severity::note;
    finding.code = word::unproven_tail;
    finding.message = "what follows the last whole transaction cannot be told from stale bytes";
    findings.add(std::move(finding));
  }
}

// Both header slots, as they stand: while they do, no page of the world may be written to.
Result<std::string> slots_digest(const io::File& file) {
  std::array<std::byte, k_slot_count * k_page_bytes> bytes;
  VARVE_ASSIGN(const std::size_t got, file.read_at(bytes, 0));
  return got == bytes.size() ? base::to_hex(base::sha256(bytes)) : std::string();
}

// What the receipt proves of the data pages, if the same header governs; else nullptr.
Result<const VerifyReceipt::Part*> proven_pages(const io::File& file,
                                                const io::FileIdentity& identity,
                                                model::ReceiptWork& receipt) {
  const VerifyReceipt::Part* part = receipt.part("");
  if (part == nullptr) {
    return part;
  }
  VARVE_ASSIGN(const std::string slots, slots_digest(file));
  if (!part->same_file(identity) || identity.size_bytes < part->size_bytes) {
    receipt.mismatch("", "it is another file, or shorter than it was");
    return nullptr;
  }
  if (slots.empty() || slots != part->proof) {
    receipt.mismatch("", "a flush has written a new header");
    return nullptr;
  }
  return part;
}

}  // namespace

Result<VerifyReport> View::verify_once(const VerifyRequest& request, FindingSink& out) {
  VerifyReport report;
  report.path = path_;
  report.format = "kladde";
  model::VerdictSink findings(&out);
  HintSink hinted(findings, [this] { return dialect_hint(); });
  TableSink tables(hinted);
  const Policy policy = Policy::report(tables);
  VARVE_ASSIGN(const io::FileIdentity identity, file_->identity());
  model::ReceiptWork receipt(request, "", options_.options, report, findings);
  VARVE_ASSIGN(const VerifyReceipt::Part* const proven, proven_pages(*file_, identity, receipt));
  LoadRequest load = load_request(!request.quick && proven == nullptr, request.threads);
  if (request.progress) {
    load.progress = [&](std::uint64_t done) {
      request.progress(done, std::max(done, identity.size_bytes));
    };
  }
  report.counts.files = 1;
  report.counts.segments = 1;
  kept_world_.reset();
  VARVE_ASSIGN(auto world, load_world(*file_, load, policy));
  const bool table_whole = tables.whole();
  if (!world) {
    report.counts.bytes = std::min<std::uint64_t>(identity.size_bytes, 2 * k_page_bytes);
    report.verdict = findings.verdict();
    return report;
  }
  report.version = world->header.format_version;
  State state(world->allocations, max_pieces());
  VARVE_ASSIGN(const Journal journal, replay_journal(*file_, *world, load, policy, state));
  report_tail(journal, findings);
  note_slots(*world, findings);
  note_partial_page(*world, findings);
  note_unsized(*world, dialect_, findings);
  if (!request.quick) {
    VARVE_TRY(note_unreached(*file_, *world, journal, findings));
    if (findings.verdict() != Verdict::damaged) {
      VARVE_TRY(check_reach(*file_, *world, state, options_.max_memory_bytes, findings));
    }
  }
  report.counts.units = world->tree.pages.size() + journal.transactions +
                        (request.quick ? 0 : world->data_uses.size()) +
                        (world->slots.slot[1 - world->slot].valid() ? 1 : 0);
  report.counts.records = journal.records;
  report.counts.bytes = world->bytes_checked + journal.stream_bytes;
  report.intact_records = journal.records;
  report.lost_records = journal.malformed;
  report.unknown_records = journal.went_on ? 1 : 0;
  report.verdict = findings.verdict();
  const std::uint64_t data_bytes = world->data_uses.size() * k_page_bytes;
  if (proven != nullptr) {
    receipt.taken(data_bytes);
  }
  if (receipt.making() && (report.verdict == Verdict::clean || report.verdict == Verdict::torn)) {
    VerifyReceipt::Part part;
    part.identify(identity);
    part.proven_bytes = data_bytes;
    VARVE_ASSIGN(part.proof, slots_digest(*file_));
    part.numbers = {{"epoch", world->header.epoch}};
    receipt.keep_as_is(std::move(part));
  }
  receipt.finish();
  if (keeps_world_ && load.check_data && table_whole) {
    kept_world_ = std::move(world);
  }
  return report;
}

}  // namespace varve::kladde
