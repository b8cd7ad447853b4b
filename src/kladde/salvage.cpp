// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/salvage.hpp"

#include <algorithm>
#include <utility>

#include "kladde/page_fates.hpp"
#include "kladde/reader.hpp"
#include "kladde/view.hpp"
#include "model/salvage_output.hpp"
#include "varve/kladde_store.hpp"

namespace varve::kladde {

namespace {

constexpr std::uint32_t k_piece_bytes = std::uint32_t{1} << 20;
constexpr std::uint64_t k_flush_bytes = std::uint64_t{16} << 20;
// The journal of the new store stays one: nothing is folded before it was asked for.
constexpr std::uint32_t k_no_budget_pages = std::uint32_t{1} << 30;
constexpr std::size_t k_most_holes = 10'000;

struct Source {
  const io::File* file = nullptr;  // the view's, so that it is the one that verify looked at
  LoadRequest load;
  World world;
  bool table_whole = false;
  // Pages of tables that were complained about while a world was looked for, and the words.
  std::map<std::uint64_t, std::string> bad_tables;
};

void note_pages(const FindingList& findings, Source& source) {
  for (const Finding& finding : findings.findings()) {
    const std::uint64_t page = finding.offset / k_page_bytes;
    if (finding.severity == Severity::error && page >= k_first_free_page) {
      source.bad_tables.try_emplace(page, finding.code);
    }
  }
}

// Takes the world that the view's verify looked at, if its table held. Else loads the first whose
// address table does, or the first that can be looked at.
Result<Source> open_source(const std::string& path, const SalvageRequest& request, View& view) {
  Source source;
  VARVE_ASSIGN(source.load.dialect, dialect_option(request.options));
  VARVE_ASSIGN(const Generation first, generation_option(request.options));
  source.file = &view.file();
  source.load.max_memory_bytes = request.max_memory_bytes;
  source.load.threads = request.threads;
  VARVE_ASSIGN(const auto governing, governing_epoch(*source.file));
  auto verified = view.take_world();
  if (verified && first == Generation::newer && governing == verified->header.epoch) {
    source.load.generation = first;
    source.world = *std::move(verified);
    source.table_whole = true;
    return source;
  }
  const bool chosen = request.options.contains("world");
  std::optional<Generation> usable;
  for (const Generation generation : {first, Generation::older}) {
    source.load.generation = generation;
    source.load.check_data = false;
    FindingList findings;
    VARVE_ASSIGN(const auto world, load_world(*source.file, source.load, Policy::report(findings)));
    note_pages(findings, source);
    source.table_whole = world && findings.errors() == 0;
    if (world && (!usable || source.table_whole)) {
      usable = generation;
    }
    if (source.table_whole || chosen) {
      break;
    }
  }
  if (!usable) {
    return fail(ErrorCode::damaged, "no-valid-header",
                "neither header holds, and nothing else says which pages are whose", path);
  }
  source.load.generation = *usable;
  source.load.check_data = true;
  FindingList findings;
  VARVE_ASSIGN(auto world, load_world(*source.file, source.load, Policy::report(findings)));
  if (!world) {
    return fail(ErrorCode::locked, "changing", "the headers changed while they were read", path);
  }
  source.world = *std::move(world);
  return source;
}

class Salvage {
 public:
  Salvage(io::FileSystem& files, const Source& source, const SalvageRequest& request,
          model::SalvageOutput* output, SalvageReport& report)
      : files_(files),
        source_(source),
        world_(source.world),
        request_(request),
        output_(output),
        report_(report) {}

  Result<void> run() {
    if (output_ != nullptr) {
      StoreOptions options;
      options.dialect = source_.load.dialect;
      options.journal_budget_pages = k_no_budget_pages;
      options.max_memory_bytes = request_.max_memory_bytes;
      VARVE_TRY(Store::create(files_, output_->store_path()));
      VARVE_ASSIGN(store_, Store::open(files_, output_->store_path(), options));
      VARVE_TRY(copy_flushed_state());
    }
    VARVE_TRY(copy_journal());
    if (store_) {
      VARVE_TRY(store_->sync());
      store_.reset();  // without folding the journal
    }
    VARVE_TRY(find_holes());
    return take_pages();
  }

