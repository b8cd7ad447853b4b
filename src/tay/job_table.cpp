// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/job_table.hpp"

#include <algorithm>
#include <numeric>

#include "varve/file_system.hpp"

namespace varve::tay {

namespace {

constexpr std::array<std::string_view, k_job_states> k_state_names = {
    "scheduled", "available", "executing", "retryable", "completed", "discarded", "cancelled"};

constexpr std::size_t k_chunk_bytes = std::size_t{1} << 20;

__extension__ using Wide = unsigned __int128;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t saturating_time(std::uint64_t at, std::uint64_t delay) {
  return std::min(k_time_max, at + delay);  // both are far below 2^64
}

}  // namespace

std::string_view to_text(JobState state) { return k_state_names[static_cast<std::size_t>(state)]; }

std::optional<JobState> job_state_of(std::string_view name) {
  const auto found = std::ranges::find(k_state_names, name);
  if (found == k_state_names.end()) {
    return std::nullopt;
  }
  return static_cast<JobState>(found - k_state_names.begin());
}

RetryInterval retry_interval(std::uint32_t attempt, std::uint64_t at) {
  const std::uint64_t delay =
      attempt >= 7 ? k_retry_cap_ms : k_retry_base_ms << (attempt == 0 ? 0 : attempt - 1);
  const std::uint64_t jitter = std::min(delay / k_retry_jitter_divisor, k_retry_cap_ms - delay);
  return {saturating_time(at, delay), saturating_time(at, delay + jitter)};
}

JobTable::JobTable(bool keep_definitions) : slots_(16), keep_definitions_(keep_definitions) {
  // Ids come from the file: without a secret, someone could choose them to collide.
  io::system_environment().random(std::as_writable_bytes(std::span(seed_)));
}

std::uint64_t JobTable::hash(const Id& id) const {
  return fold(base::u64be(id.data()) ^ seed_[0], base::u64be(id.data() + 8) ^ seed_[1]);
}

// The slot that holds the id, or the free one where it belongs.
std::size_t JobTable::slot_of(const Id& id) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash(id)) & mask;
  while (slots_[slot] != 0 && jobs_[slots_[slot] - 1].id != id) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

const Job* JobTable::find(const Id& id) const {
  const std::uint32_t entry = slots_[slot_of(id)];
  return entry == 0 ? nullptr : &jobs_[entry - 1];
}

Job* JobTable::find_mutable(const Id& id) { return const_cast<Job*>(find(id)); }

void JobTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    slots_[slot_of(jobs_[i].id)] = i + 1;
  }
}

void JobTable::put(const Job& job) {
  if ((jobs_.size() + 1) * 4 > slots_.size() * 3) {
    grow();
  }
  const std::size_t slot = slot_of(job.id);
  jobs_.push_back(job);
  slots_[slot] = static_cast<std::uint32_t>(jobs_.size());
  ++states_[static_cast<std::size_t>(job.state)];
  charged_bytes_ += job.charge_bytes();
  charged_nodes_ += job.charge_nodes();
}

std::uint32_t JobTable::intern(std::string_view text) {
  const auto [entry, added] =
      text_index_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (added) {
    texts_.push_back(entry->first);
  }
  return entry->second;
}

std::optional<std::uint32_t> JobTable::text_index(std::string_view text) const {
  const auto found = text_index_.find(std::string(text));
  return found == text_index_.end() ? std::nullopt : std::optional(found->second);
}

// Chunks never grow beyond what they reserved, so that views of them stay good.
void JobTable::keep(Job& job, ByteSpan definition) {
  if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < definition.size()) {
    chunks_.emplace_back().reserve(std::max(definition.size(), k_chunk_bytes));
  }
  Bytes& chunk = chunks_.back();
  job.definition_segment = static_cast<std::uint32_t>(chunks_.size() - 1);
  job.definition_offset = static_cast<std::uint32_t>(chunk.size());
  chunk.insert(chunk.end(), definition.begin(), definition.end());
}

bool JobTable::add(Job job, std::string_view queue_key, std::string_view worker_key) {
  if (find(job.id) != nullptr) {
    return false;
  }
  job.queue = intern(queue_key);
  job.worker = intern(worker_key);
  put(job);
  return true;
}

void JobTable::change_state(Job& job, JobState to) {
  --states_[static_cast<std::size_t>(job.state)];
  ++states_[static_cast<std::size_t>(to)];
  job.state = to;
}

std::vector<std::uint32_t> JobTable::sorted() const {
  std::vector<std::uint32_t> order(jobs_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [this](std::uint32_t i) { return jobs_[i].id; });
  return order;
}

const char* exceeded_budget(const JobTable& jobs, const Budgets& budgets) {
  if (jobs.size() > budgets.retained_jobs) return "retained_jobs";
  if (jobs.charged_bytes() > budgets.retained_bytes) return "retained_bytes";
  if (jobs.charged_nodes() > budgets.retained_nodes) return "retained_nodes";
  return nullptr;
}

}  // namespace varve::tay
