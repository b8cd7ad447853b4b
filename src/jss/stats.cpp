// SPDX-License-Identifier: MIT OR Apache-2.0
// `stats`: distributions over the rows, the blocks and the segments of a store.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/json_writer.hpp"
#include "jss/log_schema.hpp"
#include "jss/view.hpp"
#include "jss/walker.hpp"

namespace varve::jss {

namespace {

constexpr std::int64_t k_hour_us = std::int64_t{3'600'000'000};
// Times before 1970 and after the year 9999 fall into one hour each.
constexpr std::int64_t k_year_10000_us = 253'402'300'800'000'000;
// More hours than this (about five years) fall together under the last one.
constexpr std::size_t k_max_hours = 50'000;
// More collections than this are counted as one.
constexpr std::size_t k_max_collections_counted = 65'536;

// Counts of values in buckets that are 1/32 of a power of two wide: exact sums and bounds,
// percentiles to about three percent.
class Histogram {
 public:
  void add(std::uint64_t value) {
    ++buckets_[bucket_of(value)];
    minimum_ = count_ == 0 ? value : std::min(minimum_, value);
    maximum_ = std::max(maximum_, value);
    sum_ += value;
    ++count_;
  }

  Distribution distribution(std::string name, std::string unit) const {
    Distribution out;
    out.name = std::move(name);
    out.unit = std::move(unit);
    out.count = count_;
    out.sum = sum_;
    out.minimum = minimum_;
    out.maximum = maximum_;
    out.p50 = percentile(50);
    out.p90 = percentile(90);
    out.p99 = percentile(99);
    return out;
  }

 private:
  static constexpr unsigned k_sub_bits = 5;
  static constexpr std::size_t k_buckets = 65 << k_sub_bits;

  static std::size_t bucket_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= k_sub_bits) {
      return static_cast<std::size_t>(value);
    }
    const unsigned shift = width - 1 - k_sub_bits;
    const auto sub = static_cast<std::size_t>(value >> shift) & ((1U << k_sub_bits) - 1);
    return (std::size_t{shift + 1} << k_sub_bits) + sub;
  }
  // The highest value of a bucket.
  static std::uint64_t top_of(std::size_t bucket) {
    if (bucket < (1U << k_sub_bits)) {
      return bucket;
    }
    const unsigned shift = static_cast<unsigned>(bucket >> k_sub_bits) - 1;
    const std::uint64_t sub = (bucket & ((1U << k_sub_bits) - 1)) + (1U << k_sub_bits);
    return (sub << shift) + ((std::uint64_t{1} << shift) - 1);
  }
  std::uint64_t percentile(unsigned percent) const {
    const std::uint64_t rank = (count_ * percent + 99) / 100;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < k_buckets; ++i) {
      seen += buckets_[i];
      if (seen >= rank && seen != 0) {
        return std::clamp(top_of(i), minimum_, maximum_);
      }
    }
    return 0;
  }

  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(k_buckets);
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t minimum_ = 0;
  std::uint64_t maximum_ = 0;
};

struct Tally {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Counts the rows of a scan.
class RowCounter final : public BatchSink {
 public:
  Result<bool> consume(Batch batch) override {
    const Column& collection = batch.columns[k_log_collection];
    const Column& payload = batch.columns[k_log_payload];
    for (std::size_t row = 0; row < batch.rows; ++row) {
      const std::size_t bytes = payload.bytes(row).size();
      payload_bytes.add(bytes);
      const auto kind = batch.columns[k_log_kind].value<std::uint8_t>(row);
      add(kinds[kind], bytes);
      if (is_commit(kind)) {
        add(tally_of(collection.bytes(row)), bytes);
      }
      add_time(batch.columns[k_log_witnessed_at].value<std::int64_t>(row), bytes);
    }
    rows_per_block.add(batch.rows);
    return true;
  }

  Histogram payload_bytes;
  Histogram rows_per_block;
  std::array<Tally, 8> kinds{};
  std::unordered_map<std::string, Tally> collections;
  std::map<std::int64_t, Tally> hours;

