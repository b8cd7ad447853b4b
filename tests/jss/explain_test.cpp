// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain` names every byte of every file once, whole or hurt.
#include <gtest/gtest.h>

#include <map>

#include "jss/fields.hpp"
#include "view_support.hpp"

namespace varve::jss::test {
namespace {

class RowCollector final : public ExplainSink {
 public:
  bool add(ExplainRow row) override {
    rows.push_back(std::move(row));
    return true;
  }
  std::vector<ExplainRow> rows;
};

std::vector<ExplainRow> explain(const fs::path& path, const ExplainRequest& request = {}) {
  const auto view = open_view(path);
  RowCollector sink;
  FindingList findings;
  const auto summary = view->explain(request, sink, findings);
  if (!summary) {
    throw std::runtime_error(summary.error().text());
  }
  return std::move(sink.rows);
}

// The leaves follow each other without hole or overlap, up to the end of the file.
void expect_every_byte_once(const std::vector<ExplainRow>& rows, std::uint64_t size) {
  std::uint64_t position = 0;
  for (const ExplainRow& row : rows) {
    if (row.container) {
      EXPECT_GE(row.offset, position) << row.field;
      EXPECT_LE(row.offset + row.length, size) << row.field;
      continue;
    }
    EXPECT_EQ(row.offset, position) << row.field;
    EXPECT_GT(row.length, 0U) << row.field;
    EXPECT_EQ(row.raw.size(), std::min<std::uint64_t>(row.length, 32)) << row.field;
    position = row.offset + row.length;
  }
  EXPECT_EQ(position, size);
}

TEST(JssExplain, NamesEveryByteOfEveryFixture) {
  VARVE_REQUIRE_SHARED();
  std::size_t files = 0;
  for (const bool valid : {true, false}) {
    for (const fs::path& path : fixture_files(valid)) {
      SCOPED_TRACE(path.filename().string());
      expect_every_byte_once(explain(path), fs::file_size(path));
      ++files;
    }
  }
  EXPECT_GE(files, 90U);
}

TEST(JssExplain, NamesEveryByteOfFilesCutAnywhere) {
  VARVE_REQUIRE_SHARED();
  const std::string whole =
      varve::test::read_file(varve::test::shared_path("fixtures/jss/one_event.jss"));
  const varve::test::ScratchDirectory scratch;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    varve::test::write_file(scratch / "cut.jss", std::string_view(whole).substr(0, size));
    expect_every_byte_once(explain(scratch / "cut.jss"), size);
  }
}

TEST(JssExplain, LeavesNothingUnexplainedInWholeFiles) {
  VARVE_REQUIRE_SHARED();
  for (const fs::path& path : fixture_files(true)) {
    for (const ExplainRow& row : explain(path)) {
      EXPECT_NE(row.field, "unexplained") << path;
      if (path.filename().string().find("active") == std::string::npos) {
        EXPECT_NE(row.check, ExplainRow::Check::fails) << path << " " << row.field;
      }
    }
  }
}

// The worked example of the vectors, section 5.
TEST(JssExplain, OneEventIsToldAsTheVectorsDo) {
  VARVE_REQUIRE_SHARED();
  const std::map<std::uint64_t, std::string> values = {
      {0x000, "jss0"},
      {0x004, "0x5C65E52897A9C278"},
      {0x00c, "1"},
      {0x00e, "1"},
      {0x02a, "1783000000000000 (2026-07-02T13:46:40.000000Z)"},
      {0x03a, "412"},
      {0x042, "464"},
      {0x04a, "553"},
      {0x052, "650"},
      {0x05a, "412"},
      {0x062, "zeros"},
      {0x100, "148"},
      {0x10d, "193"},
      {0x198, "0x8C52B5EE"},
      {0x19c, "256"},
      {0x1a4, "148"},
      {0x1a8, "193"},
      {0x1d0, "1"},
      {0x1d1, "15"},
      {0x1d5, "1"},
      {0x1dd, "1"},
      {0x225, "0x3599998E"},
      {0x229, "1"},
      {0x22d, "89"},
      {0x28a, "1"},
      {0x28e, "1"},
      {0x292, "1"},
      {0x296, "24"},
      {0x2bb, "0xAE3FB7D1"}};
  const auto rows = explain(varve::test::shared_path("fixtures/jss/one_event.jss"));
  std::size_t seen = 0;
  for (const ExplainRow& row : rows) {
    const auto wanted = values.find(row.offset);
    if (!row.container && wanted != values.end()) {
      EXPECT_EQ(row.value, wanted->second) << row.field;
      ++seen;
    }
  }
  EXPECT_EQ(seen, values.size());
}

TEST(JssExplain, AnOffsetGivesOnlyItsUnit) {
  VARVE_REQUIRE_SHARED();
  ExplainRequest request;
  request.offset = 300;
  const auto rows = explain(varve::test::shared_path("fixtures/jss/one_event.jss"), request);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front().field, "block 0");
  for (const ExplainRow& row : rows) {
    EXPECT_GE(row.offset, 256U);
    EXPECT_LE(row.offset + row.length, 412U);
  }
}

TEST(JssExplain, FailingChecksAreMarkedAtTheirField) {
  VARVE_REQUIRE_SHARED();
  const auto failing = [](const char* name) {
    std::vector<std::string> fields;
    for (const ExplainRow& row :
         explain(varve::test::shared_path("fixtures/jss/invalid/" + std::string(name)))) {
      if (row.check == ExplainRow::Check::fails) {
        fields.push_back(row.field);
      }
    }
    return fields;
  };
  EXPECT_EQ(failing("checksum_flipped.jss"), std::vector<std::string>{"checksum"});
  EXPECT_EQ(failing("block_crc_flipped.jss"),
            (std::vector<std::string>{"block 1", "content checksum"}));
  EXPECT_EQ(failing("length_prefix_differs.jss"), std::vector<std::string>{"block_len"});
  EXPECT_EQ(failing("segment_bloom_crc.jss"), (std::vector<std::string>{"segment bloom", "crc"}));
}

// The tables that documents and explain use: fields of a unit follow each other without a hole.
TEST(JssFields, CoverTheirUnits) {
  const auto covers = [](std::span<const FieldSpec> fields, std::uint64_t length) {
    std::uint64_t at = 0;
    for (const FieldSpec& field : fields) {
      EXPECT_EQ(field.offset, at) << field.name;
      at += field.length;
    }
    EXPECT_EQ(at, length);
  };
  covers(k_header_fields, k_header_bytes);
  covers(k_index_entry_fields, k_index_entry_bytes);
  covers(k_bloom_fields, k_bloom_header_bytes);
  covers(k_bloom_region_fields, k_bloom_region_header_bytes);
  covers(k_collection_index_fields, k_collection_header_bytes);
  covers(k_length_prefix_fields, k_length_prefix_bytes);
}

}  // namespace
}  // namespace varve::jss::test
