// SPDX-License-Identifier: MIT OR Apache-2.0
// `get`: a frame by its number or place, or what the state holds under an id.
#include <charconv>

#include "arena/header_walk.hpp"
#include "arena/json_text.hpp"
#include "arena/log_rows.hpp"
#include "arena/log_walk.hpp"
#include "arena/state_rows.hpp"
#include "arena/view.hpp"
#include "base/whole_number.hpp"

namespace varve::arena {

namespace {

// A line as the JSON value that `get` prints.
Json json_of(std::string_view token);

Json json_of(JsonReader& reader) {
  std::string_view token;
  switch (reader.peek()) {
    case '{': {
      Json out = Json::object();
      reader.object([&](std::string_view key) {
        const std::string name = text_of(key);
        out.set(name, json_of(reader));
        return true;
      });
      return out;
    }
    case '[': {
      Json out = Json::array();
      reader.array([&] {
        out.push(json_of(reader));
        return true;
      });
      return out;
    }
    case '"':
      reader.string(token);
      return Json(text_of(token));
    case 't':
    case 'f':
      reader.boolean(token);
      return Json(token == "true");
    case 'n':
      reader.null();
      return {};
    default:
      break;
  }
  reader.number(token);
  if (const auto integer = unsigned_integer(token)) {
    return Json(*integer);
  }
  std::int64_t negative = 0;
  const char* end = token.data() + token.size();
  const auto parsed = std::from_chars(token.data(), end, negative);
  if (parsed.ec == std::errc() && parsed.ptr == end) {
    return Json(negative);
  }
  return Json(real(token).value_or(0));
}

Json json_of(std::string_view token) {
  JsonReader reader(token);
  return json_of(reader);
}

std::unexpected<Error> not_found(const std::string& key, const std::string& path) {
  return fail(ErrorCode::invalid_argument, "not_found", "the store has nothing under " + key, path);
}

}  // namespace

Result<GetResult> ArenaView::get_frame(std::size_t position, std::uint64_t offset,
                                       std::uint64_t index, const RenderOptions& options) {
  VARVE_ASSIGN(const auto image, open_for_walk(map_, position));
  const SegmentContext segment{map_, position, *image};
  base::Buffer data;
  base::Buffer room;
  VARVE_ASSIGN(const UnitCheck check, check_at(*image, offset, data, room));
  if (check.kind != UnitKind::frame) {
    if (check.kind != UnitKind::invalid) {
      return not_found("@" + std::to_string(segment.global(offset)), map_.path);
    }
    Error error;
    error.code = ErrorCode::damaged;
    error.path = segment.path();
    error.offset = offset;
    error.unit = "frame";
    error.reason = check.fault.word;
    error.expected = check.fault.expected;
    error.actual = check.fault.actual;
    error.message = std::string("no valid frame here (corrupt-frame), reason ") + check.fault.word;
    return std::unexpected(std::move(error));
  }
  PayloadScratch scratch;
  const base::ByteSpan payload = look_at_payload(payloads_, check.payload, scratch).text;
  const auto rows = std::make_shared<LogRows>();
  rows->add(index, segment.file().number, segment.global(offset), {offset, check.header}, payload,
            true);
  std::string line;
  PayloadScratch again;
  append_log_line(line, payloads_, rows->batch(rows), 0, options, again);
  return GetResult{json_of(line), std::string(base::as_text(payload))};
}

Result<std::optional<FramePlace>> ArenaView::find_frame(
    const std::function<bool(const FramePlace&)>& wanted, FindingSink& findings) {
  class Sink final : public BatchSink {
   public:
    explicit Sink(const std::function<bool(const FramePlace&)>& is_it) : is_it_(is_it) {}
    Result<bool> consume(Batch batch) override {
      const auto column = [&](LogColumn which) -> const Column& {
        return batch.columns[static_cast<std::size_t>(which)];
      };
      for (std::size_t row = 0; row < batch.rows && !found; ++row) {
        const FramePlace place{column(LogColumn::frame).value<std::uint64_t>(row),
                               column(LogColumn::segment).value<std::uint32_t>(row),
                               column(LogColumn::offset).value<std::uint64_t>(row)};
        if (is_it_(place)) {
          found = place;
        }
      }
      return !found;
    }
    std::optional<FramePlace> found;

   private:
    const std::function<bool(const FramePlace&)>& is_it_;
  };
  Sink sink(wanted);
  ScanRequest request;
  request.columns = {"frame"};
  VARVE_TRY(scan_log(request, sink, findings));
  return sink.found;
}

Result<GetResult> ArenaView::get_by_index(std::uint64_t index, const RenderOptions& options,
                                          FindingSink& findings) {
  // The numbering of `cat`: found by a scan, since damage on the way counts as frames too.
  const auto wanted = [&](const FramePlace& place) { return place.index == index; };
  VARVE_ASSIGN(const auto found, find_frame(wanted, findings));
  for (std::size_t i = 0; found && i < map_.segments.size(); ++i) {
    if (map_.segments[i].number == found->segment) {
      return get_frame(i, found->offset, index, options);
    }
  }
  return not_found(std::to_string(index), map_.path);
}

Result<GetResult> ArenaView::get_by_id(const std::string& id, FindingSink& findings) {
  LiveState state(payloads_.rules.meaning_enabled, payloads_.rules.dimensions.value_or(0));
  VARVE_TRY(fold(state, false, options_.threads, findings));
  Json rows = Json::array();
  const auto emit = [&](Batch batch) -> Result<bool> {
    std::string line;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      line.clear();
      append_state_line(line, batch, row);
      rows.push(json_of(line));
    }
    return true;
  };
  VARVE_TRY(each_state_batch(state, {id}, emit));
  if (rows.as_array()->empty()) {
    return not_found(id, map_.path);
  }
  GetResult out;
  out.document = Json::object().set("id", id).set("state", std::move(rows));
  const auto document = state.documents.find(id);
  if (document != state.documents.end() && !document->second.has_null_text) {
    out.raw.emplace();
    for (const Chunk& chunk : chunks_of(document->second.chunks)) {
      *out.raw += text_of(chunk.value(ChunkField::text));
    }
  }
  return out;
}

