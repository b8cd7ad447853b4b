// SPDX-License-Identifier: MIT OR Apache-2.0
// The part of DuckDB's C interface that Varve uses, as its published header declares it. Nothing is
// linked: a program that exports finds the functions in a library that it loads, and the extension
// gets them from the DuckDB that loads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "varve/result.hpp"

namespace varve::output {

struct DuckdbResult {
  std::uint64_t columns;
  std::uint64_t rows;
  std::uint64_t rows_changed;
  void* column_data;
  char* error;
  void* internal;
};

using DuckdbHandle = void*;  // every object of the interface
using DuckdbDelete = void (*)(void*);
using DuckdbCallback = void (*)(DuckdbHandle info);
using DuckdbFill = void (*)(DuckdbHandle info, DuckdbHandle chunk);
using DuckdbIndex = std::uint64_t;

// duckdb_type
enum DuckdbType : std::uint32_t {
  k_duckdb_boolean = 1,
  k_duckdb_int64 = 5,
  k_duckdb_uint8 = 6,
  k_duckdb_uint16 = 7,
  k_duckdb_uint32 = 8,
  k_duckdb_uint64 = 9,
  k_duckdb_text = 17,
  k_duckdb_bytes = 18,
  k_duckdb_timestamp_utc = 31,
};

// X(place in the table that extensions are given, result, name behind "duckdb_", arguments...).
// The places belong to the stable part of that table, version v1.2.0.
#define VARVE_DUCKDB_FUNCTIONS(X)                                                              \
  X(1, int, open_ext, const char* path, DuckdbHandle* out, DuckdbHandle config, char** error)  \
  X(2, void, close, DuckdbHandle* database)                                                    \
  X(3, int, connect, DuckdbHandle database, DuckdbHandle* out)                                 \
  X(6, void, disconnect, DuckdbHandle* connection)                                             \
  X(7, const char*, library_version, )                                                         \
  X(13, int, query, DuckdbHandle connection, const char* sql, DuckdbResult* out)               \
  X(14, void, destroy_result, DuckdbResult* result)                                            \
  X(21, const char*, result_error, DuckdbResult* result)                                       \
  X(25, void, free, void* pointer)                                                             \
  X(92, void, destroy_value, DuckdbHandle* value)                                              \
  X(125, std::int64_t, get_int64, DuckdbHandle value)                                          \
  X(142, char*, get_varchar, DuckdbHandle value)                                               \
  X(151, DuckdbIndex, get_list_size, DuckdbHandle value)                                       \
  X(152, DuckdbHandle, get_list_child, DuckdbHandle value, DuckdbIndex index)                  \
  X(156, DuckdbHandle, create_logical_type, std::uint32_t type)                                \
  X(159, DuckdbHandle, create_list_type, DuckdbHandle type)                                    \
  X(184, void, destroy_logical_type, DuckdbHandle* type)                                       \
  X(190, DuckdbHandle, data_chunk_get_vector, DuckdbHandle chunk, DuckdbIndex column)          \
  X(192, void, data_chunk_set_size, DuckdbHandle chunk, DuckdbIndex rows)                      \
  X(194, void*, vector_get_data, DuckdbHandle vector)                                          \
  X(195, std::uint64_t*, vector_get_validity, DuckdbHandle vector)                             \
  X(196, void, vector_ensure_validity_writable, DuckdbHandle vector)                           \
  X(198, void, vector_assign_string_element_len, DuckdbHandle vector, DuckdbIndex row,         \
    const char* data, DuckdbIndex size)                                                        \
  X(242, DuckdbHandle, create_table_function, )                                                \
  X(243, void, destroy_table_function, DuckdbHandle* function)                                 \
  X(244, void, table_function_set_name, DuckdbHandle function, const char* name)               \
  X(245, void, table_function_add_parameter, DuckdbHandle function, DuckdbHandle type)         \
  X(246, void, table_function_add_named_parameter, DuckdbHandle function, const char* name,    \
    DuckdbHandle type)                                                                         \
  X(247, void, table_function_set_extra_info, DuckdbHandle function, void* extra,              \
    DuckdbDelete destroy)                                                                      \
  X(248, void, table_function_set_bind, DuckdbHandle function, DuckdbCallback bind)            \
  X(249, void, table_function_set_init, DuckdbHandle function, DuckdbCallback init)            \
  X(251, void, table_function_set_function, DuckdbHandle function, DuckdbFill fill)            \
  X(252, void, table_function_supports_projection_pushdown, DuckdbHandle function, bool yes)   \
  X(253, int, register_table_function, DuckdbHandle connection, DuckdbHandle function)         \
  X(254, void*, bind_get_extra_info, DuckdbHandle info)                                        \
  X(255, void, bind_add_result_column, DuckdbHandle info, const char* name, DuckdbHandle type) \
  X(257, DuckdbHandle, bind_get_parameter, DuckdbHandle info, DuckdbIndex index)               \
  X(258, DuckdbHandle, bind_get_named_parameter, DuckdbHandle info, const char* name)          \
  X(259, void, bind_set_bind_data, DuckdbHandle info, void* data, DuckdbDelete destroy)        \
  X(261, void, bind_set_error, DuckdbHandle info, const char* error)                           \
  X(263, void*, init_get_bind_data, DuckdbHandle info)                                         \
  X(264, void, init_set_init_data, DuckdbHandle info, void* data, DuckdbDelete destroy)        \
  X(265, DuckdbIndex, init_get_column_count, DuckdbHandle info)                                \
  X(266, DuckdbIndex, init_get_column_index, DuckdbHandle info, DuckdbIndex column)            \
  X(268, void, init_set_error, DuckdbHandle info, const char* error)                           \
  X(269, void*, function_get_extra_info, DuckdbHandle info)                                    \
  X(271, void*, function_get_init_data, DuckdbHandle info)                                     \
  X(273, void, function_set_error, DuckdbHandle info, const char* error)

struct DuckdbApi {
#define VARVE_DUCKDB_MEMBER(place, result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
  VARVE_DUCKDB_FUNCTIONS(VARVE_DUCKDB_MEMBER)
#undef VARVE_DUCKDB_MEMBER
};

// Loads the first of these libraries that is there, once a process, and never unloads it. Errors:
// `unsupported`, reason "duckdb_missing", if there is none or it is too old.
Result<void> load_duckdb(const std::vector<std::string>& candidates);

// The functions of the DuckDB of this process. A global, since DuckDB's callbacks bring nothing
// along by which they could find the functions. Set by load_duckdb, or by an extension's entry.
const DuckdbApi& duckdb();
void set_duckdb(const DuckdbApi& api);

}  // namespace varve::output
