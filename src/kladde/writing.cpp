// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/writing.hpp"

#include <algorithm>
#include <cerrno>

#include "kladde/record_line.hpp"
#include "kladde/store_core.hpp"
#include "kladde/view.hpp"
#include "model/copy_catalogue.hpp"

namespace varve::kladde {

namespace {

constexpr std::uint64_t k_held_bytes = std::uint64_t{1} << 30;  // of a live store, for a backup
constexpr unsigned k_attempts = 20;

class RecordAppender final : public Appender {
 public:
  explicit RecordAppender(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Result<void> append_line(std::string_view json) override {
    VARVE_ASSIGN(const RecordLineParser::Line line, parser_.parse(json));
    if (line.header) {
      VARVE_TRY(end_transaction());
      store_->set_roots(*line.header);
      ++written_;
      return {};
    }
    if (!line.number || line.number != number_) {
      VARVE_TRY(end_transaction());
      number_ = line.number;
    }
    VARVE_TRY(parser_.add(transaction_));
    ++held_;
    return line.number ? Result<void>() : end_transaction();
  }
  Result<std::uint64_t> sync() override {
    VARVE_TRY(store_->sync());
    return written_;
  }
  // What was committed is in the file already.
  Result<std::uint64_t> flush() override { return written_; }
  std::uint64_t held() const override { return held_; }
  Result<void> end_of_input() override { return end_transaction(); }
  Result<void> close() override { return store_->close(); }

 private:
  Result<void> end_transaction() {
    VARVE_TRY(store_->commit(transaction_));
    transaction_.clear();
    written_ += std::exchange(held_, 0);
    number_.reset();
    return {};
  }

  std::unique_ptr<Store> store_;
  RecordLineParser parser_;
  Transaction transaction_;
  std::optional<std::int64_t> number_;  // of the transaction at hand
  std::uint64_t held_ = 0;
  std::uint64_t written_ = 0;
};

Result<StoreOptions> store_options(const WriteRequest& request) {
  StoreOptions options;
  VARVE_ASSIGN(options.dialect, dialect_option(request.options));
  return options;
}

WriteReport::Action action(std::string what, std::uint64_t offset, std::uint64_t length) {
  return {{}, std::move(what), offset, length};
}

// The whole file in memory as it was at one moment between two flushes: while the header stays, its
// world is not written to and its journal only grows.
Result<std::string> snapshot(const io::File& file) {
  for (unsigned attempt = 0; attempt < k_attempts; ++attempt) {
    VARVE_ASSIGN(const auto before, governing_epoch(file));
    VARVE_ASSIGN(const io::FileIdentity identity, file.identity());
    std::string bytes(identity.size_bytes, '\0');
    VARVE_ASSIGN(const std::size_t got,
                 file.read_at({reinterpret_cast<std::byte*>(bytes.data()), bytes.size()}, 0));
    VARVE_ASSIGN(const auto after, governing_epoch(file));
    if (before == after && got == bytes.size()) {
      return bytes;
    }
  }
  return changed_while_read(file, 0);
}

}  // namespace

Result<WriteReport> init_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request) {
  VARVE_TRY(dialect_option(request.options));
  WriteReport report;
  report.dry_run = request.dry_run;
  if (!request.dry_run) {
    VARVE_TRY(Store::create(files, path));
  } else if (files.identity_of(path)) {
    return fail_errno(EEXIST, "open", path);
  }
  report.actions.push_back(action("create", 0, 2 * k_page_bytes));
  return report;
}

Result<std::unique_ptr<Appender>> append_to_store(io::FileSystem& files, const std::string& path,
                                                  const WriteRequest& request) {
  VARVE_ASSIGN(const StoreOptions options, store_options(request));
  VARVE_ASSIGN(auto store, Store::open(files, path, options));
  return std::make_unique<RecordAppender>(std::move(store));
}

Result<WriteReport> recover_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request) {
  VARVE_ASSIGN(const StoreOptions options, store_options(request));
  WriteReport report;
  report.dry_run = request.dry_run;
  VARVE_ASSIGN(const auto file, files.open_file(path, io::OpenMode::read));
  LoadRequest load;
  load.dialect = options.dialect;
  const Policy policy = Policy::strict(path);
  VARVE_ASSIGN(const auto world, load_world(*file, load, policy));
  VARVE_TRY(check_writable(*world, load.dialect, path));
  State state(world->allocations, pieces_within(load.max_memory_bytes));
  VARVE_ASSIGN(const Journal journal, replay_journal(*file, *world, load, policy, state));
  report.detail.set("epoch", world->header.epoch)
      .set("transactions", journal.transactions)
      .set("records", journal.records);
  if (journal.transactions == 0) {
    return report;
  }
  const std::uint64_t epoch = world->header.epoch + 1;
  report.actions.push_back(action("fold the journal into epoch " + std::to_string(epoch),
                                  journal.pages.front() * std::uint64_t{k_page_bytes},
                                  journal.stream_bytes));
  report.actions.push_back(action("write header", epoch % 2 * k_page_bytes, k_page_bytes));
  if (!request.dry_run) {
    VARVE_ASSIGN(const auto store, Store::open(files, path, options));
    VARVE_TRY(store->close());
  }
  return report;
}

