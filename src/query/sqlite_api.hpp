// SPDX-License-Identifier: MIT OR Apache-2.0
// SQLite's functions: the library's own, or, in the loadable extension, the host's through its
// table. Every name of SQLite in this folder comes from here.
#pragma once

#ifdef VARVE_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif
