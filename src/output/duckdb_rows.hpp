// SPDX-License-Identifier: MIT OR Apache-2.0
// Columns of batches as vectors of DuckDB.
#pragma once

#include "output/duckdb_api.hpp"
#include "varve/batch.hpp"

namespace varve::output {

// Most rows that one chunk of DuckDB takes.
inline constexpr std::size_t k_duckdb_chunk_rows = 2048;

DuckdbType duckdb_type(ColumnType type);

// Adds a result column of that field to a table function that is being bound.
void add_duckdb_column(DuckdbHandle bind_info, const Field& field);

// Writes rows [first, first + rows) of a column to a vector. Text that is not UTF-8, which DuckDB
// must not be given, becomes {"$bytes":"<base64>"}, as it does in JSON.
void fill_duckdb_vector(const Field& field, const Column& column, std::size_t first,
                        std::size_t rows, DuckdbHandle vector);

}  // namespace varve::output
