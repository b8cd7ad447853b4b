// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve export`: over a format of the tests for every option, over the shared fixtures for the
// agreement with `cat` and `state`.
#include <gmock/gmock.h>
#include <simdjson.h>

#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "cli/interrupt.hpp"
#include "cli/session.hpp"
#include "io/simulated.hpp"
#include "tests/cli/fake_format.hpp"
#include "tests/cli/fixture_faces.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;

class Export : public testing::Test {
 protected:
  Export() {
    write_file(scratch_ / "clean", "LINES 1\n10 one\n20 t,w\"o\n30 three\n");
    write_file(scratch_ / "hurt", "LINES 1\n10 one\n!!\n30 three\n");
  }
  std::string at(const char* name) const { return (scratch_ / name).string(); }
  ScratchDirectory scratch_;
};

TEST_F(Export, JsonLinesAreCats) {
  for (const char* store : {"clean", "hurt"}) {
    const RunResult cat = run_fake({"cat", at(store)});
    const RunResult lines = run_fake({"export", "--to", "jsonl", at(store)});
    EXPECT_EQ(lines.out, cat.out);
    EXPECT_EQ(lines.err, cat.err);
    EXPECT_EQ(lines.exit_code, cat.exit_code);
  }
}

TEST_F(Export, CsvQuotesAndEndsItsLinesAsTheRfcSays) {
  const RunResult csv = run_fake({"export", "--to", "csv", at("clean")});
  EXPECT_EQ(csv.out, "seq,text\r\n1,one\r\n2,\"t,w\"\"o\"\r\n3,three\r\n");
  EXPECT_EQ(csv.exit_code, 0);
  EXPECT_EQ(
      run_fake({"export", "--to", "csv", "--columns", "text,seq", "--seq", "3", at("clean")}).out,
      "text,seq\r\nthree,3\r\n");
  EXPECT_EQ(run_fake({"export", "--to", "csv", "--limit", "1", at("clean")}).out,
            "seq,text\r\n1,one\r\n");
}

TEST_F(Export, DamageIsNamedAndTheRestWritten) {
  const RunResult hurt = run_fake({"export", "--to", "csv", at("hurt"), "-o", at("rows.csv")});
  EXPECT_EQ(hurt.exit_code, 2);
  EXPECT_EQ(hurt.out, "");
  EXPECT_THAT(hurt.err, HasSubstr("line_checksum"));
  EXPECT_EQ(read_file(scratch_ / "rows.csv"), "seq,text\r\n1,one\r\n3,three\r\n");
}

TEST_F(Export, AFileIsReplacedOnlyWithForceAndNothingElseIsLeft) {
  write_file(scratch_ / "rows.csv", "mine");
  const std::vector<std::string> words = {"export",    "--to", "csv",
                                          at("clean"), "-o",   at("rows.csv")};
  EXPECT_EQ(run_fake(words).exit_code, 73);
  EXPECT_EQ(read_file(scratch_ / "rows.csv"), "mine");
  std::vector<std::string> forced = words;
  forced.emplace_back("--force");
  EXPECT_EQ(run_fake(forced).exit_code, 0);
  EXPECT_THAT(read_file(scratch_ / "rows.csv"), HasSubstr("three"));
  EXPECT_EQ(
      run_fake({"export", "--to", "csv", at("clean"), "-o", at("no/such/directory")}).exit_code,
      73);
  const auto entries = fs::directory_iterator(scratch_.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 3);
}

TEST_F(Export, AnInterruptedOneLeavesNoFile) {
  write_file(scratch_ / "slow", "LINES 1\n10 one\n20 interrupt\n30 three\n");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    cli::set_up_signals();
    ::_exit(run_fake({"export", "--to", "csv", at("slow"), "-o", at("rows.csv")}).exit_code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  const auto entries = fs::directory_iterator(scratch_.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 3);
}

TEST_F(Export, AFullDiskAndAClosedPipe) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  const int err = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const cli::Context context{
      fake_formats(), io::posix_file_system(), io::system_environment(), 0, full, err};
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  detail::Pipe closed;
  detail::Pipe::close_end(closed.read_end);
  const cli::Context unread{
      fake_formats(), io::posix_file_system(), io::system_environment(), 0, closed.write_end, err};
  for (const char* form : {"jsonl", "csv"}) {
    EXPECT_EQ(cli::run(context, {"export", "--to", form, at("clean")}), 74);
    EXPECT_EQ(cli::run(unread, {"export", "--to", form, at("hurt")}), 0);
  }
  ::close(full);
  ::close(err);
  std::signal(SIGPIPE, old_handler);
}

// Every call that changes something is refused once by a full disk: the error is told, and the file
// is whole or not there, with nothing beside it.
TEST_F(Export, AFullDiskBehindTheFileLeavesNothingHalf) {
  const int out = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const std::string store = "LINES 1\n10 one\n20 two\n";
  int failed = 0;
  for (std::uint64_t call = 0;; ++call) {
    io::SimulatedFileSystem files;
    ASSERT_TRUE(files.put("/store", base::as_bytes(store)));
    files.set_fault(io::Fault{call, io::FaultKind::short_write, false, io::k_changing_calls});
    const cli::Context context{fake_formats(), files, io::system_environment(), 0, out, out};
    const int code = cli::run(context, {"export", "--to", "csv", "/store", "-o", "/rows.csv"});
    const bool there = files.get("/rows.csv").has_value();
    if (files.faults_met() == 0) {
      EXPECT_EQ(code, 0);
      EXPECT_TRUE(there);
      break;
    }
    ++failed;
    EXPECT_TRUE(code == 73 || code == 74) << code << " at call " << call;
    if (there) {
      const auto bytes = *files.get("/rows.csv");
      EXPECT_EQ(base::as_text(bytes), "seq,text\r\n1,one\r\n2,two\r\n");
    }
    EXPECT_EQ(files.paths().size(), there ? 2U : 1U) << "at call " << call;
  }
  EXPECT_GE(failed, 3);
  ::close(out);
}

