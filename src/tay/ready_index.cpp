// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/ready_index.hpp"

namespace varve::tay {

std::set<ReadyIndex::Entry>* ReadyIndex::set_of(const Job& job) {
  switch (job.state) {
    case JobState::available:
      if (job.queue >= ready_.size()) {
        ready_.resize(job.queue + std::size_t{1});
      }
      return &ready_[job.queue];
    case JobState::scheduled:
    case JobState::retryable:
      return &waiting_;
    default:
      return nullptr;
  }
}

void ReadyIndex::add(const Job& job, std::uint32_t index) {
  if (std::set<Entry>* set = set_of(job)) {
    set->insert(entry_of(job, index));
  }
}

void ReadyIndex::remove(const Job& job, std::uint32_t index) {
  if (std::set<Entry>* set = set_of(job)) {
    set->erase(entry_of(job, index));
  }
}

std::optional<std::uint32_t> ReadyIndex::first_ready(std::uint32_t queue) const {
  if (queue >= ready_.size() || ready_[queue].empty()) {
    return std::nullopt;
  }
  return ready_[queue].begin()->index;
}

std::optional<std::uint32_t> ReadyIndex::first_waiting() const {
  return waiting_.empty() ? std::nullopt : std::optional(waiting_.begin()->index);
}

}  // namespace varve::tay
