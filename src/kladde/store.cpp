// SPDX-License-Identifier: MIT OR Apache-2.0
// The store's calls: creating, opening, transactions, reading, closing. Flushing is in flush.cpp.
#include <algorithm>
#include <cerrno>

#include "base/mutant.hpp"
#include "kladde/reader.hpp"
#include "kladde/store_core.hpp"
#include "kladde/transaction_body.hpp"

namespace varve::kladde {

namespace {

constexpr std::uint64_t k_most_gap_pages =
    16;  // that an append may make before the journal's first
// So many reusable pages at the end a flush cuts off: a sixteenth of the file, within these.
constexpr std::uint64_t k_least_trim_pages = 8;
constexpr std::uint64_t k_most_trim_pages = 64;
constexpr std::size_t k_most_pieces = std::size_t{1} << 22;

}  // namespace

Result<void> Store::create(io::FileSystem& files, const std::string& path) {
  const io::SplitPath split = io::split_path(path);
  VARVE_ASSIGN(const auto directory, files.open_directory(split.parent));
  VARVE_ASSIGN(const auto file, directory->open_file(split.name, io::OpenMode::create_exclusive));
  base::Bytes pages(2 * k_page_bytes);
  const std::byte empty_table[] = {std::byte{0}};
  encode_slot(std::span<std::byte, k_page_bytes>(pages.data(), k_page_bytes), Header{},
              empty_table);
  VARVE_TRY(file->write_at(pages, 0));
  if (!base::mutant("kladde-create-sync")) {
    VARVE_TRY(file->sync());
  }
  return directory->sync();
}

Result<std::unique_ptr<Store>> Store::open(io::FileSystem& files, const std::string& path,
                                           const StoreOptions& options) {
  StoreOptions checked = options;
  checked.journal_budget_pages = std::max<std::uint32_t>(options.journal_budget_pages, 1);
  checked.inline_bytes = std::min(options.inline_bytes, k_b_max_inline_bytes);
  VARVE_ASSIGN(auto file, files.open_file(path, io::OpenMode::read_write));
  VARVE_TRY(file->lock(io::LockKind::exclusive));
  auto core = std::make_unique<StoreCore>(std::move(file), path, checked);
  LoadRequest request;
  request.dialect = checked.dialect;
  request.max_memory_bytes = checked.max_memory_bytes;
  const Policy policy = Policy::strict(path);
  VARVE_ASSIGN(auto world, load_world(*core->file, request, policy));
  VARVE_TRY(check_writable(*world, checked.dialect, path));
  // The governing header may not be durable yet: no page may be reused before it is.
  if (!base::mutant("kladde-open-sync")) {
    VARVE_TRY(core->file->data_sync());
  }
  core->committed = std::move(world->allocations);
  world->allocations.clear();
  VARVE_TRY(core->recover(*world, request));
  return std::unique_ptr<Store>(new Store(std::move(core)));
}

void StoreCore::load(const World& world) {
  header = world.header;
  roots = {header.root_allocation, header.schema_table, header.consolidator_state,
           header.root_fingerprint};
  for (const TablePage& page : world.tree.pages) {
    TableUse use;
    use.epoch = page.epoch;
    use.interior = page.children > 0;
    use.statements = page.statement_count;
    use.content_bytes = page.content_bytes;
    ledger.add_table(page.page, use);
    if (page.page < k_slot_count) {
      continue;
    }
    if (page.children > 0) {
      shape.interior.push_back(page.page);
      if (page.statement_count > 0) {
        mixed_tables.insert(page.page);
      }
    } else {
      shape.leaves.insert(page.page);
    }
    if (page.parent == 0) {
      shape.header_names.push_back(page.page);
    }
  }
  ledger.load(committed);
  unused_ids.insert_run(1, k_max_u32 + 1);
  for (const auto& [id, allocation] : committed) {
    if (allocation.exists) {
      unused_ids.erase(id);
    }
  }
  std::ranges::sort(shape.header_names);
}

Result<void> StoreCore::recover(const World& world, const LoadRequest& request) {
  load(world);
  // An id that a recovered journal names is not handed out as fresh in this run.
  const auto see = [&](const Record& record) {
    unused_ids.erase(record.id);
    unused_ids.erase(record.source);
  };
  state.set_max_pieces(pieces_within(request.max_memory_bytes));
  VARVE_ASSIGN(const Journal found,
               replay_journal(*file, world, request, Policy::strict(path), state, see));
  state.set_max_pieces(SIZE_MAX);  // a commit that would go far beyond it flushes first
  PageSet live = world.data_pages;
  for (const auto& [first, end] : world.tree.page_set.runs()) {
    live.insert_run(first, end);
  }
  for (const PageNumber page : found.pages) {
    live.insert(page);
  }
  space.start(world.page_count, live);
  const PageNumber pointer = header.journal_pointer;
  const bool too_far = pointer > world.page_count + k_most_gap_pages;
  must_flush = pointer < k_first_free_page || too_far;
  if (!must_flush) {
    space.reserve(pointer);
  }
  VARVE_ASSIGN(const io::FileIdentity identity, file->identity());
  if (identity.allocated_bytes < identity.size_bytes) {
    space.assume_holes();
  }
  recovered_journal = found.pages;
  if (found.transactions > 0) {
    recovering = true;
    VARVE_TRY(flush());
    recovering = false;
    return {};
  }
  journal.begin(header.epoch + 1, pointer);
  return {};
}

Store::Store(std::unique_ptr<StoreCore> core) : core_(std::move(core)) {}
Store::~Store() = default;

Result<void> StoreCore::check_alive() const {
  return poisoned ? fail(ErrorCode::poisoned, "poisoned",
                         "an earlier write or sync failed: the store must be opened anew", path)
                  : Result<void>();
}

Result<void> StoreCore::check(const TransactionBody& body) const {
  const auto refuse = [&](std::string message) {
    return fail(ErrorCode::invalid_argument, "bounds", std::move(message), path);
  };
  if (body.broken) {
    return refuse("a record names id 0, or a range that ends beyond 2^32-1 bytes");
  }
  // Sizes as they become, for what only the state can tell: a splice that grows too large.
  std::map<Id, std::uint64_t> sizes;
  const auto size_of = [&](Id id) -> std::uint64_t& {
    return sizes.try_emplace(id, state.size(id)).first->second;
  };
  for (const Record& record : body.records) {
    std::uint64_t& size = size_of(record.id);
    const std::uint64_t end = std::uint64_t{record.offset} + record.length;
    switch (record.kind) {
      case RecordKind::free:
        size = 0;
        break;
      case RecordKind::resize:
        size = record.length;
        break;
      case RecordKind::write:
      case RecordKind::copy:
      case RecordKind::move:
        size = std::max(size, end);
        break;
      case RecordKind::splice:
        size = std::max<std::uint64_t>(size, std::uint64_t{record.offset} + record.old_length) -
               record.old_length + record.length;
        if (size > k_max_u32) {
          return refuse("a splice would make an allocation larger than 2^32-1 bytes");
        }
        break;
    }
  }
  return {};
}

// Appends to the journal, then applies: the order in which a failure leaves nothing half done.
Result<void> StoreCore::append(const TransactionBody& body) {
  if (journal.pages().empty()) {
    VARVE_TRY(space.make(*file, journal.first_page()));
    VARVE_TRY(space.fill(*file, journal.first_page()));
  }
  VARVE_ASSIGN(const std::vector<PageNumber> fresh,
               space.take(*file, journal.pages_needed(body.bytes.size())));
  std::vector<Extent> extents;
  VARVE_TRY(poison_on_error(journal.append(*file, body.bytes, fresh, extents)));
  for (const Record& record : body.records) {
    unused_ids.erase(record.id);
    if (const auto applied = state.apply(record, extents); !applied) {
      poisoned = true;
      return fail(ErrorCode::damaged, applied.error().word, "a checked record did not apply", path);
    }
  }
  return {};
}

Result<void> Store::commit(const Transaction& transaction) {
  VARVE_TRY(core_->check_alive());
  VARVE_TRY(core_->check(*transaction.body_));
  if (transaction.records() == 0) {
    return {};
  }
  const bool over_budget = core_->journal.pages().size() >= core_->options.journal_budget_pages ||
                           core_->state.pool().nodes() > k_most_pieces;
  if (core_->must_flush || over_budget) {
    VARVE_TRY(core_->flush());
  }
  return core_->append(*transaction.body_);
}

Result<Id> Store::fresh_id() {
  VARVE_TRY(core_->check_alive());
  const auto id = core_->unused_ids.take_lowest();
  if (!id) {
    return fail(ErrorCode::limit, word::limit, "every allocation id is in use", core_->path);
  }
  return static_cast<Id>(*id);
}

bool Store::exists(Id id) const { return core_->state.exists(id); }
std::uint32_t Store::size(Id id) const { return core_->state.size(id); }
std::vector<Id> Store::ids() const { return core_->state.ids(); }

Result<void> StoreCore::read_bytes(std::uint64_t address, std::span<std::byte> out) const {
  if (const std::byte* held = journal.find(address, out.size())) {
    std::copy_n(held, out.size(), out.data());
    return {};
  }
  VARVE_ASSIGN(const std::size_t got, file->read_at(out, address));
  return got == out.size() ? Result<void>() : changed_while_read(*file, address);
}

Result<std::size_t> Store::read(Id id, std::uint32_t offset, std::span<std::byte> out) const {
  VARVE_TRY(core_->check_alive());
  const std::uint64_t size = core_->state.size(id);
  if (offset >= size) {
    return 0;
  }
  const std::uint64_t end = std::min<std::uint64_t>(size, offset + out.size());
  Result<void> outcome;
  core_->state.for_runs(id, offset, static_cast<std::uint32_t>(end), [&](const ByteRun& run) {
    const auto part = out.subspan(run.start - offset, run.size);
    if (run.zero) {
      std::ranges::fill(part, std::byte{0});
    } else if (outcome) {
      outcome = core_->read_bytes(run.address, part);
    }
  });
  VARVE_TRY(outcome);
  return static_cast<std::size_t>(end - offset);
}

const Roots& Store::roots() const { return core_->roots; }
void Store::set_roots(const Roots& roots) { core_->roots = roots; }

bool StoreCore::has_news() const {
  const Roots named{header.root_allocation, header.schema_table, header.consolidator_state,
                    header.root_fingerprint};
  return !state.touched().empty() || !(roots == named) || journal.transactions() > 0 || must_flush;
}

Result<void> Store::flush() {
  VARVE_TRY(core_->check_alive());
  if (!core_->has_news()) {
    return {};
  }
  VARVE_TRY(core_->flush());
  const std::uint64_t least =
      std::clamp(core_->space.page_count() / 16, k_least_trim_pages, k_most_trim_pages);
  VARVE_TRY(core_->poison_on_error(core_->space.trim(*core_->file, least, false)));
  if (core_->options.punch_holes) {
    VARVE_TRY(core_->space.punch(*core_->file));
  }
  return {};
}

Result<void> Store::compact() {
  VARVE_TRY(core_->check_alive());
  return core_->compact();
}

Result<void> StoreCore::sync() {
  if (!base::mutant("kladde-store-sync")) {
    VARVE_TRY(poison_on_error(file->data_sync()));
  }
  space.header_is_durable();
  return {};
}

Result<void> Store::sync() {
  VARVE_TRY(core_->check_alive());
  return core_->sync();
}

Result<void> Store::close() {
  VARVE_TRY(flush());
  VARVE_TRY(core_->sync());
  VARVE_TRY(core_->poison_on_error(
      core_->space.trim(*core_->file, 1, core_->journal.transactions() == 0)));
  core_->poisoned = true;  // nothing can be done with a closed store
  return core_->file->unlock();
}

StoreStatus Store::status() const {
  StoreStatus out;
  out.epoch = core_->header.epoch;
  out.pages = core_->space.page_count();
  out.reusable_pages = core_->space.ready().count();
  out.table_pages = core_->shape.leaves.size() + core_->shape.interior.size();
  out.data_pages = core_->ledger.data_pages();
  out.journal_pages = core_->journal.pages().size();
  out.journal_transactions = core_->journal.transactions();
  out.live_bytes = core_->ledger.live_bytes();
  out.bytes_moved = core_->bytes_moved;
  out.damaged_pages = core_->damaged_pages;
  out.bytes_written = core_->bytes_written + core_->journal.bytes_written();
  return out;
}

}  // namespace varve::kladde
