/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What a C program's first use of the library looks like. */
#include <stdio.h>
#include <varve.h>

int main(void) {
  varve_store* store = NULL;
  varve_error* error = NULL;
  const varve_code code = varve_open("/no/such/store", NULL, &store, &error);
  const int as_wanted = code == VARVE_IO && store == NULL && error != NULL;
  printf("varve %s from C: %s\n", varve_version(), as_wanted ? error->text : "not as wanted");
  varve_error_free(error);
  return as_wanted ? 0 : 1;
}
