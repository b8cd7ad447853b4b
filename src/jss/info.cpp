// SPDX-License-Identifier: MIT OR Apache-2.0
// `info`: what headers and footers say, without reading blocks (but those of an active file, which
// has nothing else).
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "jss/block_reader.hpp"
#include "jss/view.hpp"
#include "jss/walker.hpp"

namespace varve::jss {

namespace {

// Above this many blocks the per-block lists of `detail` are cut, and say so.
constexpr std::size_t k_max_listed_blocks = 16384;
// An archive's footers are read up to this many bytes in all; behind that headers must do.
constexpr std::uint64_t k_max_footer_bytes = std::uint64_t{256} << 20;
// Active files above this size are not decoded for their numbers.
constexpr std::uint64_t k_max_decoded_active_bytes = std::uint64_t{512} << 20;

Json hex64(std::uint64_t value) { return Json(to_text(Number::hex64(value))); }

Json header_json(const Header& h) {
  Json out = Json::object();
  out.set("magic", std::string(k_magic));
  out.set("checksum", hex64(h.checksum));
  out.set("version", std::uint64_t{h.version});
  out.set("block_count", h.block_count);
  out.set("event_count", h.event_count);
  out.set("unique_did_count", h.unique_did_count);
  out.set("min_seq", h.min_seq);
  out.set("max_seq", h.max_seq);
  out.set("min_witnessed_at", h.min_witnessed_at);
  out.set("max_witnessed_at", h.max_witnessed_at);
  out.set("footer_offset", h.footer_offset);
  out.set("did_bloom_offset", h.did_bloom_offset);
  out.set("block_did_bloom_offset", h.block_did_bloom_offset);
  out.set("collection_index_offset", h.collection_index_offset);
  out.set("block_index_offset", h.block_index_offset);
  return out;
}

Json index_json(const std::vector<IndexEntry>& index) {
  Json out = Json::array();
  for (std::size_t i = 0; i < std::min(index.size(), k_max_listed_blocks); ++i) {
    const IndexEntry& e = index[i];
    Json entry = Json::object();
    entry.set("offset", e.offset);
    entry.set("compressed_size", e.compressed_size);
    entry.set("uncompressed_size", e.uncompressed_size);
    entry.set("event_count", e.event_count);
    entry.set("min_seq", e.min_seq);
    entry.set("max_seq", e.max_seq);
    entry.set("min_witnessed_at", e.min_witnessed_at);
    entry.set("max_witnessed_at", e.max_witnessed_at);
    out.push(std::move(entry));
  }
  return out;
}

// Walks the set bits of all masks, up to a budget: a hostile index has billions of them.
class MaskWalk {
 public:
  explicit MaskWalk(const CollectionIndex& collections)
      : collections_(collections), blocks_of_(collections.entries().size()) {}

  // The ids of one block, counted; null once the budget is spent.
  Json take(std::uint32_t block) {
    const base::ByteSpan mask = collections_.mask(block);
    Json ids = Json::array();
    const bool listed = block < k_max_listed_blocks && left_to_list_ > 0;
    for (std::size_t byte = 0; byte < mask.size() && left_to_count_ > 0; ++byte) {
      --left_to_count_;
      for (unsigned bits = base::u8(mask[byte]); bits != 0; bits &= bits - 1) {
        const auto id = byte * 8 + static_cast<unsigned>(std::countr_zero(bits));
        ++blocks_of_[id];
        if (listed && left_to_list_ > 0) {
          --left_to_list_;
          ids.push(std::uint64_t{id});
        }
      }
    }
    return listed ? ids : Json();
  }
  // How many blocks have a name; null if that was not counted to the end.
  Json blocks_of(std::size_t id) const {
    return left_to_count_ > 0 ? Json(blocks_of_[id]) : Json();
  }

