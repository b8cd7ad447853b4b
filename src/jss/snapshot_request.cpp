// SPDX-License-Identifier: MIT OR Apache-2.0
// The body of a planSnapshot request, and its answer, as JSON.
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "jss/snapshot_plan.hpp"
#include "jss/view.hpp"
#include "model/options.hpp"

namespace varve::jss {

namespace {

using simdjson::ondemand::value;

std::string quoted(std::string_view key) { return '"' + std::string(key) + '"'; }

Result<void> read_texts(std::string_view key, value member, std::vector<std::string>& out) {
  simdjson::ondemand::array items;
  if (member.get_array().get(items) != simdjson::SUCCESS) {
    return invalid_request(quoted(key) + " is no array");
  }
  for (auto item : items) {
    std::string_view text;
    if (item.get_string().get(text) != simdjson::SUCCESS) {
      return invalid_request(quoted(key) + " holds something that is no string");
    }
    out.emplace_back(text);
  }
  return {};
}

Result<void> read_seq(std::string_view key, value member, std::optional<std::uint64_t>& out) {
  std::int64_t number = 0;
  if (member.get_int64().get(number) != simdjson::SUCCESS || number < 0) {
    return invalid_request(quoted(key) + " is no integer from 0 to 2^63-1");
  }
  out = static_cast<std::uint64_t>(number);
  return {};
}

Result<void> read_member(std::string_view key, value member, SnapshotRequest& out) {
  bool null = false;
  if (member.is_null().get(null) == simdjson::SUCCESS && null) {
    return {};
  }
  if (key == "kinds") return read_texts(key, member, out.kinds);
  if (key == "dids") return read_texts(key, member, out.dids);
  if (key == "collections") return read_texts(key, member, out.collections);
  if (key == "afterSeq") return read_seq(key, member, out.after_seq);
  if (key == "beforeSeq") return read_seq(key, member, out.before_seq);
  return {};
}

// A number from 0 to 1.
Result<double> share_option(const std::map<std::string, std::string>& options,
                            const std::string& name, double fallback) {
  const auto found = options.find(name);
  if (found == options.end()) {
    return fallback;
  }
  const std::string& text = found->second;
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc{} || end != text.data() + text.size() || !(share >= 0 && share <= 1)) {
    return fail(ErrorCode::invalid_argument, name, "--" + name + " " + text + ": 0 to 1 is wanted");
  }
  return share;
}

Json runs_json(const std::vector<SnapshotPlan::Blocks>& runs) {
  Json out = Json::array();
  for (const SnapshotPlan::Blocks& run : runs) {
    Json entry = Json::object();
    entry.set("first", run.first).set("last", run.last);
    out.push(std::move(entry));
  }
  return out;
}

}  // namespace

std::unexpected<Error> invalid_request(std::string message) {
  return fail(ErrorCode::invalid_argument, "InvalidRequest", std::move(message));
}

Result<SnapshotRequest> SnapshotRequest::parse(std::string_view body) {
  SnapshotRequest out;
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return out;
  }
  const simdjson::padded_string padded(body);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object members;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(members) != simdjson::SUCCESS) {
    return invalid_request("the body is no JSON object");
  }
  for (auto member : members) {
    std::string_view key;
    value content;
    if (member.unescaped_key().get(key) != simdjson::SUCCESS ||
        member.value().get(content) != simdjson::SUCCESS) {
      return invalid_request("the body is malformed JSON");
    }
    VARVE_TRY(read_member(key, content, out));
  }
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return invalid_request("bytes behind the object of the body");
  }
  return out;
}

Json SnapshotPlan::to_json() const {
  Json list = Json::array();
  for (const Segment& segment : segments) {
    Json entry = Json::object();
    entry.set("name", segment.name)
        .set("index", segment.index)
        .set("checksum", checksum_text(segment.checksum))
        .set("minSeq", segment.min_seq)
        .set("maxSeq", segment.max_seq)
        .set("mode", segment.blocks.empty() ? "segment" : "blocks");
    if (!segment.blocks.empty()) {
      entry.set("blocks", runs_json(segment.blocks));
    }
    list.push(std::move(entry));
  }
  Json stats = Json::object();
  stats.set("segmentsExamined", segments_examined)
      .set("segmentsMatched", segments_matched)
      .set("blocksMatched", blocks_matched)
      .set("entries", entries);
  Json out = Json::object();
  out.set("plannedThroughSeq", planned_through_seq)
      .set("sealedTipSeq", sealed_tip_seq)
      .set("segments", std::move(list))
      .set("stats", std::move(stats));
  return out;
}

Result<SnapshotRequest> snapshot_request_of(const Predicate& predicate, std::string_view body) {
  VARVE_ASSIGN(SnapshotRequest wanted, SnapshotRequest::parse(body));
  if (predicate.since_us || predicate.until_us) {
    return invalid_request("a plan knows no times");
  }
  for (const FilterTerm& term : predicate.terms) {
    auto& list = term.name == "kind"  ? wanted.kinds
                 : term.name == "did" ? wanted.dids
                                      : wanted.collections;
    list.push_back(term.value);
  }
  if (predicate.seq_first && *predicate.seq_first > 0) {
    wanted.after_seq = std::max(wanted.after_seq.value_or(0), *predicate.seq_first - 1);
  }
  if (predicate.seq_last) {
    wanted.before_seq = std::min(wanted.before_seq.value_or(UINT64_MAX), *predicate.seq_last);
  }
  return wanted;
}

Result<Json> View::snapshot_plan(const ScanRequest& request, std::string_view body) {
  VARVE_ASSIGN(const SnapshotRequest wanted, snapshot_request_of(request.predicate, body));
  SnapshotLimits limits;
  VARVE_ASSIGN(limits.max_entries,
               model::number_option(request.options, "max-entries", limits.max_entries));
  VARVE_ASSIGN(limits.whole_segment_share,
               share_option(request.options, "whole-segment-share", limits.whole_segment_share));
  FooterShelf shelf(0);  // one call: nothing would be looked at twice
  VARVE_ASSIGN(const SnapshotPlan plan, plan_snapshot(*archive_, shelf, wanted, limits));
  return plan.to_json();
}

}  // namespace varve::jss
