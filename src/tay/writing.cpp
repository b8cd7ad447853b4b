// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/writing.hpp"

#include <utility>

#include "base/text_coding.hpp"
#include "tay/activation.hpp"
#include "tay/event_line.hpp"
#include "tay/format_options.hpp"
#include "tay/initialize.hpp"
#include "tay/job_engine.hpp"
#include "tay/refusal.hpp"
#include "tay/replay.hpp"

namespace varve::tay {

namespace {

// Records that wait are written, though not synced, before they become more than this.
constexpr std::size_t k_waiting_bytes = std::size_t{16} << 20;

std::string segment_file(std::uint64_t id) { return "segments/" + segment_name(id); }

Result<LogWriterOptions> writer_options(const WriteRequest& request) {
  LogWriterOptions out;
  VARVE_ASSIGN(const ReadBudgets budgets, read_budgets(request.options));
  out.budgets = budgets.budgets;
  out.threads = request.threads;
  out.environment = request.environment;
  VARVE_ASSIGN(out.rotation_bytes,
               number_option(request.options, "rotation-target", out.rotation_bytes));
  if (out.rotation_bytes < k_min_rotation_bytes || out.rotation_bytes > k_max_sealed_bytes) {
    return fail(ErrorCode::invalid_argument, "rotation-target",
                "--rotation-target: 16777352 to 1073741824");
  }
  const auto mode = request.options.find("durability");
  if (mode != request.options.end() && mode->second == "write") {
    out.durability = Durability::write;
  }
  return out;
}

Result<Candidate> recovered(io::FileSystem& files, const std::string& path,
                            const LogWriterOptions& options, bool semantic) {
  RecoveryOptions recovery;
  recovery.budgets = options.budgets;
  recovery.threads = options.threads;
  recovery.environment = options.environment;
  recovery.semantic = semantic;
  auto candidate = recover(files, path, recovery);
  if (!candidate) {
    return std::unexpected(to_error(candidate.error()));
  }
  return *std::move(candidate);
}

Result<LogWriter> activated(Candidate& candidate, const LogWriterOptions& options) {
  auto writer = activate(candidate, options);
  if (!writer) {
    return std::unexpected(to_error(writer.error()));
  }
  return *std::move(writer);
}

WriteReport report_for(const WriteRequest& request) {
  WriteReport out;
  out.dry_run = request.dry_run;
  return out;
}

WriteReport::Action begin_segment(std::uint64_t id) {
  return {segment_file(id), "begin the next segment", 0, k_header_bytes};
}

// Lines of CONTRACT section 5 into a log.
class LineAppender final : public Appender {
 public:
  LineAppender(JobEngine engine, const Budgets& budgets, bool unchecked)
      : engine_(std::move(engine)), budgets_(budgets), unchecked_(unchecked) {}

  Result<void> append_line(std::string_view json) override {
    VARVE_ASSIGN(const EventLine line, parser_.parse(json));
    const std::uint64_t next = engine_.writer().next_sequence();
    if (line.sequence && next != 0 && *line.sequence != next) {
      return fail(ErrorCode::invalid_argument, "sequence",
                  "\"seq\" is " + std::to_string(*line.sequence) + ", the next one is " +
                      std::to_string(next));
    }
    if (unchecked_) {
      VARVE_TRY(engine_.writer().add(line.type, line.schema, line.payload));
    } else {
      VARVE_TRY(checked(line));
    }
    ++appended_;
    return engine_.writer().waiting_bytes() > k_waiting_bytes ? engine_.writer().commit(false)
                                                              : Result<void>();
  }
  Result<std::uint64_t> sync() override {
    LogWriter& writer = engine_.writer();
    VARVE_TRY(writer.commit());
    if (writer.options().durability == Durability::sync) {
      VARVE_TRY(writer.sync());
    }
    return appended_;
  }
  Result<std::uint64_t> flush() override {
    VARVE_TRY(engine_.writer().commit(false));
    return appended_;
  }
  Result<void> close() override { return engine_.writer().commit(false); }

 private:
  Result<RecordPlace> checked(const EventLine& line) {
    RecordHeader header;
    header.type = line.type;
    header.schema = line.schema;
    header.payload_length = static_cast<std::uint32_t>(line.payload.size());
    const ReplayEvent read = read_event(header, 0, line.payload, budgets_.event);
    if (read.word != nullptr) {
      return fail(
          read.kind == RefusalKind::resource_limit ? ErrorCode::limit : ErrorCode::invalid_argument,
          read.word, std::string("the event is refused: ") + read.word);
    }
    return engine_.take(read.event, line.payload);
  }

