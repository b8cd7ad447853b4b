/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The C interface of Varve: reading, checking, salvaging, writing and keeping up stores of every
 * format.
 *
 * Handles (varve_store, varve_writer) are opaque. The call that gives one says which call ends it;
 * ending NULL does nothing. A handle serves one thread at a time; different handles may be used by
 * different threads at once. Text is UTF-8 or raw bytes of paths, ended by a zero byte.
 * A path may also name a directory that a backup wrote: it stands for the store in it.
 *
 * Option structs begin with their size. Zero the struct, set `size` to its sizeof, then the members
 * you need: zero means the default everywhere. A NULL pointer to options means all defaults. A
 * struct larger than the library knows is taken if what it does not know is zero.
 *
 * Every call that can fail returns a varve_code, and where it is not VARVE_OK gives a varve_error
 * through its last argument, unless that is NULL. The caller frees it with varve_error_free().
 * Where a call fails its other results are set to NULL or left alone. No C++ exception leaves.
 * Callbacks must return normally: they may neither throw nor jump out.
 *
 * Lifecycle: each call says since which version it is there. Until 1.0 a minor version may
 * change or drop names, and says so in CHANGELOG.md; the shared library's SONAME carries the minor
 * version. Values of enumerations are never reused, and option structs only grow at their end;
 * other structs do not change within a minor version. */
#ifndef VARVE_H
#define VARVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What kind of failure it was. Values are never reused. */
typedef enum varve_code {
  VARVE_OK = 0,
  VARVE_IO = 1,               /* the operating system refused; see system_errno */
  VARVE_NOT_A_STORE = 2,      /* nothing of a known format is there */
  VARVE_UNSUPPORTED = 3,      /* a version or feature this build does not know */
  VARVE_DAMAGED = 4,          /* a committed unit is hurt */
  VARVE_TORN = 5,             /* the log ends in an incomplete unit */
  VARVE_LOCKED = 6,           /* another process holds the store */
  VARVE_LIMIT = 7,            /* a budget was reached */
  VARVE_INVALID_ARGUMENT = 8, /* the caller asked for something that cannot be */
  VARVE_POISONED = 9,         /* an earlier failed write made this handle unusable */
  VARVE_NO_MEMORY = 10,
  VARVE_INTERNAL = 11 /* a fault of the library */
} varve_code;

/* The worst of what a check or scan met, from good to bad. */
typedef enum varve_verdict {
  VARVE_VERDICT_CLEAN = 0,
  VARVE_VERDICT_TORN = 1,
  VARVE_VERDICT_UNKNOWN = 2,
  VARVE_VERDICT_DAMAGED = 3
} varve_verdict;

typedef enum varve_severity {
  VARVE_SEVERITY_NOTE = 0,
  VARVE_SEVERITY_WARNING = 1,
  VARVE_SEVERITY_ERROR = 2
} varve_severity;

/* The two faces of a store: all records in order, or what they add up to. */
typedef enum varve_face { VARVE_FACE_LOG = 0, VARVE_FACE_STATE = 1 } varve_face;

/* How what a user stored stands in a row. */
typedef enum varve_payload {
  VARVE_PAYLOAD_JSON = 0, /* as its own JSON where it has any, else as base64 */
  VARVE_PAYLOAD_BASE64 = 1,
  VARVE_PAYLOAD_HEX = 2,
  VARVE_PAYLOAD_SHA256 = 3, /* only its hash */
  VARVE_PAYLOAD_NONE = 4
} varve_payload;

/* A failure. Its strings live as long as it does and are never NULL. */
typedef struct varve_error {
  varve_code code;
  int exit_code;        /* what the program would exit with */
  int system_errno;     /* of a failed system call, else 0 */
  uint64_t offset;      /* bytes from the start of the file */
  uint64_t length;      /* bytes concerned; 0 if unknown */
  const char* path;     /* the file concerned; empty if none */
  const char* unit;     /* "record", "header"...; empty if none */
  const char* reason;   /* the format's word, or the failed system call */
  const char* expected; /* the two values that disagree, as text; empty if none */
  const char* actual;
  const char* text; /* all of it in one sentence for people */
} varve_error;

/* Something that a checker met. It and its strings live until the callback returns. */
typedef struct varve_finding {
  varve_severity severity;
  varve_verdict verdict; /* meaning only for VARVE_SEVERITY_ERROR */
  uint64_t offset;       /* bytes from the start of the file */
  uint64_t length;
  const char* code; /* the format's own reason word */
  const char* file; /* relative to the store; empty if the store is the file */
  const char* unit;
  const char* expected;
  const char* actual;
  const char* message;
} varve_finding;

/* Takes one record or row: `length` bytes of JSON without a newline, not ended by a zero byte and
 * good until the callback returns. Return 0 to go on, anything else to stop, which is no error.
 * Called on the thread that called varve_scan(). */
