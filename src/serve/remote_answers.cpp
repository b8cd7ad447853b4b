// SPDX-License-Identifier: MIT OR Apache-2.0
// What a server says, read with suspicion.
#include <simdjson.h>

#include <charconv>
#include <utility>

#include "base/whole_number.hpp"
#include "jss/layout.hpp"
#include "jss/names.hpp"
#include "serve/remote_archive.hpp"

namespace varve::serve {

namespace {

using simdjson::dom::element;

std::unexpected<Error> malformed(std::string message) {
  return fail(ErrorCode::io, "remote-answer",
              "the server's answer is refused: " + std::move(message));
}

Result<element> parse_object(simdjson::dom::parser& parser, std::string_view json) {
  element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS ||
      !document.is_object()) {
    return malformed("it is no JSON object");
  }
  return document;
}

// A number from 0 to 2^63-1.
Result<std::uint64_t> number_of(element object, const char* key) {
  std::int64_t number = 0;
  if (object[key].get_int64().get(number) != simdjson::SUCCESS || number < 0) {
    return malformed(std::string(key) + " is missing, negative or no integer");
  }
  return static_cast<std::uint64_t>(number);
}

Result<std::string_view> text_of(element object, const char* key) {
  std::string_view text;
  if (object[key].get_string().get(text) != simdjson::SUCCESS) {
    return malformed(std::string(key) + " is missing or no text");
  }
  return text;
}

// name, index and checksum, which lists and plans have in common.
struct Named {
  std::string name;
  std::uint64_t index = 0;
  std::uint64_t checksum = 0;
};

Result<Named> named(element entry) {
  Named out;
  VARVE_ASSIGN(const std::string_view name, text_of(entry, "name"));
  VARVE_ASSIGN(out.index, number_of(entry, "index"));
  VARVE_ASSIGN(const std::string_view checksum, text_of(entry, "checksum"));
  const auto number = jss::segment_number(name);
  if (!number || *number != out.index) {
    return malformed("a name is not that of segment " + std::to_string(out.index));
  }
  const auto hash = base::whole_number<std::uint64_t>(checksum, 16);
  if (checksum.size() != 16 || !hash || *hash == 0) {
    return malformed("a checksum is not 16 hexadecimal digits");
  }
  out.checksum = *hash;
  out.name = name;
  return out;
}

Result<simdjson::dom::array> list_of(element object, const char* key) {
  simdjson::dom::array list;
  if (object[key].get_array().get(list) != simdjson::SUCCESS) {
    return malformed(std::string(key) + " is missing or no list");
  }
  return list;
}

Result<std::vector<jss::SnapshotPlan::Blocks>> runs_of(element entry) {
  std::vector<jss::SnapshotPlan::Blocks> out;
  VARVE_ASSIGN(const simdjson::dom::array runs, list_of(entry, "blocks"));
  for (const element run : runs) {
    VARVE_ASSIGN(const std::uint64_t first, number_of(run, "first"));
    VARVE_ASSIGN(const std::uint64_t last, number_of(run, "last"));
    if (last < first || last >= jss::k_max_blocks) {
      return malformed("a range of blocks ends before it begins, or beyond every segment");
    }
    if (!out.empty() && first <= out.back().last) {
      return malformed("ranges of blocks do not ascend");
    }
    out.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)});
  }
  if (out.empty()) {
    return malformed("an entry of mode blocks has no ranges");
  }
  return out;
}

Result<jss::SnapshotPlan::Segment> plan_entry(element entry) {
  VARVE_ASSIGN(Named who, named(entry));
  jss::SnapshotPlan::Segment out;
  out.name = std::move(who.name);
  out.index = who.index;
  out.checksum = who.checksum;
  VARVE_ASSIGN(out.min_seq, number_of(entry, "minSeq"));
  VARVE_ASSIGN(out.max_seq, number_of(entry, "maxSeq"));
  VARVE_ASSIGN(const std::string_view mode, text_of(entry, "mode"));
  if (out.max_seq < out.min_seq) {
    return malformed("maxSeq is below minSeq");
  }
  if (mode == "blocks") {
    VARVE_ASSIGN(out.blocks, runs_of(entry));
  } else if (mode != "segment") {
    return malformed("an entry has a mode that is unknown");
  }
  return out;
}

