// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/duckdb_api.hpp"

#include <dlfcn.h>

namespace varve::output {

namespace {

std::unexpected<Error> missing(const std::string& why) {
  return fail(ErrorCode::unsupported, "duckdb_missing",
              "Parquet is written by DuckDB, which is not here (" + why +
                  "); scripts/with-duckdb installs it, or VARVE_DUCKDB names its libduckdb.so");
}

// False if the library lacks the function.
template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

DuckdbApi& instance() {
  static DuckdbApi api;
  return api;
}

}  // namespace

const DuckdbApi& duckdb() { return instance(); }

void set_duckdb(const DuckdbApi& api) { instance() = api; }

Result<void> load_duckdb(const std::vector<std::string>& candidates) {
  if (duckdb().query != nullptr) {
    return {};
  }
  void* library = nullptr;
  std::string why = "no library named";
  for (const std::string& path : candidates) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      break;
    }
    const char* said = dlerror();
    why = said != nullptr ? said : path;
  }
  if (library == nullptr) {
    return missing(why);
  }
  DuckdbApi api;
#define VARVE_DUCKDB_FIND(place, result, name, ...)                   \
  if (!find(library, "duckdb_" #name, api.name)) {                    \
    return missing("its library is too old and lacks duckdb_" #name); \
  }
  VARVE_DUCKDB_FUNCTIONS(VARVE_DUCKDB_FIND)
#undef VARVE_DUCKDB_FIND
  set_duckdb(api);
  return {};
}

}  // namespace varve::output
