// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/view.hpp"

#include <algorithm>
#include <utility>

#include "tay/examine.hpp"
#include "tay/log_scan.hpp"
#include "tay/rows.hpp"
#include "tay/state_scan.hpp"
#include "tay/verify_since.hpp"

namespace varve::tay {

namespace {

// A payload that is larger than what the user allowed is told in the program's own word.
Finding finding_of(const Refusal& refusal, bool memory_limited) {
  Finding finding = to_finding(refusal);
  if (memory_limited && refusal.word == "resource_limit") {
    finding.code = "limit";
  }
  return finding;
}

}  // namespace

View::View(Snapshot snapshot, OpenOptions options, ReadBudgets budgets)
    : snapshot_(std::move(snapshot)), options_(std::move(options)), budgets_(budgets) {
  budgets_.budgets.payload_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(budgets_.budgets.payload_bytes, options_.max_memory_bytes));
}

ExamineRequest View::examine_request(unsigned threads) const {
  ExamineRequest request;
  request.threads = threads;
  request.budgets = budgets_.budgets;
  request.retained_given = budgets_.retained_given;
  return request;
}

Result<VerifyReport> View::verify(const VerifyRequest& request, FindingSink& findings) {
  const bool memory_limited = budgets_.budgets.payload_bytes < k_max_payload_bytes;
  VerifyReport report;
  report.path = snapshot_.path;
  report.format = format().name();
  report.version = static_cast<std::uint32_t>(snapshot_.version);
  tell_surroundings(snapshot_, true, findings);
  ExamineRequest examine_with = examine_request(request.threads);
  examine_with.policy = request.quick ? Policy::quick : Policy::report;
  examine_with.replay = !request.quick;
  examine_with.refused = [&](const Refusal& refusal) {
    findings.add(finding_of(refusal, memory_limited));
  };
  examine_with.warned = [&](const Finding& finding) { findings.add(finding); };
  const std::uint64_t total = snapshot_.segment_bytes();
  if (request.progress) {
    examine_with.progress = [&](std::uint64_t done) { request.progress(done, total); };
  }
  model::ReceiptWork receipt(request, store_text(snapshot_), options_.options, report, findings);
  VARVE_ASSIGN(Since since, take_from_receipt(snapshot_, receipt));
  const bool all_replayed = since.proven.empty();
  examine_with.replay = examine_with.replay && all_replayed;
  const std::vector<ProvenRun> proven = since.proven;
  examine_with.proven = std::move(since.proven);
  VARVE_ASSIGN(const Examination found, examine(snapshot_, examine_with));
  tell_surroundings(snapshot_, false, findings);
  const bool replayed =
      all_replayed || (since.replayed && !has_new_records(found.segments, proven));
  if (!replayed) {
    findings.add(not_replayed_finding());
  }

  report.verdict = found.verdict();
  report.counts.files = snapshot_.files();
  report.counts.segments = found.segments.size();
  report.counts.units = found.totals.units + snapshot_.marker_units();
  report.counts.records = found.totals.records;
  report.counts.bytes = found.totals.bytes + snapshot_.marker_bytes();
  report.intact_records = request.quick ? found.totals.records : found.totals.intact;
  report.lost_records = found.totals.lost;
  report.unknown_records = found.totals.unknown;
  if (report.verdict == Verdict::clean || report.verdict == Verdict::torn) {
    VARVE_TRY(keep_in_receipt(snapshot_, found, replayed, receipt));
  }
  receipt.finish();
  return report;
}

const Schema& View::schema(Face face) const {
  return face == Face::log ? log_schema() : state_schema();
}

Result<ScanSummary> View::scan(const ScanRequest& request, BatchSink& sink, FindingSink& findings) {
  if (request.face == Face::state) {
    return scan_state(snapshot_, request, examine_request(request.threads), sink, findings);
  }
  Budgets budgets = budgets_.budgets;
  budgets.payload_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(budgets.payload_bytes, request.max_memory_bytes));
  return scan_log(snapshot_, request, budgets, sink, findings);
}

void View::render(Face face, const Batch& batch, const RenderOptions& options,
                  std::string& out) const {
  face == Face::log ? render_log(batch, options, out) : render_state(batch, options, out);
}

Result<Json> View::plan(const ScanRequest& request) {
  VARVE_ASSIGN(const LogFilter filter, log_filter(request.predicate));
  Json members = Json::array();
  std::uint64_t bytes = 0;
  SegmentRange range;
  if (snapshot_.segments_directory) {
    VARVE_ASSIGN(range, segments_for(snapshot_, filter));
  }
  for (std::size_t i = 0; i < snapshot_.segments.size(); ++i) {
    const Segment& segment = snapshot_.segments[i];
    const bool read = i >= range.first && i < range.last;
    bytes += read ? segment.bytes() : 0;
    Json member = Json::object();
    member.set("file", snapshot_.segments_prefix + segment.name);
    member.set("bytes", segment.bytes());
    member.set("read", read);
    member.set("why", read ? "its sequences may be asked for"
                           : "its header shows that its sequences are not asked for");
    members.push(std::move(member));
  }
  Json out = Json::object();
  out.set("schema", "varve.plan/1");
  out.set("path", snapshot_.path);
  out.set("format", format().name());
  out.set("bytes", bytes);
  out.set("members", std::move(members));
  return out;
}

}  // namespace varve::tay
