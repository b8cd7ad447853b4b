// SPDX-License-Identifier: MIT OR Apache-2.0
// The store to embed: one engine behind a group-commit queue.
#include <algorithm>
#include <mutex>
#include <utility>

#include "io/group_commit.hpp"
#include "tay/activation.hpp"
#include "tay/initialize.hpp"
#include "tay/job_engine.hpp"
#include "tay/refusal.hpp"
#include "varve/tay.hpp"

namespace varve::tay {

namespace {

// A batch with more waiting bytes is written in parts.
constexpr std::size_t k_part_bytes = std::size_t{16} << 20;

// What one caller wants, and the answer.
struct Operation {
  enum class Kind : std::uint8_t {
    insert,
    next_ready,
    start_next,
    start,
    finish,
    cancel,
    retry,
    make_due_available,
  };
  Kind kind = Kind::insert;
  JobId id{};
  ByteSpan definition;
  std::string_view queue_key;
  std::uint64_t execution = 0;
  Outcome outcome = Outcome::success;
  Failure failure = Failure::returned_error;

  Result<void> refusal;
  std::optional<JobInfo> job;
  bool existed = false;
  std::uint64_t count = 0;
};

Result<void> check_options(const JobStoreOptions& options) {
  if (options.rotation_bytes < k_min_rotation_bytes ||
      options.rotation_bytes > k_max_sealed_bytes) {
    return fail(ErrorCode::invalid_argument, "rotation_bytes",
                "a segment's size is 16777352 to 1073741824 bytes");
  }
  return {};
}

LogWriterOptions writer_options(const JobStoreOptions& options) {
  LogWriterOptions out;
  out.durability = options.durability;
  out.rotation_bytes = options.rotation_bytes;
  out.budgets = options.budgets;
  out.threads = options.threads;
  out.environment = options.environment;
  return out;
}

RecoveryOptions recovery_options(const JobStoreOptions& options) {
  RecoveryOptions out;
  out.budgets = options.budgets;
  out.threads = options.threads;
  out.keep_definitions = true;
  out.environment = options.environment;
  return out;
}

}  // namespace

struct JobStore::Impl {
  explicit Impl(JobEngine made)
      : engine(std::move(made)),
        queue([this](std::span<Operation* const> batch) { return commit(batch); }) {}

  Result<void> commit(std::span<Operation* const> batch);
  Result<void> perform(Operation& operation);
  Result<void> perform_on(Operation& operation, JobEngine::Index index);
  Result<JobInfo> submit_for_job(Operation operation);
  Result<std::optional<JobInfo>> submit_for_queue(Operation::Kind kind, std::string_view queue_key);
  Result<void> check_poison() const {
    const auto& poison = engine.writer().poison();
    return poison ? fail(ErrorCode::poisoned, "poisoned",
                         "an earlier write failed (" + poison->text() + "); reopen and look")
                  : Result<void>();
  }