typedef int (*varve_record_fn)(void* user, const char* json, size_t length);

/* Takes one finding, in log order, on the calling thread (but see varve_export_arrow()). */
typedef void (*varve_finding_fn)(void* user, const varve_finding* finding);

/* A named value: an option or a filter of a format, as the program's --NAME VALUE. A flag's value
 * is "1". Names that the format does not have are VARVE_INVALID_ARGUMENT. */
typedef struct varve_setting {
  const char* name;
  const char* value;
} varve_setting;

typedef struct varve_open_options {
  size_t size;
  const char* format; /* NULL: found out by looking */
  unsigned threads;   /* 0: all cores */
  uint64_t max_memory_bytes;
  const varve_setting* settings; /* the format's own options; read during the call only */
  size_t setting_count;
} varve_open_options;

typedef struct varve_scan_options {
  size_t size;
  int face;                      /* a varve_face */
  unsigned threads;              /* 0: all cores */
  uint64_t limit;                /* rows at most; 0: all */
  int reverse;                   /* newest first */
  int strict;                    /* stop at the first fault */
  int partial;                   /* state: fold what can be read of a log that is refused */
  uint64_t seq_from;             /* inclusive; 0: from the start */
  uint64_t seq_to;               /* inclusive; 0: to the end */
  int64_t since_us;              /* inclusive, microseconds since 1970; 0: from the start */
  int64_t until_us;              /* exclusive; 0: to the end */
  const varve_setting* settings; /* the format's own options */
  size_t setting_count;
  const varve_setting* filters; /* same names: alternatives; different names: all must hold */
  size_t filter_count;
  int payload; /* a varve_payload; rows as JSON only */
  /* Arrow only: the columns wanted, all but the computed ones if there are none. */
  const char* const* columns;
  size_t column_count;
} varve_scan_options;

typedef struct varve_get_options {
  size_t size;
  int payload; /* a varve_payload */
} varve_get_options;

typedef struct varve_verify_options {
  size_t size;
  int quick;        /* headers, footers and tails only */
  unsigned threads; /* 0: all cores */
} varve_verify_options;

typedef struct varve_salvage_options {
  size_t size;
  const char* format; /* NULL: found out by looking */
  const char* target; /* the new store, which must not exist; NULL: only say what would be done */
  unsigned threads;
  uint64_t max_memory_bytes;
  const varve_setting* settings;
  size_t setting_count;
} varve_salvage_options;

typedef struct varve_write_options {
  size_t size;
  const char* format; /* NULL: found out by looking; varve_create() is told otherwise */
  int dry_run;        /* change nothing, say what would be done; not for a writer */
  unsigned threads;   /* 0: all cores */
  const varve_setting* settings;
  size_t setting_count;
} varve_write_options;

typedef struct varve_scan_summary {
  uint64_t rows;         /* handed to the callback */
  varve_verdict verdict; /* of what had to be read */
} varve_scan_summary;

typedef struct varve_verify_summary {
  varve_verdict verdict;
  uint64_t bytes; /* checked */
  uint64_t records;
  uint64_t intact_records;
  uint64_t lost_records;
  uint64_t unknown_records; /* an unfinished last unit */
} varve_verify_summary;

typedef struct varve_store varve_store;   /* open for reading */
typedef struct varve_writer varve_writer; /* open for appending */

/* "0.1.0". Lives as long as the library. Since 0.1. */
const char* varve_version(void);

/* Frees an error; NULL is fine. Since 0.1. */
void varve_error_free(varve_error* error);

/* Frees a text that a call gave; NULL is fine. Since 0.1. */
void varve_text_free(char* text);

/* Opens the store at `path` for reading; nothing is locked, written or created. On success *store
 * is a handle to end with varve_close(). What is appended later is not seen. Since 0.1. */
varve_code varve_open(const char* path, const varve_open_options* options, varve_store** store,
                      varve_error** error);

/* Ends a handle of varve_open(). Since 0.1. */
void varve_close(varve_store* store);

/* "jss", "tay"... Lives as long as the library. Since 0.1. */
const char* varve_format(const varve_store* store);

/* What the store is: a document of schema varve.info/1, to free with varve_text_free().
 * Since 0.1. */
varve_code varve_info(varve_store* store, char** json, varve_error** error);

/* Looks one thing up by its key, which `varve help get` describes: "4711", "at://...", "@8192". It
 * may be empty where an option of varve_open() says what to get. `json` gets the thing as the
 * program prints it, to free with varve_text_free(). Where it has bytes of its own (an allocation,
 * a payload), *bytes gets them, to free with varve_text_free() as well, and *length their number;
 * else NULL and 0. `bytes` and `length` may both be NULL. Since 0.1. */
