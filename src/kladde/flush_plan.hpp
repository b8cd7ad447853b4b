// SPDX-License-Identifier: MIT OR Apache-2.0
// What a flush must state (section 6.5): the fold of the journal against the committed state, and
// what the dropped table pages still decide.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "kladde/ledger.hpp"
#include "kladde/state.hpp"

namespace varve::kladde {

// A stretch of bytes in the file.
struct ByteSource {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
};

// One content statement to be.
struct PlannedContent {
  enum class Kind : std::uint8_t {
    bytes,  // `sources` in order: inline, or written to data pages
    ref,    // stands at `address` already
    zero,
  };
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  Kind kind = Kind::zero;
  std::uint64_t address = 0;
  std::vector<ByteSource> sources;
  bool aged = false;  // bytes: from the committed state, brought together for less waste
  std::uint64_t end() const { return std::uint64_t{start} + size; }
};

struct ByteRange {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// Everything that a flush states about one id.
struct PlannedId {
  enum class Size : std::uint8_t { nothing, shrink, grow, size, star };
  Id id = 0;
  bool touched = false;
  bool exists = false;
  std::uint32_t size = 0;
  std::vector<PlannedContent> content;  // ascending, disjoint
  // Committed bytes that read as zero now without a statement.
  std::vector<ByteRange> cleared;
  bool tombstone = false;
  Size size_statement = Size::nothing;  // star: the last content statement states the size too
  std::uint32_t present_kept = 0;       // statements of the id in pages that stay
  std::uint32_t older_kept = 0;         // of those, the ones older than the committed anchor
  // The statement that the size rests on stays where it is.
  bool witness_kept = false;
};

// A statement in a table page that the flush drops.
struct DroppedStatement {
  std::uint32_t from = 0;
  std::uint64_t to = 0;  // anchors: no end
  PageNumber table = 0;
};
using DroppedStatements = std::map<Id, std::vector<DroppedStatement>>;

// Committed bytes to be written anew where they are: ascending and disjoint for each id, from the
// start of a fragment to the end of one.
using Rewrites = std::map<Id, std::vector<ByteRange>>;

struct PlanRequest {
  Dialect dialect = Dialect::a;
  std::uint32_t inline_bytes = 0;
  const State& state;
  const Ledger& ledger;
  const DroppedStatements& dropped;  // every statement of the pages that go
  const std::set<PageNumber>& dropped_pages;
  const Rewrites& rewrites;
};

class FlushPlanner {
 public:
  // Nothing that the request names is owned.
  explicit FlushPlanner(const PlanRequest& request);

  // The plan for every id that the journal touched, a dropped page names or a rewrite is wanted of,
  // ascending.
  std::vector<PlannedId> run();

 private:
  struct Context;
  void find_movable();
  PlannedId plan(Id id);
  void plan_missing(Context& context);
  void plan_bytes(Context& context);
  void keep(Context& context, std::uint32_t from, std::uint32_t to);
  void rewrite(Context& context, std::uint32_t from, std::uint32_t to);
  void restate(Context& context, const Fragment& fragment);
  void bring(Context& context, std::uint32_t at, const Piece& piece);
  void zero(Context& context, std::uint32_t from, std::uint32_t to);
  void state_zero(Context& context, std::uint32_t from, std::uint32_t to);
  void plan_size_a(Context& context);
  void plan_size_b(Context& context);
  static void tidy(PlannedId& plan);
  bool is_dropped(PageNumber table) const { return dropped_pages_.contains(table); }

  Dialect dialect_;
  const State& state_;
  const Ledger& ledger_;
  const DroppedStatements& dropped_;
  const std::set<PageNumber>& dropped_pages_;
  const Rewrites& rewrites_;
  std::uint32_t inline_bytes_;
  // Stored pieces whose bytes nothing else uses: their Refs may be handed over (section 14).
  std::set<std::pair<Id, std::uint64_t>> movable_;
};

}  // namespace varve::kladde
