// SPDX-License-Identifier: MIT OR Apache-2.0
// The metadata that is put into a finished Parquet file. That readers take such files is
// tests/handing_on's matter.
#include "base/bytes.hpp"
#include "io/simulated.hpp"
#include "output/parquet.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

std::string parquet(const std::string& footer) {
  base::Bytes bytes;
  base::ByteWriter writer(bytes);
  writer.text("PAR1 rows, and old among them");
  writer.text(footer);
  writer.u32le(static_cast<std::uint32_t>(footer.size()));
  writer.text("PAR1");
  return std::string(base::as_text(bytes));
}

class ParquetFooter : public testing::Test {
 protected:
  // What the replacement makes of a file with these bytes.
  Result<std::string> replaced(const std::string& bytes,
                               const std::map<std::string, std::string>& new_by_old) {
    EXPECT_TRUE(files_.put("/d/file", base::as_bytes(bytes)));
    VARVE_ASSIGN(const auto file, files_.open_file("/d/file", io::OpenMode::read_write));
    VARVE_TRY(output::replace_parquet_metadata(*file, new_by_old));
    return content();
  }
  std::string content() { return std::string(base::as_text(*files_.get("/d/file"))); }
  io::SimulatedFileSystem files_;
};

TEST_F(ParquetFooter, TheLastOccurrenceIsExchangedAndTheLengthFollows) {
  const auto result =
      replaced(parquet("\x06placed of a column, \x06placed\x01k"), {{"placed", "now"}});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(*result, parquet("\x06placed of a column, \x03now\x01k"));
}

TEST_F(ParquetFooter, SeveralAtOnce) {
  const auto result = replaced(parquet("\x04"
                                       "aaaa\x05"
                                       "bbbbb"),
                               {{"aaaa", ""}, {"bbbbb", "b"}});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(*result, parquet(std::string("\0\x01"
                                         "b",
                                         3)));
}

TEST_F(ParquetFooter, WhatIsNoParquetFileIsRefused) {
  const std::string good = parquet("\x03old");
  std::string long_footer = good;
  long_footer[good.size() - 6] = '\x7F';
  for (const std::string& bytes : {std::string(), std::string("PAR1"), good + "x", long_footer}) {
    EXPECT_FALSE(replaced(bytes, {{"old", "new"}}));
    EXPECT_EQ(content(), bytes);
  }
  EXPECT_FALSE(replaced(good, {{"older", "new"}}));
}

}  // namespace
}  // namespace varve::test
