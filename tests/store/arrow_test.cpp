// SPDX-License-Identifier: MIT OR Apache-2.0
// Scans over the Arrow C interfaces: an importer of this test's own reads them back and compares
// every cell with what the same scan pushes, releasing in orders that consumers may choose.
#include "varve/arrow.hpp"

#include <cstring>
#include <optional>

#include "tests/support.hpp"
#include "varve/file_system.hpp"

namespace varve::test {
namespace {

// All rows of a scan as text, one line a row, and how the scan ended.
struct Table {
  std::vector<std::string> rows;
  std::vector<std::string> findings;
  std::string error;
};

std::string cell(std::optional<std::string_view> value) {
  return value ? std::to_string(value->size()) + ":" + std::string(*value) + "|" : "null|";
}

template <class T>
std::string number(const void* values, std::size_t row) {
  return cell(std::to_string(static_cast<const T*>(values)[row]));
}

std::string batch_cell(const Field& field, const Column& column, std::size_t row) {
  if (column.is_null(row)) {
    return cell(std::nullopt);
  }
  switch (field.type) {
    case ColumnType::boolean:
    case ColumnType::uint8:
      return number<std::uint8_t>(column.values, row);
    case ColumnType::uint16:
      return number<std::uint16_t>(column.values, row);
    case ColumnType::uint32:
      return number<std::uint32_t>(column.values, row);
    case ColumnType::uint64:
      return number<std::uint64_t>(column.values, row);
    case ColumnType::int64:
    case ColumnType::timestamp_us:
      return number<std::int64_t>(column.values, row);
    case ColumnType::text:
    case ColumnType::bytes:
      return cell(column.bytes(row));
  }
  return "?";
}

bool bit(const void* bits, std::size_t i) {
  return ((static_cast<const std::uint8_t*>(bits)[i / 8] >> (i % 8)) & 1) != 0;
}

std::string arrow_bytes(const ArrowArray& array, std::size_t row) {
  const auto* offsets = static_cast<const std::int32_t*>(array.buffers[1]);
  const auto* data = static_cast<const char*>(array.buffers[2]);
  return cell(std::string_view(data + offsets[row],
                               static_cast<std::size_t>(offsets[row + 1] - offsets[row])));
}

// The cells of one row below a node, structs taken apart, each with its dotted name.
void arrow_cells(const ArrowSchema& schema, const ArrowArray& array, std::size_t row,
                 const std::string& name, std::vector<std::pair<std::string, std::string>>& out) {
  const std::string_view format = schema.format;
  if (format == "+s") {
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      const std::string member = schema.children[i]->name;
      arrow_cells(*schema.children[i], *array.children[i], row,
                  name.empty() ? member : name + "." + member, out);
    }
    return;
  }
  std::string text;
  if (array.buffers[0] != nullptr && !bit(array.buffers[0], row)) {
    text = cell(std::nullopt);
  } else if (schema.dictionary != nullptr) {
    const auto code = static_cast<const std::int32_t*>(array.buffers[1])[row];
    EXPECT_LT(code, array.dictionary->length);
    text = arrow_bytes(*array.dictionary, static_cast<std::size_t>(code));
  } else if (format == "b") {
    text = cell(bit(array.buffers[1], row) ? "1" : "0");
  } else if (format == "C") {
    text = number<std::uint8_t>(array.buffers[1], row);
  } else if (format == "S") {
    text = number<std::uint16_t>(array.buffers[1], row);
  } else if (format == "I") {
    text = number<std::uint32_t>(array.buffers[1], row);
  } else if (format == "L") {
    text = number<std::uint64_t>(array.buffers[1], row);
  } else if (format == "l" || format == "tsu:UTC") {
    text = number<std::int64_t>(array.buffers[1], row);
  } else {
    EXPECT_TRUE(format == "u" || format == "z") << format;
    text = arrow_bytes(array, row);
  }
  out.emplace_back(name, text);
}

std::string joined(std::vector<std::pair<std::string, std::string>> cells) {
  std::ranges::sort(cells);  // members of one struct need not stand together in the schema
  std::string line;
  for (const auto& [name, text] : cells) {
    line += name + "=" + text;
  }
  return line;
}

class TableSink final : public BatchSink {
 public:
  explicit TableSink(Table& table) : table_(table) {}
  Result<bool> consume(Batch batch) override {
    for (std::size_t row = 0; row < batch.rows; ++row) {
      std::vector<std::pair<std::string, std::string>> cells;
      for (std::size_t i = 0; i < batch.columns.size(); ++i) {
        const Field& field = batch.schema->fields[i];
        if (!field.computed) {
          cells.emplace_back(field.name, batch_cell(field, batch.columns[i], row));
        }
      }
      table_.rows.push_back(joined(std::move(cells)));
    }
    return true;
  }