  mutable std::mutex mutex;  // of the engine; held while a batch is written
  JobEngine engine;
  std::uint64_t settled = 0;
  io::GroupCommit<Operation> queue;
};

Result<void> JobStore::Impl::commit(std::span<Operation* const> batch) {
  const std::lock_guard lock(mutex);
  LogWriter& writer = engine.writer();
  for (Operation* operation : batch) {
    operation->refusal = perform(*operation);
    if (writer.waiting_bytes() > k_part_bytes) {
      VARVE_TRY(writer.commit());
    }
  }
  return writer.waiting_bytes() == 0 ? Result<void>() : writer.commit();
}

Result<void> JobStore::Impl::perform(Operation& operation) {
  VARVE_TRY(check_poison());
  switch (operation.kind) {
    case Operation::Kind::insert: {
      VARVE_ASSIGN(const auto inserted, engine.insert(operation.id, operation.definition));
      operation.existed = inserted.existed;
      operation.job = job_info(engine.jobs(), engine.job(inserted.job));
      return {};
    }
    case Operation::Kind::make_due_available: {
      VARVE_ASSIGN(operation.count, engine.make_due_available());
      return {};
    }
    case Operation::Kind::next_ready:
    case Operation::Kind::start_next: {
      VARVE_ASSIGN(const auto first, engine.next_ready(operation.queue_key));
      return first ? perform_on(operation, *first) : Result<void>();
    }
    default:
      break;
  }
  VARVE_ASSIGN(const auto index, engine.find(operation.id));
  if (!index) {
    return fail(ErrorCode::invalid_argument, "unknown_job", "there is no job of that id");
  }
  return perform_on(operation, *index);
}

Result<void> JobStore::Impl::perform_on(Operation& operation, JobEngine::Index index) {
  switch (operation.kind) {
    case Operation::Kind::start:
    case Operation::Kind::start_next:
      VARVE_TRY(engine.start(index));
      break;
    case Operation::Kind::finish:
      VARVE_TRY(engine.finish(index, operation.execution, operation.outcome, operation.failure));
      break;
    case Operation::Kind::cancel:
      VARVE_TRY(engine.cancel(index));
      break;
    case Operation::Kind::retry:
      VARVE_TRY(engine.retry(index));
      break;
    default:
      break;
  }
  operation.job = job_info(engine.jobs(), engine.job(index));
  return {};
}

Result<JobInfo> JobStore::Impl::submit_for_job(Operation operation) {
  VARVE_TRY(queue.submit(operation));
  VARVE_TRY(operation.refusal);
  return *std::move(operation.job);
}

Result<std::optional<JobInfo>> JobStore::Impl::submit_for_queue(Operation::Kind kind,
                                                                std::string_view queue_key) {
  Operation operation;
  operation.kind = kind;
  operation.queue_key = queue_key;
  VARVE_TRY(queue.submit(operation));
  VARVE_TRY(operation.refusal);
  return std::move(operation.job);
}

JobStore::JobStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JobStore::~JobStore() = default;

namespace {

// From a recovered candidate to an engine that may be used.
Result<JobEngine> start_engine(std::expected<Candidate, Refusal> candidate,
                               const JobStoreOptions& options) {
  if (!candidate) {
    return std::unexpected(to_error(candidate.error()));
  }
  auto writer = activate(*candidate, writer_options(options));
  if (!writer) {
    return std::unexpected(to_error(writer.error()));
  }
  return JobEngine(std::move(candidate->jobs), *std::move(writer), options.insertion);
}

}  // namespace

Result<std::unique_ptr<JobStore>> JobStore::open(io::FileSystem& files, const std::string& path,
                                                 const JobStoreOptions& options) {
  VARVE_TRY(check_options(options));
  VARVE_ASSIGN(JobEngine engine,
               start_engine(recover(files, path, recovery_options(options)), options));
  auto impl = std::make_unique<Impl>(std::move(engine));
  if (impl->engine.writer().writable()) {
    VARVE_ASSIGN(impl->settled, impl->engine.settle());
  }
  return std::unique_ptr<JobStore>(new JobStore(std::move(impl)));
}

Result<std::unique_ptr<JobStore>> JobStore::create(io::FileSystem& files, const std::string& path,
                                                   const JobStoreOptions& options,
                                                   bool finish_existing) {
  VARVE_TRY(check_options(options));
  InitializeOptions initial;
  initial.existing = finish_existing;
  initial.environment = options.environment;
  VARVE_ASSIGN(Ownership owner, initialize(files, path, initial));
  VARVE_ASSIGN(JobEngine engine,
               start_engine(recover(std::move(owner), recovery_options(options)), options));
  return std::unique_ptr<JobStore>(new JobStore(std::make_unique<Impl>(std::move(engine))));
}

JobId JobStore::new_id() {
  JobId id{};
  while (is_zero(id)) {
    impl_->engine.writer().options().environment->random(id);
  }
  return id;
}

Result<JobStore::Insertion> JobStore::insert(const JobId& id, const JobDefinition& definition) {
  VARVE_ASSIGN(const Bytes bytes, encode_job_definition(definition));
  Operation operation;
  operation.id = id;
  operation.definition = bytes;
  VARVE_TRY(impl_->queue.submit(operation));
  VARVE_TRY(operation.refusal);
  return Insertion{*std::move(operation.job), operation.existed};
}

Result<std::optional<JobInfo>> JobStore::next_ready(std::string_view queue_key) {
  return impl_->submit_for_queue(Operation::Kind::next_ready, queue_key);
}

Result<std::optional<JobInfo>> JobStore::start_next(std::string_view queue_key) {
  return impl_->submit_for_queue(Operation::Kind::start_next, queue_key);
}

Result<JobInfo> JobStore::start(const JobId& id) {
  Operation operation;
  operation.kind = Operation::Kind::start;
  operation.id = id;
  return impl_->submit_for_job(std::move(operation));
}

Result<JobInfo> JobStore::finish(const JobId& id, std::uint64_t execution, Outcome outcome,
                                 Failure failure) {
  Operation operation;
  operation.kind = Operation::Kind::finish;
  operation.id = id;
  operation.execution = execution;
  operation.outcome = outcome;
  operation.failure = failure;
  return impl_->submit_for_job(std::move(operation));
}

Result<JobInfo> JobStore::cancel(const JobId& id) {
  Operation operation;
  operation.kind = Operation::Kind::cancel;
  operation.id = id;
  return impl_->submit_for_job(std::move(operation));
}

Result<JobInfo> JobStore::retry(const JobId& id) {
  Operation operation;
  operation.kind = Operation::Kind::retry;
  operation.id = id;
  return impl_->submit_for_job(std::move(operation));
}

Result<std::uint64_t> JobStore::make_due_available() {
  Operation operation;
  operation.kind = Operation::Kind::make_due_available;
  VARVE_TRY(impl_->queue.submit(operation));
  VARVE_TRY(operation.refusal);
  return operation.count;
}

Result<std::uint64_t> JobStore::seal() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->engine.writer().rotate();
}

