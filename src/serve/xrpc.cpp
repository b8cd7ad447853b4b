// SPDX-License-Identifier: MIT OR Apache-2.0
// The archive's endpoints (spec sections 17.1 to 17.4).
#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "base/whole_number.hpp"
#include "jss/names.hpp"
#include "serve/answers.hpp"
#include "serve/context.hpp"
#include "serve/served_archive.hpp"

namespace varve::serve {

namespace {

constexpr std::string_view k_prefix = "/xrpc/network.bsky.jetstream.";
constexpr std::uint64_t k_default_limit = 100;
constexpr std::uint64_t k_max_limit = 1000;

HttpResponse answer_of(const Error& error) {
  if (error.reason == "InvalidRequest") {
    return error_answer(400, error.message);
  }
  if (error.reason == "SegmentNotFound") {
    return error_answer(404, "SegmentNotFound", error.message);
  }
  return error_answer(500, error.text());
}

Json segment_json(const ListedSegment& segment) {
  const jss::Header& header = segment.header;
  Json out = Json::object();
  out.set("name", segment.name)
      .set("index", segment.number)
      .set("sizeBytes", segment.identity.size_bytes)
      .set("checksum", generation_text(header))
      .set("eventCount", header.event_count)
      .set("minSeq", header.min_seq)
      .set("maxSeq", header.max_seq)
      .set("minWitnessedAt", header.min_witnessed_at)
      .set("maxWitnessedAt", header.max_witnessed_at);
  return out;
}

class ArchiveEndpoints {
 public:
  ArchiveEndpoints(io::FileSystem& files, const std::string& path, ServeSettings settings)
      : archive_(files, path), settings_(settings) {}

  ServedArchive& archive() { return archive_; }
  HttpResponse list_segments(const HttpRequest& request);
  HttpResponse get_segment(const HttpRequest& request);
  HttpResponse get_block(const HttpRequest& request);
  HttpResponse plan_snapshot(const HttpRequest& request);
  // What all have in common: not before the list is there, and who may read it.
  HttpResponse finish(HttpResponse answer) const;
  static HttpResponse loading() {
    HttpResponse answer = error_answer(503, "the list of segments is being loaded");
    answer.headers.emplace_back("Retry-After", "1");
    return answer;
  }