 private:
  const CollectionIndex& collections_;
  std::vector<std::uint64_t> blocks_of_;
  std::uint64_t left_to_count_ = std::uint64_t{1} << 28;  // mask bytes
  std::uint64_t left_to_list_ = std::uint64_t{1} << 20;   // ids
};

void add_collections(Json& detail, const CollectionIndex& collections) {
  MaskWalk walk(collections);
  Json masks = Json::array();
  for (std::uint32_t block = 0; block < collections.block_count(); ++block) {
    Json ids = walk.take(block);
    if (block < k_max_listed_blocks) {
      masks.push(std::move(ids));
    }
  }
  Json table = Json::array();
  for (std::uint32_t id = 0; id < collections.entries().size(); ++id) {
    const CollectionIndex::Entry& e = collections.entries()[id];
    Json entry = Json::object();
    entry.set("id", id);
    entry.set("name", std::string(e.name));
    entry.set("count", e.count);
    entry.set("blocks", walk.blocks_of(id));
    table.push(std::move(entry));
  }
  Json header = Json::object();
  header.set("collection_count", std::uint64_t{collections.entries().size()});
  header.set("block_count", collections.block_count());
  header.set("bitmask_len", collections.bitmask_bytes());
  header.set("uncompressed_size", collections.uncompressed_size());
  detail.set("collection_index", std::move(header));
  detail.set("collections", std::move(table));
  detail.set("block_collections", std::move(masks));
}

Json bloom_json(const BloomView& bloom) {
  Json out = Json::object();
  out.set("version", std::uint64_t{k_bloom_version});
  out.set("k", bloom.parameters().hash_count);
  out.set("num_blocks", bloom.parameters().blocks);
  out.set("count", bloom.count());
  out.set("bytes", bloom.parameters().blob_bytes());
  return out;
}

// The parameters of the blocks' blooms: those of the first, and each one's count (null where the
// blob does not decode).
Result<Json> block_blooms_json(const OpenSegment& segment) {
  const Footer& footer = *segment.footer;
  Json out = Json::object();
  out.set("block_count", segment.head.header.block_count);
  out.set("bloom_size_bytes", footer.bloom_size_bytes);
  Json counts = Json::array();
  base::Bytes blob(footer.bloom_size_bytes);
  const std::size_t listed =
      std::min<std::size_t>(segment.head.header.block_count, k_max_listed_blocks);
  for (std::uint32_t block = 0; block < listed; ++block) {
    VARVE_TRY(segment.file->read(blob, block_bloom_offset(segment.head.header, footer, block)));
    const auto bloom = BloomView::parse(blob);
    if (bloom && out.find("k") == nullptr) {
      out.set("k", bloom->parameters().hash_count);
      out.set("num_blocks", bloom->parameters().blocks);
    }
    counts.push(bloom ? Json(bloom->count()) : Json());
  }
  out.set("counts", std::move(counts));
  return out;
}

Json finding_json(const Finding& finding) {
  Json out = Json::object();
  out.set("stage", finding.stage);
  out.set("code", finding.code);
  out.set("message", finding.message);
  return out;
}

// Sums over the rows that were decoded, or over what headers say.
struct Totals {
  std::uint64_t records = 0;
  bool records_known = true;
  std::uint64_t units = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t frame_bytes = 0;
  std::optional<std::uint64_t> first_seq, last_seq;
  std::optional<std::int64_t> first_time, last_time;

