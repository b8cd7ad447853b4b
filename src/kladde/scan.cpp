// SPDX-License-Identifier: MIT OR Apache-2.0
// Scanning both faces.
#include <algorithm>

#include "base/whole_number.hpp"
#include "kladde/contents.hpp"
#include "kladde/rows.hpp"
#include "kladde/view.hpp"
#include "model/verdict_sink.hpp"

namespace varve::kladde {

namespace {

constexpr std::size_t k_batch_rows = 4096;
constexpr std::size_t k_batch_bytes = std::size_t{1} << 20;
constexpr std::uint32_t k_write_bytes = std::uint32_t{64} << 10;  // of a row of the flushed state

Result<std::vector<Id>> wanted_ids(const Predicate& predicate) {
  std::vector<Id> ids;
  for (const FilterTerm& term : predicate.terms) {
    const auto id = base::whole_number<Id>(term.value);
    if (!id || *id == 0) {
      return fail(ErrorCode::invalid_argument, "id", "not an allocation id: " + term.value);
    }
    ids.push_back(*id);
  }
  return ids;
}

// Collects rows into batches and delivers them, with the scan's limit and direction.
class Delivery {
 public:
  Delivery(const Schema& schema, const ScanRequest& request, BatchSink& sink, ScanSummary& summary)
      : builder_(schema), request_(request), sink_(sink), summary_(summary) {}

  BatchBuilder& builder() { return builder_; }
  // After each row. False: enough.
  Result<bool> row_added() {
    ++rows_;
    const bool full = summary_.rows + rows_ >= request_.limit;
    if (full || rows_ >= k_batch_rows || builder_.data_bytes() >= k_batch_bytes) {
      VARVE_ASSIGN(const bool go_on, deliver());
      return go_on && !full;
    }
    return true;
  }
  Result<bool> deliver() {
    if (rows_ == 0) {
      return true;
    }
    Batch batch = builder_.finish();
    if (request_.mapper != nullptr) {
      request_.mapper->map(batch);
    }
    summary_.rows += std::exchange(rows_, 0);
    return sink_.consume(std::move(batch));
  }

 private:
  BatchBuilder builder_;
  const ScanRequest& request_;
  BatchSink& sink_;
  ScanSummary& summary_;
  std::uint64_t rows_ = 0;
};

// A row that waits for the end of a backward scan.
struct KeptRow {
  RowPlace place;
  Record record;
  std::string payload;
};

// Turns transactions into rows.
class LogRows {
 public:
  LogRows(std::vector<Id> ids, const ScanRequest& request, BatchSink& sink, ScanSummary& summary)
      : ids_(std::move(ids)),
        reverse_(request.reverse),
        max_bytes_(request.max_memory_bytes),
        delivery_(log_schema(), request, sink, summary) {}

  Result<bool> add(const RowPlace& place, const Record& record, std::string_view payload) {
    if (!wanted(record)) {
      return true;
    }
    if (reverse_) {
      kept_bytes_ += sizeof(KeptRow) + payload.size();
      if (kept_bytes_ > max_bytes_) {
        return fail(ErrorCode::limit, "limit", "the journal is too large to be read backwards");
      }
      kept_.push_back({place, record, std::string(payload)});
      return true;
    }
    add_record_row(delivery_.builder(), place, record, payload);
    return delivery_.row_added();
  }
  Result<bool> add_header(const Header& header, unsigned slot) {
    add_header_row(delivery_.builder(), header, {slot, 0});
    return delivery_.row_added();
  }
  Result<bool> take(const JournalTransaction& transaction, std::span<const Record> records) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      const Record& record = records[i];
      const auto payload = record.has_payload()
                               ? transaction.records.subspan(record.payload_position, record.length)
                               : base::ByteSpan();
      VARVE_ASSIGN(const bool go_on, add({static_cast<std::int64_t>(transaction.index), i,
                                          transaction.place_of(record.position)},
                                         record, base::as_text(payload)));
      if (!go_on) {
        return false;
      }
    }
    return true;
  }
  Result<void> finish() {
    for (auto row = kept_.rbegin(); row != kept_.rend(); ++row) {
      add_record_row(delivery_.builder(), row->place, row->record, row->payload);
      VARVE_ASSIGN(const bool go_on, delivery_.row_added());
      if (!go_on) {
        return {};
      }
    }
    VARVE_TRY(delivery_.deliver());
    return {};
  }

