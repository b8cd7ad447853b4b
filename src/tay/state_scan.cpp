// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/state_scan.hpp"

#include <algorithm>
#include <utility>

#include "base/text_coding.hpp"
#include "tay/log_collector.hpp"
#include "tay/log_scan.hpp"
#include "tay/rows.hpp"

namespace varve::tay {

namespace {

constexpr std::size_t k_most_open_files = 64;
constexpr std::size_t k_batch_rows = 4096;
constexpr std::size_t k_batch_bytes = std::size_t{1} << 20;

// Which jobs a request asks for.
struct StateFilter {
  std::vector<JobState> states;
  std::vector<std::string> queues;
  std::vector<Id> jobs;

  bool takes(const Job& job, const JobTable& table) const {
    const auto in = [](const auto& wanted, const auto& value) {
      return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
    };
    return in(states, job.state) && in(queues, table.text(job.queue)) && in(jobs, job.id);
  }
};

Result<StateFilter> state_filter(const Predicate& predicate) {
  StateFilter out;
  for (const FilterTerm& term : predicate.terms) {
    if (term.name == "state") {
      const auto state = job_state_of(term.value);
      if (!state) {
        return fail(ErrorCode::invalid_argument, "state",
                    "--state '" + term.value + "': no job is ever in such a state");
      }
      out.states.push_back(*state);
    } else if (term.name == "queue") {
      out.queues.push_back(term.value);
    } else if (term.name == "job") {
      const auto id = parse_id(term.value);
      if (!id) {
        return fail(ErrorCode::invalid_argument, "job",
                    "--job '" + term.value + "': 32 hex digits are wanted");
      }
      out.jobs.push_back(*id);
    } else {
      return fail(ErrorCode::invalid_argument, term.name, "the state has no such filter");
    }
  }
  return out;
}

// Gathers rows into batches and hands them on.
class StateRowsOut {
 public:
  StateRowsOut(const ScanRequest& request, BatchSink& sink)
      : request_(request),
        sink_(sink),
        wanted_(wanted_columns(state_schema(), request.columns)),
        builder_(state_schema()) {}

  Result<bool> add(const Job& job, const JobTable& jobs, const DefinitionView& definition) {
    add_job_row(job, jobs, definition, builder_);
    ++rows_;
    const bool last = rows_ == request_.limit;
    if (last || builder_.rows() >= k_batch_rows || builder_.data_bytes() >= k_batch_bytes) {
      VARVE_ASSIGN(const bool more, flush());
      return more && !last;
    }
    return true;
  }
  Result<bool> flush() {
    if (builder_.rows() == 0) {
      return true;
    }
    Batch batch = builder_.finish();
    drop_unwanted(batch, wanted_);
    if (request_.mapper != nullptr) {
      request_.mapper->map(batch);
    }
    return sink_.consume(std::move(batch));
  }
  std::uint64_t rows() const { return rows_; }

