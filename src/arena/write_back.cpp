// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/write_back.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>

#include "base/checksum.hpp"
#include "io/publish.hpp"
#include "io/zero_ahead.hpp"

namespace varve::arena {

namespace {

constexpr std::uint64_t k_piece_bytes = std::uint64_t{256} << 10;

SegmentEnd end_of(const TailState& tail) {
  using Kind = SegmentEnd::Kind;
  switch (tail.kind) {
    case TailState::Kind::marker:
      return {Kind::marker, tail.end, false};
    case TailState::Kind::zero_header:
      return {Kind::zero_header, tail.end, false};
    case TailState::Kind::short_end:
    case TailState::Kind::torn:
      break;
  }
  return {Kind::short_end, tail.end, false};
}

// The bytes that a caller with this consent lets us overwrite, if any.
std::optional<Range> range_to_save(const WriteBackPlan& plan, Consent consent) {
  if (plan.torn) {
    return plan.torn;
  }
  return plan.needs_consent && consent == Consent::no ? std::nullopt : plan.behind;
}

// The same without the header at the end, where the marker goes.
std::optional<Range> range_to_clear(const WriteBackPlan& plan, Consent consent) {
  std::optional<Range> range = range_to_save(plan, consent);
  if (range) {
    range->begin = std::max(range->begin, plan.tail.end + k_header_bytes);
    if (range->begin >= range->end) {
      return std::nullopt;
    }
  }
  return range;
}

const SegmentFile& final_segment(const StoreMap& map) { return map.segments.back(); }

std::string saved_name(const StoreMap& map, const Range& range, std::uint64_t hash) {
  return fmt::format("{}-{}-{}-{:016x}", map.live_name, final_segment(map).name, range.begin, hash);
}

// Calls visit(bytes, offset) over the pieces of a range of the final segment.
template <class Visit>
Result<void> each_piece(const SegmentImage& image, const Range& range, Visit visit) {
  base::Bytes buffer;
  for (std::uint64_t at = range.begin; at < range.end; at += buffer.size()) {
    buffer.resize(static_cast<std::size_t>(std::min(k_piece_bytes, range.end - at)));
    VARVE_TRY(image.read(buffer, at));
    VARVE_TRY(visit(base::ByteSpan(buffer), at));
  }
  return {};
}

// Copies the range into a file of its own before anything is overwritten. The name holds a hash of
// the content, so that a recovery that is repeated after a crash saves nothing twice.
Result<void> save_aside(const StoreMap& map, const Range& range, io::Environment& environment) {
  VARVE_ASSIGN(const auto image, map.open_segment(map.segments.size() - 1));
  base::Xxh3Stream hash;
  VARVE_TRY(each_piece(*image, range, [&](base::ByteSpan bytes, std::uint64_t) -> Result<void> {
    hash.update(bytes);
    return {};
  }));
  auto made = map.store->make_directory(k_lost_and_found, 0700);
  if (!made && made.error().system_errno != EEXIST) {
    return made;
  }
  VARVE_TRY(map.store->sync());
  VARVE_ASSIGN(const auto aside, map.store->open_directory(k_lost_and_found));
  VARVE_ASSIGN(auto staged,
               io::StagedFile::create(*aside, io::staging_name(environment, ".saving-")));
  VARVE_TRY(each_piece(*image, range, [&](base::ByteSpan bytes, std::uint64_t at) {
    return staged.file().write_at(bytes, at - range.begin);
  }));
  return staged.publish(saved_name(map, range, hash.digest()), io::Replace::yes);
}

Result<void> extend(const StoreMap& map, const WriteBackPlan::Extension& extension) {
  VARVE_ASSIGN(const auto file, map.live->open_file(map.segments[extension.position].name,
                                                    io::OpenMode::read_write));
  VARVE_TRY(file->truncate(extension.to));
  return file->sync();
}

}  // namespace

Result<WriteBackPlan> plan_write_back(const StoreMap& map, const WalkOptions& options) {
  WriteBackPlan plan;
  for (std::size_t i = 0; i < map.segments.size(); ++i) {
    const std::uint64_t now = map.segments[i].file_bytes;
    const std::uint64_t wanted = map.geometry.logical_bytes(now, map.is_final(i));
    if (now < wanted) {
      plan.extensions.push_back({i, now, wanted});
    }
  }
  VARVE_ASSIGN(const auto image, map.open_segment(map.segments.size() - 1));
  VARVE_ASSIGN(plan.tail, examine_tail(*image, options));
  if (plan.tail.kind == TailState::Kind::torn) {
    plan.torn = Range{plan.tail.end, plan.tail.end + plan.tail.torn_bytes};
    return plan;
  }
  TailScanner scanner(*image);
  VARVE_ASSIGN(const auto behind, look_behind(*image, end_of(plan.tail), scanner));
  if (behind) {
    plan.behind = Range{behind->first_nonzero, behind->last_nonzero + 1};
    plan.needs_consent = behind->frame.has_value() || behind->undecided;
    plan.frame_behind = behind->frame;
  }
  return plan;
}

std::vector<WriteReport::Action> write_back_actions(const StoreMap& map, const WriteBackPlan& plan,
                                                    Consent consent) {
  std::vector<WriteReport::Action> actions;
  const std::string last = map.segment_path(final_segment(map));
  if (const auto saved = range_to_save(plan, consent)) {
    actions.push_back(
        {last, "save aside into " + std::string(k_lost_and_found), saved->begin, saved->length()});
  }
  for (const WriteBackPlan::Extension& extension : plan.extensions) {
    actions.push_back({map.segment_path(map.segments[extension.position]), "extend with zeros",
                       extension.from, extension.to - extension.from});
  }
  if (plan.torn) {
    actions.push_back({last, "write end marker", plan.tail.end, k_header_bytes});
  }
  if (const auto cleared = range_to_clear(plan, consent)) {
    actions.push_back({last, "clear", cleared->begin, cleared->length()});
  }
  return actions;
}

Result<void> apply_write_back(const StoreMap& map, const WriteBackPlan& plan, Consent consent,
                              io::Environment& environment) {
  if (const auto saved = range_to_save(plan, consent)) {
    VARVE_TRY(save_aside(map, *saved, environment));
  }
  for (const WriteBackPlan::Extension& extension : plan.extensions) {
    VARVE_TRY(extend(map, extension));
  }
  const auto cleared = range_to_clear(plan, consent);
  if (!plan.torn && !cleared) {
    return {};
  }
  VARVE_ASSIGN(const auto file,
               map.live->open_file(final_segment(map).name, io::OpenMode::read_write));
  if (plan.torn) {
    // Once the marker is durable the end is unambiguous, and it no longer matters in which order
    // zeros reach the disk; clearing first could make a marker out of payload bytes.
    base::Bytes marker;
    append_marker(marker);
    VARVE_TRY(file->write_at(marker, plan.tail.end));
    VARVE_TRY(file->sync());
  }
  if (cleared) {
    VARVE_TRY(io::write_zeros(*file, cleared->begin, cleared->length()));
    VARVE_TRY(file->sync());
  }
  return {};
}

}  // namespace varve::arena