varve_code varve_get(varve_store* store, const char* key, const varve_get_options* options,
                     varve_finding_fn finding, void* user, char** json, char** bytes,
                     size_t* length, varve_error** error);

/* Gives every row that the options ask for to `record`, and damage on the way to `finding` (NULL:
 * only counted in the verdict). `summary` may be NULL. Since 0.1. */
varve_code varve_scan(varve_store* store, const varve_scan_options* options, varve_record_fn record,
                      varve_finding_fn finding, void* user, varve_scan_summary* summary,
                      varve_error** error);

/* Makes `stream` an Arrow C stream with the rows that the options ask for, as struct arrays whose
 * columns docs/arrow.md describes. The stream looks at the store anew and stands by itself: it may
 * outlive the handle, and ends with its own release(), on any thread. The scan runs on a thread of
 * the stream; `finding`, unless NULL, is called there until the stream has given its end or is
 * released, so `user` must live that long. On failure `stream` is left alone. The struct is that of
 * the Arrow C stream interface, which this header does not define. Since 0.1. */
struct ArrowArrayStream;
varve_code varve_export_arrow(varve_store* store, const varve_scan_options* options,
                              varve_finding_fn finding, void* user, struct ArrowArrayStream* stream,
                              varve_error** error);

/* What varve_scan() with these options would read and why, as JSON, to free with
 * varve_text_free(). VARVE_UNSUPPORTED where the format has nothing to plan. Since 0.1. */
varve_code varve_plan(varve_store* store, const varve_scan_options* options, char** json,
                      varve_error** error);

/* Checks the whole store. Damage is no failure of the call: it is in `summary`, which must not be
 * NULL, and goes to `finding`, which may be. Since 0.1. */
varve_code varve_verify(varve_store* store, const varve_verify_options* options,
                        varve_finding_fn finding, void* user, varve_verify_summary* summary,
                        varve_error** error);

/* Writes a new store of every intact record of the one at `path`, which stays untouched. `json`
 * gets the report, schema varve.salvage/1, to free with varve_text_free(). Since 0.1. */
varve_code varve_salvage(const char* path, const varve_salvage_options* options,
                         varve_finding_fn finding, void* user, char** json, varve_error** error);

/* Makes an empty store of the named format at `path`, where nothing may be. No handle is left.
 * Since 0.1. */
varve_code varve_create(const char* format, const char* path, const varve_write_options* options,
                        varve_error** error);

/* The upkeep of a store. Each takes the store's lock, writes, and lets go; `json`, unless NULL,
 * gets a report of schema varve.write/1, to free with varve_text_free(). VARVE_UNSUPPORTED where
 * the format has no such thing. No handle is left behind.
 *
 * Seal: closes the growing segment for good, with footer and checksums. Since 0.1. */
varve_code varve_seal(const char* path, const varve_write_options* options, char** json,
                      varve_error** error);

/* Recover: what the format's own engine does when it opens a store after a crash. Refuses what is
 * damaged; that is for varve_salvage(). Since 0.1. */
varve_code varve_recover(const char* path, const varve_write_options* options, char** json,
                         varve_error** error);

/* Compact: leaves out what the state no longer needs. Since 0.1. */
varve_code varve_compact(const char* path, const varve_write_options* options, char** json,
                         varve_error** error);

/* Backup: copies the store, which may be in use, into the new directory `target`, with a catalogue
 * of hashes. The store is neither locked nor written to. Since 0.1. */
varve_code varve_backup(const char* path, const char* target, const varve_write_options* options,
                        char** json, varve_error** error);

/* Opens the store at `path` for appending: takes its lock and recovers it, which may write. On
 * success *writer is a handle to end with varve_writer_close() or varve_writer_abandon().
 * Since 0.1. */
varve_code varve_writer_open(const char* path, const varve_write_options* options,
                             varve_writer** writer, varve_error** error);

/* Appends one record, given as the program's `append` takes it: `length` bytes of JSON. Durable
 * once varve_writer_sync() has returned VARVE_OK. Since 0.1. */
varve_code varve_writer_append(varve_writer* writer, const char* json, size_t length,
                               varve_error** error);

/* Makes what was appended durable. `acknowledged`, if not NULL, gets the number of records that are
 * durable, of all that this handle took. After a failure the handle is VARVE_POISONED. Since 0.1.
 */
varve_code varve_writer_sync(varve_writer* writer, uint64_t* acknowledged, varve_error** error);

/* Says that no more records come, makes all durable, lets go of the lock. The handle is gone
 * afterwards, also if the call fails. Since 0.1. */
varve_code varve_writer_close(varve_writer* writer, varve_error** error);

/* Lets go of the lock without making durable what was not synced. The handle is gone. Since 0.1. */
void varve_writer_abandon(varve_writer* writer);

#ifdef __cplusplus
}
#endif

#endif
