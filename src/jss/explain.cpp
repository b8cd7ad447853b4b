// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain`: every byte of a segment, unit by unit and field by field, of whole and hurt files.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "jss/block_reader.hpp"
#include "jss/explain_frame.hpp"
#include "jss/view.hpp"
#include "jss/walker.hpp"

namespace varve::jss {

namespace {

using Check = ExplainRow::Check;

std::string count_text(std::uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// Explains one file. Units are visited in ascending order; what lies between them is told as such,
// so that the lengths add up to the file.
class FileExplainer {
 public:
  FileExplainer(const OpenSegment& segment, const SegmentWalk& walk, std::uint64_t max_memory_bytes,
                std::optional<std::uint64_t> only, ExplainSink& sink, FindingSink& findings)
      : segment_(segment),
        file_(*segment.file),
        h_(segment.head.header),
        walk_(walk),
        only_(only),
        rows_(*segment.file, sink),
        reader_(max_memory_bytes),
        findings_(findings) {}

  Result<Verdict> run() {
    for (const Finding& finding : segment_.findings) {
      tell(finding);
    }
    VARVE_TRY(explain_header());
    for (std::size_t i = 0; i < walk_.frames.size() && go_on_; ++i) {
      VARVE_TRY(explain_block(i));
    }
    VARVE_TRY(explain_tail());
    if (segment_.head.layout_holds && segment_.head.state != SegmentState::active) {
      VARVE_TRY(explain_footer());
    }
    VARVE_TRY(fill_up_to(file_.size(), "bytes of no known unit"));
    return verdict_;
  }

 private:
  void tell(const Finding& finding) {
    if (finding.severity == Severity::error) {
      verdict_ = worse(verdict_, finding.verdict);
    }
    findings_.add(finding);
  }

  // Visits the unit [begin, end) if it is asked for. `explain` sends its rows.
  Result<void> unit(std::uint64_t begin, std::uint64_t end,
                    const std::function<Result<bool>()>& explain) {
    VARVE_TRY(fill_up_to(begin, "bytes that belong to no unit"));
    position_ = std::max(position_, end);
    if (go_on_ && (!only_ || (*only_ >= begin && *only_ < end))) {
      VARVE_ASSIGN(go_on_, explain());
    }
    return {};
  }

  Result<void> fill_up_to(std::uint64_t offset, const char* meaning) {
    if (position_ >= offset) {
      return {};
    }
    const std::uint64_t begin = std::exchange(position_, offset);
    if (go_on_ && (!only_ || (*only_ >= begin && *only_ < offset))) {
      VARVE_ASSIGN(go_on_, rows_.stretch(begin, offset - begin, 0, "unexplained", meaning));
    }
    return {};
  }

  Result<void> explain_header() {
    return unit(0, segment_.head.raw_bytes, [&]() -> Result<bool> {
      const SegmentHead& head = segment_.head;
      std::string meaning = head.fault ? head.fault->message : "";
      const bool sealed = head.state == SegmentState::sealed;
      std::uint64_t computed = 0;
      if (sealed) {
        VARVE_ASSIGN(computed, metadata_checksum(file_, head));
      }
      // A checksum that fails is told at its field.
      const Check check = head.fault                          ? Check::fails
                          : sealed && computed == h_.checksum ? Check::holds
                                                              : Check::none;
      VARVE_TRY(rows_.container(0, head.raw_bytes, 0, "header", std::string(to_text(head.state)),
                                std::move(meaning), check));
      rows_.expect("magic", head.magic_holds);
      if (sealed) {
        rows_.expect("checksum", computed == h_.checksum);
        rows_.expect("version", h_.version == k_version);
        rows_.expect("block_index_offset", h_.block_index_offset == h_.footer_offset);
      }
      return rows_.fields(k_header_fields, 0, head.raw_bytes, 1);
    });
  }

  Result<void> explain_block(std::size_t index) {
    const FrameRef& frame = walk_.frames[index];
    return unit(frame.offset, frame.end(), [&]() -> Result<bool> {
      VARVE_ASSIGN(const auto fault, reader_.read(segment_, frame, index, block_));
      std::string meaning;
      if (fault) {
        tell(*fault);
        meaning = fault->message;
      } else {
        meaning = rows_text();
      }
      VARVE_TRY(rows_.container(frame.offset, frame.end() - frame.offset, 0,
                                "block " + std::to_string(index),
                                fault ? "does not decode" : "decodes", std::move(meaning),
                                fault ? Check::fails : Check::holds));
      std::array<std::byte, k_length_prefix_bytes> raw;
      VARVE_TRY(file_.read(raw, frame.offset));
      rows_.expect("block_len", base::u64le(raw.data()) == frame.frame_bytes);
      VARVE_TRY(rows_.fields(k_length_prefix_fields, frame.offset, k_length_prefix_bytes, 1));
      return explain_zstd_frame(rows_, frame.offset + k_length_prefix_bytes, frame.frame_bytes, 1,
                                !fault);
    });
  }

  std::string rows_text() const {
    const BlockColumns& c = block_.columns;
    std::string text =
        count_text(c.rows, "row") + ", body of " + count_text(block_.body.size(), "byte");
    if (c.rows != 0) {
      text += ", seq " + std::to_string(c.seq[0]) + " to " + std::to_string(c.seq[c.rows - 1]);
    }
    return text;
  }

  // What follows the frames of an active segment.
  Result<void> explain_tail() {
    if (walk_.tail == TailState::whole || walk_.frames_end >= file_.size()) {
      return {};
    }
    const Finding finding = tail_finding(file_, walk_);
    tell(finding);
    return unit(walk_.frames_end, file_.size(), [&]() -> Result<bool> {
      std::uint64_t at = walk_.frames_end;
      const std::uint64_t end = file_.size();
      VARVE_TRY(
          rows_.container(at, end - at, 0, "tail", finding.code, finding.message, Check::fails));
      if (walk_.tail == TailState::torn) {
        VARVE_TRY(rows_.fields(k_length_prefix_fields, at, end - at, 1));
        at = std::min(at + k_length_prefix_bytes, end);
        return rows_.stretch(at, end - at, 1, "incomplete frame", "the part that was written");
      }
      if (walk_.tail == TailState::orphaned_footer) {
        const std::uint64_t entries =
            std::min<std::uint64_t>(walk_.frames.size(), (end - at) / k_index_entry_bytes);
        VARVE_TRY(explain_index(at, entries, 1));
        at += entries * k_index_entry_bytes;
        return rows_.stretch(at, end - at, 1, "footer rest", "blooms and collection index");
      }
      return rows_.stretch(at, end - at, 1, walk_.tail == TailState::zero ? "zeros" : "unreadable",
                           "");
    });
  }

  Result<bool> explain_index(std::uint64_t at, std::uint64_t entries, unsigned depth) {
    bool more = true;
    for (std::uint64_t i = 0; i < entries && more; ++i, at += k_index_entry_bytes) {
      VARVE_TRY(rows_.container(at, k_index_entry_bytes, depth, "index entry " + std::to_string(i),
                                "", ""));
      VARVE_ASSIGN(more, rows_.fields(k_index_entry_fields, at, k_index_entry_bytes, depth + 1));
    }
    return more;
  }

  Result<void> explain_footer() {
    const auto explain_whole_index = [&]() -> Result<bool> {
      const std::uint64_t length = h_.did_bloom_offset - h_.footer_offset;
      const std::uint64_t entries =
          std::min<std::uint64_t>(h_.block_count, length / k_index_entry_bytes);
      VARVE_TRY(rows_.container(h_.footer_offset, length, 0, "block index",
                                count_text(h_.block_count, "block"), "",
                                entries == h_.block_count ? Check::none : Check::fails));
      VARVE_TRY(explain_index(h_.footer_offset, entries, 1));
      const std::uint64_t done = entries * k_index_entry_bytes;
      return rows_.stretch(h_.footer_offset + done, length - done, 1, "index rest",
                           "bytes between the block index and the segment's bloom");
    };
    VARVE_TRY(unit(h_.footer_offset, h_.did_bloom_offset, explain_whole_index));
    VARVE_TRY(unit(h_.did_bloom_offset, h_.block_did_bloom_offset, [&] {
      return explain_bloom(h_.did_bloom_offset, h_.block_did_bloom_offset - h_.did_bloom_offset, 0,
                           "segment bloom");
    }));
    VARVE_TRY(unit(h_.block_did_bloom_offset, h_.collection_index_offset,
                   [&] { return explain_block_blooms(); }));
    return unit(h_.collection_index_offset, file_.size(), [&] { return explain_collections(); });
  }

  Result<bool> explain_bloom(std::uint64_t at, std::uint64_t length, unsigned depth,
                             std::string field) {
    blob_.resize(static_cast<std::size_t>(length));
    VARVE_TRY(file_.read(blob_, at));
    const auto bloom = BloomView::parse(blob_);
    VARVE_TRY(rows_.container(at, length, depth, std::move(field),
                              bloom ? count_text(bloom->count(), "DID") : "does not decode",
                              bloom ? "" : bloom.error().word,
                              bloom ? Check::holds : Check::fails));
    if (length < k_bloom_fixed_bytes) {
      return rows_.bytes(at, length, depth + 1, "bloom bytes", "", "too short for a bloom",
                         Check::fails);
    }
    VARVE_TRY(rows_.fields(k_bloom_fields, at, k_bloom_header_bytes, depth + 1));
    const std::uint64_t crc_at = at + length - k_bloom_crc_bytes;
    VARVE_TRY(rows_.bytes(at + k_bloom_header_bytes, length - k_bloom_fixed_bytes, depth + 1,
                          "bits", "", "eight u64 a bit block"));
    const bool crc_fails = !bloom && std::string_view(bloom.error().word) == k_bloom_crc;
    return rows_.bytes(
        crc_at, k_bloom_crc_bytes, depth + 1, "crc",
        to_text(Number::hex32(base::u32le(blob_.data() + length - k_bloom_crc_bytes))),
        "CRC-32C of the bytes before",
        bloom ? Check::holds : (crc_fails ? Check::fails : Check::none));
  }

  Result<bool> explain_block_blooms() {
    const std::uint64_t begin = h_.block_did_bloom_offset;
    const std::uint64_t length = h_.collection_index_offset - begin;
    const bool holds = segment_.footer && segment_.footer->bloom_region_holds;
    VARVE_TRY(rows_.container(begin, length, 0, "block blooms", "", "",
                              holds ? Check::holds : Check::fails));
    VARVE_TRY(rows_.fields(k_bloom_region_fields, begin, length, 1));
    std::uint64_t at = begin + std::min(length, k_bloom_region_header_bytes);
    bool more = true;
    for (std::uint32_t i = 0; holds && more && i < h_.block_count; ++i) {
      const std::uint32_t bytes = segment_.footer->bloom_size_bytes;
      VARVE_ASSIGN(more, explain_bloom(at, bytes, 1, "bloom of block " + std::to_string(i)));
      at += bytes;
    }
    return rows_.stretch(at, begin + length - at, 1, "blooms",
                         "the region's size does not fit what it says", Check::fails);
  }

  Result<bool> explain_collections() {
    const std::uint64_t begin = h_.collection_index_offset;
    const std::uint64_t length = file_.size() - begin;
    const bool holds = segment_.footer && segment_.footer->collections;
    VARVE_TRY(rows_.container(begin, length, 0, "collection index",
                              holds ? names_text() : "does not hold", "",
                              holds ? Check::holds : Check::fails));
    VARVE_TRY(rows_.fields(k_collection_index_fields, begin, length, 1));
    const std::uint64_t at = std::min(length, k_collection_header_bytes);
    return explain_zstd_frame(rows_, begin + at, length - at, 1,
                              holds ? std::optional(true) : std::nullopt);
  }

  // The table: names and counts, as far as a line holds them.
  std::string names_text() const {
    constexpr std::size_t k_max_names = 32;
    const auto& entries = segment_.footer->collections->entries();
    std::string text = count_text(entries.size(), "name");
    for (std::size_t i = 0; i < std::min(entries.size(), k_max_names); ++i) {
      text += i == 0 ? ": " : ", ";
      text += std::string(entries[i].name) + " " + std::to_string(entries[i].count);
    }
    return text + (entries.size() > k_max_names ? ", ..." : "");
  }

  const OpenSegment& segment_;
  const SegmentFile& file_;
  const Header& h_;
  const SegmentWalk& walk_;
  std::optional<std::uint64_t> only_;
  RowWriter rows_;
  BlockReader reader_;
  Block block_;
  base::Bytes blob_;
  FindingSink& findings_;
  Verdict verdict_ = Verdict::clean;
  std::uint64_t position_ = 0;
  bool go_on_ = true;
};

}  // namespace

Result<ScanSummary> View::explain(const ExplainRequest& request, ExplainSink& sink,
                                  FindingSink& findings) {
  ScanSummary summary;
  bool found = false;
  for (std::size_t i = 0; i < archive_->members().size(); ++i) {
    const Member& member = archive_->members()[i];
    if (!request.file.empty() && request.file != member.name && request.file != member.label) {
      continue;
    }
    found = true;
    if (request.offset && *request.offset >= member.identity.size_bytes) {
      return fail(ErrorCode::invalid_argument, "offset",
                  "the offset lies behind the end of the file", member.label);
    }
    VARVE_ASSIGN(const auto segment, archive_->open_segment(i, options_.max_memory_bytes));
    VARVE_ASSIGN(const SegmentWalk walk,
                 walk_segment(*segment->file, segment->head, segment->footer.get(),
                              {WalkPolicy::report, options_.max_memory_bytes}));
    FileExplainer explainer(*segment, walk, options_.max_memory_bytes, request.offset, sink,
                            findings);
    VARVE_ASSIGN(const Verdict verdict, explainer.run());
    summary.verdict = worse(summary.verdict, verdict);
  }
  if (!found) {
    return fail(ErrorCode::invalid_argument, "file", "the store has no member " + request.file,
                archive_->path());
  }
  return summary;
}

}  // namespace varve::jss