Result<std::optional<JobInfo>> JobStore::find(const JobId& id) const {
  const std::lock_guard lock(impl_->mutex);
  VARVE_ASSIGN(const auto index, impl_->engine.find(id));
  return index ? std::optional(job_info(impl_->engine.jobs(), impl_->engine.job(*index)))
               : std::nullopt;
}

Result<std::vector<JobInfo>> JobStore::jobs() const {
  const std::lock_guard lock(impl_->mutex);
  VARVE_TRY(impl_->check_poison());
  const JobTable& table = impl_->engine.jobs();
  std::vector<JobInfo> out;
  out.reserve(table.size());
  for (const std::uint32_t index : table.sorted()) {
    out.push_back(job_info(table, table.jobs()[index]));
  }
  return out;
}

Result<std::array<std::uint64_t, k_job_states>> JobStore::states() const {
  const std::lock_guard lock(impl_->mutex);
  VARVE_TRY(impl_->check_poison());
  return impl_->engine.jobs().states();
}

Result<std::optional<std::uint64_t>> JobStore::next_due_ms() const {
  const std::lock_guard lock(impl_->mutex);
  VARVE_TRY(impl_->check_poison());
  const auto first = impl_->engine.ready().first_waiting();
  return first ? std::optional(impl_->engine.job(*first).eligible_at) : std::nullopt;
}

std::uint64_t JobStore::settled() const { return impl_->settled; }

std::uint64_t JobStore::next_sequence() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->engine.writer().writable() ? impl_->engine.writer().next_sequence() : 0;
}

bool JobStore::poisoned() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->engine.writer().poison().has_value();
}

}  // namespace varve::tay
