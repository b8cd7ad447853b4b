// SPDX-License-Identifier: MIT OR Apache-2.0
// The state face.
#include "arena/findings.hpp"
#include "arena/fold.hpp"
#include "arena/log_rows.hpp"
#include "arena/state_rows.hpp"
#include "arena/view.hpp"

namespace varve::arena {

Result<Verdict> ArenaView::fold(LiveState& state, bool partial, unsigned threads,
                                FindingSink& findings) {
  if (map_.refusal && !partial) {
    Error error = *map_.refusal;
    error.path = map_.path + "/" + error.path;
    return std::unexpected(std::move(error));
  }
  FoldRequest request;
  request.partial = partial;
  request.walk = walk_options(Policy::strict, threads);
  if (payloads_.key) {
    findings.add(note_finding("encryption-unconfirmed", map_.live_prefix,
                              "decrypted with key derivation costs that no real store has "
                              "confirmed"));
  }
  return fold_log(map_, payloads_, request, state, findings);
}

Result<ScanSummary> ArenaView::scan_state(const ScanRequest& request, BatchSink& sink,
                                          FindingSink& findings) {
  ScanSummary summary;
  LiveState state(payloads_.rules.meaning_enabled, payloads_.rules.dimensions.value_or(0));
  VARVE_ASSIGN(summary.verdict, fold(state, request.partial, request.threads, findings));
  std::vector<std::string> ids;
  for (const FilterTerm& term : request.predicate.terms) {
    if (term.name == "id") {
      ids.push_back(term.value);
    }
  }
  const auto emit = [&](Batch batch) -> Result<bool> {
    batch.rows =
        static_cast<std::size_t>(std::min<std::uint64_t>(batch.rows, request.limit - summary.rows));
    if (request.mapper != nullptr) {
      request.mapper->map(batch);
    }
    summary.rows += batch.rows;
    VARVE_ASSIGN(const bool go_on, sink.consume(std::move(batch)));
    return go_on && summary.rows < request.limit;
  };
  VARVE_TRY(each_state_batch(state, ids, emit));
  return summary;
}

void ArenaView::render_state(const Batch& batch, const RenderOptions&, std::string& out) {
  for (std::size_t row = 0; row < batch.rows; ++row) {
    append_state_line(out, batch, row);
  }
}

const Schema& ArenaView::schema(Face face) const {
  return face == Face::state ? state_schema() : log_schema();
}

}  // namespace varve::arena
