/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A C11 program that writes a store of every format, keeps it up, copies it, and reads it back in
 * each way that the C interface has, Arrow included.
 *
 *   capi_writers EMPTY_DIRECTORY */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "varve.h"

/* As the pages of the Arrow C data and C stream interfaces give them. */
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

enum { k_records = 5 };

/* What there is to know of a format to write it: a record with its number in it, and a key. */
struct sample {
  const char* format;
  const char* line; /* with %d for the number, from 1 */
  const char* shows;
  const char* key;    /* of the last record */
  const char* column; /* one of the state's */
  bool seals, compacts, has_time;
  const char* bytes; /* of the last record, where `get` has any */
};

static const struct sample k_samples[] = {
    {"arena",
     "{\"payload\":{\"mutations\":[{\"Atom\":{\"id\":\"a%d\",\"vector\":{\"dim\":4096,"
     "\"indices\":[1]}}}]}}",
     "\"id\":\"a%d\"", "a5", "id", false, true, false, NULL},
    {"kladde", "{\"op\":\"write\",\"id\":%d,\"offset\":0,\"bytes\":{\"$bytes\":\"aGVsbG8\"}}",
     "\"id\":%d", "5", "id", false, true, false, "hello"},
    {"tay",
     "{\"type\":\"inserted\",\"schema\":1,\"event\":{\"at\":1000,\"definition\":{\"args\":{},"
     "\"definition_version\":1,\"max_attempts\":1,\"queue_key\":\"q\",\"retry_policy\":{"
     "\"base_ms\":1000,\"cap_ms\":60000,\"jitter_divisor\":4,\"version\":1},\"scheduled_at\":null,"
     "\"timeout_ms\":30000,\"worker_key\":\"w\"},\"eligible_at\":1000,\"expected_revision\":0,"
     "\"job_id\":\"0000000000000000000000000000000%d\"}}",
     "0000000%d\"", "00000000000000000000000000000005", "job_id", true, false, true, NULL},
    {"jss",
     "{\"kind\":\"create\",\"did\":\"did:plc:a%d\",\"collection\":\"c.d\",\"rkey\":\"k\","
     "\"record\":{\"text\":\"hello\"}}",
     "did:plc:a%d", "5", "did", true, true, true, NULL},
};

struct seen {
  unsigned records;
  char last[1024];
};

static int on_record(void* user, const char* json, size_t length) {
  struct seen* seen = user;
  ++seen->records;
  CHECK(length < sizeof seen->last);
  snprintf(seen->last, sizeof seen->last, "%.*s", (int)length, json);
  return 0;
}

static void on_finding(void* user, const varve_finding* finding) {
  (void)user;
  CHECK(finding->severity != VARVE_SEVERITY_ERROR);
}

static void write_records(const struct sample* sample, const char* path) {
  varve_error* error = NULL;
  varve_writer* writer = NULL;
  uint64_t durable = 0;
  char line[1024];
  const varve_write_options rehearsal = {.size = sizeof rehearsal, .dry_run = 1};
  check_ok(varve_create(sample->format, path, &rehearsal, &error), &error, "create, rehearsed");
  CHECK(varve_writer_open(path, NULL, &writer, NULL) == VARVE_IO);
  check_ok(varve_create(sample->format, path, NULL, &error), &error, "create");
  CHECK(varve_create(sample->format, path, NULL, NULL) != VARVE_OK);
  CHECK(varve_writer_open(path, &rehearsal, &writer, NULL) == VARVE_INVALID_ARGUMENT);
  check_ok(varve_writer_open(path, NULL, &writer, &error), &error, "writer_open");
  for (int i = 1; i <= k_records; ++i) {
    const int n = snprintf(line, sizeof line, sample->line, i);
    check_ok(varve_writer_append(writer, line, (size_t)n, &error), &error, "append");
  }
  check_ok(varve_writer_sync(writer, &durable, &error), &error, "sync");
  CHECK(durable == k_records);
  varve_writer* second = NULL;
  CHECK(varve_writer_open(path, NULL, &second, NULL) == VARVE_LOCKED && second == NULL);
  check_ok(varve_writer_close(writer, &error), &error, "writer_close");
}

/* A verb that the format may not have. */
static void keep_up(varve_code code, bool offered, char* json, varve_error** error,
                    const char* verb) {
  char member[32];
  if (!offered) {
    CHECK(code == VARVE_UNSUPPORTED && json == NULL);
    varve_error_free(*error);
    *error = NULL;
    return;
  }
  snprintf(member, sizeof member, "\"verb\":\"%s\"", verb);
  check_ok(code, error, verb);
  CHECK(json != NULL && strstr(json, "varve.write/1") != NULL && strstr(json, member) != NULL);
  varve_text_free(json);
}

static void keep_all_up(const struct sample* sample, const char* path, const char* copy) {
  varve_error* error = NULL;
  char* json = NULL;
  varve_code code = varve_recover(path, NULL, &json, &error);
  keep_up(code, true, json, &error, "recover");
  code = varve_compact(path, NULL, &json, &error);
  keep_up(code, sample->compacts, json, &error, "compact");
  code = varve_seal(path, NULL, &json, &error);
  keep_up(code, sample->seals, json, &error, "seal");
  code = varve_backup(path, copy, NULL, &json, &error);
  keep_up(code, true, json, &error, "backup");
  CHECK(varve_backup(path, copy, NULL, &json, NULL) != VARVE_OK && json == NULL);
  CHECK(varve_backup(path, NULL, NULL, NULL, NULL) == VARVE_INVALID_ARGUMENT);
}

