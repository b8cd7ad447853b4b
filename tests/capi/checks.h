/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What the C tests say of what does not hold. One test program includes this once. */
#ifndef VARVE_TESTS_CAPI_CHECKS_H
#define VARVE_TESTS_CAPI_CHECKS_H

#include <stdio.h>

#include "varve.h"

static int failures = 0;
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      ++failures;                                                     \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
    }                                                                 \
  } while (0)

/* By address: the call that sets the error is itself an argument here. */
static void check_ok(varve_code code, varve_error** given, const char* what) {
  varve_error* error = *given;
  if (code != VARVE_OK) {
    ++failures;
    fprintf(stderr, "%s: %s\n", what, error != NULL ? error->text : "no error was given");
  } else {
    CHECK(error == NULL);
  }
  varve_error_free(error);
  *given = NULL;
}

#endif
