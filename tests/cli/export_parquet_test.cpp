// SPDX-License-Identifier: MIT OR Apache-2.0
// `export --to parquet` where DuckDB is absent. The files that it writes are read back in
// tests/handing_on, where DuckDB is present.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/cli/fake_format.hpp"

namespace varve::test {
namespace {

TEST(ExportParquet, WithoutDuckdbItSaysWhatIsMissingAndWritesNothing) {
  const ScratchDirectory scratch;
  write_file(scratch / "store", "LINES 1\n10 one\n");
  ASSERT_EQ(setenv("VARVE_DUCKDB", (scratch / "no/libduckdb.so").c_str(), 1), 0);
  const std::string store = (scratch / "store").string();
  const RunResult result =
      run_fake({"export", "--to", "parquet", store, "-o", (scratch / "rows.parquet").string()});
  EXPECT_EQ(result.exit_code, 73);
  EXPECT_THAT(result.err, testing::HasSubstr("scripts/with-duckdb"));
  const auto entries = fs::directory_iterator(scratch.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
  EXPECT_EQ(run_fake({"export", "--to", "parquet", store}).exit_code, 64) << "no -o";
}

}  // namespace
}  // namespace varve::test