  JobEngine engine_;
  Budgets budgets_;
  bool unchecked_;
  EventLineParser parser_;
  std::uint64_t appended_ = 0;
};

Result<InitializeOptions> initialize_options(const WriteRequest& request) {
  InitializeOptions out;
  out.environment = request.environment;
  out.existing = request.options.contains("existing");
  if (const auto digits = request.options.find("store-id"); digits != request.options.end()) {
    const auto bytes = base::from_hex(digits->second);
    if (!bytes || bytes->size() != k_id_bytes) {
      return fail(ErrorCode::invalid_argument, "store-id", "--store-id: 32 hex digits are wanted");
    }
    out.store_id = load_id(bytes->data());
  }
  return out;
}

}  // namespace

Result<WriteReport> init_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request) {
  VARVE_ASSIGN(const InitializeOptions options, initialize_options(request));
  WriteReport report = report_for(request);
  if (request.dry_run) {
    VARVE_TRY(may_initialize(files, path, options));
  } else {
    VARVE_ASSIGN(Ownership owner, initialize(files, path, options));
    // Step 6: everything once more under the same lock.
    RecoveryOptions recovery;
    recovery.environment = request.environment;
    auto candidate = recover(std::move(owner), recovery);
    if (!candidate) {
      return std::unexpected(to_error(candidate.error()));
    }
    report.detail.set("store_id", base::to_hex(candidate->facts.store_id));
  }
  report.actions.push_back({std::string(k_lock_name), "create", 0, 0});
  report.actions.push_back({segment_file(1), "create", 0, k_header_bytes});
  report.actions.push_back({std::string(k_store_name), "create", 0, k_store_bytes});
  return report;
}

Result<std::unique_ptr<Appender>> open_store_appender(io::FileSystem& files,
                                                      const std::string& path,
                                                      const WriteRequest& request) {
  VARVE_ASSIGN(const LogWriterOptions options, writer_options(request));
  const bool unchecked = request.options.contains("unchecked");
  VARVE_ASSIGN(Candidate candidate, recovered(files, path, options, !unchecked));
  VARVE_ASSIGN(LogWriter writer, activated(candidate, options));
  return std::make_unique<LineAppender>(JobEngine(std::move(candidate.jobs), std::move(writer), {}),
                                        options.budgets, unchecked);
}

Result<WriteReport> seal_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request) {
  VARVE_ASSIGN(const LogWriterOptions options, writer_options(request));
  VARVE_ASSIGN(Candidate candidate, recovered(files, path, options, true));
  WriteReport report = report_for(request);
  const Segment highest = candidate.facts.segments.back();
  const bool exhausted = candidate.facts.exhausted();
  if (exhausted || (!highest.sealed && highest.id == k_u64_max)) {
    return fail(ErrorCode::limit, "sequence_exhausted", "nothing can follow the active segment",
                path);
  }
  if (!highest.sealed && highest.records == 0) {
    report.detail.set("why", "the active segment is empty");
    return report;
  }
  if (!request.dry_run) {
    VARVE_ASSIGN(LogWriter writer, activated(candidate, options));
    if (!highest.sealed) {
      VARVE_TRY(writer.rotate());
    }
  }
  if (!highest.sealed) {
    report.actions.push_back(
        {segment_file(highest.id), "write footer", highest.bytes(), k_footer_bytes});
  }
  report.actions.push_back(begin_segment(highest.id + 1));
  return report;
}

Result<WriteReport> recover_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request) {
  VARVE_ASSIGN(const LogWriterOptions options, writer_options(request));
  VARVE_ASSIGN(Candidate candidate, recovered(files, path, options, true));
  WriteReport report = report_for(request);
  const std::uint64_t highest = candidate.facts.segments.back().id;
  report.detail.set("records", candidate.facts.totals.records);
  report.detail.set("jobs", std::uint64_t{candidate.jobs.size()});
  if (!candidate.facts.highest_sealed() || candidate.facts.exhausted()) {
    return report;
  }
  if (!request.dry_run) {
    VARVE_TRY(activated(candidate, options));
  }
  report.actions.push_back(begin_segment(highest + 1));
  return report;
}

}  // namespace varve::tay
