/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A C11 program that goes through the C interface: create, append, read, check, hurt, salvage, and
 * the ways to call it wrongly. Prints what does not hold.
 *
 *   capi_round_trip EMPTY_DIRECTORY */
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "varve.h"

struct seen {
  unsigned records;
  unsigned findings;
  unsigned stop_after;
  char last[512];
};

static int on_record(void* user, const char* json, size_t length) {
  struct seen* seen = user;
  ++seen->records;
  CHECK(length < sizeof seen->last);
  CHECK(memchr(json, '\n', length) == NULL);
  snprintf(seen->last, sizeof seen->last, "%.*s", (int)length, json);
  return seen->stop_after != 0 && seen->records == seen->stop_after;
}

static void on_finding(void* user, const varve_finding* finding) {
  struct seen* seen = user;
  ++seen->findings;
  CHECK(finding->code[0] != '\0');
}

static void write_store(const char* path) {
  varve_error* error = NULL;
  varve_writer* writer = NULL;
  uint64_t durable = 0;
  char line[128];
  check_ok(varve_create("jss", path, NULL, &error), &error, "create");
  check_ok(varve_writer_open(path, NULL, &writer, &error), &error, "writer_open");
  for (int i = 0; i < 10; ++i) {
    const int n = snprintf(line, sizeof line, "{\"kind\":\"sync\",\"did\":\"did:plc:%d\"}", i);
    check_ok(varve_writer_append(writer, line, (size_t)n, &error), &error, "append");
  }
  CHECK(varve_writer_append(writer, "{", 1, &error) == VARVE_INVALID_ARGUMENT);
  CHECK(error != NULL && error->text[0] != '\0');
  varve_error_free(error);
  check_ok(varve_writer_sync(writer, &durable, &error), &error, "sync");
  CHECK(durable == 10);
  check_ok(varve_writer_close(writer, &error), &error, "writer_close");
}

static void read_store(const char* path) {
  varve_error* error = NULL;
  varve_store* store = NULL;
  char* json = NULL;
  struct seen seen = {0};
  varve_scan_summary summary = {0};
  varve_verify_summary verified = {0};
  check_ok(varve_open(path, NULL, &store, &error), &error, "open");
  CHECK(strcmp(varve_format(store), "jss") == 0);
  check_ok(varve_info(store, &json, &error), &error, "info");
  CHECK(json != NULL && strstr(json, "varve.info/1") != NULL);
  varve_text_free(json);

  check_ok(varve_scan(store, NULL, on_record, on_finding, &seen, &summary, &error), &error, "scan");
  CHECK(seen.records == 10 && seen.findings == 0);
  CHECK(summary.rows == 10 && summary.verdict == VARVE_VERDICT_CLEAN);
  CHECK(strstr(seen.last, "did:plc:9") != NULL);

  const varve_setting one_did = {"did", "did:plc:4"};
  varve_scan_options options = {.size = sizeof options, .filters = &one_did, .filter_count = 1};
  memset(&seen, 0, sizeof seen);
  check_ok(varve_scan(store, &options, on_record, NULL, &seen, &summary, &error), &error, "filter");
  CHECK(seen.records == 1 && strstr(seen.last, "did:plc:4") != NULL);
  check_ok(varve_plan(store, &options, &json, &error), &error, "plan");
  CHECK(json != NULL && json[0] == '{');
  varve_text_free(json);

  memset(&seen, 0, sizeof seen);
  seen.stop_after = 3;
  check_ok(varve_scan(store, NULL, on_record, NULL, &seen, &summary, &error), &error, "stop");
  CHECK(seen.records == 3 && summary.rows == 3);

  check_ok(varve_verify(store, NULL, on_finding, &seen, &verified, &error), &error, "verify");
  CHECK(verified.verdict == VARVE_VERDICT_CLEAN && verified.intact_records == 10);
  varve_close(store);
}

static void call_wrongly(const char* path) {
  varve_error* error = NULL;
  varve_store* store = NULL;
  CHECK(varve_open("/nowhere/at/all", NULL, &store, &error) == VARVE_IO);
  CHECK(store == NULL && error != NULL && error->system_errno != 0);
  CHECK(error != NULL && strcmp(error->path, "/nowhere/at/all") == 0);
  varve_error_free(error);
  CHECK(varve_open(NULL, NULL, &store, NULL) == VARVE_INVALID_ARGUMENT);

  varve_open_options open_options = {0}; /* without its size */
  CHECK(varve_open(path, &open_options, &store, NULL) == VARVE_INVALID_ARGUMENT);
  open_options.size = sizeof open_options;
  open_options.format = "no such format";
  CHECK(varve_open(path, &open_options, &store, NULL) == VARVE_INVALID_ARGUMENT);

  /* The struct of a newer version: taken as long as what is new in it is zero. */
  struct newer {
    varve_open_options known;
    uint64_t fresh;
  } newer = {.known = {.size = sizeof newer}};
  newer.fresh = 1;
  CHECK(varve_open(path, &newer.known, &store, NULL) == VARVE_INVALID_ARGUMENT);
  newer.fresh = 0;
  check_ok(varve_open(path, &newer.known, &store, &error), &error, "newer struct");

  const varve_setting unknown = {"no-such-filter", "x"};
  varve_scan_options options = {.size = sizeof options, .filters = &unknown, .filter_count = 1};
  struct seen seen = {0};
  CHECK(varve_scan(store, &options, on_record, NULL, &seen, NULL, NULL) == VARVE_INVALID_ARGUMENT);
  /* The struct of an older version: it ends before the filters. */
  options.size = offsetof(varve_scan_options, filters);
  check_ok(varve_scan(store, &options, on_record, NULL, &seen, NULL, &error), &error,
           "older struct");
  CHECK(seen.records == 10);
  varve_close(store);
  varve_close(NULL);
  varve_writer_abandon(NULL);
  varve_error_free(NULL);
  varve_text_free(NULL);
}

static void salvage_torn(const char* path, const char* target) {
  varve_error* error = NULL;
  varve_store* store = NULL;
  char* json = NULL;
  struct seen seen = {0};
  varve_verify_summary verified = {0};
  FILE* file = fopen(path, "ab");
  CHECK(file != NULL && fwrite("torn!", 1, 5, file) == 5 && fclose(file) == 0);
  check_ok(varve_open(path, NULL, &store, &error), &error, "open torn");
  check_ok(varve_verify(store, NULL, on_finding, &seen, &verified, &error), &error, "verify torn");
  CHECK(verified.verdict == VARVE_VERDICT_TORN && seen.findings != 0);
  varve_close(store);

  varve_salvage_options options = {.size = sizeof options, .target = target};
  check_ok(varve_salvage(path, &options, on_finding, &seen, &json, &error), &error, "salvage");
  CHECK(json != NULL && strstr(json, "varve.salvage/1") != NULL);
  varve_text_free(json);
  read_store(target);
}

int main(int argc, char** argv) {
  char path[512], target[512];
  if (argc != 2) {
    return 64;
  }
  snprintf(path, sizeof path, "%s/store.jss", argv[1]);
  snprintf(target, sizeof target, "%s/saved.jss", argv[1]);
  CHECK(varve_version()[0] != '\0');
  write_store(path);
  read_store(path);
  call_wrongly(path);
  salvage_torn(path, target);
  return failures == 0 ? 0 : 1;
}
