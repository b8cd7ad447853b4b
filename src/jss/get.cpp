// SPDX-License-Identifier: MIT OR Apache-2.0
// `get`: one record by seq, the history of a record path, or the unit at a byte offset.
#include <string>
#include <utility>

#include "base/whole_number.hpp"
#include "jss/block_reader.hpp"
#include "jss/log_schema.hpp"
#include "jss/view.hpp"
#include "jss/walker.hpp"

namespace varve::jss {

namespace {

// Keeps each row of a scan that is the wanted path's (or every row), rendered.
class LineSink final : public BatchSink {
 public:
  struct Row {
    std::string line;
    std::string payload;
  };
  LineSink(const StoreView& view, const RenderOptions& options, std::string_view rkey)
      : view_(view), options_(options), rkey_(rkey) {}

  Result<bool> consume(Batch batch) override {
    for (std::size_t row = 0; row < batch.rows; ++row) {
      if (!rkey_.empty() && batch.columns[k_log_rkey].bytes(row) != rkey_) {
        continue;
      }
      rows.push_back({line_of(batch, row), std::string(batch.columns[k_log_payload].bytes(row))});
    }
    return true;
  }

  std::vector<Row> rows;

 private:
  // One row of a batch as a line without its end.
  std::string line_of(const Batch& batch, std::size_t row) const {
    Batch one = batch;
    one.rows = 1;
    for (Column& column : one.columns) {
      switch (column.layout) {
        case Column::Layout::variable:
          column.offsets += row;
          break;
        case Column::Layout::dictionary8:
          column.values = static_cast<const std::uint8_t*>(column.values) + row;
          break;
        default:
          break;
      }
    }
    const auto skip = [&]<class T>(LogColumn column, T) {
      one.columns[column].values = static_cast<const T*>(one.columns[column].values) + row;
    };
    skip(k_log_seq, std::uint64_t{});
    skip(k_log_witnessed_at, std::int64_t{});
    skip(k_log_indexed_at, std::int64_t{});
    skip(k_log_at_block, std::uint32_t{});
    skip(k_log_at_row, std::uint32_t{});
    std::string line;
    view_.render(Face::log, one, options_, line);
    if (line.ends_with('\n')) {
      line.pop_back();
    }
    return line;
  }