 private:
  ServedArchive archive_;
  ServeSettings settings_;
};

HttpResponse ArchiveEndpoints::finish(HttpResponse answer) const {
  if (settings_.cross_origin) {
    answer.headers.emplace_back("Access-Control-Allow-Origin", "*");
    answer.headers.emplace_back("Access-Control-Expose-Headers",
                                "ETag, Content-Range, Accept-Ranges, Retry-After");
  }
  return answer;
}

HttpResponse ArchiveEndpoints::list_segments(const HttpRequest& request) {
  std::uint64_t limit = k_default_limit;
  if (const std::string* text = request.parameter("limit")) {
    const auto value = base::whole_number<std::uint64_t>(*text);
    const bool huge =
        !value && !text->empty() && text->find_first_not_of("0123456789") == text->npos;
    if (!huge && (!value || *value == 0)) {
      return error_answer(400, "limit is no integer above 0");
    }
    limit = huge ? k_max_limit : std::min(*value, k_max_limit);
  }
  std::uint64_t first = 0;
  if (const std::string* text = request.parameter("cursor"); text && !text->empty()) {
    const auto value = base::whole_number<std::uint64_t>(*text);
    if (!value) {
      return error_answer(400, "cursor is no number of a segment");
    }
    first = *value;
  }
  const auto list = archive_.list();
  if (!list) {
    return answer_of(list.error());
  }
  Json segments = Json::array();
  std::optional<std::uint64_t> next;
  std::uint64_t count = 0;
  for (const ListedSegment& segment : **list) {
    // A list that leaves out a damaged segment would look whole.
    if (segment.state == jss::SegmentState::refused) {
      return error_answer(500, segment.name + " is damaged: " + segment.fault);
    }
    if (segment.state != jss::SegmentState::sealed || segment.number < first || next) {
      continue;
    }
    if (count == limit) {
      next = segment.number;
    } else {
      ++count;
      segments.push(segment_json(segment));
    }
  }
  Json out = Json::object();
  if (next) {
    out.set("cursor", std::to_string(*next));
  }
  out.set("segments", std::move(segments));
  return json_answer(out);
}

HttpResponse ArchiveEndpoints::get_segment(const HttpRequest& request) {
  const std::string* name = request.parameter("name");
  if (name == nullptr || !jss::segment_number(*name)) {
    return error_answer(400, "name is no name of a segment");
  }
  const auto segment = archive_.open(*name);
  if (!segment) {
    return answer_of(segment.error());
  }
  return byte_answer(request, {.bytes = {segment->file, 0, segment->identity.size_bytes},
                               .etag = '"' + generation_text(segment->header) + '"',
                               .modified_ns = segment->identity.modified_ns,
                               .cache_age_s = settings_.cache_age_s});
}

// Where a frame's bytes stand, by the header and one entry (section 10, the last but one
// paragraph); nullopt where the entry points elsewhere.
Result<std::optional<FileBody>> frame_of(const ServedSegment& segment, std::uint64_t block) {
  const std::uint64_t end = segment.header.footer_offset;
  std::array<std::byte, jss::k_index_entry_bytes> raw{};
  VARVE_ASSIGN(const std::size_t got,
               segment.file->read_at(raw, end + jss::k_index_entry_bytes * block));
  if (got != raw.size()) {
    return std::nullopt;
  }
  const jss::IndexEntry entry = jss::load_index_entry(raw.data());
  constexpr std::uint64_t k_prefix_bytes = 8;
  if (entry.offset < jss::k_header_bytes || end < k_prefix_bytes ||
      entry.offset > end - k_prefix_bytes ||
      entry.compressed_size > end - entry.offset - k_prefix_bytes) {
    return std::nullopt;
  }
  return FileBody{segment.file, entry.offset + k_prefix_bytes, entry.compressed_size};
}

HttpResponse ArchiveEndpoints::get_block(const HttpRequest& request) {
  const std::string* name = request.parameter("segment");
  if (name == nullptr || !jss::segment_number(*name)) {
    return error_answer(400, "segment is no name of a segment");
  }
  const std::string* number = request.parameter("blockIndex");
  const auto block = number != nullptr ? base::whole_number<std::uint64_t>(*number) : std::nullopt;
  if (!block) {
    return error_answer(400, "blockIndex is no integer from 0");
  }
  const auto segment = archive_.open(*name);
  if (!segment) {
    return answer_of(segment.error());
  }
  if (*block >= segment->header.block_count) {
    return error_answer(404, "BlockNotFound",
                        *name + " has " + std::to_string(segment->header.block_count) + " blocks");
  }
  const auto frame = frame_of(*segment, *block);
  if (!frame) {
    return answer_of(frame.error());
  }
  if (!*frame) {
    return error_answer(500, "the index of " + *name + " is damaged");
  }
  return byte_answer(request, {.bytes = **frame,
                               .etag = '"' + generation_text(segment->header) + ':' + *number + '"',
                               .modified_ns = segment->identity.modified_ns,
                               .cache_age_s = settings_.cache_age_s});
}

HttpResponse ArchiveEndpoints::plan_snapshot(const HttpRequest& request) {
  const auto wanted = jss::SnapshotRequest::parse(request.body);
  if (!wanted) {
    return answer_of(wanted.error());
  }
  const auto plan = archive_.plan(*wanted, settings_.limits);
  return plan ? json_answer(plan->to_json()) : answer_of(plan.error());
}

void add_gauges(Metrics& metrics, ServedArchive& archive) {
  const auto over = [&archive](auto measure) {
    return [&archive, measure] {
      const auto list = archive.list();
      return list ? measure(**list) : 0.0;
    };
  };
  const auto sealed = [](const ListedSegment& s) { return s.state == jss::SegmentState::sealed; };
  metrics.add(
      {"varve_archive_segments", "Sealed segments.", over([sealed](const SegmentList& list) {
         return static_cast<double>(std::ranges::count_if(list, sealed));
       })});
  metrics.add({"varve_archive_sealed_tip_seq", "The highest seq of the sealed segments.",
               over([sealed](const SegmentList& list) {
                 std::uint64_t tip = 0;
                 for (const ListedSegment& segment : list) {
                   tip = std::max(tip, sealed(segment) ? segment.header.max_seq : 0);
                 }
                 return static_cast<double>(tip);
               })});
}

}  // namespace

Result<void> install_archive_endpoints(ServeContext& context) {
  if (!context.archive) {
    context.server.add_prefix("*", "/xrpc/", [](const HttpRequest&) {
      return error_answer(404, "no archive is served here");
    });
    return {};
  }
  auto endpoints = std::make_shared<ArchiveEndpoints>(
      context.files, context.stores[*context.archive].path, context.settings);
  context.kept.push_back(endpoints);
  const auto add = [&](const char* method, const char* name,
                       HttpResponse (ArchiveEndpoints::*handle)(const HttpRequest&)) {
    context.server.add(method, std::string(k_prefix) + name,
                       [&at = *endpoints, handle](const HttpRequest& request) {
                         return at.finish(at.archive().loading() ? ArchiveEndpoints::loading()
                                                                 : (at.*handle)(request));
                       });
  };
  add("GET", "listSegments", &ArchiveEndpoints::list_segments);
  add("GET", "getSegment", &ArchiveEndpoints::get_segment);
  add("GET", "getBlock", &ArchiveEndpoints::get_block);
  add("POST", "planSnapshot", &ArchiveEndpoints::plan_snapshot);
  context.server.add_prefix("*", "/xrpc/", [&at = *endpoints](const HttpRequest& request) {
    return at.finish(error_answer(501, "there is no method " + request.path.substr(6)));
  });
  add_gauges(context.metrics, endpoints->archive());
  return {};
}

}  // namespace varve::serve
