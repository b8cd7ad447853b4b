// SPDX-License-Identifier: MIT OR Apache-2.0
// Columns as Arrow has them: which there are, how dotted names nest, and their export.
#pragma once

#include <string>
#include <vector>

#include "varve/arrow_abi.hpp"
#include "varve/batch.hpp"
#include "varve/result.hpp"

namespace varve::output {

// A column or, with children, a struct of columns. The root is a struct without a name.
struct ArrowNode {
  std::string name;
  int field = -1;  // in the schema; -1: a struct
  std::vector<ArrowNode> children;
};

// The tree over the named columns, or over all but computed ones. Fails at an unknown name.
Result<ArrowNode> arrow_layout(const Schema& schema, const std::vector<std::string>& columns);

void export_arrow_schema(const Schema& schema, const ArrowNode& root, ArrowSchema* out);

// Columns whose layout is Arrow's are shared with the batch, the others copied. Fails where a
// column's bytes pass the 2 GiB of Arrow's 32-bit offsets, or the batch lacks a column.
Result<void> export_arrow_array(const Batch& batch, const ArrowNode& root, ArrowArray* out);

}  // namespace varve::output
