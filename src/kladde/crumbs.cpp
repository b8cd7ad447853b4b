// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/crumbs.hpp"

#include <algorithm>

#include "kladde/store_core.hpp"

namespace varve::kladde {

namespace {

// Fragments smaller than that are crumbs; so many within a page's worth are written as one.
constexpr std::uint32_t k_crumb_bytes = 512;
constexpr std::uint32_t k_many_crumbs = 16;
constexpr std::uint32_t k_few_crumbs = 4;
constexpr std::uint32_t k_crumb_window = 3500;

// The first run of many crumbs that reaches near `at` and begins at `from` or behind it; an empty
// one if there is none.
CrumbRun run_around(Id id, const FragmentList& fragments, std::uint64_t at, std::uint64_t from) {
  const std::uint64_t begin = std::max(from, at - std::min<std::uint64_t>(at, k_crumb_window / 2));
  CrumbRun run{.id = id};
  bool ended = false;
  fragments.for_range(begin, begin + k_crumb_window, [&](const Fragment& fragment) {
    if (fragment.start < begin || ended) {
      return;
    }
    if (run.takes(fragment)) {
      run.add(fragment);
    } else if (run.count >= k_many_crumbs) {
      ended = true;
    } else {
      run = {.id = id};
    }
  });
  return run.count >= k_many_crumbs ? run : CrumbRun{};
}

std::uint64_t find_all(Id id, const FragmentList& fragments, std::vector<CrumbRun>& out) {
  std::uint64_t bytes = 0;
  CrumbRun run{.id = id};
  const auto finish = [&] {
    if (run.count >= k_few_crumbs) {
      bytes += run.bytes();
      out.push_back(run);
    }
    run = {.id = id};
  };
  fragments.for_each([&](const Fragment& fragment) {
    if (!run.takes(fragment)) {
      finish();
    }
    if (run.takes(fragment)) {
      run.add(fragment);
    }
  });
  finish();
  return bytes;
}

}  // namespace

bool CrumbRun::takes(const Fragment& fragment) const {
  return fragment.has_bytes() && fragment.size <= k_crumb_bytes &&
         (count == 0 || (fragment.start == to && bytes() + fragment.size <= k_crumb_window));
}

void CrumbRun::add(const Fragment& fragment) {
  from = count == 0 ? fragment.start : from;
  to = fragment.end();
  ++count;
}

std::vector<CrumbRun> crumbs_beside_news(const StoreCore& store, std::uint64_t budget) {
  std::vector<CrumbRun> out;
  const State& state = store.state;
  for (const auto& [id, touched] : state.touched()) {
    const auto committed = store.committed.find(id);
    if (committed == store.committed.end() || committed->second.fragments.count() < k_many_crumbs) {
      continue;
    }
    const FragmentList& fragments = committed->second.fragments;
    std::uint64_t done = 0;
    const auto look = [&, id = id](std::uint32_t at, const Piece& piece) {
      if (piece.kind != PieceKind::literal || piece.length > k_crumb_bytes ||
          budget < k_crumb_window) {
        return;
      }
      const CrumbRun run = run_around(id, fragments, at, done);
      if (run.count > 0) {
        budget -= run.bytes();
        done = run.to;
        out.push_back(run);
      }
    };
    state.pool().for_range(touched.rope, 0, state.pool().length(touched.rope), look);
  }
  return out;
}

std::vector<CrumbRun> next_crumbs(StoreCore& store, std::uint64_t budget) {
  std::vector<CrumbRun> out;
  auto allocation = store.next_crumbs > k_max_u32
                        ? store.committed.end()
                        : store.committed.lower_bound(static_cast<Id>(store.next_crumbs));
  for (std::uint64_t bytes = 0; allocation != store.committed.end() && bytes < budget;
       ++allocation) {
    bytes += find_all(allocation->first, allocation->second.fragments, out);
  }
  store.next_crumbs = allocation != store.committed.end() ? allocation->first : k_max_u32 + 1;
  return out;
}

}  // namespace varve::kladde
