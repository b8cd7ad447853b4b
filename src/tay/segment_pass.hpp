// SPDX-License-Identifier: MIT OR Apache-2.0
// The serial half of a log pass: puts walked pieces together in log order, judges headers, footers
// and faults, and says where the walk may go on.
#pragma once

#include <memory>
#include <optional>

#include "tay/log_pass.hpp"

namespace varve::tay {

// What a walk of one stretch gave, with what it collected. `valid` is false for "not walked".
struct WalkedPiece {
  bool valid = false;
  Walk walk;
  std::unique_ptr<RecordCollector> collector;
};

class SegmentPass {
 public:
  SegmentPass(std::vector<Segment>& segments, const LogPassOptions& options, Window& window)
      : segments_(segments), options_(options), window_(window) {}

  // Whether only header and footer of this segment are looked at.
  bool looks_quickly(std::size_t segment) const {
    return options_.policy == Policy::quick && (!is_highest(segment) || highest_is_sealed_);
  }
  // The highest segment ends in a footer: a quick pass needs not look for its end.
  void note_sealed_highest() { highest_is_sealed_ = true; }
  // Walks records in [begin, limit). Safe to call from several threads with different windows.
  WalkedPiece walk(Window& window, std::size_t segment, std::uint64_t begin, std::uint64_t limit,
                   std::optional<std::uint64_t> expected_sequence, std::uint64_t count_limit) const;

  // Where the walk of a segment begins.
  std::uint64_t walk_begin(std::size_t segment) const {
    const bool known = segment < options_.proven.size() && options_.proven[segment].end != 0;
    return known ? options_.proven[segment].end : k_header_bytes;
  }

  // In log order, on one thread. False: the pass ends here.
  Result<bool> begin_segment(std::size_t segment, const io::File& file);
  Result<bool> take(WalkedPiece walked, std::uint64_t limit);
  LogPassResult finish();

  std::uint64_t bytes_done() const { return bytes_before_ + at_; }

 private:
  Segment& segment() { return segments_[index_]; }
  bool is_highest(std::size_t segment) const {
    return options_.has_highest && segment + 1 == segments_.size();
  }
  bool strict() const { return options_.policy == Policy::strict; }

  // Goes on behind what an earlier pass proved of the current segment.
  void take_proven();
  Result<bool> merge(WalkedPiece walked);
  Result<bool> judge_stop(const WalkStop& stop);
  Result<bool> end_of_file();
  Result<bool> judge_footer();
  Result<bool> judge_quick_footer();
  Result<bool> judge_incomplete(const char* word, std::uint64_t available, std::uint64_t expected,
                                const char* unit);
  Result<bool> judge_sequence(const WalkStop& stop);
  Result<bool> judge_bad_record(const WalkStop& stop);
  Result<bool> search_on();
  Result<bool> proves_unit(std::uint64_t at, std::uint64_t& budget_bytes, std::uint64_t& sequence);
  Result<void> give_up();
  Result<bool> still_growing();
  void check_first_sequence();
  // The records [from, to) are not to be read; `met`: their bytes are there, though hurt.
  void lose(std::uint64_t from, std::uint64_t to, bool met);
  // Notes a refusal of the current segment; false if that ends the pass.
  bool refuse(Refusal refusal);
  // Hands on the refusal that still waited to learn how far its damage reaches.
  void hand_on();
  std::string file_name() const { return options_.file_prefix + segments_[index_].name; }

  std::vector<Segment>& segments_;
  const LogPassOptions& options_;
  Window& window_;
  LogPassResult result_;
  std::optional<Refusal> pending_;
  bool refused_ = false;
  bool highest_is_sealed_ = false;
  std::vector<Refusal> topology_;  // told after all segments
  std::optional<Id> store_id_;

  // The current segment.
  std::size_t index_ = 0;
  const io::File* file_ = nullptr;
  bool ended_ = true;               // nothing more is to be walked in it
  std::uint64_t at_ = 0;            // the proven boundary
  std::uint64_t bytes_before_ = 0;  // of segments that are done
  // The sequence to come; unset: not known; 0: none can.
  std::optional<std::uint64_t> next_sequence_;
  bool previous_hurt_ = false;
};

}  // namespace varve::tay