void append_texts(Json& out, const char* key, const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return;
  }
  Json list = Json::array();
  for (const std::string& text : texts) {
    list.push(text);
  }
  out.set(key, std::move(list));
}

}  // namespace

Result<SegmentPage> parse_segment_page(std::string_view json) {
  simdjson::dom::parser parser;
  VARVE_ASSIGN(const element document, parse_object(parser, json));
  SegmentPage out;
  VARVE_ASSIGN(const simdjson::dom::array segments, list_of(document, "segments"));
  for (const element entry : segments) {
    VARVE_ASSIGN(Named who, named(entry));
    RemoteSegment segment;
    segment.name = std::move(who.name);
    segment.index = who.index;
    segment.checksum = who.checksum;
    VARVE_ASSIGN(segment.size_bytes, number_of(entry, "sizeBytes"));
    if (!out.segments.empty() && segment.index <= out.segments.back().index) {
      return malformed("segments do not ascend");
    }
    out.segments.push_back(std::move(segment));
  }
  std::string_view cursor;
  if (document["cursor"].get_string().get(cursor) == simdjson::SUCCESS) {
    out.cursor = cursor;
  }
  if (!out.cursor.empty() && out.segments.empty()) {
    return malformed("an empty page says that more follow");
  }
  return out;
}

Result<jss::SnapshotPlan> parse_plan(std::string_view json) {
  simdjson::dom::parser parser;
  VARVE_ASSIGN(const element document, parse_object(parser, json));
  jss::SnapshotPlan out;
  VARVE_ASSIGN(out.planned_through_seq, number_of(document, "plannedThroughSeq"));
  VARVE_ASSIGN(out.sealed_tip_seq, number_of(document, "sealedTipSeq"));
  if (out.planned_through_seq > out.sealed_tip_seq) {
    return malformed("plannedThroughSeq is above sealedTipSeq");
  }
  VARVE_ASSIGN(const simdjson::dom::array segments, list_of(document, "segments"));
  for (const element entry : segments) {
    VARVE_ASSIGN(auto segment, plan_entry(entry));
    out.segments.push_back(std::move(segment));
  }
  element stats;
  if (document["stats"].get(stats) == simdjson::SUCCESS) {
    VARVE_ASSIGN(out.segments_examined, number_of(stats, "segmentsExamined"));
    VARVE_ASSIGN(out.segments_matched, number_of(stats, "segmentsMatched"));
    VARVE_ASSIGN(out.blocks_matched, number_of(stats, "blocksMatched"));
    VARVE_ASSIGN(out.entries, number_of(stats, "entries"));
  }
  return out;
}

std::string plan_request_json(const jss::SnapshotRequest& request) {
  Json out = Json::object();
  append_texts(out, "kinds", request.kinds);
  append_texts(out, "dids", request.dids);
  append_texts(out, "collections", request.collections);
  if (request.after_seq) {
    out.set("afterSeq", *request.after_seq);
  }
  if (request.before_seq) {
    out.set("beforeSeq", *request.before_seq);
  }
  return out.text();
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view k_unit = "bytes ";
  if (!text.starts_with(k_unit)) {
    return std::nullopt;
  }
  ContentRange out;
  const char* at = text.data() + k_unit.size();
  const char* const end = text.data() + text.size();
  const auto number = [&](std::uint64_t& into, char behind) {
    const auto [next, error] = std::from_chars(at, end, into);
    if (error != std::errc() || (behind == 0 ? next != end : next == end || *next != behind)) {
      return false;
    }
    at = next + (behind == 0 ? 0 : 1);
    return true;
  };
  if (!number(out.first, '-') || !number(out.last, '/') || !number(out.size, 0) ||
      out.last < out.first || out.last >= out.size) {
    return std::nullopt;
  }
  return out;
}

}  // namespace varve::serve