Result<GetResult> ArenaView::get(const std::string& key, const RenderOptions& options,
                                 FindingSink& findings) {
  if (!map_.live) {
    return std::unexpected(*map_.refusal);
  }
  if (!key.starts_with('@')) {
    const auto index = base::whole_number<std::uint64_t>(key);
    return index ? get_by_index(*index, options, findings) : get_by_id(key, findings);
  }
  const auto global = base::whole_number<std::uint64_t>(std::string_view(key).substr(1));
  if (!global) {
    return fail(ErrorCode::invalid_argument, "key", "not a byte offset: " + key);
  }
  const std::uint64_t number = *global / map_.geometry.segment_bytes;
  const std::uint64_t offset = *global % map_.geometry.segment_bytes;
  // Headers alone tell the index quickly; where one of them is hurt, a scan tells it.
  std::optional<std::uint64_t> index = 0;
  for (std::size_t i = 0; i < map_.segments.size(); ++i) {
    VARVE_ASSIGN(const auto image, open_for_walk(map_, i));
    if (map_.segments[i].number == number) {
      VARVE_ASSIGN(const auto before, frames_before(*image, offset));
      if (index && before) {
        return get_frame(i, offset, *index + *before, options);
      }
      const auto wanted = [&](const FramePlace& place) {
        return place.segment == number && place.offset == offset;
      };
      VARVE_ASSIGN(const auto found, find_frame(wanted, findings));
      return get_frame(i, offset, found ? found->index : index.value_or(0) + before.value_or(0),
                       options);
    }
    VARVE_ASSIGN(const HeaderSummary summary, walk_headers(*image));
    const bool whole = summary.end.kind != UnitKind::invalid;
    index = index && whole ? std::optional(*index + summary.frames) : std::nullopt;
  }
  return not_found(key, map_.path);
}

}  // namespace varve::arena
