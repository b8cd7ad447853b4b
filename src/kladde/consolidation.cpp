// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/consolidation.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kladde/crumbs.hpp"
#include "kladde/store_core.hpp"

namespace varve::kladde {

namespace {

constexpr std::uint64_t k_page_content = k_max_page_content;

// While that much of all pages' content is live, pages that are less than 45 % live are rewritten:
// each costs less than a page written for a page won. Below it ever fuller ones are.
constexpr double k_good_share = 0.68;
constexpr double k_poor_share = 0.60;
constexpr double k_low_coverage = 0.45;
constexpr double k_high_coverage = 0.85;
constexpr std::uint64_t k_few_pages = 16;  // too few for shares to say much

// A flush copies so much at most: the largest of these.
constexpr std::uint64_t k_least_budget_pages = 32;
constexpr std::uint64_t k_budget_per_journal_page = 2;
constexpr std::uint64_t k_budget_part_of_data = 10;
constexpr std::uint64_t k_full_budget_pages = 1024;  // of one step of a full consolidation

// Packing leaves that much of the pages empty at worst, in percent.
constexpr std::uint64_t k_data_waste = 5;
constexpr std::uint64_t k_table_waste = 10;

// A leaf that small is taken into the header while that is not fuller than this.
constexpr std::uint32_t k_small_leaf_bytes = 1500;
constexpr std::uint32_t k_roomy_header_bytes = 2000;

constexpr std::uint64_t k_most_looked_at = 4096;  // pages at the end of the file

std::uint64_t pages_for(std::uint64_t bytes, std::uint64_t waste_percent) {
  return (bytes * (100 + waste_percent) / 100 + k_page_content - 1) / k_page_content;
}

class Chooser {
 public:
  Chooser(StoreCore& store, bool full) : store_(store), full_(full) {
    const Ledger& ledger = store.ledger;
    const std::uint64_t pages =
        full ? k_full_budget_pages
             : std::max({k_least_budget_pages,
                         k_budget_per_journal_page * store.journal.pages().size(),
                         ledger.data_pages() / k_budget_part_of_data});
    budget_ = pages * k_page_content;
  }

  Result<Consolidation> run() {
    VARVE_TRY(sparse_data());
    VARVE_TRY(sparse_tables());
    VARVE_TRY(end_of_file());
    for (const CrumbRun& run :
         full_ ? next_crumbs(store_, left()) : crumbs_beside_news(store_, left())) {
      VARVE_TRY(join(run));
    }
    for (auto& [id, ranges] : out_.rewrites) {
      tidy(ranges);
    }
    return std::move(out_);
  }

 private:
  std::uint64_t left() const { return budget_ - std::min(budget_, out_.bytes); }

  // How full a page may be to be rewritten, where `live` bytes are left in `pages`.
  std::uint64_t limit(std::uint64_t live, std::uint64_t pages) const {
    if (full_) {
      return k_page_content;
    }
    const double share = static_cast<double>(live) /
                         static_cast<double>(std::max<std::uint64_t>(pages, 1) * k_page_content);
    double part = k_low_coverage;
    if (share < k_good_share && pages >= k_few_pages) {
      const double depth = std::min(1.0, (k_good_share - share) / (k_good_share - k_poor_share));
      part += depth * (k_high_coverage - k_low_coverage);
    }
    return static_cast<std::uint64_t>(part * static_cast<double>(k_page_content));
  }

  // The sparsest pages up to `limit` and so many bytes, if fewer pages hold what is left of them:
  // staying(page, live) bytes, none where the flush empties the page anyway.
  template <class Staying>
  static std::vector<PageNumber> sparsest(const Ledger::BySparsity& pages, std::uint64_t limit,
                                          std::uint64_t bytes, std::uint64_t waste,
                                          Staying staying) {
    std::vector<PageNumber> out;
    std::size_t worthwhile = 0;
    std::uint64_t sum = 0;
    for (const auto& [live, page] : pages) {
      if (live > limit || sum + live > bytes) {
        break;
      }
      const std::uint64_t stays = staying(page, live);
      if (stays == 0) {
        continue;
      }
      sum += stays;
      out.push_back(page);
      if (pages_for(sum, waste) < out.size()) {
        worthwhile = out.size();
      }
    }
    out.resize(worthwhile);
    return out;
  }

