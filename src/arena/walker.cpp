// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/walker.hpp"

#include <chrono>
#include <thread>

#include "arena/header_walk.hpp"

namespace varve::arena {

Result<UnitCheck> check_at(const SegmentImage& image, std::uint64_t offset, base::Buffer& data,
                           base::Buffer& room) {
  UnitCheck out;
  if (offset > image.logical_bytes() || image.logical_bytes() - offset < k_header_bytes) {
    return out;
  }
  std::byte header_bytes[k_header_bytes];
  VARVE_TRY(image.read(header_bytes, offset));
  const HeaderCheck check =
      check_header(decode_header(header_bytes), image.logical_bytes() - offset);
  out.kind = check.kind;
  out.header = check.header;
  out.fault = check.fault;
  if (check.kind != UnitKind::frame) {
    return out;
  }
  std::byte* stored = data.reserve(check.header.comp_len);
  VARVE_TRY(image.read({stored, check.header.comp_len}, offset + k_header_bytes));
  const auto fault = check_planned(
      check.header, {stored, check.header.comp_len},
      [&] { return room.reserve(check.header.raw_len); }, out.payload);
  if (fault) {
    out.kind = UnitKind::invalid;
    out.fault = *fault;
  }
  return out;
}

namespace {

// Whether the file was written to within the last seconds: only then is a second look worth a wait.
bool modified_lately(const io::File& file) {
  constexpr std::int64_t k_lately_ns = 2'000'000'000;
  const auto identity = file.identity();
  return identity && io::system_environment().now_ns() - identity->modified_ns < k_lately_ns;
}

// Section 7.4: whether the bytes at a bad frame changed after a short wait.
Result<bool> changed_meanwhile(const SegmentImage& image, const RunEnd& at, unsigned settle_ms) {
  if (settle_ms == 0 || !modified_lately(image.file())) {
    return false;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(settle_ms));
  base::Buffer data;
  base::Buffer room;
  VARVE_ASSIGN(const UnitCheck again, check_at(image, at.offset, data, room));
  return again.kind != UnitKind::invalid || !(again.header == at.header);
}

// The frame or marker at the offset where a bad frame claims to end. If there is one the lengths of
// the bad frame are right, and the walk is in step again.
Result<std::optional<Proof>> unit_behind(const SegmentImage& image, const RunEnd& at) {
  if (check_header(at.header, image.logical_bytes() - at.offset).kind != UnitKind::frame) {
    return std::optional<Proof>();
  }
  base::Buffer data;
  base::Buffer room;
  const std::uint64_t offset = at.offset + at.header.frame_bytes();
  VARVE_ASSIGN(const UnitCheck next, check_at(image, offset, data, room));
  const bool proves = next.kind == UnitKind::frame || next.kind == UnitKind::marker;
  return proves ? std::optional(Proof{next.kind, offset, next.header}) : std::nullopt;
}

}  // namespace

Result<void> fix_horizon(SegmentImage& image) {
  if (!modified_lately(image.file())) {
    return {};
  }
  VARVE_ASSIGN(const HeaderSummary summary, walk_headers(image));
  if (summary.end.kind == UnitKind::marker || summary.end.kind == UnitKind::zero_header) {
    image.set_horizon(summary.end.offset);
  }
  return {};
}

Result<Damage> judge(const SegmentImage& image, bool is_final, const RunEnd& at,
                     const WalkOptions& options, TailScanner& scanner) {
  Damage damage;
  damage.at = at;
  const bool go_on = options.policy != Policy::strict;
  if (at.kind == UnitKind::frame) {
    damage.kind = Damage::Kind::limit;
    if (go_on) {
      damage.resume = at.offset + at.header.frame_bytes();
    }
    return damage;
  }
  if (is_final) {
    VARVE_ASSIGN(const bool changed, changed_meanwhile(image, at, options.settle_ms));
    if (changed) {
      damage.kind = Damage::Kind::in_progress;
      return damage;
    }
    auto proof = scanner.next(at.offset + 1, true);
    if (!proof && proof.error().code != ErrorCode::limit) {
      return std::unexpected(std::move(proof).error());
    }
    if (!proof) {
      // The search is too expensive; the place where the bad frame claims to end may tell cheaply.
      VARVE_ASSIGN(const auto next, unit_behind(image, at));
      if (!next) {
        damage.kind = Damage::Kind::undecided;
        return damage;
      }
      proof = next;
    }
    if (!*proof) {
      damage.kind = Damage::Kind::torn;
      return damage;
    }
    damage.proof = **proof;
  }
  damage.kind = is_final ? Damage::Kind::committed : Damage::Kind::earlier;
  if (!go_on) {
    return damage;
  }
  VARVE_ASSIGN(const auto in_step, unit_behind(image, at));
  if (in_step) {
    damage.resume = at.offset + at.header.frame_bytes();
    return damage;
  }
  if (damage.proof && damage.proof->kind == UnitKind::frame) {
    damage.resume = damage.proof->offset;
    return damage;
  }
  const std::uint64_t from = damage.proof ? damage.proof->offset + 1 : at.offset + 1;
  auto frame = scanner.next(from, false);
  if (!frame && frame.error().code != ErrorCode::limit) {
    return std::unexpected(std::move(frame).error());
  }
  if (frame && *frame) {
    damage.resume = (*frame)->offset;
  }
  return damage;
}

Result<std::optional<BehindEnd>> look_behind(const SegmentImage& image, const SegmentEnd& end,
                                             TailScanner& scanner) {
  if (end.moved_on ||
      (end.kind != SegmentEnd::Kind::marker && end.kind != SegmentEnd::Kind::zero_header)) {
    // Beyond the horizon; or fewer than 16 bytes are left, which are ignored (section 4).
    return std::optional<BehindEnd>();
  }
  const std::uint64_t from = end.offset + k_header_bytes;
  VARVE_ASSIGN(const auto first, image.first_nonzero(from));
  if (!first) {
    return std::optional<BehindEnd>();
  }
  BehindEnd out;
  out.first_nonzero = *first;
  auto frame = scanner.next(from, false);
  if (!frame && frame.error().code != ErrorCode::limit) {
    return std::unexpected(std::move(frame).error());
  }
  if (frame) {
    out.frame = *frame;
  } else {
    out.undecided = true;
  }
  out.last_nonzero = scanner.last_nonzero().value_or(*first);
  return out;
}

}  // namespace varve::arena