 private:
  const ScanRequest& request_;
  BatchSink& sink_;
  std::vector<bool> wanted_;
  BatchBuilder builder_;
  std::uint64_t rows_ = 0;
};

}  // namespace

Result<const io::File*> DefinitionReader::open(std::uint32_t segment) {
  for (const OpenFile& entry : files_) {
    if (entry.segment == segment) {
      return entry.file.get();
    }
  }
  VARVE_ASSIGN(auto file, directory_.open_file(segments_[segment].name, io::OpenMode::read));
  if (files_.size() < k_most_open_files) {
    files_.push_back({segment, std::move(file)});
    return files_.back().file.get();
  }
  OpenFile& entry = files_[next_to_close_++ % k_most_open_files];
  entry = {segment, std::move(file)};
  return entry.file.get();
}

Result<DefinitionView> DefinitionReader::read(const Job& job) {
  VARVE_ASSIGN(const io::File* file, open(job.definition_segment));
  buffer_.resize(job.definition_length);
  VARVE_TRY(read_exactly(*file, job.definition_offset, buffer_));
  const EventBudget unlimited{k_no_limit, k_no_limit, k_no_limit};
  auto definition = decode_definition(buffer_, unlimited);
  if (!definition) {
    return fail(ErrorCode::locked, "changed", "a definition is no longer where it was",
                file->path());
  }
  return *definition;
}

void add_job_row(const Job& job, const JobTable& jobs, const DefinitionView& definition,
                 BatchBuilder& row) {
  const auto number = [&row](std::size_t column, std::uint64_t value) {
    row.add_u64(column, value);
  };
  const auto unless = [&row](std::size_t column, std::uint64_t value, std::uint64_t absent) {
    value == absent ? row.add_null(column) : row.add_u64(column, value);
  };
  row.add_bytes(k_state_job_id, base::to_hex(job.id));
  row.add_bytes(k_state_state, to_text(job.state));
  number(k_state_revision, job.revision);
  number(k_state_attempt, job.attempt);
  unless(k_state_next_attempt, job.next_attempt, 0);
  number(k_state_cycle_token, job.cycle);
  unless(k_state_execution_token, job.execution, 0);
  unless(k_state_eligible_at, job.eligible_at, k_nil);
  unless(k_state_available_sequence, job.available_sequence, 0);
  number(k_state_inserted_at, job.inserted_at);
  unless(k_state_attempted_at, job.attempted_at, k_nil);
  unless(k_state_completed_at, job.completed_at, k_nil);
  unless(k_state_diagnostic_code, job.diagnostic, 0);
  row.add_bytes(k_state_worker_key, jobs.text(job.worker));
  row.add_bytes(k_state_queue_key, jobs.text(job.queue));
  number(k_state_max_attempts, job.max_attempts);
  number(k_state_timeout_ms, definition.timeout_ms);
  unless(k_state_scheduled_at, definition.scheduled_at, k_nil);
  row.add_bytes(k_state_definition, base::as_text(definition.bytes));
  row.add_bytes(k_state_args, base::as_text(definition.args));
  number(k_state_charge_bytes, job.charge_bytes());
  number(k_state_charge_nodes, job.charge_nodes());
  row.end_row();
}

Result<ScanSummary> scan_state(const Snapshot& snapshot, const ScanRequest& request,
                               const ExamineRequest& examine_request, BatchSink& sink,
                               FindingSink& findings) {
  VARVE_ASSIGN(const StateFilter filter, state_filter(request.predicate));
  ExamineRequest examine_with = examine_request;
  examine_with.refused = [&](const Refusal& refusal) { findings.add(to_finding(refusal)); };
  VARVE_ASSIGN(const Examination found, examine(snapshot, examine_with));
  ScanSummary summary;
  summary.verdict = found.verdict();
  if (found.first && !request.partial) {
    // The format refuses such a log as a whole, be it torn or damaged.
    if (summary.verdict == Verdict::torn) {
      summary.verdict = Verdict::damaged;
    }
    return summary;
  }
  if (request.limit == 0 || !snapshot.segments_directory) {
    return summary;
  }
  DefinitionReader definitions(*snapshot.segments_directory, found.segments);
  StateRowsOut out(request, sink);
  std::vector<std::uint32_t> order = found.jobs.sorted();
  if (request.reverse) {
    std::ranges::reverse(order);
  }
  bool more = true;
  for (std::size_t i = 0; more && i < order.size(); ++i) {
    const Job& job = found.jobs.jobs()[order[i]];
    if (!filter.takes(job, found.jobs)) {
      continue;
    }
    VARVE_ASSIGN(const DefinitionView definition, definitions.read(job));
    VARVE_ASSIGN(more, out.add(job, found.jobs, definition));
  }
  if (more) {
    VARVE_TRY(out.flush());
  }
  summary.rows = out.rows();
  return summary;
}

}  // namespace varve::tay
