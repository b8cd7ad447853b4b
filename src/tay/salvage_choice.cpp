// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/salvage_choice.hpp"

#include <utility>

#include "base/text_coding.hpp"
#include "varve/json.hpp"

namespace varve::tay {

namespace {

Json pair_json(std::uint64_t before, std::uint64_t after) {
  return Json::array().push(before).push(after);
}

// Puts the job's own revision and token in the place of the event's.
Event with_tokens_of(const Job& job, Event event) {
  event.expected_revision = job.revision;
  if (event.type == EventType::started) {
    event.token = job.cycle;
  } else if (event.type == EventType::finished || event.type == EventType::cancelled) {
    event.token = job.execution;
  }
  return event;
}

}  // namespace

SalvageChoice SalvageChooser::leave(const char* reason) {
  SalvageChoice out;
  out.reason = reason;
  return out;
}

SalvageChoice SalvageChooser::choose(const RecordHeader& header, std::uint64_t offset,
                                     ByteSpan payload, bool foreign) {
  if (behind_ != nullptr) {
    return leave(behind_);
  }
  if (foreign) {
    if (!renumber_) behind_ = "behind_foreign_segment";
    return leave("store_id");
  }
  if (!renumber_ && header.sequence != next_) {
    behind_ = "behind_gap";
    return leave(behind_);
  }
  const ReplayEvent read = read_event(header, offset, payload, budget_);
  if (read.word != nullptr) {
    if (!renumber_) behind_ = "behind_refused_record";
    return leave(read.word);
  }
  return renumber_ ? take_renumbered(read, payload) : take_prefix(read, payload);
}

SalvageChoice SalvageChooser::take_prefix(const ReplayEvent& read, ByteSpan payload) {
  EventPlace place;
  place.revision = place.order = read.sequence;
  if (!jobs_.apply(read.event, place)) {
    behind_ = "behind_refused_record";
    return leave("invalid_transition");
  }
  ++next_;
  SalvageChoice out;
  out.taken = true;
  out.payload = payload;
  return out;
}

SalvageChoice SalvageChooser::take_renumbered(const ReplayEvent& read, ByteSpan payload) {
  Event event = read.event;
  bool bridged = false;
  if (event.type != EventType::inserted) {
    const Job* job = jobs_.find(event.job_id);
    if (job == nullptr) {
      return leave("job_not_inserted");
    }
    const Source& source = sources_[static_cast<std::size_t>(job - jobs_.jobs().data())];
    bridged = event.expected_revision != source.revision ||
              (event.type == EventType::started && event.token != source.cycle) ||
              (event.type == EventType::finished && event.token != source.execution) ||
              (event.type == EventType::cancelled && event.token != source.execution);
    event = with_tokens_of(*job, event);
  }
  EventPlace place;
  place.revision = place.order = next_;
  if (!jobs_.apply(event, place)) {
    return leave("invalid_transition");
  }
  const Job* job = jobs_.find(event.job_id);
  follow(event, read.sequence, static_cast<std::size_t>(job - jobs_.jobs().data()));
  SalvageChoice out;
  out.taken = true;
  out.payload = payload;
  if (read.sequence != next_ || bridged) {
    Json changes = Json::object()
                       .set("seq", pair_json(read.sequence, next_))
                       .set("job_id", base::to_hex(event.job_id))
                       .set("expected_revision",
                            pair_json(read.event.expected_revision, event.expected_revision))
                       .set("token", pair_json(read.event.token, event.token))
                       .set("bridged", bridged);
    out.changes = changes.text();
    payload_.clear();
    encode_event(event, payload_);
    out.payload = payload_;
  }
  bridged_ += bridged ? 1 : 0;
  ++next_;
  return out;
}

void SalvageChooser::follow(const Event& event, std::uint64_t sequence, std::size_t job) {
  sources_.resize(std::max(sources_.size(), job + 1));
  Source& source = sources_[job];
  source.revision = sequence;
  source.execution = event.type == EventType::started ? sequence : 0;
  if (event.type == EventType::inserted || (event.type == EventType::retried && event.mode == 1)) {
    source.cycle = sequence;
  }
}

}  // namespace varve::tay