  void take(std::uint64_t min_seq, std::uint64_t max_seq, std::int64_t min_time,
            std::int64_t max_time) {
    first_seq = std::min(first_seq.value_or(min_seq), min_seq);
    last_seq = std::max(last_seq.value_or(max_seq), max_seq);
    first_time = std::min(first_time.value_or(min_time), min_time);
    last_time = std::max(last_time.value_or(max_time), max_time);
  }
};

// Decodes the blocks of an active segment for its numbers.
Result<void> count_active(const OpenSegment& segment, const SegmentWalk& walk,
                          std::uint64_t max_memory_bytes, Totals& totals) {
  totals.units += walk.frames.size() + (walk.tail == TailState::whole ? 0 : 1);
  if (segment.file->size() > k_max_decoded_active_bytes) {
    totals.records_known = false;
    return {};
  }
  BlockReader reader(max_memory_bytes);
  Block block;
  for (std::size_t i = 0; i < walk.frames.size(); ++i) {
    VARVE_ASSIGN(const auto fault, reader.read(segment, walk.frames[i], i, block));
    if (fault) {
      totals.records_known = false;
      continue;
    }
    const BlockColumns& c = block.columns;
    totals.records += c.rows;
    totals.body_bytes += block.body.size();
    totals.frame_bytes += walk.frames[i].frame_bytes;
    if (c.rows != 0) {
      const auto [min_seq, max_seq] = std::minmax_element(c.seq, c.seq + c.rows);
      const auto [min_time, max_time] =
          std::minmax_element(c.witnessed_at, c.witnessed_at + c.rows);
      totals.take(*min_seq, *max_seq, *min_time, *max_time);
    }
  }
  return {};
}

void count_sealed(const OpenSegment& segment, Totals& totals) {
  const Header& h = segment.head.header;
  totals.units += 1 + std::uint64_t{h.block_count} * 2 + (segment.footer->did_bloom ? 1 : 0);
  totals.records += h.event_count;
  for (const IndexEntry& e : *segment.footer->index) {
    totals.body_bytes += e.uncompressed_size;
    totals.frame_bytes += e.compressed_size;
  }
  if (h.block_count != 0) {
    totals.take(h.min_seq, h.max_seq, h.min_witnessed_at, h.max_witnessed_at);
  }
}

std::string tail_text(const OpenSegment& segment, const SegmentWalk& walk) {
  if (segment.head.state == SegmentState::sealed) {
    return segment.trusted() ? "sealed" : "sealed, but its footer does not hold";
  }
  if (segment.head.state == SegmentState::refused) {
    return "unreadable header";
  }
  const std::string at = " at " + std::to_string(walk.frames_end);
  switch (walk.tail) {
    case TailState::whole:
      return "active, ends with a whole frame";
    case TailState::torn:
      return "active, incomplete frame" + at;
    case TailState::zero:
      return "active, zeros" + at;
    case TailState::orphaned_footer:
      return "active, footer of an interrupted seal" + at;
    case TailState::unreadable:
      return "active, unreadable bytes" + at;
  }
  return {};
}

// One line of `detail.segments`: headers only.
Json member_json(const Member& member) {
  Json out = Json::object();
  out.set("name", member.name);
  out.set("index", member.number ? Json(*member.number) : Json());
  out.set("bytes", member.identity.size_bytes);
  out.set("state", std::string(to_text(member.head.state)));
  if (member.head.state == SegmentState::sealed) {
    const Header& h = member.head.header;
    out.set("checksum", hex64(h.checksum));
    out.set("block_count", h.block_count);
    out.set("event_count", h.event_count);
    out.set("unique_did_count", h.unique_did_count);
    out.set("min_seq", h.min_seq);
    out.set("max_seq", h.max_seq);
    out.set("min_witnessed_at", h.min_witnessed_at);
    out.set("max_witnessed_at", h.max_witnessed_at);
  }
  return out;
}

// The whole detail of a store that is one file.
Result<Json> file_detail(const OpenSegment& segment, const SegmentWalk& walk) {
  Json detail = Json::object();
  detail.set("state", std::string(to_text(segment.head.state)));
  detail.set("header", header_json(segment.head.header));
  if (!segment.findings.empty()) {
    Json problems = Json::array();
    for (const Finding& finding : segment.findings) {
      problems.push(finding_json(finding));
    }
    detail.set("problems", std::move(problems));
  }
  detail.set("frames", std::uint64_t{walk.frames.size()});
  detail.set("frames_end", walk.frames_end);
  if (!segment.footer) {
    return detail;
  }
  const Footer& footer = *segment.footer;
  if (footer.index) {
    detail.set("block_index", index_json(*footer.index));
    detail.set("blocks_listed", std::uint64_t{std::min(footer.index->size(), k_max_listed_blocks)});
  }
  if (footer.did_bloom) {
    detail.set("segment_bloom", bloom_json(*footer.did_bloom));
  }
  if (footer.bloom_region_holds) {
    VARVE_ASSIGN(Json blooms, block_blooms_json(segment));
    detail.set("block_blooms", std::move(blooms));
  }
  if (footer.collections) {
    add_collections(detail, *footer.collections);
  }
  return detail;
}

// Gathers `info` over all members.
class InfoGatherer {
 public:
  InfoGatherer(Archive& archive, std::uint64_t max_memory_bytes)
      : archive_(archive), max_memory_(max_memory_bytes) {}

