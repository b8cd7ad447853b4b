// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/byte_runs.hpp"

#include <algorithm>
#include <utility>

#include "base/text_coding.hpp"

namespace varve::model {

namespace {

constexpr std::size_t k_piece_bytes = 256 * 1024;
// A pattern counts from its third repetition on.
constexpr std::uint64_t k_least_repetitions = 3;

bool all_zero(base::ByteSpan bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

void RunFinder::take(base::ByteSpan bytes) {
  constexpr std::size_t k_stride = 64;
  while (!bytes.empty()) {
    // Inside a run of zeros whole strides are answered at once.
    if (zeros_ >= k_stride && bytes.size() >= k_stride && all_zero(bytes.first(k_stride))) {
      take_zeros(k_stride);
      bytes = bytes.subspan(k_stride);
      continue;
    }
    take_one(bytes.front());
    bytes = bytes.subspan(1);
  }
}

void RunFinder::take_zeros(std::uint64_t length) {
  // As many as it takes for every period to be in step; the rest changes nothing but counts.
  const std::uint64_t slowly = std::min<std::uint64_t>(length, 2 * k_most_pattern_bytes);
  for (std::uint64_t i = 0; i < slowly; ++i) {
    take_one(std::byte{0});
  }
  const std::uint64_t rest = length - slowly;
  at_ += rest;
  zeros_ += rest;
  for (std::uint64_t& count : equal_) {
    count += rest;
  }
}

void RunFinder::take_one(std::byte byte) {
  const std::uint64_t taken = at_ - begin_;
  for (std::size_t period = 1; period <= k_most_pattern_bytes && period <= taken; ++period) {
    if (last_[(at_ - period) % k_most_pattern_bytes] == byte) {
      ++equal_[period - 1];
    } else if (equal_[period - 1] != 0) {
      end_run(period);
    }
  }
  last_[at_ % k_most_pattern_bytes] = byte;
  zeros_ = byte == std::byte{0} ? zeros_ + 1 : 0;
  ++at_;
}

// The bytes at at_ do not go on with the pattern of this period.
void RunFinder::end_run(std::size_t period) {
  const std::uint64_t equal = std::exchange(equal_[period - 1], 0);
  std::uint64_t begin = at_ - equal - period;
  if (!marks_.empty()) {
    // Of a run of zeros: every period has seen it. Or the last bytes of another pattern.
    begin = std::max(begin, marks_.back().offset + marks_.back().length);
  }
  const std::uint64_t length = at_ > begin ? at_ - begin : 0;
  if (length < k_least_run_bytes || length < k_least_repetitions * period ||
      marks_.size() == most_marks_) {
    return;
  }
  ByteMark mark;
  mark.offset = begin;
  mark.length = length;
  std::array<std::byte, k_most_pattern_bytes> pattern;
  for (std::size_t i = 0; i < period; ++i) {
    // The pattern as it stands at the run's beginning; the last bytes are all that is kept.
    const std::uint64_t periods = (length - 1 - i) / period;
    pattern[i] = last_[(begin + i + periods * period) % k_most_pattern_bytes];
  }
  const base::ByteSpan bytes = base::ByteSpan(pattern).first(period);
  if (!all_zero(bytes)) {
    mark.kind = ByteMark::Kind::repeated;
    mark.text = base::to_hex(bytes);
  }
  marks_.push_back(std::move(mark));
}

std::vector<ByteMark> RunFinder::finish() {
  for (std::size_t period = 1; period <= k_most_pattern_bytes; ++period) {
    if (equal_[period - 1] != 0) {
      end_run(period);
    }
  }
  return std::move(marks_);
}

Result<std::vector<ByteMark>> runs_of(const io::File& file, std::uint64_t offset,
                                      std::uint64_t length, std::uint64_t& budget_bytes) {
  RunFinder finder(offset);
  std::vector<std::byte> buffer;
  const std::uint64_t end = offset + length;
  while (offset < end && budget_bytes != 0) {
    VARVE_ASSIGN(const auto data, file.next_data(offset));
    const std::uint64_t begin = std::min(data.value_or(end), end);
    finder.take_zeros(begin - offset);
    offset = begin;
    if (offset == end) {
      break;
    }
    VARVE_ASSIGN(const std::uint64_t hole, file.next_hole(offset));
    const std::uint64_t data_end = std::clamp(hole, offset + 1, end);
    buffer.resize(static_cast<std::size_t>(
        std::min({std::uint64_t{k_piece_bytes}, data_end - offset, budget_bytes})));
    VARVE_ASSIGN(const std::size_t got, file.read_at(buffer, offset));
    if (got == 0) {
      break;  // cut meanwhile
    }
    finder.take(base::ByteSpan(buffer).first(got));
    offset += got;
    budget_bytes -= got;
  }
  return finder.finish();
}

}  // namespace varve::model
