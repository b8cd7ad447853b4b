// SPDX-License-Identifier: MIT OR Apache-2.0
// Scans as Arrow: one schema, and batches of arrays over the C Data and C Stream interfaces.
#pragma once

#include <memory>

#include "varve/arrow_abi.hpp"
#include "varve/finding.hpp"
#include "varve/scan.hpp"
#include "varve/store.hpp"

namespace varve {

// Makes `out` a stream of struct arrays with the rows of the scan, in its order. Its columns are
// those the request names, or all but the computed ones; dotted names become members of structs,
// fields of repeated text dictionaries with int32 indices. docs/arrow.md has the table of types.
//
// The scan runs on a thread of the stream's own, a few batches ahead of the consumer. Releasing the
// stream stops it and waits for it; arrays handed out stay good until they are released themselves,
// in any order. `view` serves no other call while the stream lives. Findings come on the scan's
// thread; those of a scan read to its end are all there once get_next gave the end. A scan that
// fails gives its rows so far, then EIO and its error as get_last_error(). `request.mapper` is not
// called. Fails if the request names an unknown column; `out` is untouched then.
Result<void> export_arrow_stream(std::shared_ptr<StoreView> view, ScanRequest request,
                                 std::shared_ptr<FindingSink> findings, ArrowArrayStream* out);

}  // namespace varve
