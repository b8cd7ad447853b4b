#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks DuckDB's library: prints the rows of each statement, one a line, fields between tabs.

    duckdb.py LIBRARY SQL..."""
import ctypes
import sys


class Result(ctypes.Structure):
    _fields_ = [("columns", ctypes.c_uint64), ("rows", ctypes.c_uint64),
                ("changed", ctypes.c_uint64), ("data", ctypes.c_void_p),
                ("error", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


class Database:
    """A database in memory; extensions that nobody signed may be loaded."""

    def __init__(self, library):
        self.c = c = ctypes.CDLL(library)
        c.duckdb_result_error.restype = ctypes.c_char_p
        c.duckdb_value_varchar.restype = ctypes.c_void_p
        c.duckdb_value_varchar.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]
        for name in ("row_count", "column_count"):
            getattr(c, "duckdb_" + name).restype = ctypes.c_uint64
        c.duckdb_free.argtypes = [ctypes.c_void_p]
        config, database, self.connection = (ctypes.c_void_p() for _ in range(3))
        c.duckdb_create_config(ctypes.byref(config))
        for setting in (b"autoinstall_known_extensions", b"autoload_known_extensions"):
            c.duckdb_set_config(config, setting, b"false")
        c.duckdb_set_config(config, b"allow_unsigned_extensions", b"true")
        assert c.duckdb_open_ext(None, ctypes.byref(database), config, None) == 0
        assert c.duckdb_connect(database, ctypes.byref(self.connection)) == 0

    def ask(self, sql):
        result = Result()
        handle = ctypes.byref(result)
        if self.c.duckdb_query(self.connection, sql.encode(), handle) != 0:
            raise RuntimeError(self.c.duckdb_result_error(handle).decode())
        rows = []
        for row in range(self.c.duckdb_row_count(handle)):
            fields = []
            for column in range(self.c.duckdb_column_count(handle)):
                text = self.c.duckdb_value_varchar(handle, column, row)
                fields.append("NULL" if text is None else ctypes.string_at(text).decode())
                self.c.duckdb_free(text)
            rows.append(fields)
        self.c.duckdb_destroy_result(handle)
        return rows


def main():
    database = Database(sys.argv[1])
    for sql in sys.argv[2:]:
        for row in database.ask(sql):
            print("\t".join(row))


if __name__ == "__main__":
    main()