  // How many bytes of a data page the journal leaves in place.
  std::uint64_t untouched_bytes(PageNumber page) const {
    const State& state = store_.state;
    std::uint64_t bytes = 0;
    for (const PageUse& use : store_.ledger.data_page(page)->uses) {
      const Fragment& fragment = *store_.committed.at(use.id).fragments.at(use.start);
      const auto touched = state.touched().find(use.id);
      if (touched == state.touched().end()) {
        bytes += fragment.size;
      } else if (touched->second.exists) {
        const auto end = static_cast<std::uint32_t>(fragment.end());
        state.pool().for_range(
            touched->second.rope, use.start, end, [&](std::uint32_t at, const Piece& piece) {
              const bool in_place =
                  piece.kind == PieceKind::stored && piece.source == use.id && piece.at == at;
              bytes += in_place ? piece.length : 0;
            });
      }
    }
    return bytes;
  }

  Result<void> sparse_data() {
    const Ledger& ledger = store_.ledger;
    const auto pages = sparsest(
        ledger.sparse_data(), limit(ledger.live_bytes(), ledger.data_pages()), left(), k_data_waste,
        [&](PageNumber page, std::uint64_t) { return untouched_bytes(page); });
    for (const PageNumber page : pages) {
      VARVE_TRY(evacuate(page));
    }
    return {};
  }

  Result<void> sparse_tables() {
    const Ledger& ledger = store_.ledger;
    auto pages =
        sparsest(ledger.sparse_tables(), limit(ledger.leaf_bytes(), ledger.leaves()), left(),
                 k_table_waste, [](PageNumber, std::uint64_t live) { return live; });
    if (pages.empty() && !ledger.sparse_tables().empty()) {
      const auto [least, page] = *ledger.sparse_tables().begin();
      const auto slot = static_cast<PageNumber>(store_.header.epoch % 2);
      if (least <= k_small_leaf_bytes &&
          ledger.tables().at(slot).content_bytes <= k_roomy_header_bytes) {
        pages.push_back(page);
      }
    }
    for (const PageNumber page : pages) {
      VARVE_TRY(restate(page));
    }
    return {};
  }

  // Moves the last pages of the file to holes before them, where there are more of these than the
  // flush needs.
  Result<void> end_of_file() {
    const PageSet& ready = store_.space.ready();
    const std::uint64_t pages = store_.space.page_count();
    std::uint64_t spare = 0;  // holes that the flush needs, or that are not worth the trouble
    if (!full_) {
      spare = 2 * store_.journal.pages().size() + store_.shape.interior.size() + 4 +
              pages_for(out_.bytes, k_data_waste);
      if (ready.count() <= spare + std::max<std::uint64_t>(4, pages / 12)) {
        return {};
      }
    }
    std::uint64_t below = ready.count();
    std::uint64_t looked_at = 0;
    auto hole = ready.runs().rbegin();
    for (std::uint64_t page = pages; page-- > k_first_free_page;) {
      if (hole != ready.runs().rend() && page < hole->second) {
        below -= hole->second - hole->first;
        page = hole->first;
        ++hole;
        continue;
      }
      if (below <= spare || left() < k_page_content || ++looked_at > k_most_looked_at) {
        break;
      }
      VARVE_ASSIGN(const bool moved, move(static_cast<PageNumber>(page)));
      spare += moved ? 1 : 0;
    }
    return {};
  }

  Result<bool> move(PageNumber page) {
    const Ledger& ledger = store_.ledger;
    if (const DataPageUse* use = ledger.data_page(page)) {
      if (use->fixed || evacuated_.contains(page)) {
        return false;
      }
      VARVE_TRY(evacuate(page));
      return true;
    }
    const auto table = ledger.tables().find(page);
    if (table == ledger.tables().end() || out_.tables.contains(page)) {
      return false;
    }
    if (table->second.interior) {
      out_.rebuild_interior = true;
      return true;
    }
    VARVE_TRY(restate(page));
    return true;
  }

