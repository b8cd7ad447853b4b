// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/flush_plan.hpp"

#include <algorithm>

namespace varve::kladde {

namespace {
const Allocation k_nothing;

std::span<const ByteRange> ranges_of(const Rewrites& rewrites, Id id) {
  const auto found = rewrites.find(id);
  return found != rewrites.end() ? std::span<const ByteRange>(found->second)
                                 : std::span<const ByteRange>();
}

// Whether the bytes of a fragment are written anew.
bool is_rewritten(std::span<const ByteRange> ranges, const Fragment& fragment) {
  if (!fragment.has_bytes()) {
    return false;
  }
  const auto after = std::ranges::upper_bound(ranges, fragment.start, {}, &ByteRange::from);
  return after != ranges.begin() && fragment.start < std::prev(after)->to;
}
}  // namespace

// What is known of the id at hand while it is planned.
struct FlushPlanner::Context {
  PlannedId plan;
  const Allocation& old;
  std::span<const DroppedStatement> dropped;
  std::span<const ByteRange> rewrites;
  bool anchor_restated = false;  // dialect A: the anchor goes, and something older stays
};

FlushPlanner::FlushPlanner(const PlanRequest& request)
    : dialect_(request.dialect),
      state_(request.state),
      ledger_(request.ledger),
      dropped_(request.dropped),
      dropped_pages_(request.dropped_pages),
      rewrites_(request.rewrites),
      inline_bytes_(request.inline_bytes) {}

// Finds the stored pieces that are the only ones to use their bytes and have left their place.
void FlushPlanner::find_movable() {
  struct Use {
    Id source;
    std::uint64_t at;
    std::uint64_t end;
    bool in_place;
  };
  std::vector<Use> uses;
  for (const auto& [id, touched] : state_.touched()) {
    state_.pool().for_range(touched.rope, 0, state_.pool().length(touched.rope),
                            [&, owner = id](std::uint32_t position, const Piece& piece) {
                              if (piece.kind == PieceKind::stored) {
                                uses.push_back({piece.source, piece.at, piece.at + piece.length,
                                                piece.source == owner && piece.at == position});
                              }
                            });
  }
  std::ranges::sort(uses, [](const Use& a, const Use& b) {
    return a.source != b.source ? a.source < b.source : a.at < b.at;
  });
  std::uint64_t reached = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Use& use = uses[i];
    const bool first = i == 0 || uses[i - 1].source != use.source;
    const bool last = i + 1 == uses.size() || uses[i + 1].source != use.source;
    const bool alone = (first || reached <= use.at) && (last || uses[i + 1].at >= use.end);
    reached = first ? use.end : std::max(reached, use.end);
    // An untouched source still uses all its bytes.
    if (alone && !use.in_place && state_.touched().contains(use.source)) {
      movable_.emplace(use.source, use.at);
    }
  }
}

std::vector<PlannedId> FlushPlanner::run() {
  find_movable();
  std::set<Id> ids;
  for (const auto& [id, touched] : state_.touched()) {
    ids.insert(id);
  }
  for (const auto& [id, statements] : dropped_) {
    ids.insert(id);
  }
  for (const auto& [id, ranges] : rewrites_) {
    ids.insert(id);
  }
  std::vector<PlannedId> out;
  out.reserve(ids.size());
  for (const Id id : ids) {
    out.push_back(plan(id));
  }
  return out;
}

PlannedId FlushPlanner::plan(Id id) {
  const auto committed = state_.committed().find(id);
  const auto dropped = dropped_.find(id);
  Context context{{},
                  committed != state_.committed().end() ? committed->second : k_nothing,
                  dropped != dropped_.end() ? std::span<const DroppedStatement>(dropped->second)
                                            : std::span<const DroppedStatement>(),
                  ranges_of(rewrites_, id)};
  const Allocation& old = context.old;
  PlannedId& plan = context.plan;
  plan.id = id;
  plan.touched = state_.touched().contains(id);
  plan.exists = state_.exists(id);
  plan.size = state_.size(id);
  plan.present_kept = old.present - static_cast<std::uint32_t>(context.dropped.size());
  plan.older_kept = old.older;
  if (old.anchor_table != k_no_table) {
    const std::uint64_t anchor_epoch = ledger_.epoch_of(old.anchor_table);
    for (const DroppedStatement& statement : context.dropped) {
      // Dialect B's anchor is the Tombstone; everything else of the id counts as older.
      const bool older = dialect_ == Dialect::a ? ledger_.epoch_of(statement.table) < anchor_epoch
                                                : statement.table != old.anchor_table;
      plan.older_kept -= older ? 1 : 0;
    }
    context.anchor_restated = is_dropped(old.anchor_table) && plan.older_kept > 0;
  }
  if (!plan.exists) {
    plan_missing(context);
    return std::move(plan);
  }
  plan_bytes(context);
  tidy(plan);
  if (dialect_ == Dialect::a) {
    plan_size_a(context);
  } else {
    plan_size_b(context);
  }
  return std::move(plan);
}