 private:
  bool holds(const ByteRun& run) const {
    const std::uint64_t page = run.address / k_page_bytes;
    return page < world_.page_count && !world_.bad_pages.contains(page);
  }

  Result<void> copy_flushed_state() {
    const Header& header = world_.header;
    store_->set_roots({header.root_allocation, header.schema_table, header.consolidator_state,
                       header.root_fingerprint});
    const State state(world_.allocations);
    for (const auto& [id, allocation] : world_.allocations) {
      if (allocation.exists) {
        transaction_.resize(id, allocation.size);
        waiting_bytes_ += 16;
        VARVE_TRY(copy_bytes(state, id, allocation.size));
      }
    }
    VARVE_TRY(flush());
    return store_->flush();
  }

  Result<void> copy_bytes(const State& state, Id id, std::uint32_t size) {
    std::vector<ByteRun> runs;
    state.for_committed_runs(id, 0, size, [&](const ByteRun& run) {
      if (!run.zero && holds(run)) {
        runs.push_back(run);
      }
    });
    base::Bytes bytes;
    for (const ByteRun& run : runs) {
      for (std::uint32_t done = 0; done < run.size;) {
        bytes.resize(std::min(run.size - done, k_piece_bytes));
        VARVE_TRY(read(bytes, run.address + done));
        transaction_.write(id, run.start + done, bytes);
        done += static_cast<std::uint32_t>(bytes.size());
        waiting_bytes_ += bytes.size();
        if (waiting_bytes_ >= k_flush_bytes) {
          VARVE_TRY(flush());
        }
      }
    }
    return {};
  }

  Result<void> flush() {
    if (waiting_bytes_ != 0) {
      VARVE_TRY(store_->commit(transaction_));
      VARVE_TRY(store_->flush());
      transaction_.clear();
      waiting_bytes_ = 0;
    }
    return {};
  }

  // The transactions up to the first that is malformed: what follows it rests on it.
  Result<void> copy_journal() {
    FindingList findings;
    VARVE_ASSIGN(
        journal_,
        read_journal(*source_.file, world_, source_.load, Policy::report(findings),
                     [&](const JournalTransaction& transaction, std::span<const Record> records) {
                       return take(transaction, records);
                     }));
    if (journal_.went_on) {
      ++report_.unknown_records;
    }
    return {};
  }

  Result<bool> take(const JournalTransaction& transaction, std::span<const Record> records) {
    if (transaction.index != taken_) {
      behind_ = true;
      return false;
    }
    ++taken_;
    taken_records_ += records.size();
    end_ = transaction.end;
    if (!store_ || records.empty()) {
      return true;
    }
    const RecordDecoder decoder(transaction.records);
    Transaction copy;
    for (const Record& record : records) {
      add(decoder, record, copy);
    }
    VARVE_TRY(store_->commit(copy));
    return true;
  }

  static void add(const RecordDecoder& decoder, const Record& record, Transaction& out) {
    switch (record.kind) {
      case RecordKind::free:
        return out.free(record.id);
      case RecordKind::resize:
        return out.resize(record.id, record.length);
      case RecordKind::write:
        return out.write(record.id, record.offset, decoder.payload(record));
      case RecordKind::splice:
        return out.splice(record.id, record.offset, record.old_length, decoder.payload(record));
      case RecordKind::copy:
        return out.copy(record.source, record.source_offset, record.length, record.id,
                        record.offset);
      case RecordKind::move:
        return out.move(record.source, record.source_offset, record.length, record.id,
                        record.offset);
    }
  }

