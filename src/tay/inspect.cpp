// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/tay_inspect.hpp"

#include "base/text_coding.hpp"
#include "tay/recovery.hpp"

namespace varve::tay {

std::expected<Inspection, Refusal> inspect(io::FileSystem& files, const std::string& path,
                                           const InspectOptions& options) {
  RecoveryOptions recovery;
  recovery.budgets = options.budgets;
  recovery.threads = options.threads;
  recovery.environment = options.environment;
  auto candidate = recover(files, path, recovery);
  if (!candidate) {
    return std::unexpected(std::move(candidate).error());
  }
  const PhysicalFacts& facts = candidate->facts;
  Inspection out;
  out.store_id = facts.store_id;
  out.record_count = facts.totals.records;
  out.segment_count = facts.segments.size();
  out.total_segment_bytes = facts.segment_bytes();
  if (!facts.exhausted()) {
    out.next_sequence = facts.totals.next_sequence;
  }
  out.staging_count = facts.listing.staging.size();
  out.ignored_count = facts.listing.ignored.size();
  out.jobs = candidate->jobs.size();
  out.states = candidate->jobs.states();
  out.state_bytes_charged = candidate->jobs.charged_bytes();
  out.state_nodes_charged = candidate->jobs.charged_nodes();
  return out;
}

Json to_json(const Inspection& inspection) {
  Json states = Json::object();
  // In the specification's order of the seven states.
  for (const JobState state :
       {JobState::available, JobState::scheduled, JobState::executing, JobState::retryable,
        JobState::completed, JobState::discarded, JobState::cancelled}) {
    states.set(std::string(to_text(state)), inspection.states[static_cast<std::size_t>(state)]);
  }
  Json out = Json::object();
  out.set("state", "valid");
  out.set("scope", "physical_and_semantic");
  out.set("mutation", "none");
  out.set("activation", "not_attempted");
  out.set("store_id", base::to_hex(inspection.store_id));
  out.set("record_count", inspection.record_count);
  out.set("segment_count", inspection.segment_count);
  out.set("total_segment_bytes", inspection.total_segment_bytes);
  out.set("next_sequence",
          inspection.next_sequence ? Json(*inspection.next_sequence) : Json("exhausted"));
  out.set("staging_count", inspection.staging_count);
  out.set("ignored_count", inspection.ignored_count);
  out.set("jobs", inspection.jobs);
  out.set("states", std::move(states));
  out.set("state_bytes_charged", inspection.state_bytes_charged);
  out.set("state_nodes_charged", inspection.state_nodes_charged);
  return out;
}

}  // namespace varve::tay