void FlushPlanner::plan_missing(Context& context) {
  PlannedId& plan = context.plan;
  plan.tombstone = context.old.exists ? plan.present_kept > 0 : context.anchor_restated;
  if (context.old.size > 0) {
    plan.cleared.push_back({0, context.old.size});
  }
}

void FlushPlanner::plan_bytes(Context& context) {
  const PlannedId& plan = context.plan;
  if (!plan.touched) {
    return keep(context, 0, plan.size);
  }
  const auto& rope = state_.touched().at(plan.id).rope;
  state_.pool().for_range(rope, 0, plan.size, [&](std::uint32_t at, const Piece& piece) {
    if (piece.kind == PieceKind::zero) {
      zero(context, at, at + piece.length);
    } else if (piece.kind == PieceKind::stored && piece.source == plan.id && piece.at == at) {
      keep(context, at, at + piece.length);
    } else {
      bring(context, at, piece);
    }
  });
}

// Bytes that stay where they are: what dropped pages decide of them is stated again, and what is to
// be rewritten is.
void FlushPlanner::keep(Context& context, std::uint32_t from, std::uint32_t to) {
  for (const DroppedStatement& statement : context.dropped) {
    const std::uint64_t first = std::max(from, statement.from);
    const std::uint64_t end = std::min<std::uint64_t>(to, statement.to);
    if (first >= end) {
      continue;
    }
    context.old.fragments.for_range(first, end, [&](const Fragment& fragment) {
      if (fragment.table == statement.table && !is_rewritten(context.rewrites, fragment)) {
        restate(context, fragment.clipped(first, end));
      }
    });
  }
  rewrite(context, from, to);
}

void FlushPlanner::rewrite(Context& context, std::uint32_t from, std::uint32_t to) {
  auto range = std::ranges::upper_bound(context.rewrites, from, {}, &ByteRange::to);
  for (; range != context.rewrites.end() && range->from < to; ++range) {
    const std::uint32_t first = std::max(from, range->from);
    const std::uint32_t end = std::min(to, range->to);
    context.old.fragments.for_range(first, end, [&](const Fragment& whole) {
      if (!whole.has_bytes()) {
        return;
      }
      const Fragment fragment = whole.clipped(first, end);
      PlannedContent content;
      content.start = fragment.start;
      content.size = fragment.size;
      content.kind = PlannedContent::Kind::bytes;
      content.sources.push_back({fragment.address, fragment.size});
      content.aged = true;
      context.plan.content.push_back(std::move(content));
    });
  }
}

void FlushPlanner::restate(Context& context, const Fragment& fragment) {
  PlannedContent content;
  content.start = fragment.start;
  content.size = fragment.size;
  switch (fragment.kind) {
    case FragmentKind::ref:
      content.kind = PlannedContent::Kind::ref;
      content.address = fragment.address;
      break;
    case FragmentKind::in_line:
      content.kind = PlannedContent::Kind::bytes;
      content.sources.push_back({fragment.address, fragment.size});
      content.aged = true;
      break;
    case FragmentKind::zero:
    case FragmentKind::denied:
      return zero(context, fragment.start, static_cast<std::uint32_t>(fragment.end()));
  }
  context.plan.content.push_back(std::move(content));
}

// Bytes that come from elsewhere: the journal, or another place of the committed state.
void FlushPlanner::bring(Context& context, std::uint32_t at, const Piece& piece) {
  const auto add_bytes = [&](std::uint32_t start, std::uint32_t size, std::uint64_t address) {
    PlannedContent content;
    content.start = start;
    content.size = size;
    content.kind = PlannedContent::Kind::bytes;
    content.sources.push_back({address, size});
    context.plan.content.push_back(std::move(content));
  };
  if (piece.kind == PieceKind::literal) {
    return add_bytes(at, piece.length, piece.at);
  }
  const bool movable = movable_.contains({piece.source, piece.at});
  const auto source = state_.committed().find(piece.source);
  const std::span<const ByteRange> rewrites = ranges_of(rewrites_, piece.source);
  const std::uint64_t begin = piece.at;
  const std::uint64_t end = piece.at + piece.length;
  std::uint64_t done = begin;
  const auto here = [&](std::uint64_t position) {
    return at + static_cast<std::uint32_t>(position - begin);
  };
  if (source != state_.committed().end()) {
    source->second.fragments.for_range(begin, end, [&](const Fragment& whole) {
      const Fragment fragment = whole.clipped(begin, end);
      if (!fragment.has_bytes()) {
        return;
      }
      if (fragment.start > done) {
        zero(context, here(done), here(fragment.start));
      }
      if (movable && fragment.kind == FragmentKind::ref && fragment.size > inline_bytes_ &&
          !is_rewritten(rewrites, whole)) {
        PlannedContent content;
        content.start = here(fragment.start);
        content.size = fragment.size;
        content.kind = PlannedContent::Kind::ref;
        content.address = fragment.address;
        context.plan.content.push_back(std::move(content));
      } else {
        add_bytes(here(fragment.start), fragment.size, fragment.address);
      }
      done = fragment.end();
    });
  }
  if (done < end) {
    zero(context, here(done), here(end));
  }
}