  // Bytes of the final state that stand in pages which do not hold.
  Result<void> find_holes() {
    State state(world_.allocations, pieces_within(request_.max_memory_bytes));
    FindingList findings;
    std::uint64_t replayed = 0;
    VARVE_TRY(read_journal(*source_.file, world_, source_.load, Policy::report(findings),
                           [&](const JournalTransaction& transaction,
                               std::span<const Record> records) -> Result<bool> {
                             if (replayed++ == taken_) {
                               return false;
                             }
                             for (const Record& record : records) {
                               if (!state.apply(record, transaction.extents)) {
                                 return fail(ErrorCode::limit, "limit",
                                             "replaying the journal needs more memory",
                                             report_.path);
                               }
                             }
                             return true;
                           }));
    Json holes = Json::array();
    std::uint64_t count = 0;
    std::uint64_t hurt = 0;
    std::uint64_t allocations = 0;
    state.for_each([&](Id id, const Allocation* untouched) {
      const std::uint64_t before = count;
      const auto look_at = [&](const ByteRun& run) {
        if (run.zero || holds(run)) {
          return;
        }
        hole_bytes_ += run.size;
        if (++count <= k_most_holes) {
          holes.push(Json::object()
                         .set("id", std::uint64_t{id})
                         .set("offset", std::uint64_t{run.start})
                         .set("length", std::uint64_t{run.size}));
        }
      };
      if (untouched != nullptr) {
        for_fragment_runs(&untouched->fragments, 0, untouched->size, look_at);
      } else {
        state.for_runs(id, 0, state.size(id), look_at);
      }
      ++allocations;
      hurt += count != before ? 1 : 0;
    });
    report_.detail.set("world", source_.load.generation == Generation::older ? "older" : "newer")
        .set("table_whole", source_.table_whole)
        .set("epoch", world_.header.epoch)
        .set("allocations", allocations)
        .set("hurt_allocations", hurt)
        .set("hole_bytes", hole_bytes_)
        .set("holes", std::move(holes))
        .set("transactions", taken_);
    return {};
  }

  // What becomes of every page.
  Result<void> take_pages() {
    PageFates fates;
    const auto put = [&](std::uint64_t page, const PageFate& fate) {
      fates.assign(page, page + 1, fate);
    };
    for (const auto& [page, word] : source_.bad_tables) {
      if (page < world_.page_count) put(page, {"page", word, Fate::lost});
    }
    for (unsigned slot = 0; slot < k_slot_count && slot < world_.page_count; ++slot) {
      const auto& bytes = world_.slots.bytes[slot];
      const bool zero = std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
      put(slot,
          {"header",
           world_.slots.slot[slot].valid() || zero ? "" : to_text(world_.slots.slot[slot].status),
           Fate::rebuilt});
    }
    for (const auto& [first, end] : world_.tree.page_set.runs()) {
      fates.assign(std::max<std::uint64_t>(first, k_slot_count), end,
                   {"table pages", "", Fate::rebuilt});
    }
    for (const auto& [first, end] : world_.data_pages.runs()) {
      fates.assign(first, end, {"data pages", "", Fate::kept});
    }
    for (const auto& [first, end] : world_.bad_pages.runs()) {
      fates.assign(first, end, {"data page", word::page_check, Fate::lost});
    }
    put_journal(put);
    return emit(fates);
  }

  template <class Put>
  void put_journal(Put put) const {
    for (const PageNumber page : journal_.reached) {
      if (page >= world_.page_count || world_.uses(page)) {
        continue;
      }
      if (journal_.went_on) {
        put(page, {"journal page", word::torn_tail, Fate::lost});
      } else if (!journal_.tail_is_zero) {
        // Stale, or a journal that was hurt in its first page: the format cannot tell.
        put(page, {"journal page", word::unproven_tail, Fate::rebuilt});
      }
    }
    bool past = false;
    for (const PageNumber page : journal_.pages) {
      if (page >= world_.page_count || world_.uses(page)) {
        continue;
      }
      put(page, past ? PageFate{"journal page", word::transaction, Fate::lost}
                     : PageFate{"journal pages", "", Fate::kept});
      past = past || (behind_ && page == end_.page);
    }
  }