TEST_F(Export, WrongUsage) {
  const auto code = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "export");
    words.push_back(at("clean"));
    return run_fake(words).exit_code;
  };
  EXPECT_EQ(code({}), 64);
  EXPECT_EQ(code({"--to", "xml"}), 64);
  EXPECT_EQ(code({"--to", "csv", "--columns", "seq,nonsense"}), 64);
  EXPECT_EQ(code({"--to", "csv", "--columns", ""}), 64);
  EXPECT_EQ(code({"--to", "csv", "--payload", "none"}), 64);
  EXPECT_EQ(code({"--to", "jsonl", "--columns", "seq"}), 64);
  EXPECT_EQ(code({"--to", "csv", "--face", "units"}), 64);
}

// A field of RFC 4180; a null is an empty field without quotes.
struct CsvField {
  std::string text;
  bool quoted = false;
};

std::vector<std::vector<CsvField>> parse_csv(const std::string& text) {
  std::vector<std::vector<CsvField>> rows;
  std::vector<CsvField> row(1);
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const bool doubled = inside && i + 1 < text.size() && text[i + 1] == '"';
      if (doubled) {
        row.back().text += text[++i];
      } else {
        inside = !inside;
        row.back().quoted = true;
      }
    } else if (!inside && c == ',') {
      row.emplace_back();
    } else if (!inside && c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      rows.push_back(std::exchange(row, std::vector<CsvField>(1)));
      ++i;
    } else {
      row.back().text += c;
    }
  }
  EXPECT_FALSE(inside);
  EXPECT_EQ(row.size(), 1U) << "the last line has no end";
  return rows;
}

// What the CSV field should be for a value of cat's line; nullopt where the two differ by design
// (an object or array that the column holds as bytes).
std::optional<CsvField> expected_field(const simdjson::dom::element& value) {
  using simdjson::dom::element_type;
  switch (value.type()) {
    case element_type::NULL_VALUE:
      return CsvField{};
    case element_type::STRING:
      return CsvField{std::string(std::string_view(value)), std::string_view(value).empty()};
    case element_type::ARRAY:
    case element_type::OBJECT:
    case element_type::DOUBLE:
      return std::nullopt;
    default:
      return CsvField{simdjson::minify(value), false};
  }
}

// Compares a CSV export with the lines of `cat` or `state`; gives the number of values compared.
std::size_t compare(const std::string& csv, const std::string& lines) {
  const auto rows = parse_csv(csv);
  const auto records = lines_of(lines);
  EXPECT_EQ(rows.size(), records.size() + 1);
  std::size_t compared = 0;
  simdjson::dom::parser parser;
  for (std::size_t i = 0; i < records.size() && i + 1 < rows.size(); ++i) {
    const simdjson::dom::element record = parser.parse(records[i]);
    EXPECT_EQ(rows[i + 1].size(), rows[0].size());
    for (std::size_t column = 0; column < rows[0].size(); ++column) {
      std::string pointer = "/" + rows[0][column].text;
      std::replace(pointer.begin(), pointer.end(), '.', '/');
      simdjson::dom::element value;
      if (record.at_pointer(pointer).get(value) != simdjson::SUCCESS) {
        continue;
      }
      if (const auto expected = expected_field(value)) {
        const CsvField& field = rows[i + 1][column];
        EXPECT_EQ(field.text, expected->text) << rows[0][column].text << " of " << records[i];
        EXPECT_EQ(field.quoted && field.text.empty(), expected->quoted) << records[i];
        ++compared;
      }
    }
  }
  return compared;
}

class ExportOfFixtures : public testing::TestWithParam<const char*> {};

TEST_P(ExportOfFixtures, EqualsCatAndState) {
  VARVE_REQUIRE_SHARED();
  std::size_t compared = 0;
  for_each_fixture_face(
      GetParam(), [&](const std::string& store, const std::string& face, const RunResult& cat) {
        const RunResult jsonl = run_real({"export", "--to", "jsonl", "--face", face, store});
        EXPECT_EQ(jsonl.out, cat.out);
        EXPECT_EQ(jsonl.err, cat.err);
        EXPECT_EQ(jsonl.exit_code, cat.exit_code);
        const RunResult csv = run_real({"export", "--to", "csv", "--face", face, store});
        EXPECT_EQ(csv.err, cat.err);
        EXPECT_EQ(csv.exit_code, cat.exit_code);
        if (!csv.out.empty() || !cat.out.empty()) {
          compared += compare(csv.out, cat.out);
        }
      });
  EXPECT_GT(compared, 20U);
}

INSTANTIATE_TEST_SUITE_P(Formats, ExportOfFixtures,
                         testing::Values("jss", "jss/invalid", "tay/stores/valid",
                                         "tay/stores/invalid", "arena", "kladde", "kladde/edge"),
                         folder_name);

}  // namespace
}  // namespace varve::test