void FlushPlanner::state_zero(Context& context, std::uint32_t from, std::uint32_t to) {
  PlannedContent content;
  content.start = from;
  content.size = to - from;
  context.plan.content.push_back(std::move(content));
}

// Bytes that read as zero now: stated only where something else would decide them otherwise, or
// where dialect B wants every byte covered.
void FlushPlanner::zero(Context& context, std::uint32_t from, std::uint32_t to) {
  const bool always = dialect_ == Dialect::b;
  const std::uint32_t old_end = std::clamp(context.old.size, from, to);
  context.old.fragments.for_range(from, old_end, [&](const Fragment& whole) {
    const Fragment fragment = whole.clipped(from, old_end);
    const bool goes = is_dropped(fragment.table);
    if (!goes && !fragment.has_bytes()) {
      return;  // zero already, and stays stated so
    }
    const auto end = static_cast<std::uint32_t>(fragment.end());
    if (always || context.plan.present_kept > 0) {
      state_zero(context, fragment.start, end);
    } else {
      context.plan.cleared.push_back({fragment.start, end});
    }
  });
  if (old_end < to && (always || context.anchor_restated)) {
    state_zero(context, old_end, to);
  }
}

// Sorts the content and joins what follows each other.
void FlushPlanner::tidy(PlannedId& plan) {
  std::ranges::sort(plan.content, {}, &PlannedContent::start);
  std::vector<PlannedContent> out;
  out.reserve(plan.content.size());
  for (PlannedContent& content : plan.content) {
    if (!out.empty() && content.start < out.back().end()) {
      continue;  // statements of a foreign page that claim a byte twice
    }
    const bool follows = !out.empty() && out.back().end() == content.start &&
                         out.back().kind == content.kind &&
                         content.kind != PlannedContent::Kind::ref;
    if (!follows) {
      out.push_back(std::move(content));
      continue;
    }
    out.back().size += content.size;
    out.back().aged = out.back().aged && content.aged;
    out.back().sources.insert(out.back().sources.end(), content.sources.begin(),
                              content.sources.end());
  }
  plan.content = std::move(out);
}

void FlushPlanner::plan_size_a(Context& context) {
  PlannedId& plan = context.plan;
  const Allocation& old = context.old;
  const bool lowered = old.exists && plan.size < old.size;
  if (lowered) {
    plan.cleared.push_back({plan.size, old.size});
  }
  if ((lowered && plan.present_kept > 0) || context.anchor_restated) {
    plan.size_statement = PlannedId::Size::shrink;
    return;
  }
  const Fragment* last = plan.size > 0 && old.exists ? old.fragments.at(plan.size - 1) : nullptr;
  const bool last_was_content = last != nullptr && last->kind != FragmentKind::denied;
  if (plan.size > 0 && !plan.content.empty() && plan.content.back().end() == plan.size) {
    return;
  }
  if (last_was_content && !is_dropped(last->table)) {
    return;
  }
  // Without a witness of its own the size rests on content, or on the anchor.
  const bool anchor_says = old.witness_table == k_no_table && !last_was_content &&
                           old.anchor_table != k_no_table && !is_dropped(old.anchor_table);
  const bool witness_stays = old.witness_table != k_no_table && !is_dropped(old.witness_table);
  if (old.exists && plan.size == old.size && (anchor_says || witness_stays)) {
    plan.witness_kept = true;
    return;
  }
  plan.size_statement = PlannedId::Size::grow;
}

void FlushPlanner::plan_size_b(Context& context) {
  PlannedId& plan = context.plan;
  const Allocation& old = context.old;
  if (old.exists && plan.size < old.size) {
    plan.cleared.push_back({plan.size, old.size});
  }
  if (!plan.content.empty() && plan.content.back().end() == plan.size) {
    // Costs nothing, also where it was stated before: that statement's page may go then.
    plan.size_statement = PlannedId::Size::star;
    return;
  }
  const bool stays = old.exists && plan.size == old.size && old.witness_table != k_no_table &&
                     !is_dropped(old.witness_table);
  if (stays) {
    plan.witness_kept = true;
    return;
  }
  plan.size_statement = PlannedId::Size::size;
}

}  // namespace varve::kladde
