// SPDX-License-Identifier: MIT OR Apache-2.0
// `stats`: sizes of allocations and records, coverage of pages, what the pages are used for.
#include <map>

#include "kladde/owners.hpp"
#include "kladde/view.hpp"
#include "model/tally.hpp"

namespace varve::kladde {

namespace {

// Bytes of table pages that the current state still uses: framing of the statements that decide
// something, and their payload (section 14).
std::map<PageNumber, std::uint64_t> live_table_bytes(const World& world) {
  std::map<PageNumber, std::uint64_t> out;
  for (const Statement& statement : world.tree.statements) {
    const PageNumber page = world.tree.pages[statement.table].page;
    const Allocation& allocation = world.allocations.at(statement.id);
    bool live = allocation.anchor_table == page || allocation.witness_table == page;
    if (!live && statement.is_content()) {
      allocation.fragments.for_range(statement.offset, statement.end(),
                                     [&](const Fragment& f) { live = live || f.table == page; });
    }
    out[page] += live ? statement.length : 0;
  }
  return out;
}

}  // namespace

Result<StatsReport> View::stats_once(FindingSink& findings) {
  const Policy policy = Policy::report(findings);
  const LoadRequest request = load_request(false);
  VARVE_ASSIGN(const auto world, load(request, policy));
  StatsReport out;
  if (!world) {
    return out;
  }
  model::Tally sizes;
  model::Tally fragments;
  model::Tally statements_an_id;
  for (const auto& [id, allocation] : world->allocations) {
    if (allocation.exists) {
      sizes.add(allocation.size);
      fragments.add(allocation.fragments.count());
    }
    statements_an_id.add(allocation.present);
  }
  model::CategoryTally kinds;
  for (const Statement& statement : world->tree.statements) {
    kinds.add(to_text(statement.kind, statement.sizing), 1, statement.length);
  }
  model::CategoryTally records;
  model::Tally transactions;
  VARVE_ASSIGN(const Journal journal,
               read_journal(*file_, *world, request, policy,
                            [&](const JournalTransaction& transaction,
                                std::span<const Record> list) -> Result<bool> {
                              transactions.add(list.size());
                              for (std::size_t i = 0; i < list.size(); ++i) {
                                const std::uint64_t end = i + 1 < list.size()
                                                              ? list[i + 1].position
                                                              : transaction.records.size();
                                records.add(to_text(list[i].kind), 1, end - list[i].position);
                              }
                              return true;
                            }));
  const PageOwners owners(*world, journal);
  model::CategoryTally uses;
  model::Tally data_coverage;
  for (std::uint64_t page = 0; page < world->page_count; ++page) {
    uses.add(to_text(owners.use(page)), 1, k_page_bytes);
    if (owners.use(page) == PageUse::data) {
      std::uint64_t live = 0;
      for (const DataOwner& owner : owners.data(static_cast<PageNumber>(page))) {
        live += owner.size;
      }
      data_coverage.add(live * 100 / k_max_page_content);
    }
  }
  model::Tally table_coverage;
  for (const auto& [page, live] : live_table_bytes(*world)) {
    table_coverage.add(live * 100 /
                       (page < k_slot_count ? k_max_header_content : k_max_page_content));
  }
  out.distributions.push_back(sizes.finish("allocation size", "bytes"));
  out.distributions.push_back(fragments.finish("fragments an allocation", "fragments"));
  out.distributions.push_back(statements_an_id.finish("statements an id", "statements"));
  out.distributions.push_back(kinds.finish("statement kind", "statements"));
  out.distributions.push_back(uses.finish("page use", "pages"));
  out.distributions.push_back(data_coverage.finish("data page coverage", "percent"));
  out.distributions.push_back(table_coverage.finish("table page coverage", "percent"));
  out.distributions.push_back(transactions.finish("records a transaction", "records"));
  out.distributions.push_back(records.finish("record kind", "records"));
  return out;
}

}  // namespace varve::kladde
