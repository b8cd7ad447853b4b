// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/recovery.hpp"

#include <algorithm>
#include <utility>

#include "base/mutant.hpp"
#include "tay/refusal.hpp"
#include "tay/replay.hpp"
#include "tay/window.hpp"

namespace varve::tay {

namespace {

std::unexpected<Refusal> refused(const Error& error, const char* stage) {
  return std::unexpected(refusal_of(error, stage));
}

std::optional<Refusal> check_options(const Budgets& budgets) {
  if (budgets.payload_bytes > k_max_payload_bytes || budgets.event.depth == 0 ||
      budgets.event.nodes == 0) {
    return make_refusal(RefusalKind::argument, "options", "budgets",
                        "a budget is outside its range");
  }
  return std::nullopt;
}

// Section 5 on the file STORE.
std::expected<Id, Refusal> read_store(const io::Directory& root, const io::FileIdentity& listed) {
  auto file = root.open_file(k_store_name, io::OpenMode::read);
  if (!file) {
    return refused(file.error(), "store");
  }
  if (auto same = check_same(**file, listed); !same) {
    return refused(same.error(), "store");
  }
  std::byte bytes[k_store_bytes + 1];
  auto got = (*file)->read_at(bytes, 0);
  if (!got) {
    return refused(got.error(), "store");
  }
  Id id{};
  if (auto fault = decode_store(ByteSpan(bytes, *got), id)) {
    return std::unexpected(object_refusal(*fault, std::string(k_store_name),
                                          std::string(k_store_name), 0, listed.size_bytes));
  }
  return id;
}

bool same_entries(const std::vector<io::DirectoryEntry>& a,
                  const std::vector<io::DirectoryEntry>& b) {
  return std::ranges::equal(a, b, [](const io::DirectoryEntry& x, const io::DirectoryEntry& y) {
    // A directory's own size and links follow its entries, which are compared by themselves.
    const bool directory = x.identity.type == io::FileType::directory;
    return x.name == y.name && x.identity.same_object(y.identity) &&
           (directory || (x.identity.size_bytes == y.identity.size_bytes &&
                          x.identity.links == y.identity.links));
  });
}

Refusal changed_view(std::string word, std::string message) {
  return make_refusal(RefusalKind::changed_view, "recheck", std::move(word), std::move(message));
}

// Q2 f: names and identities as before.
std::optional<Refusal> list_again(const Ownership& owner, const Listing& before,
                                  const Budgets& budgets) {
  std::unique_ptr<io::Directory> segments;
  auto now = list_store(owner.root(), budgets.directory_entries, true, segments);
  if (!now) {
    return refusal_of(now.error(), "recheck");
  }
  if (base::mutant("tay-list-again")) {
    return std::nullopt;
  }
  if (!same_entries(before.root, now->root) || !same_entries(before.segments, now->segments)) {
    return changed_view("changed_listing", "the directories changed while they were inspected");
  }
  return std::nullopt;
}

std::optional<Refusal> judge_listing(const Listing& listing, const Budgets& budgets) {
  if (!listing.problems.empty()) {
    return listing.problems.front();
  }
  std::uint64_t total = 0;
  for (const SegmentEntry& entry : listing.canonical) {
    total += entry.identity.size_bytes;
  }
  if (total > budgets.total_segment_bytes && !base::mutant("tay-replay-budget")) {
    Refusal out = make_refusal(RefusalKind::resource_limit, "listing", "max_total_segment_bytes",
                               "the segments are larger than their budget");
    out.physical_kind = "io_or_resource_error";
    out.expected = Number::decimal(budgets.total_segment_bytes);
    out.actual = Number::decimal(total);
    return out;
  }
  if (!listing.store) {
    return make_refusal(RefusalKind::initialization_required, "store", "missing_store_marker",
                        "the file STORE is missing");
  }
  return std::nullopt;
}

}  // namespace

Deadline::Deadline(io::Environment& environment, std::uint64_t limit_ms, const char* word)
    : environment_(environment), word_(word) {
  constexpr std::uint64_t k_longest_ms = std::uint64_t{1} << 50;
  end_us_ =
      environment.now_us() + static_cast<std::int64_t>(std::min(limit_ms, k_longest_ms)) * 1000;
}

std::optional<Refusal> Deadline::check() const {
  if (environment_.now_us() <= end_us_) {
    return std::nullopt;
  }
  return make_refusal(RefusalKind::resource_limit, "deadline", word_, "there was not enough time");
}

std::uint64_t PhysicalFacts::segment_bytes() const {
  std::uint64_t total = 0;
  for (const Segment& segment : segments) {
    total += segment.bytes();
  }
  return total;
}

bool PhysicalFacts::exhausted() const {
  return totals.next_sequence == 0 || (highest_sealed() && segments.back().id == k_u64_max);
}

std::expected<PhysicalFacts, Refusal> physical_pass(Ownership& owner, const Budgets& budgets,
                                                    unsigned threads, const Deadline* deadline) {
  PhysicalFacts facts;
  std::unique_ptr<io::Directory> segments;
  auto listing = list_store(owner.root(), budgets.directory_entries, true, segments);
  if (!listing) {
    return refused(listing.error(), "listing");
  }
  if (auto refusal = judge_listing(*listing, budgets)) {
    return std::unexpected(std::move(*refusal));
  }
  facts.listing = *std::move(listing);
  if (segments) {
    owner.hold_segments(std::move(segments));
  }
  auto store_id = read_store(owner.root(), *facts.listing.store);
  if (!store_id) {
    return std::unexpected(std::move(store_id).error());
  }
  facts.store_id = *store_id;
  if (facts.listing.canonical.empty()) {
    return std::unexpected(discovery_refusal("missing_history", {}, std::string(k_segments_name),
                                             "the store has no segment"));
  }
  facts.segments = segments_of(facts.listing);
  LogPassOptions options;
  options.store_id = facts.store_id;
  options.threads = threads;
  options.payload_budget = budgets.payload_bytes;
  options.record_budget = budgets.replay_records;
  if (deadline != nullptr) {
    options.tick = [deadline] { return deadline->check(); };
  }
  auto walked = run_log_pass(*owner.segments(), facts.segments, options);
  if (!walked) {
    return refused(walked.error(), "segments");
  }
  if (!walked->refusals.empty()) {
    return std::unexpected(std::move(walked->refusals.front()));
  }
  facts.totals = walked->totals;
  if (auto refusal = list_again(owner, facts.listing, budgets)) {
    return std::unexpected(std::move(*refusal));
  }
  return facts;
}

std::expected<Candidate, Refusal> recover(io::FileSystem& files, const std::string& path,
                                          const RecoveryOptions& options) {
  if (auto refusal = check_options(options.budgets)) {
    return std::unexpected(std::move(*refusal));
  }
  auto owner = Ownership::take(files, path);
  if (!owner) {
    return std::unexpected(std::move(owner).error());
  }
  return recover(*std::move(owner), options);
}

std::expected<Candidate, Refusal> recover(Ownership owner, const RecoveryOptions& options) {
  io::Environment& environment =
      options.environment != nullptr ? *options.environment : io::system_environment();
  const Deadline deadline(environment, options.budgets.recovery_deadline_ms, "deadline");
  Candidate out{std::move(owner), {}, JobTable(options.keep_definitions), 0};
  auto facts = physical_pass(out.owner, options.budgets, options.threads, &deadline);
  if (!facts) {
    return std::unexpected(std::move(facts).error());
  }
  out.facts = *std::move(facts);
  if (options.semantic) {
    ReplayOptions replay_options;
    replay_options.threads = options.threads;
    replay_options.budgets = options.budgets;
    replay_options.tick = [&deadline] { return deadline.check(); };
    auto refusals = replay(*out.owner.segments(), out.facts.segments, replay_options, out.jobs);
    if (!refusals) {
      return refused(refusals.error(), "replay");
    }
    if (!refusals->empty()) {
      return std::unexpected(std::move(refusals->front()));
    }
  }
  if (auto same = out.owner.check(); !same) {
    Refusal lost = make_refusal(RefusalKind::ownership_unavailable, "ownership",
                                same.error().reason, same.error().message);
    return std::unexpected(std::move(lost));
  }
  out.recovered_at_us = environment.now_us();
  return out;
}

std::optional<Refusal> compare_facts(const PhysicalFacts& before, const PhysicalFacts& after) {
  const bool same_segments =
      std::ranges::equal(before.segments, after.segments, [](const Segment& a, const Segment& b) {
        return a.id == b.id && a.sealed == b.sealed && a.records == b.records &&
               a.last_sequence == b.last_sequence && a.crc == b.crc && a.bytes() == b.bytes() &&
               a.header->first_sequence == b.header->first_sequence &&
               a.identity.same_object(b.identity);
      });
  if (before.store_id != after.store_id || !same_segments ||
      before.totals.next_sequence != after.totals.next_sequence ||
      !same_entries(before.listing.root, after.listing.root) ||
      !same_entries(before.listing.segments, after.listing.segments)) {
    return changed_view("changed_facts", "the store changed after it was inspected");
  }
  return std::nullopt;
}

}  // namespace varve::tay