  const StoreView& view_;
  const RenderOptions& options_;
  std::string_view rkey_;
};

struct RecordPath {
  std::string did;
  std::string collection;
  std::string rkey;
};

// "at://did:plc:.../app.bsky.feed.post/3k..."
std::optional<RecordPath> parse_at_uri(std::string_view text) {
  constexpr std::string_view k_scheme = "at://";
  if (!text.starts_with(k_scheme)) {
    return std::nullopt;
  }
  text.remove_prefix(k_scheme.size());
  const std::size_t first = text.find('/');
  const std::size_t second = text.find('/', first == std::string_view::npos ? first : first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos ||
      second + 1 == text.size() || text.find('/', second + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return RecordPath{std::string(text.substr(0, first)),
                    std::string(text.substr(first + 1, second - first - 1)),
                    std::string(text.substr(second + 1))};
}

std::unexpected<Error> not_found(const std::string& key, const std::string& path) {
  return fail(ErrorCode::invalid_argument, "not_found", "the store has nothing under " + key, path);
}

// The facts of one block, with its frame as the raw bytes.
Result<GetResult> block_document(const OpenSegment& segment, const Member& member,
                                 const FrameRef& frame, std::size_t index,
                                 std::uint64_t max_memory_bytes, FindingSink& findings) {
  BlockReader reader(max_memory_bytes);
  Block block;
  VARVE_ASSIGN(const auto fault, reader.read(segment, frame, index, block));
  GetResult result;
  Json& out = result.document;
  out.set("unit", "block");
  out.set("segment", member.label);
  out.set("block", std::uint64_t{index});
  out.set("offset", frame.offset);
  out.set("compressed_size", frame.frame_bytes);
  out.set("decodes", !fault.has_value());
  if (fault) {
    findings.add(*fault);
  } else {
    const BlockColumns& c = block.columns;
    out.set("uncompressed_size", std::uint64_t{block.body.size()});
    out.set("event_count", c.rows);
    if (c.rows != 0) {
      out.set("first_seq", c.seq[0]);
      out.set("last_seq", c.seq[c.rows - 1]);
    }
  }
  result.raw = std::string(base::as_text(reader.frame()));
  return result;
}

// A stretch of the file that is no block: what it is, and its bytes.
Result<GetResult> part_document(const SegmentFile& file, const Member& member, const char* unit,
                                std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t k_max_raw_bytes = std::uint64_t{64} << 20;
  GetResult result;
  result.document.set("unit", unit);
  result.document.set("segment", member.label);
  result.document.set("offset", begin);
  result.document.set("length", end - begin);
  if (end - begin <= k_max_raw_bytes) {
    std::string raw(static_cast<std::size_t>(end - begin), '\0');
    VARVE_TRY(file.read(std::as_writable_bytes(std::span(raw)), begin));
    result.raw = std::move(raw);
  }
  return result;
}

Result<GetResult> unit_at(Archive& archive, std::uint64_t offset, std::uint64_t max_memory_bytes,
                          FindingSink& findings) {
  if (archive.is_directory()) {
    return fail(ErrorCode::invalid_argument, "offset",
                "an offset needs one segment file; this store is a directory", archive.path());
  }
  VARVE_ASSIGN(const auto segment, archive.open_segment(0, max_memory_bytes));
  const SegmentFile& file = *segment->file;
  const Member& member = archive.members()[0];
  if (offset >= file.size()) {
    return not_found("@" + std::to_string(offset), archive.path());
  }
  VARVE_ASSIGN(const SegmentWalk walk, walk_segment(file, segment->head, segment->footer.get(),
                                                    {WalkPolicy::report, max_memory_bytes}));
  for (std::size_t i = 0; i < walk.frames.size(); ++i) {
    if (offset >= walk.frames[i].offset && offset < walk.frames[i].end()) {
      return block_document(*segment, member, walk.frames[i], i, max_memory_bytes, findings);
    }
  }
  if (offset < segment->head.raw_bytes) {
    return part_document(file, member, "header", 0, segment->head.raw_bytes);
  }
  const Header& h = segment->head.header;
  if (segment->head.state == SegmentState::sealed && offset >= h.footer_offset) {
    const std::uint64_t edges[] = {h.footer_offset, h.did_bloom_offset, h.block_did_bloom_offset,
                                   h.collection_index_offset, file.size()};
    static constexpr const char* k_units[] = {"block index", "segment bloom", "block blooms",
                                              "collection index"};
    for (std::size_t i = 0; i < 4; ++i) {
      if (offset < edges[i + 1]) {
        return part_document(file, member, k_units[i], edges[i], edges[i + 1]);
      }
    }
  }
  return part_document(file, member, offset >= walk.frames_end ? "tail" : "hole",
                       std::min(offset, walk.frames_end), file.size());
}

}  // namespace

Result<GetResult> View::get(const std::string& key, const RenderOptions& options,
                            FindingSink& findings) {
  if (key.starts_with('@')) {
    const auto offset = base::whole_number<std::uint64_t>(std::string_view(key).substr(1));
    if (!offset) {
      return fail(ErrorCode::invalid_argument, "key", "not a byte offset: " + key);
    }
    return unit_at(*archive_, *offset, options_.max_memory_bytes, findings);
  }
  const auto path = parse_at_uri(key);
  const auto seq = path ? std::nullopt : base::whole_number<std::uint64_t>(key);
  if (!path && !seq) {
    return fail(ErrorCode::invalid_argument, "key",
                "neither a seq, nor at://DID/COLLECTION/RKEY, nor @OFFSET: " + key);
  }
  ScanRequest request;
  request.threads = options_.threads;
  request.max_memory_bytes = options_.max_memory_bytes;
  if (path) {
    request.predicate.terms = {
        {"did", path->did}, {"collection", path->collection}, {"kind", "commit"}};
  } else {
    request.predicate.seq_first = request.predicate.seq_last = *seq;
    request.limit = 1;  // a seq stands once; what lies behind need not be read
  }
  LineSink sink(*this, options, path ? std::string_view(path->rkey) : std::string_view());
  VARVE_TRY(scan(request, sink, findings));
  std::erase_if(sink.rows, [](const LineSink::Row& row) { return row.line.empty(); });
  if (sink.rows.empty()) {
    return not_found(key, archive_->path());
  }
  GetResult result;
  const LineSink::Row& last = sink.rows.back();
  result.raw = last.payload;
  if (!path) {
    result.document = Json::raw(last.line);
    return result;
  }
  // The newest row says what the record is now; all rows are its history.
  result.document.set("uri", key);
  result.document.set("current", Json::raw(last.line));
  Json history = Json::array();
  for (const LineSink::Row& row : sink.rows) {
    history.push(Json::raw(row.line));
  }
  result.document.set("history", std::move(history));
  return result;
}

}  // namespace varve::jss
