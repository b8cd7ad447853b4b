// SPDX-License-Identifier: MIT OR Apache-2.0
// `stats`: distributions over records, jobs and segments.
#include <memory>
#include <utility>

#include "base/json_writer.hpp"
#include "model/tally.hpp"
#include "tay/examine.hpp"
#include "tay/log_collector.hpp"
#include "tay/view.hpp"

namespace varve::tay {

namespace {

constexpr std::int64_t k_hour_us = std::int64_t{3'600} * 1'000'000;
constexpr std::int64_t k_last_hour_us = std::int64_t{253'402'297'200} * 1'000'000;  // of year 9999

struct LogTallies {
  model::Tally record_bytes;
  model::Tally payload_bytes;
  model::Tally args_bytes;
  model::CategoryTally types;
  model::CategoryTally hours;
};

// Counts the records of one run. One thread, so that all runs may share the tallies.
class StatsCollector final : public RecordCollector {
 public:
  StatsCollector(LogTallies& tallies, const RecordMeaning& meaning)
      : tallies_(tallies), meaning_(meaning) {}

  bool record(const RecordHeader& header, std::uint64_t, ByteSpan payload) override {
    tallies_.record_bytes.add(header.frame_bytes());
    tallies_.payload_bytes.add(payload.size());
    const std::string_view name = meaning_.name(header.type);
    tallies_.types.add(name.empty() ? "type " + std::to_string(header.type) : std::string(name), 1,
                       header.frame_bytes());
    Event event;
    if (!meaning_.read(header, payload, event)) {
      return true;
    }
    if (!event.definition.args.empty()) {
      tallies_.args_bytes.add(event.definition.args.size());
    }
    if (const auto time = event.at == k_nil ? std::nullopt : time_us(event.at)) {
      add_hour(*time, header.frame_bytes());
    }
    return true;
  }

 private:
  void add_hour(std::int64_t time, std::uint64_t bytes) {
    const std::int64_t hour = std::min(time / k_hour_us * k_hour_us, k_last_hour_us);
    if (hour != hour_ || label_.empty()) {
      hour_ = hour;
      label_.clear();
      base::append_rfc3339(label_, hour);
      label_.resize(std::string_view("2026-07-04T12").size());
    }
    tallies_.hours.add(label_, 1, bytes);
  }

  LogTallies& tallies_;
  const RecordMeaning& meaning_;
  std::int64_t hour_ = 0;
  std::string label_;
};

void add_jobs(const Examination& found, StatsReport& report) {
  model::CategoryTally states;
  model::CategoryTally queues;
  model::CategoryTally workers;
  model::Tally attempts;
  model::Tally definitions;
  for (const Job& job : found.jobs.jobs()) {
    states.add(to_text(job.state), 1, job.definition_length);
    queues.add(found.jobs.text(job.queue), 1, job.definition_length);
    workers.add(found.jobs.text(job.worker), 1, job.definition_length);
    attempts.add(job.attempt);
    definitions.add(job.definition_length);
  }
  report.distributions.push_back(states.finish("jobs by state", "jobs"));
  report.distributions.push_back(queues.finish("jobs by queue", "jobs"));
  report.distributions.push_back(workers.finish("jobs by worker", "jobs"));
  report.distributions.push_back(attempts.finish("attempt of a job", "attempts"));
  report.distributions.push_back(definitions.finish("definition size", "bytes"));
}

}  // namespace

Result<StatsReport> View::stats(FindingSink& findings) {
  ExamineRequest request = examine_request(options_.threads);
  request.refused = [&](const Refusal& refusal) { findings.add(to_finding(refusal)); };
  VARVE_ASSIGN(const Examination found, examine(snapshot_, request));
  StatsReport report;
  LogTallies tallies;
  if (snapshot_.segments_directory) {
    const RecordMeaning meaning{snapshot_.version, request.budgets.event};
    std::vector<Segment> segments = snapshot_.segments;
    LogPassOptions options = reading_options(snapshot_, request.budgets, 1);
    options.refused = [](const Refusal&) {};
    options.make_collector = [&](std::size_t) {
      return std::make_unique<StatsCollector>(tallies, meaning);
    };
    VARVE_TRY(run_log_pass(*snapshot_.segments_directory, segments, options));
  }
  report.distributions.push_back(tallies.record_bytes.finish("record size", "bytes"));
  report.distributions.push_back(tallies.payload_bytes.finish("payload size", "bytes"));
  report.distributions.push_back(tallies.args_bytes.finish("args size", "bytes"));
  report.distributions.push_back(tallies.types.finish("records by type", "records"));
  report.distributions.push_back(tallies.hours.finish("records by hour", "records"));
  model::Tally records;
  model::Tally bytes;
  for (const Segment& segment : found.segments) {
    records.add(segment.records);
    bytes.add(segment.bytes());
  }
  report.distributions.push_back(records.finish("records of a segment", "records"));
  report.distributions.push_back(bytes.finish("segment size", "bytes"));
  add_jobs(found, report);
  return report;
}

}  // namespace varve::tay