 private:
  static void add(Tally& tally, std::uint64_t bytes) {
    ++tally.count;
    tally.bytes += bytes;
  }
  Tally& tally_of(std::string_view name) {
    name_ = name;
    const auto found = collections.find(name_);
    if (found != collections.end()) {
      return found->second;
    }
    return collections[collections.size() < k_max_collections_counted ? name_ : "(others)"];
  }
  void add_time(std::int64_t time, std::uint64_t bytes) {
    const std::int64_t hour =
        std::clamp<std::int64_t>(time, -1, k_year_10000_us) / k_hour_us - (time < 0 ? 1 : 0);
    if (hour != last_hour_ || last_tally_ == nullptr) {
      const bool room = hours.size() < k_max_hours || hours.contains(hour);
      last_tally_ = room ? &hours[hour] : &hours.rbegin()->second;
      last_hour_ = hour;
    }
    add(*last_tally_, bytes);
  }

  std::string name_;
  std::int64_t last_hour_ = 0;
  Tally* last_tally_ = nullptr;
};

Distribution categories(std::string name, std::string unit,
                        std::vector<Distribution::Category> list) {
  Distribution out;
  out.name = std::move(name);
  out.unit = std::move(unit);
  for (const Distribution::Category& category : list) {
    out.count += category.count;
    out.sum += category.bytes;
  }
  out.categories = std::move(list);
  return out;
}

void sort_by_count(std::vector<Distribution::Category>& list) {
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.name < b.name;
  });
}

}  // namespace

Result<StatsReport> View::stats(FindingSink& findings) {
  RowCounter rows;
  ScanRequest request;
  request.threads = options_.threads;
  request.max_memory_bytes = options_.max_memory_bytes;
  request.columns = {"witnessed_at", "kind", "collection", "payload"};
  VARVE_TRY(scan(request, rows, findings));

  Histogram frame_bytes;
  Histogram body_bytes;
  Histogram ratio;
  Histogram segment_dids;
  Histogram segment_rows;
  for (std::size_t i = 0; i < archive_->members().size(); ++i) {
    VARVE_ASSIGN(const auto segment, archive_->open_segment(i, options_.max_memory_bytes));
    if (!segment->trusted()) {
      continue;
    }
    segment_dids.add(segment->head.header.unique_did_count);
    segment_rows.add(segment->head.header.event_count);
    for (const IndexEntry& e : *segment->footer->index) {
      frame_bytes.add(e.compressed_size);
      body_bytes.add(e.uncompressed_size);
      ratio.add(std::uint64_t{e.uncompressed_size} * 100 /
                std::max<std::uint64_t>(e.compressed_size, 1));
    }
  }

  std::vector<Distribution::Category> kinds;
  for (std::uint8_t kind = k_min_kind; kind <= k_max_kind; ++kind) {
    if (rows.kinds[kind].count != 0) {
      kinds.push_back(
          {std::string(k_kind_names[kind]), rows.kinds[kind].count, rows.kinds[kind].bytes});
    }
  }
  sort_by_count(kinds);
  std::vector<Distribution::Category> collections;
  for (const auto& [name, tally] : rows.collections) {
    collections.push_back({name, tally.count, tally.bytes});
  }
  sort_by_count(collections);
  std::vector<Distribution::Category> hours;  // in order of time
  for (const auto& [hour, tally] : rows.hours) {
    std::string name;
    base::append_rfc3339(name, hour * k_hour_us);
    hours.push_back({name.substr(0, name.find('.')) + "Z", tally.count, tally.bytes});
  }

  StatsReport report;
  auto& out = report.distributions;
  out.push_back(rows.payload_bytes.distribution("payload size", "bytes"));
  out.push_back(categories("kinds", "events", std::move(kinds)));
  out.push_back(categories("collections", "events", std::move(collections)));
  out.push_back(rows.rows_per_block.distribution("rows a block", "events"));
  out.push_back(frame_bytes.distribution("frame size", "bytes"));
  out.push_back(body_bytes.distribution("body size", "bytes"));
  out.push_back(ratio.distribution("compression by block", "percent"));
  out.push_back(segment_rows.distribution("rows a segment", "events"));
  out.push_back(segment_dids.distribution("accounts a segment", "DIDs"));
  out.push_back(categories("rate by hour", "events", std::move(hours)));
  return report;
}

}  // namespace varve::jss
