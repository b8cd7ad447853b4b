// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>

#include "base/text_coding.hpp"
#include "base/whole_number.hpp"
#include "tay/log_scan.hpp"

namespace varve::tay {

namespace {

template <class T>
bool is_one_of(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

std::optional<std::uint8_t> parse_type(const std::string& text) {
  if (const std::uint8_t type = event_type_of(text); type != 0) {
    return type;
  }
  const auto type = base::whole_number<std::uint8_t>(text);
  return type && *type != 0 ? type : std::nullopt;
}

}  // namespace

std::optional<Id> parse_id(std::string_view digits) {
  const auto bytes = base::from_hex(digits);
  if (!bytes || bytes->size() != k_id_bytes) {
    return std::nullopt;
  }
  return load_id(bytes->data());
}

std::optional<std::int64_t> time_us(std::uint64_t time_ms) {
  constexpr std::uint64_t k_most_ms = k_time_max / 1000;
  if (time_ms > k_most_ms) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(time_ms * 1000);
}

bool LogFilter::takes_header(std::uint64_t sequence, std::uint8_t type) const {
  return sequence >= seq_first && sequence <= seq_last && is_one_of(types, type);
}

bool LogFilter::takes_event(const Event* event) const {
  if (!needs_event()) {
    return true;
  }
  if (event == nullptr || !is_one_of(jobs, event->job_id)) {
    return false;
  }
  // What lies behind the last microsecond is later than any bound.
  const std::int64_t at = time_us(event->at).value_or(INT64_MAX);
  return (!since_us || at >= *since_us) && (!until_us || at < *until_us);
}

Result<LogFilter> log_filter(const Predicate& predicate) {
  LogFilter out;
  out.seq_first = predicate.seq_first.value_or(0);
  out.seq_last = predicate.seq_last.value_or(k_u64_max);
  out.since_us = predicate.since_us;
  out.until_us = predicate.until_us;
  for (const FilterTerm& term : predicate.terms) {
    if (term.name == "type") {
      const auto type = parse_type(term.value);
      if (!type) {
        return fail(ErrorCode::invalid_argument, "type",
                    "--type '" + term.value + "': the name of an event, or 1 to 254");
      }
      out.types.push_back(*type);
    } else if (term.name == "job") {
      const auto id = parse_id(term.value);
      if (!id) {
        return fail(ErrorCode::invalid_argument, "job",
                    "--job '" + term.value + "': 32 hex digits are wanted");
      }
      out.jobs.push_back(*id);
    } else {
      return fail(ErrorCode::invalid_argument, term.name, "the log has no such filter");
    }
  }
  return out;
}

Result<SegmentRange> segments_for(const Snapshot& snapshot, const LogFilter& filter) {
  const std::vector<Segment>& segments = snapshot.segments;
  SegmentRange out{0, segments.size()};
  if (filter.seq_first <= 1 && filter.seq_last == k_u64_max) {
    return out;
  }
  std::uint64_t previous = 0;
  SegmentRange chosen = out;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    VARVE_ASSIGN(const auto file,
                 snapshot.segments_directory->open_file(segments[i].name, io::OpenMode::read));
    std::byte bytes[k_header_bytes];
    VARVE_ASSIGN(const std::size_t got, file->read_at(bytes, 0));
    SegmentHeader header;
    if (decode_header(ByteSpan(bytes, got), header) || header.segment_id != segments[i].id ||
        header.first_sequence < previous) {
      return out;
    }
    previous = header.first_sequence;
    if (header.first_sequence <= filter.seq_first) {
      chosen.first = i;
    }
    if (header.first_sequence > filter.seq_last) {
      chosen.last = std::max(i, chosen.first + 1);
      break;
    }
  }
  return chosen;
}

}  // namespace varve::tay