  // Pages of one fate that follow each other are one range; what is between is free.
  Result<void> emit(const PageFates& fates) {
    std::uint64_t at = 0;
    bool records_told = taken_records_ == 0;
    const auto put = [&](std::uint64_t end, const PageFate& fate) -> Result<void> {
      if (end == at) {
        return {};
      }
      SalvageRange range;
      range.unit = fate.unit;
      range.fate = fate.fate;
      range.reason = fate.reason;
      range.offset = at * k_page_bytes;
      range.length = (end - at) * k_page_bytes;
      if (!records_told && fate.unit == "journal pages") {
        range.records = taken_records_;
        records_told = true;
      }
      at = end;
      return save(std::move(range));
    };
    const PageFate free{"free pages", "", Fate::rebuilt};
    for (const auto& [first, run] : fates.runs()) {
      VARVE_TRY(put(first, free));
      VARVE_TRY(put(run.end, run.fate));
    }
    VARVE_TRY(put(world_.page_count, free));
    const std::uint64_t whole = world_.page_count * k_page_bytes;
    if (world_.file_bytes > whole) {
      SalvageRange rest;
      rest.unit = "partial page";
      rest.fate = Fate::rebuilt;
      rest.reason = word::partial_page;
      rest.offset = whole;
      rest.length = world_.file_bytes - whole;
      VARVE_TRY(save(std::move(rest)));
    }
    return {};
  }

  Result<void> save(SalvageRange range) {
    if (!range.reason.empty()) {
      VARVE_TRY(model::save_range(output_, model::reader_of(*source_.file),
                                  "page-" + std::to_string(range.offset / k_page_bytes), range));
    }
    report_.add(std::move(range));
    return {};
  }

  Result<void> read(std::span<std::byte> out, std::uint64_t offset) const {
    return model::reader_of(*source_.file)(out, offset);
  }

  io::FileSystem& files_;
  const Source& source_;
  const World& world_;
  const SalvageRequest& request_;
  model::SalvageOutput* output_;
  SalvageReport& report_;
  std::unique_ptr<Store> store_;
  Transaction transaction_;
  std::uint64_t waiting_bytes_ = 0;
  Journal journal_;
  std::uint64_t taken_ = 0;  // transactions
  std::uint64_t taken_records_ = 0;
  Place end_;            // of the last one taken
  bool behind_ = false;  // a malformed transaction ended the taking
  std::uint64_t hole_bytes_ = 0;
};

}  // namespace

Result<SalvageReport> salvage_store(io::FileSystem& files, const std::string& path,
                                    const SalvageRequest& request, FindingSink& findings) {
  OpenOptions open;
  open.threads = request.threads;
  open.max_memory_bytes = request.max_memory_bytes;
  open.options = request.options;
  VARVE_ASSIGN(const auto view, View::open(files, path, open));
  view->keep_world();
  VerifyRequest verify;
  verify.threads = request.threads;
  VARVE_ASSIGN(const VerifyReport verified, view->verify(verify, findings));
  if (verified.verdict == Verdict::unknown) {
    return fail(ErrorCode::unsupported, "unsupported",
                "this build does not understand the file, so that nothing of it can be proven",
                path);
  }
  VARVE_ASSIGN(const Source source, open_source(path, request, *view));
  return model::salvage_with(
      files, request, model::LostAndFound::beside, findings,
      [&](model::SalvageOutput* output, FindingSink&) -> Result<SalvageReport> {
        SalvageReport report;
        report.path = path;
        report.format = "kladde";
        report.verdict = verified.verdict;
        VARVE_TRY(Salvage(files, source, request, output, report).run());
        return report;
      });
}

}  // namespace varve::kladde