 private:
  Table& table_;
};

void keep(const FindingList& list, Table& table) {
  for (const Finding& finding : list.findings()) {
    table.findings.push_back(finding.code + "@" + std::to_string(finding.offset));
  }
}

Table scanned(StoreView& view, const ScanRequest& request) {
  Table table;
  TableSink sink(table);
  FindingList findings;
  if (auto summary = view.scan(request, sink, findings); !summary) {
    table.error = summary.error().text();
  }
  keep(findings, table);
  return table;
}

// Reads the stream to its end, releases it, and only then looks at the arrays: their children are
// moved out, the parents released, the last array first.
Table imported(std::shared_ptr<StoreView> view, const ScanRequest& request) {
  Table table;
  auto findings = std::make_shared<FindingList>();
  ArrowArrayStream stream{};
  if (auto made = export_arrow_stream(std::move(view), request, findings, &stream); !made) {
    table.error = made.error().text();
    return table;
  }
  ArrowSchema schema{};
  EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  std::vector<ArrowArray> arrays;
  for (;;) {
    ArrowArray array{};
    if (stream.get_next(&stream, &array) != 0) {
      table.error = stream.get_last_error(&stream);
      break;
    }
    if (array.release == nullptr) {
      break;
    }
    arrays.push_back(array);
  }
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);
  keep(*findings, table);
  for (auto array = arrays.rbegin(); array != arrays.rend(); ++array) {
    std::vector<std::string> rows;
    std::vector<ArrowArray> moved;
    std::vector<ArrowArray*> pointers;
    for (std::int64_t i = 0; i < array->n_children; ++i) {
      moved.push_back(*array->children[i]);
      array->children[i]->release = nullptr;
    }
    for (ArrowArray& child : moved) {
      pointers.push_back(&child);
    }
    const auto length = static_cast<std::size_t>(array->length);
    array->release(&*array);
    ArrowArray whole{};
    whole.children = pointers.data();
    for (std::size_t row = 0; row < length; ++row) {
      std::vector<std::pair<std::string, std::string>> cells;
      arrow_cells(schema, whole, row, "", cells);
      rows.push_back(joined(std::move(cells)));
    }
    table.rows.insert(table.rows.begin(), rows.begin(), rows.end());
    for (ArrowArray& child : moved) {
      child.release(&child);
      EXPECT_EQ(child.release, nullptr);
    }
  }
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
  return table;
}

std::shared_ptr<StoreView> opened(const fs::path& path) {
  auto view = open_store(path.string(), OpenOptions{});
  return view ? std::shared_ptr<StoreView>(std::move(*view)) : nullptr;
}

TEST(Arrow, EachFixtureReadsBackAsItsScanGivesIt) {
  VARVE_REQUIRE_SHARED();
  std::map<std::string, std::size_t> rows_of_format;
  for (const auto& entry : fs::recursive_directory_iterator(shared_path("fixtures"))) {
    const auto view = opened(entry.path());
    if (view == nullptr) {
      continue;
    }
    for (const Face face : {Face::log, Face::state}) {
      SCOPED_TRACE(entry.path().string() + (face == Face::log ? " log" : " state"));
      ScanRequest request;
      request.face = face;
      request.threads = 2;
      const Table expected = scanned(*view, request);
      const Table actual = imported(view, request);
      ASSERT_EQ(actual.rows, expected.rows);
      ASSERT_EQ(actual.findings, expected.findings);
      ASSERT_EQ(actual.error, expected.error);
      const fs::path below = fs::relative(entry.path(), shared_path("fixtures"));
      rows_of_format[below.begin()->string()] += actual.rows.size();
    }
  }
  for (const char* format : {"arena", "jss", "kladde", "tay"}) {
    EXPECT_GT(rows_of_format[format], 0U) << format;
  }
}

TEST(Arrow, AStreamReleasedBeforeItsEndStopsItsScan) {
  VARVE_REQUIRE_SHARED();
  const auto view = opened(shared_path("fixtures/jss/all_kinds.jss"));
  ASSERT_NE(view, nullptr);
  for (int taken = 0; taken < 2; ++taken) {
    ArrowArrayStream stream{};
    ASSERT_TRUE(export_arrow_stream(view, {}, std::make_shared<FindingList>(), &stream));
    ArrowArray array{};
    if (taken == 1) {
      ASSERT_EQ(stream.get_next(&stream, &array), 0);
      ASSERT_NE(array.release, nullptr);
    }
    stream.release(&stream);
    if (taken == 1) {
      EXPECT_GT(array.length, 0);
      array.release(&array);
    }
  }
  EXPECT_EQ(view.use_count(), 1);
}

TEST(Arrow, ColumnsAreThoseAskedForAndAnUnknownOneIsRefused) {
  VARVE_REQUIRE_SHARED();
  const auto view = opened(shared_path("fixtures/jss/all_kinds.jss"));
  ASSERT_NE(view, nullptr);
  ScanRequest request;
  request.columns = {"seq"};
  ArrowArrayStream stream{};
  ASSERT_TRUE(export_arrow_stream(view, request, std::make_shared<FindingList>(), &stream));
  ArrowSchema schema{};
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  ASSERT_EQ(schema.n_children, 1);
  EXPECT_STREQ(schema.children[0]->name, "seq");
  schema.release(&schema);
  stream.release(&stream);

  request.columns = {"no.such"};
  ArrowArrayStream untouched{};
  const auto refused =
      export_arrow_stream(view, request, std::make_shared<FindingList>(), &untouched);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(untouched.release, nullptr);
}

}  // namespace
}  // namespace varve::test