  // Reads a page that is to be copied from: what does not hold must not get a fresh checksum.
  Result<bool> holds(PageNumber page, std::uint8_t kind) const {
    std::array<std::byte, k_page_bytes> bytes;
    VARVE_TRY(store_.read_bytes(std::uint64_t{page} * k_page_bytes, bytes));
    return expect_page(bytes, kind, store_.header.epoch).has_value();
  }

  Result<bool> data_holds(PageNumber page) {
    return holds_or_is_fixed(page, k_kind_data, store_.ledger.data_page(page)->fixed, &Ledger::fix);
  }
  Result<bool> table_holds(PageNumber page) {
    return holds_or_is_fixed(page, k_kind_table, store_.ledger.tables().at(page).fixed,
                             &Ledger::fix_table);
  }

  // Whether a page holds, looked at once; one that does not is fixed where it is.
  Result<bool> holds_or_is_fixed(PageNumber page, std::uint8_t kind, bool fixed,
                                 void (Ledger::*fix)(PageNumber)) {
    if (fixed || sound_.contains(page)) {
      return !fixed;
    }
    VARVE_ASSIGN(const bool whole, holds(page, kind));
    if (whole) {
      sound_.insert(page);
    } else {
      (store_.ledger.*fix)(page);
      ++store_.damaged_pages;
    }
    return whole;
  }

  Result<void> evacuate(PageNumber page) {
    VARVE_ASSIGN(const bool whole, data_holds(page));
    if (!whole) {
      return {};
    }
    evacuated_.insert(page);
    for (const PageUse& use : store_.ledger.data_page(page)->uses) {
      const Fragment* fragment = store_.committed.at(use.id).fragments.at(use.start);
      add(use.id, use.start, fragment->end());
    }
    return {};
  }

  Result<void> restate(PageNumber page) {
    VARVE_ASSIGN(const bool whole, table_holds(page));
    if (!whole) {
      return {};
    }
    out_.tables.insert(page);
    out_.bytes += store_.ledger.tables().at(page).coverage();
    return {};
  }

  void add(Id id, std::uint64_t from, std::uint64_t to) {
    out_.rewrites[id].push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)});
    out_.bytes += to - from;
  }

  // Crumbs become one, unless one of them lies in a page that does not hold.
  Result<void> join(const CrumbRun& run) {
    std::set<PageNumber> data;
    std::set<PageNumber> tables;
    store_.committed.at(run.id).fragments.for_range(
        run.from, run.to, [&](const Fragment& fragment) {
          const auto page = static_cast<PageNumber>(fragment.address / k_page_bytes);
          if (page >= k_slot_count) {  // the header is stated anew by every flush
            (fragment.kind == FragmentKind::ref ? data : tables).insert(page);
          }
        });
    for (const PageNumber page : data) {
      VARVE_ASSIGN(const bool whole, data_holds(page));
      if (!whole) {
        return {};
      }
    }
    for (const PageNumber page : tables) {
      VARVE_ASSIGN(const bool whole, table_holds(page));
      if (!whole) {
        return {};
      }
    }
    add(run.id, run.from, run.to);
    return {};
  }

  // Sorts ranges and joins those that overlap.
  static void tidy(std::vector<ByteRange>& ranges) {
    std::ranges::sort(ranges, {}, &ByteRange::from);
    std::size_t kept = 0;
    for (const ByteRange& range : ranges) {
      if (kept > 0 && range.from < ranges[kept - 1].to) {
        ranges[kept - 1].to = std::max(ranges[kept - 1].to, range.to);
      } else {
        ranges[kept++] = range;
      }
    }
    ranges.resize(kept);
  }

  StoreCore& store_;
  bool full_;
  std::uint64_t budget_ = 0;  // bytes
  std::set<PageNumber> evacuated_;
  std::set<PageNumber> sound_;  // checked before
  Consolidation out_;
};

}  // namespace

Result<Consolidation> choose_consolidation(StoreCore& store, Effort effort) {
  return Chooser(store, effort == Effort::full).run();
}

}  // namespace varve::kladde