  Result<StoreInfo> run() {
    info_.format = "jss";
    info_.version = k_version;
    info_.path = archive_.path();
    info_.segments = archive_.members().size();
    Json segments = Json::array();
    for (std::size_t i = 0; i < archive_.members().size(); ++i) {
      const Member& member = archive_.members()[i];
      info_.bytes += member.identity.size_bytes;
      info_.bytes_allocated += member.identity.allocated_bytes;
      if (headers_must_do(member)) {
        take_header(member);
      } else {
        VARVE_TRY(take_whole(i));
      }
      if (archive_.is_directory()) {
        segments.push(member_json(member));
      }
    }
    if (archive_.is_directory()) {
      info_.detail.set("segments", std::move(segments));
    }
    fill_totals();
    return std::move(info_);
  }

 private:
  bool headers_must_do(const Member& member) {
    if (!archive_.is_directory() || member.head.state != SegmentState::sealed) {
      return false;
    }
    footer_bytes_ += member.identity.size_bytes - member.head.header.footer_offset;
    return footer_bytes_ > k_max_footer_bytes;
  }

  void take_header(const Member& member) {
    const Header& h = member.head.header;
    totals_.units += 2 + std::uint64_t{h.block_count} * 2;
    totals_.records += h.event_count;
    if (h.block_count != 0) {
      totals_.take(h.min_seq, h.max_seq, h.min_witnessed_at, h.max_witnessed_at);
    }
    info_.tail = "sealed";
  }

  Result<void> take_whole(std::size_t member) {
    VARVE_ASSIGN(const auto segment, archive_.open_segment(member, max_memory_));
    VARVE_ASSIGN(const SegmentWalk walk,
                 walk_segment(*segment->file, segment->head, segment->footer.get(),
                              {WalkPolicy::report, max_memory_}));
    if (segment->trusted()) {
      count_sealed(*segment, totals_);
    } else if (segment->head.state == SegmentState::active) {
      VARVE_TRY(count_active(*segment, walk, max_memory_, totals_));
    } else {
      totals_.records_known = false;
    }
    info_.tail = tail_text(*segment, walk);
    if (!archive_.is_directory()) {
      info_.sealed = segment->head.state == SegmentState::sealed;
      VARVE_ASSIGN(info_.detail, file_detail(*segment, walk));
    }
    return {};
  }

  void fill_totals() {
    info_.units = totals_.units;
    if (totals_.records_known) {
      info_.records = totals_.records;
    }
    info_.first_seq = totals_.first_seq;
    info_.last_seq = totals_.last_seq;
    info_.first_time_us = totals_.first_time;
    info_.last_time_us = totals_.last_time;
    if (totals_.frame_bytes != 0 && totals_.body_bytes != 0) {
      info_.compression_ratio =
          static_cast<double>(totals_.body_bytes) / static_cast<double>(totals_.frame_bytes);
    }
  }

  Archive& archive_;
  std::uint64_t max_memory_;
  StoreInfo info_;
  Totals totals_;
  std::uint64_t footer_bytes_ = 0;
};

}  // namespace

Result<StoreInfo> View::info() { return InfoGatherer(*archive_, options_.max_memory_bytes).run(); }

}  // namespace varve::jss