static void read_face(varve_store* store, const struct sample* sample, varve_face face) {
  varve_error* error = NULL;
  struct seen seen = {0};
  varve_scan_summary summary = {0};
  char shown[64];
  varve_scan_options options = {.size = sizeof options, .face = face};
  check_ok(varve_scan(store, &options, on_record, on_finding, &seen, &summary, &error), &error,
           "scan");
  snprintf(shown, sizeof shown, sample->shows, k_records);
  CHECK(seen.records == k_records && strstr(seen.last, shown) != NULL);
  CHECK(summary.verdict == VARVE_VERDICT_CLEAN);
}

static void read_times(varve_store* store, const struct sample* sample) {
  struct seen seen = {0};
  varve_error* error = NULL;
  varve_scan_options options = {.size = sizeof options, .since_us = 1};
  if (!sample->has_time) {
    CHECK(varve_scan(store, &options, on_record, NULL, &seen, NULL, NULL) ==
          VARVE_INVALID_ARGUMENT);
    return;
  }
  check_ok(varve_scan(store, &options, on_record, NULL, &seen, NULL, &error), &error, "since");
  CHECK(seen.records == k_records);
  options.since_us = 0;
  options.until_us = 1;
  check_ok(varve_scan(store, &options, on_record, NULL, &seen, NULL, &error), &error, "until");
  CHECK(seen.records == k_records);
  options.payload = 99;
  CHECK(varve_scan(store, &options, on_record, NULL, &seen, NULL, NULL) == VARVE_INVALID_ARGUMENT);
  options.payload = VARVE_PAYLOAD_JSON;
  options.face = 2;
  CHECK(varve_scan(store, &options, on_record, NULL, &seen, NULL, NULL) == VARVE_INVALID_ARGUMENT);
}

static void look_up(varve_store* store, const struct sample* sample) {
  varve_error* error = NULL;
  char* json = NULL;
  char* bytes = NULL;
  size_t length = 0;
  varve_code code =
      varve_get(store, sample->key, NULL, on_finding, NULL, &json, &bytes, &length, &error);
  check_ok(code, &error, "get");
  CHECK(json != NULL && json[0] == '{');
  CHECK(sample->bytes == NULL ||
        (bytes != NULL && strcmp(bytes, sample->bytes) == 0 && length == strlen(sample->bytes)));
  varve_text_free(json);
  varve_text_free(bytes);
  code = varve_get(store, "999999", NULL, NULL, NULL, &json, NULL, NULL, &error);
  CHECK(code != VARVE_OK && json == NULL && error != NULL);
  varve_error_free(error);
}

static void read_arrow(varve_store* store, const struct sample* sample) {
  varve_error* error = NULL;
  struct ArrowArrayStream stream = {0};
  struct ArrowSchema schema = {0};
  struct ArrowArray array = {0};
  int64_t rows = 0;
  varve_scan_options options = {.size = sizeof options,
                                .face = VARVE_FACE_STATE,
                                .columns = &sample->column,
                                .column_count = 1};
  check_ok(varve_export_arrow(store, &options, on_finding, NULL, &stream, &error), &error, "arrow");
  varve_close(store); /* the stream stands by itself */
  if (stream.release == NULL) {
    return;
  }
  CHECK(stream.get_schema(&stream, &schema) == 0);
  CHECK(schema.n_children == 1 && strcmp(schema.children[0]->name, sample->column) == 0);
  schema.release(&schema);
  for (;;) {
    CHECK(stream.get_next(&stream, &array) == 0);
    if (array.release == NULL) {
      break;
    }
    rows += array.length;
    array.release(&array);
  }
  CHECK(rows == k_records);
  stream.release(&stream);
}

static void read_all(const struct sample* sample, const char* path) {
  varve_error* error = NULL;
  varve_store* store = NULL;
  varve_verify_summary verified = {0};
  struct ArrowArrayStream stream = {0};
  const char* const none = "no-such-column";
  check_ok(varve_open(path, NULL, &store, &error), &error, "open");
  CHECK(strcmp(varve_format(store), sample->format) == 0);
  check_ok(varve_verify(store, NULL, on_finding, NULL, &verified, &error), &error, "verify");
  CHECK(verified.verdict == VARVE_VERDICT_CLEAN);
  if (strcmp(sample->format, "kladde") != 0) { /* compacting begins the journal anew */
    read_face(store, sample, VARVE_FACE_LOG);
  }
  read_face(store, sample, VARVE_FACE_STATE);
  read_times(store, sample);
  look_up(store, sample);
  varve_scan_options options = {.size = sizeof options, .columns = &none, .column_count = 1};
  CHECK(varve_export_arrow(store, &options, NULL, NULL, &stream, NULL) == VARVE_INVALID_ARGUMENT);
  CHECK(stream.release == NULL);
  read_arrow(store, sample);
}

int main(int argc, char** argv) {
  char path[512], copy[512];
  if (argc != 2) {
    return 64;
  }
  for (size_t i = 0; i < sizeof k_samples / sizeof k_samples[0]; ++i) {
    const struct sample* sample = &k_samples[i];
    snprintf(path, sizeof path, "%s/store.%s", argv[1], sample->format);
    snprintf(copy, sizeof copy, "%s/copy-%s", argv[1], sample->format);
    const int before = failures;
    write_records(sample, path);
    keep_all_up(sample, path, copy);
    read_all(sample, path);
    read_all(sample, copy);
    if (failures != before) {
      fprintf(stderr, "the failures above are of %s\n", sample->format);
    }
  }
  return failures == 0 ? 0 : 1;
}
