// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/log_pass.hpp"

#include <algorithm>
#include <utility>

#include "base/pipeline.hpp"
#include "tay/segment_pass.hpp"

namespace varve::tay {

namespace {

// What one worker does: a stretch of one segment.
struct Piece {
  std::size_t segment = 0;
  std::uint64_t begin = 0;
  std::uint64_t limit = 0;
  bool first = false;
  bool last = false;
  std::shared_ptr<const io::File> file;
  WalkedPiece walked;  // empty if no worker found a beginning
  std::optional<Error> error;
};

class LogPass {
 public:
  LogPass(const io::Directory& directory, std::vector<Segment>& segments,
          const LogPassOptions& options)
      : directory_(directory),
        segments_(segments),
        options_(options),
        windows_(base::thread_count(options.threads)),
        pass_(segments, options, window_) {}

  Result<LogPassResult> run() {
    if (options_.policy == Policy::quick && options_.has_highest && !segments_.empty()) {
      VARVE_TRY(look_for_footer(segments_.back()));
    }
    base::run_ordered_pipeline<Piece>(
        options_.threads, windows_.size() * 3, [this] { return produce(); },
        [this](Piece& piece, unsigned worker) { work(piece, worker); },
        [this](Piece& piece) { return consume(piece); });
    if (error_) {
      return std::unexpected(std::move(*error_));
    }
    return pass_.finish();
  }

 private:
  Result<void> look_for_footer(const Segment& highest) {
    if (highest.bytes() < k_header_bytes + k_footer_bytes) {
      return {};
    }
    VARVE_ASSIGN(const auto file, open(highest));
    std::byte bytes[k_footer_bytes];
    VARVE_ASSIGN(const std::size_t got, file->read_at(bytes, highest.bytes() - k_footer_bytes));
    SegmentFooter footer;
    if (got == sizeof bytes && !decode_footer(bytes, footer)) {
      pass_.note_sealed_highest();
    }
    return {};
  }

  std::optional<Piece> produce() {
    if (next_segment_ == segments_.size()) {
      return std::nullopt;
    }
    Segment& segment = segments_[next_segment_];
    Piece piece;
    piece.segment = next_segment_;
    piece.first = next_begin_ == 0;
    piece.begin = piece.first && pass_.walk_begin(next_segment_) != k_header_bytes
                      ? pass_.walk_begin(next_segment_)
                      : next_begin_;
    if (piece.first) {
      auto opened = open(segment);
      if (opened) {
        file_ = *std::move(opened);
      } else {
        piece.error = std::move(opened).error();
      }
    }
    piece.file = file_;
    const bool whole = pass_.looks_quickly(next_segment_) ||
                       segment.bytes() - piece.begin <= options_.piece_bytes * 3 / 2;
    piece.limit = whole ? segment.bytes() : piece.begin + options_.piece_bytes;
    piece.last = piece.limit == segment.bytes();
    next_begin_ = piece.last ? 0 : piece.limit;
    next_segment_ += piece.last ? 1 : 0;
    return piece;
  }

  Result<std::shared_ptr<const io::File>> open(const Segment& segment) {
    auto opened = directory_.open_file(segment.name, io::OpenMode::read);
    if (!opened) {
      return std::unexpected(std::move(opened).error());
    }
    std::shared_ptr<const io::File> file = *std::move(opened);
    VARVE_TRY(check_same(*file, segment.identity, options_.live));
    return file;
  }

  void work(Piece& piece, unsigned worker) {
    // Alone, the walk goes on from where it is; guessing a beginning gains nothing.
    if (windows_.size() == 1 || piece.error || pass_.looks_quickly(piece.segment)) {
      return;
    }
    Window& window = windows_[worker];
    window.open(*piece.file, segments_[piece.segment].bytes());
    std::uint64_t begin = pass_.walk_begin(piece.segment);
    if (!piece.first) {
      const auto found =
          find_record_header(window, piece.begin, piece.limit, options_.payload_budget);
      if (!found || !*found) {
        return;  // the consumer walks here itself, and meets the same error if there is one
      }
      begin = **found;
    }
    piece.walked = pass_.walk(window, piece.segment, begin, piece.limit, std::nullopt, k_u64_max);
  }

  bool consume(Piece& piece) {
    if (piece.error) {
      error_ = std::move(piece.error);
      return false;
    }
    auto more = piece.first ? pass_.begin_segment(piece.segment, *piece.file) : true;
    if (more && *more) {
      more = pass_.take(std::move(piece.walked), piece.limit);
    }
    if (more && *more && piece.last && options_.policy == Policy::strict) {
      auto same = check_same(*piece.file, segments_[piece.segment].identity);
      if (!same) {
        more = std::unexpected(std::move(same).error());
      }
    }
    if (!more) {
      error_ = std::move(more).error();
      return false;
    }
    if (*more && options_.progress) {
      options_.progress(pass_.bytes_done());
    }
    return *more;
  }

  const io::Directory& directory_;
  std::vector<Segment>& segments_;
  const LogPassOptions& options_;
  std::vector<Window> windows_;  // one a worker
  // Of the serial half alone: a worker, the calling thread too, may be in a segment further on.
  Window window_;
  SegmentPass pass_;
  std::shared_ptr<const io::File> file_;
  std::size_t next_segment_ = 0;
  std::uint64_t next_begin_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<LogPassResult> run_log_pass(const io::Directory& directory, std::vector<Segment>& segments,
                                   const LogPassOptions& options) {
  return LogPass(directory, segments, options).run();
}

std::vector<Segment> segments_of(const Listing& listing) {
  std::vector<Segment> out;
  out.reserve(listing.canonical.size());
  for (const SegmentEntry& entry : listing.canonical) {
    Segment segment;
    segment.id = entry.id;
    segment.name = segment_name(entry.id);
    segment.identity = entry.identity;
    out.push_back(std::move(segment));
  }
  return out;
}

}  // namespace varve::tay