 private:
  bool wanted(const Record& record) const {
    return ids_.empty() || std::ranges::find(ids_, record.id) != ids_.end() ||
           (record.has_source() && std::ranges::find(ids_, record.source) != ids_.end());
  }

  std::vector<Id> ids_;
  bool reverse_;
  std::uint64_t max_bytes_;
  Delivery delivery_;
  std::vector<KeptRow> kept_;
  std::uint64_t kept_bytes_ = 0;
};

// The flushed state as one transaction "-1" of resize and write records.
class FlushedRows {
 public:
  FlushedRows(const io::File& file, const World& world, LogRows& rows)
      : file_(file), world_(world), state_(world.allocations), rows_(rows) {}

  Result<bool> run() {
    for (const auto& [id, allocation] : world_.allocations) {
      if (!allocation.exists) {
        continue;
      }
      Record resize;
      resize.kind = RecordKind::resize;
      resize.id = id;
      resize.length = allocation.size;
      VARVE_ASSIGN(bool go_on, rows_.add({-1, index_++, {world_.slot, 0}}, resize, {}));
      if (go_on) {
        VARVE_ASSIGN(go_on, write_rows(id, allocation));
      }
      if (!go_on) {
        return false;
      }
    }
    return true;
  }

 private:
  Result<bool> write_rows(Id id, const Allocation& allocation) {
    std::vector<ByteRun> runs;
    state_.for_runs(id, 0, allocation.size, [&](const ByteRun& run) {
      if (run.zero) {
        return;
      }
      if (!runs.empty() && runs.back().start + runs.back().size == run.start &&
          runs.back().size + run.size <= k_write_bytes) {
        runs.back().size += run.size;
      } else {
        runs.push_back(run);
      }
    });
    std::string bytes;
    for (const ByteRun& run : runs) {
      bytes.clear();
      VARVE_TRY(append_contents(file_, state_, id, run.start, run.start + run.size, bytes));
      Record write;
      write.kind = RecordKind::write;
      write.id = id;
      write.offset = run.start;
      write.length = run.size;
      const Place at{static_cast<PageNumber>(run.address / k_page_bytes),
                     static_cast<std::uint32_t>(run.address % k_page_bytes)};
      VARVE_ASSIGN(const bool go_on, rows_.add({-1, index_++, at}, write, bytes));
      if (!go_on) {
        return false;
      }
    }
    return true;
  }

  const io::File& file_;
  const World& world_;
  State state_;
  LogRows& rows_;
  std::uint64_t index_ = 0;
};

// Whether every byte of the allocation stands in pages that hold.
bool is_readable(const World& world, const Allocation& allocation) {
  bool good = true;
  allocation.fragments.for_each([&](const Fragment& fragment) {
    if (fragment.kind == FragmentKind::ref) {
      const std::uint64_t page = fragment.address / k_page_bytes;
      good = good && page < world.page_count && !world.bad_pages.contains(page);
    }
  });
  return good;
}

}  // namespace

Result<ScanSummary> View::scan_log(const ScanRequest& request, BatchSink& sink, FindingSink& out) {
  ScanSummary summary;
  model::VerdictSink findings(&out);
  const Policy policy = request.strict ? Policy::strict(path_) : Policy::report(findings);
  const bool full = request.options.contains("full");
  const LoadRequest load_options = load_request(full, request.threads);
  VARVE_ASSIGN(auto ids, wanted_ids(request.predicate));
  VARVE_ASSIGN(const auto world, load(load_options, policy));
  if (!world || request.limit == 0) {
    summary.verdict = findings.verdict();
    return summary;
  }
  const bool filtered = !ids.empty();
  LogRows rows(std::move(ids), request, sink, summary);
  bool go_on = true;
  if (full && !filtered && !request.reverse) {
    VARVE_ASSIGN(go_on, rows.add_header(world->header, world->slot));
  }
  if (full && go_on) {
    // What the world cannot give whole is no state to copy: the findings say why.
    if (findings.verdict() == Verdict::clean) {
      VARVE_ASSIGN(go_on, FlushedRows(*file_, *world, rows).run());
    }
  }
  if (go_on) {
    VARVE_ASSIGN(const Journal journal, read_journal(*file_, *world, load_options, policy,
                                                     [&](const JournalTransaction& transaction,
                                                         std::span<const Record> records) {
                                                       return rows.take(transaction, records);
                                                     }));
    summary.verdict = journal.went_on ? Verdict::torn : Verdict::clean;
  }
  VARVE_TRY(rows.finish());
  summary.verdict = worse(summary.verdict, findings.verdict());
  return summary;
}

