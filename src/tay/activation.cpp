// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/activation.hpp"

#include <utility>

#include "tay/refusal.hpp"
#include "tay/segment_files.hpp"
#include "tay/window.hpp"

namespace varve::tay {

namespace {

Refusal limit(const char* word, const char* message) {
  return make_refusal(RefusalKind::resource_limit, "activation", word, message);
}

// Q6 began: whatever fails from here on, the store may have changed.
std::unexpected<Refusal> uncertain(const Error& error) {
  Refusal out = refusal_of(error, "activation");
  out.kind = RefusalKind::uncertain_activation;
  out.verdict = Verdict::unknown;
  return std::unexpected(std::move(out));
}

// Whether the next segment, where one is owed, would still be within what recovery allows.
std::optional<Refusal> check_successor(const PhysicalFacts& facts, const Budgets& budgets) {
  if (!facts.highest_sealed() || facts.exhausted()) {
    return std::nullopt;
  }
  if (facts.segment_bytes() > budgets.total_segment_bytes ||
      budgets.total_segment_bytes - facts.segment_bytes() < k_header_bytes) {
    return limit("max_total_segment_bytes", "the next segment would be above the budget");
  }
  if (facts.listing.segments.size() >= budgets.directory_entries) {
    return limit("max_directory_entries", "the next segment would be above the budget");
  }
  return std::nullopt;
}

// Q5: all of Q2 again.
std::optional<Refusal> look_again(Candidate& candidate, const LogWriterOptions& options,
                                  const Deadline& deadline) {
  const auto now = physical_pass(candidate.owner, options.budgets, options.threads, &deadline);
  if (!now) {
    return now.error();
  }
  if (auto refusal = compare_facts(candidate.facts, *now)) {
    return refusal;
  }
  return check_successor(*now, options.budgets);
}

// What must be durable before anything is built on it.
Result<void> sync_foundations(const Ownership& owner) {
  VARVE_TRY(sync_ancestors(owner.files(), owner.path()));
  VARVE_TRY(owner.lock().sync());
  VARVE_TRY(owner.root().sync());
  VARVE_TRY(owner.segments()->sync());
  return sync_file(owner.root(), k_store_name);
}

}  // namespace

std::expected<LogWriter, Refusal> activate(Candidate& candidate, const LogWriterOptions& options) {
  io::Environment& environment =
      options.environment != nullptr ? *options.environment : io::system_environment();
  const auto waited_us = environment.now_us() - candidate.recovered_at_us;
  if (waited_us > 0 &&
      static_cast<std::uint64_t>(waited_us) / 1000 > options.budgets.activation_window_ms) {
    return std::unexpected(limit("activation_window_expired",
                                 "the recovered store waited too long; recover it again"));
  }
  const Deadline deadline(environment, options.budgets.activation_deadline_ms, "deadline");
  if (auto refusal = look_again(candidate, options, deadline)) {
    return std::unexpected(std::move(*refusal));
  }
  const PhysicalFacts& facts = candidate.facts;
  const Segment& highest = facts.segments.back();
  if (auto synced = sync_foundations(candidate.owner); !synced) {
    return uncertain(synced.error());
  }
  std::unique_ptr<io::File> file;
  if (facts.highest_sealed() || facts.exhausted()) {
    if (auto synced = sync_file(*candidate.owner.segments(), highest.name); !synced) {
      return uncertain(synced.error());
    }
  } else {
    auto opened = candidate.owner.segments()->open_file(highest.name, io::OpenMode::read_write);
    if (!opened) {
      return uncertain(opened.error());
    }
    file = *std::move(opened);
    if (auto same = check_same(*file, highest.identity); !same) {
      return uncertain(same.error());
    }
    if (auto synced = file->sync(); !synced) {
      return uncertain(synced.error());
    }
  }
  LogWriter writer(std::move(candidate.owner), facts, std::move(file), options);
  if (facts.highest_sealed() && !facts.exhausted()) {
    if (auto made = writer.complete_rotation(); !made) {
      return uncertain(made.error());
    }
  }
  return writer;
}

}  // namespace varve::tay