Result<WriteReport> compact_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request) {
  VARVE_ASSIGN(const StoreOptions options, store_options(request));
  WriteReport report;
  report.dry_run = request.dry_run;
  VARVE_ASSIGN(auto file, files.open_file(path, io::OpenMode::read));
  VARVE_ASSIGN(const io::FileIdentity before, file->identity());
  if (request.dry_run) {
    LoadRequest load;
    load.dialect = options.dialect;
    VARVE_ASSIGN(auto world, load_world(*file, load, Policy::strict(path)));
    VARVE_TRY(check_writable(*world, load.dialect, path));
    StoreCore core(std::move(file), path, options);
    core.committed = std::move(world->allocations);
    world->allocations.clear();
    core.load(*world);
    const Ledger& ledger = core.ledger;
    report.detail.set("pages", world->page_count)
        .set("live_bytes", ledger.live_bytes())
        .set("data_pages", ledger.data_pages())
        .set("table_pages", core.shape.leaves.size() + core.shape.interior.size());
    report.actions.push_back(action(
        "rewrite sparse pages, move the last ones down, truncate", k_slot_count * k_page_bytes,
        before.size_bytes -
            std::min<std::uint64_t>(before.size_bytes, k_slot_count * k_page_bytes)));
    return report;
  }
  file.reset();
  VARVE_ASSIGN(const auto store, Store::open(files, path, options));
  VARVE_TRY(store->compact());
  const StoreStatus status = store->status();
  VARVE_TRY(store->close());
  VARVE_ASSIGN(const io::FileIdentity after, files.identity_of(path));
  report.detail.set("bytes_before", before.size_bytes)
      .set("bytes_after", after.size_bytes)
      .set("live_bytes", status.live_bytes)
      .set("bytes_written", status.bytes_written)
      .set("damaged_pages", status.damaged_pages);
  report.actions.push_back(
      action("rewrite sparse pages, move the last ones down", 0, status.bytes_moved));
  if (after.size_bytes < before.size_bytes) {
    report.actions.push_back(
        action("truncate", after.size_bytes, before.size_bytes - after.size_bytes));
  }
  return report;
}

Result<WriteReport> backup_store(io::FileSystem& files, const std::string& path,
                                 const std::string& target, const WriteRequest& request) {
  const io::SplitPath split = io::split_path(path);
  VARVE_ASSIGN(const auto file, files.open_file(path, io::OpenMode::read));
  VARVE_ASSIGN(const io::FileIdentity identity, file->identity());
  model::CopyRequest copy;
  copy.format = "kladde";
  copy.source_path = path;
  copy.source_directory = split.parent;
  copy.store_name = split.name;
  copy.single_file = true;
  copy.target = target;
  model::CopyMember member;
  member.path = split.name;
  member.length = identity.size_bytes;
  member.identity = identity;
  if (identity.size_bytes <= k_held_bytes) {
    VARVE_ASSIGN(member.content, snapshot(*file));
    member.length = member.content->size();
  } else {
    // Too large to be held: a writer is kept away meanwhile.
    VARVE_TRY(file->lock(io::LockKind::shared));
  }
  VARVE_ASSIGN(const auto epoch, governing_epoch(*file));
  copy.detail.set("epoch", epoch ? Json(*epoch) : Json());
  copy.members.push_back(std::move(member));
  return model::copy_with_catalogue(files, copy, request);
}

}  // namespace varve::kladde