Result<ScanSummary> View::scan_state(const ScanRequest& request, BatchSink& sink,
                                     FindingSink& out) {
  ScanSummary summary;
  model::VerdictSink findings(&out);
  const Policy policy = request.partial ? Policy::report(findings) : Policy::strict(path_);
  const LoadRequest load_options = load_request(true, request.threads);
  VARVE_ASSIGN(const auto ids, wanted_ids(request.predicate));
  VARVE_ASSIGN(const auto world, load(load_options, policy));
  if (!world || request.limit == 0) {
    summary.verdict = findings.verdict();
    return summary;
  }
  State state(world->allocations, max_pieces());
  VARVE_ASSIGN(const Journal journal, replay_journal(*file_, *world, load_options, policy, state));
  Delivery delivery(state_schema(), request, sink, summary);
  std::vector<Id> wanted = state.ids();
  if (!ids.empty()) {
    std::erase_if(wanted, [&](Id id) { return std::ranges::find(ids, id) == ids.end(); });
  }
  if (request.reverse) {
    std::ranges::reverse(wanted);
  }
  std::string bytes;
  for (const Id id : wanted) {
    const auto committed = world->allocations.find(id);
    if (committed != world->allocations.end() && !is_readable(*world, committed->second)) {
      continue;  // its page was complained about
    }
    if (state.size(id) > request.max_memory_bytes) {
      Finding finding;
      finding.code = word::limit;
      finding.verdict = Verdict::unknown;
      finding.unit = "allocation";
      finding.index = id;
      finding.message = "allocation " + std::to_string(id) + " is larger than the memory limit";
      findings.add(std::move(finding));
      continue;
    }
    bytes.clear();
    VARVE_TRY(append_contents(*file_, state, id, 0, state.size(id), bytes));
    delivery.builder().add_u64(0, id);
    delivery.builder().add_u64(1, bytes.size());
    delivery.builder().add_bytes(2, bytes);
    delivery.builder().end_row();
    VARVE_ASSIGN(const bool go_on, delivery.row_added());
    if (!go_on) {
      break;
    }
  }
  VARVE_TRY(delivery.deliver());
  summary.verdict = worse(journal.went_on ? Verdict::torn : Verdict::clean, findings.verdict());
  return summary;
}

const Schema& View::schema(Face face) const {
  return face == Face::log ? log_schema() : state_schema();
}

void View::render(Face face, const Batch& batch, const RenderOptions& options,
                  std::string& out) const {
  for (std::size_t row = 0; row < batch.rows; ++row) {
    if (face == Face::log) {
      append_log_line(out, batch, row, options);
    } else {
      append_state_line(out, batch, row, options);
    }
  }
}

Result<Json> View::plan_once(const ScanRequest& request) {
  VARVE_ASSIGN(const auto world, load(load_request(false), Policy::strict(path_)));
  VARVE_ASSIGN(const Journal journal,
               read_journal(*file_, *world, load_request(false), Policy::strict(path_), {}));
  const bool state = request.face == Face::state || request.options.contains("full");
  Json pages = Json::array();
  for (const PageNumber page : journal.pages) {
    pages.push(page);
  }
  return Json::object()
      .set("epoch", world->header.epoch)
      .set("table_pages", std::uint64_t{world->tree.pages.size()})
      .set("table_why", "says which pages the journal may not use")
      .set("data_pages", state ? world->data_pages.count() : std::uint64_t{0})
      .set("data_why", state ? "the flushed state is printed" : "the journal alone is printed")
      .set("journal_pages", std::move(pages))
      .set("journal_transactions", journal.transactions)
      .set("journal_why", "a journal is a chain: it is read from its first page to its end");
}

}  // namespace varve::kladde
