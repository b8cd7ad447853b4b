// SPDX-License-Identifier: MIT OR Apache-2.0
// The tables that are no face of the store: units, segments, findings.
#pragma once

#include "query/store_tables.hpp"

namespace varve::query {

const Schema& unit_schema();
const Schema& segment_schema();
const Schema& finding_schema();

// Pushes the rows of such a table; `view` outlives the work.
//   units     one row a unit of each file, by `explain`; with what that finds wrong
//   segments  one row a segment, by `info`: headers only, as far as the format has them
//   findings  what `verify` finds; nothing goes to the sink of findings, the rows being them
RowStream::Work report_work(TableKind kind, StoreView& view, unsigned threads);

}  // namespace varve::query
