// SPDX-License-Identifier: MIT OR Apache-2.0
// Opening, loading, and `info`.
#include "kladde/view.hpp"
#include "kladde/live.hpp"

#include "base/text_coding.hpp"

namespace varve::kladde {

namespace {

// The header's fields under the spec's names (section 3).
Json header_json(const Header& header) {
  return Json::object()
      .set("epoch", header.epoch)
      .set("log2_page_size", std::uint32_t{k_log2_page_bytes})
      .set("format_version", std::uint32_t{header.format_version})
      .set("min_reader_version", std::uint32_t{header.min_reader_version})
      .set("root_allocation", header.root_allocation)
      .set("schema_table", header.schema_table)
      .set("consolidator_state", header.consolidator_state)
      .set("root_fingerprint", base::to_hex(header.root_fingerprint))
      .set("journal_pointer", header.journal_pointer);
}

std::string tail_words(const Journal& journal) {
  std::string out = journal.transactions == 0
                        ? "empty journal"
                        : std::to_string(journal.transactions) + " transactions to fold";
  return out + ": " + (journal.went_on ? "torn, " : "") + to_text(journal.stop);
}

std::uint64_t live_allocations(const World& world) {
  std::uint64_t count = 0;
  for (const auto& [id, allocation] : world.allocations) {
    count += allocation.exists ? 1 : 0;
  }
  return count;
}

// Keeps what a load finds for `info`, which goes on as far as it can.
class FirstFinding final : public FindingSink {
 public:
  void add(Finding finding) override {
    if (!first && finding.severity == Severity::error) {
      first = std::move(finding);
    }
  }
  std::optional<Finding> first;
};

}  // namespace

Finding aside(Severity severity, const char* code, std::uint64_t offset, std::string message) {
  Finding finding;
  finding.severity = severity;
  finding.code = code;
  finding.offset = offset;
  finding.message = std::move(message);
  return finding;
}

Result<std::unique_ptr<View>> View::open(io::FileSystem& files, const std::string& path,
                                         const OpenOptions& options) {
  VARVE_ASSIGN(const Dialect dialect, dialect_option(options.options));
  VARVE_ASSIGN(const Generation generation, generation_option(options.options));
  VARVE_ASSIGN(auto file, files.open_file(path, io::OpenMode::read));
  return std::unique_ptr<View>(new View(std::move(file), path, options, dialect, generation));
}

LoadRequest View::load_request(bool check_data, unsigned threads) const {
  LoadRequest request;
  request.dialect = dialect_;
  request.generation = generation_;
  request.check_data = check_data;
  request.max_memory_bytes = options_.max_memory_bytes;
  request.threads = threads != 0 ? threads : options_.threads;
  return request;
}

std::size_t View::max_pieces() const { return pieces_within(options_.max_memory_bytes); }

std::string View::dialect_hint() const {
  LoadRequest request = load_request(false);
  request.dialect = dialect_ == Dialect::a ? Dialect::b : Dialect::a;
  if (!load_world(*file_, request, Policy::strict(path_))) {
    return {};
  }
  const std::string other = request.dialect == Dialect::a ? "a" : "b";
  return " (it parses as dialect " + other + ": --dialect " + other + ")";
}

Result<std::optional<World>> View::load(const LoadRequest& request, const Policy& policy) const {
  auto world = load_world(*file_, request, policy);
  if (world || world.error().code != ErrorCode::damaged) {
    return world;
  }
  Error error = std::move(world).error();
  if (error.reason == word::table_page || error.reason == word::uncovered) {
    error.message += dialect_hint();
  }
  return std::unexpected(std::move(error));
}

Result<StoreInfo> View::info() {
  FindingList none;
  return read_settled(*file_, none, [&](Epoch, FindingSink&) { return info_once(); });
}
Result<VerifyReport> View::verify(const VerifyRequest& request, FindingSink& findings) {
  return read_settled(*file_, findings,
                      [&](Epoch, FindingSink& held) { return verify_once(request, held); });
}
Result<ScanSummary> View::scan(const ScanRequest& request, BatchSink& sink, FindingSink& findings) {
  return read_settled(
      *file_, findings,
      [&](Epoch epoch, HeldFindings& held) {
        SettledSink settled(*file_, epoch, held, sink);
        return request.face == Face::log ? scan_log(request, settled, held)
                                         : scan_state(request, settled, held);
      },
      [](const ScanSummary& summary) { return summary.verdict != Verdict::damaged; });
}
Result<Json> View::plan(const ScanRequest& request) {
  FindingList none;
  return read_settled(*file_, none, [&](Epoch, FindingSink&) { return plan_once(request); });
}
Result<GetResult> View::get(const std::string& key, const RenderOptions& options,
                            FindingSink& findings) {
  return read_settled(*file_, findings,
                      [&](Epoch, FindingSink&) { return get_once(key, options); });
}
Result<StatsReport> View::stats(FindingSink& findings) {
  return read_settled(*file_, findings, [&](Epoch, FindingSink& held) { return stats_once(held); });
}
Result<ScanSummary> View::explain(const ExplainRequest& request, ExplainSink& sink,
                                  FindingSink& findings) {
  // Lets findings out with the first row: from there on nothing can be taken back.
  class Rows final : public ExplainSink {
   public:
    Rows(HeldFindings& findings, ExplainSink& next) : findings_(findings), next_(next) {}
    bool add(ExplainRow row) override {
      findings_.release();
      return next_.add(std::move(row));
    }

   private:
    HeldFindings& findings_;
    ExplainSink& next_;
  };
  return read_settled(*file_, findings, [&](Epoch, HeldFindings& held) {
    Rows rows(held, sink);
    return explain_once(request, rows, held);
  });
}

Result<StoreInfo> View::info_once() {
  StoreInfo out;
  out.format = "kladde";
  out.path = path_;
  VARVE_ASSIGN(const io::FileIdentity identity, file_->identity());
  out.bytes = identity.size_bytes;
  out.bytes_allocated = identity.allocated_bytes;
  out.segments = 1;
  FirstFinding findings;
  const Policy policy = Policy::report(findings);
  VARVE_ASSIGN(const auto world, load_world(*file_, load_request(false), policy));
  if (!world) {
    out.tail = "unreadable";
    out.detail.set("refused", findings.first ? Json(findings.first->code) : Json());
    return out;
  }
  out.version = world->header.format_version;
  out.detail = header_json(world->header);
  out.detail.set("dialect", dialect_ == Dialect::a ? "a" : "b");
  out.detail.set("governing_slot", world->slot);
  const Slot& other = world->slots.slot[1 - world->slot];
  out.detail.set("other_slot",
                 other.valid() ? Json(other.header.epoch) : Json(to_text(other.status)));
  out.detail.set("pages", world->page_count)
      .set("table_pages", std::uint64_t{world->tree.pages.size()})
      .set("data_pages", world->data_pages.count())
      .set("statements", std::uint64_t{world->tree.statements.size()})
      .set("allocations", live_allocations(*world));
  VARVE_ASSIGN(const Journal journal,
               read_journal(*file_, *world, load_request(false), policy, {}));
  out.records = journal.records;
  out.units = world->tree.pages.size() + world->data_pages.count() + journal.transactions;
  out.tail = tail_words(journal);
  Json pages = Json::array();
  for (const PageNumber page : journal.pages) {
    pages.push(page);
  }
  out.detail.set("journal_epoch", journal.epoch)
      .set("journal_transactions", journal.transactions)
      .set("journal_pages", std::move(pages));
  if (findings.first) {
    out.detail.set("refused", findings.first->code);
  }
  return out;
}

}  // namespace varve::kladde
