// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/format_options.hpp"

#include <array>
#include <charconv>

#include "tay/layout.hpp"

namespace varve::tay {

namespace {

constexpr std::string_view k_replaying =
    "info verify state get export sql recover append seal salvage";

constexpr std::array k_options = {
    OptionSpec{"full", "", "replay the jobs however large the store is", "info"},
    OptionSpec{"payload-budget", "BYTES", "largest payload of a record to decode (16777216)",
               "info verify cat state get stats export sql recover append seal salvage"},
    OptionSpec{"event-depth", "N", "deepest node of a payload (64)", k_replaying},
    OptionSpec{"event-nodes", "N", "nodes of a payload (100000)", k_replaying},
    OptionSpec{"event-bytes", "BYTES", "text and opaque bytes of a payload (16777216)",
               k_replaying},
    OptionSpec{"directory-entries", "N", "entries of one directory (100000)", k_replaying},
    OptionSpec{"total-segment-bytes", "BYTES", "size of all segments (no limit)",
               "recover append seal"},
    OptionSpec{"replay-records", "N", "records to replay (no limit)", "recover append seal"},
    OptionSpec{"deadline-ms", "MS", "time for recovery (900000)", "recover append seal"},
    OptionSpec{"retained-jobs", "N", "jobs in memory (reading: no limit; else 100000)",
               k_replaying},
    OptionSpec{"retained-bytes", "BYTES",
               "bytes that the jobs are charged (reading: no limit; else 268435456)", k_replaying},
    OptionSpec{"retained-nodes", "N",
               "nodes that the jobs are charged (reading: no limit; else 2000000)", k_replaying},
    OptionSpec{"store-id", "HEX", "the new store's id, 32 hex digits (random)", "init"},
    OptionSpec{"existing", "",
               "also take a directory that holds nothing but an interrupted initialization",
               "init"},
    OptionSpec{"durability", "MODE", "when an append counts (default sync)", "append",
               "sync write"},
    OptionSpec{"rotation-target", "BYTES",
               "seal the active segment before it grows beyond (67108864; salvage 1073741824)",
               "append salvage"},
    OptionSpec{"renumber", "",
               "take every event that is legal behind those before it, with new sequences and "
               "revisions: for forensic use",
               "salvage"},
    OptionSpec{"unchecked", "",
               "append any record that fits the frame, without looking at jobs: for test data",
               "append"},
};

constexpr std::array k_filters = {
    FilterSpec{"type",
               "NAME",
               "only events of this type (name or number)",
               true,
               "cat export follow sql",
               {}},
    FilterSpec{"job",
               "ID",
               "only events of this job (32 hex digits)",
               true,
               "cat state export follow sql",
               {}},
    FilterSpec{"state", "STATE", "only jobs in this state", true, "state export sql",
               "scheduled available executing retryable completed discarded cancelled"},
    FilterSpec{"queue", "KEY", "only jobs of this queue", true, "state export sql", {}},
};

std::unexpected<Error> bad(const std::string& name, const std::string& value,
                           const std::string& wanted) {
  return fail(ErrorCode::invalid_argument, name, "--" + name + " '" + value + "': " + wanted);
}

}  // namespace

std::span<const OptionSpec> option_specs() { return k_options; }
std::span<const FilterSpec> filter_specs() { return k_filters; }

Result<std::uint64_t> number_option(const OptionMap& options, const std::string& name,
                                    std::uint64_t fallback) {
  const auto found = options.find(name);
  if (found == options.end()) {
    return fallback;
  }
  const std::string& text = found->second;
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view suffix(parsed.ptr,
                                static_cast<std::size_t>(text.data() + text.size() - parsed.ptr));
  const unsigned shift = suffix.empty()                     ? 0
                         : suffix == "K" || suffix == "KiB" ? 10
                         : suffix == "M" || suffix == "MiB" ? 20
                         : suffix == "G" || suffix == "GiB" ? 30
                                                            : 64;
  if (parsed.ec != std::errc() || shift == 64 || value > (k_u64_max >> shift)) {
    return bad(name, text, "a number is wanted, with K, M or G behind it if you like");
  }
  return value << shift;
}

Result<ReadBudgets> read_budgets(const OptionMap& options) {
  ReadBudgets out;
  Budgets& budgets = out.budgets;
  VARVE_ASSIGN(const std::uint64_t payload,
               number_option(options, "payload-budget", budgets.payload_bytes));
  if (payload > k_max_payload_bytes) {
    return bad("payload-budget", std::to_string(payload), "at most 16777216");
  }
  budgets.payload_bytes = static_cast<std::uint32_t>(payload);
  VARVE_ASSIGN(budgets.event.depth, number_option(options, "event-depth", budgets.event.depth));
  VARVE_ASSIGN(budgets.event.nodes, number_option(options, "event-nodes", budgets.event.nodes));
  VARVE_ASSIGN(budgets.event.bytes, number_option(options, "event-bytes", budgets.event.bytes));
  // Payloads are printed by a walk that goes down with them.
  constexpr std::uint64_t k_deepest = 4096;
  if (budgets.event.depth == 0 || budgets.event.depth > k_deepest || budgets.event.nodes == 0) {
    return bad("event-depth", std::to_string(budgets.event.depth), "1 to 4096, and some nodes");
  }
  VARVE_ASSIGN(budgets.directory_entries,
               number_option(options, "directory-entries", budgets.directory_entries));
  VARVE_ASSIGN(budgets.total_segment_bytes,
               number_option(options, "total-segment-bytes", budgets.total_segment_bytes));
  VARVE_ASSIGN(budgets.replay_records,
               number_option(options, "replay-records", budgets.replay_records));
  VARVE_ASSIGN(budgets.recovery_deadline_ms,
               number_option(options, "deadline-ms", budgets.recovery_deadline_ms));
  for (const char* name : {"retained-jobs", "retained-bytes", "retained-nodes"}) {
    out.retained_given = out.retained_given || options.contains(name);
  }
  VARVE_ASSIGN(budgets.retained_jobs,
               number_option(options, "retained-jobs", budgets.retained_jobs));
  VARVE_ASSIGN(budgets.retained_bytes,
               number_option(options, "retained-bytes", budgets.retained_bytes));
  VARVE_ASSIGN(budgets.retained_nodes,
               number_option(options, "retained-nodes", budgets.retained_nodes));
  return out;
}

}  // namespace varve::tay
