// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain` of what is too broken to open, of segments without their stores, and its marks.
#include <gmock/gmock.h>
#include <simdjson.h>

#include <map>
#include <set>

#include "tests/byte_patterns.hpp"
#include "tests/damage/sample_stores.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Mark {
  std::string file, kind, text;
  std::uint64_t offset = 0, length = 0;
};

struct Explained {
  int exit_code = 0;
  std::string verdict;
  std::map<std::string, std::uint64_t> bytes;  // by file, of the rows that are no containers
  std::vector<Mark> marks;
  std::size_t findings = 0;
  std::set<std::string> classes;
};

std::string text_of(simdjson::dom::element element) {
  return std::string(std::string_view(element));
}

// Rows follow each other without hole or overlap; marks lie inside their rows.
Explained explain(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"explain", "--json"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const RunResult result = run_tool(command);
  Explained out;
  out.exit_code = result.exit_code;
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(result.out).get(document) != simdjson::SUCCESS) {
    ADD_FAILURE() << result.out << result.err;
    return out;
  }
  if (simdjson::dom::array rows; document["rows"].get(rows) == simdjson::SUCCESS) {
    for (const simdjson::dom::element row : rows) {
      const std::string file = text_of(row["file"]);
      const std::uint64_t offset = row["offset"];
      const std::uint64_t length = row["length"];
      out.classes.insert(text_of(row["class"]));
      if (!bool(row["container"])) {
        EXPECT_EQ(offset, out.bytes[file]) << file << ' ' << text_of(row["field"]);
        out.bytes[file] = offset + length;
      }
      for (const simdjson::dom::element mark : simdjson::dom::array(row["marks"])) {
        out.marks.push_back(
            {file, text_of(mark["kind"]), text_of(mark["text"]), mark["offset"], mark["length"]});
        EXPECT_GE(out.marks.back().offset, offset);
        EXPECT_LE(out.marks.back().offset + out.marks.back().length, offset + length);
      }
    }
    out.verdict = text_of(document["verdict"]);
    out.findings = simdjson::dom::array(document["findings"]).size();
  }
  return out;
}

const Mark* find_mark(const Explained& explained, std::string_view kind, std::uint64_t least = 0) {
  for (const Mark& mark : explained.marks) {
    if (mark.kind == kind && mark.length >= least) {
      return &mark;
    }
  }
  return nullptr;
}

std::vector<fs::path> files_below(const fs::path& path) {
  std::vector<fs::path> out;
  if (fs::is_regular_file(path)) {
    return {path};
  }
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Bytes that no format recognizes are explained by --format, and add up.
TEST(Explain, AnyBytesAsAnyFormat) {
  const ScratchDirectory scratch;
  for (const std::size_t size : {0, 1, 17, 256, 4096, 5000, 20'000}) {
    const std::string path = (scratch / ("noise" + std::to_string(size))).string();
    write_file(path, noise(size, static_cast<unsigned>(size)));
    EXPECT_EQ(run_tool({"explain", path}).exit_code, 66) << size;
    for (const Format* format : formats()) {
      SCOPED_TRACE(std::string(format->name()) + " " + std::to_string(size));
      const Explained explained = explain({"--format", std::string(format->name()), path});
      EXPECT_NE(explained.exit_code, 70);
      EXPECT_LE(explained.exit_code, 3);
      if (size > 0) {
        EXPECT_EQ(explained.bytes.at(""), size);
      }
      if (size >= 17) {
        EXPECT_NE(explained.exit_code, 0);
        EXPECT_GE(explained.findings, 1U);
      }
    }
  }
}

// Each file of each sample store by itself, whole, cut, and with its beginning overwritten.
TEST(Explain, EveryFileByItselfWholeAndHurt) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  int number = 0;
  for (const SampleStore& sample : sample_stores()) {
    const fs::path store = shared_path("fixtures/" + sample.path);
    for (const fs::path& file : files_below(store)) {
      const std::string bytes = read_file(file);
      if (bytes.size() > (std::size_t{1} << 22)) {
        continue;
      }
      std::vector<std::string> versions{bytes, bytes.substr(0, bytes.size() / 2)};
      versions.push_back(noise(std::min<std::size_t>(bytes.size(), 16), 1) +
                         bytes.substr(std::min<std::size_t>(bytes.size(), 16)));
      for (const std::string& version : versions) {
        const fs::path copy = scratch / std::to_string(number++) / file.filename();
        fs::create_directories(copy.parent_path());
        write_file(copy, version);
        SCOPED_TRACE(file.string() + " " + std::to_string(version.size()));
        const Explained explained = explain({"--format", sample.format, copy.string()});
        EXPECT_LE(explained.exit_code, 3);
        if (!version.empty()) {
          EXPECT_EQ(explained.bytes.at(""), version.size());
        }
      }
    }
  }
  EXPECT_GT(number, 30);
}

// A segment that was taken out of its store is recognized without --format.
TEST(Explain, ASegmentWithoutItsStore) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const fs::path tay =
      shared_path("fixtures/tay/stores/valid/lifecycle/segments/00000000000000000001.tay");
  copy_tree(tay, scratch / "evidence.bin");
  const Explained segment = explain({(scratch / "evidence.bin").string()});
  EXPECT_EQ(segment.exit_code, 0);
  EXPECT_EQ(segment.bytes.at(""), fs::file_size(tay));
  for (const char* sort : {"header", "check", "length", "payload"}) {
    EXPECT_TRUE(segment.classes.contains(sort)) << sort;
  }
  const RunResult one = run_tool({"explain", (scratch / "evidence.bin").string(), "@0"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, HasSubstr("STORE_ID"));
  EXPECT_THAT(one.out, Not(HasSubstr("record_crc")));
  EXPECT_EQ(run_tool({"explain", (scratch / "evidence.bin").string(), "@99999999"}).exit_code, 64);
}

TEST(Explain, ALostPointerShowsEveryGeneration) {
  const ScratchDirectory scratch;
  const std::string store = (scratch / "store").string();
  ASSERT_EQ(
      run_tool({"init", "--format", "arena", "--format-version", "4", "--bare", store}).exit_code,
      0);
  RunOptions input;
  input.input = "{\"payload\":{\"$bytes\":\"AAAA\"}}\n";
  ASSERT_EQ(run_tool({"append", store}, input).exit_code, 0);
  fs::create_directory(fs::path(store) / "gen-0000000000000001");
  write_file(fs::path(store) / "CURRENT", "nonsense");
  for (const auto& entry : fs::directory_iterator(store)) {
    if (entry.path().filename().string().starts_with("seg_")) {
      fs::copy_file(entry.path(),
                    fs::path(store) / "gen-0000000000000001" / entry.path().filename());
    }
  }
  const Explained explained = explain({store});
  EXPECT_EQ(explained.exit_code, 2);
  EXPECT_EQ(explained.verdict, "damaged");
  for (const char* file : {"seg_0.bin", "gen-0000000000000001/seg_0.bin"}) {
    ASSERT_TRUE(explained.bytes.contains(file)) << file;
    EXPECT_EQ(explained.bytes.at(file), fs::file_size(fs::path(store) / file));
  }
  // Never written: marked, and not read.
  EXPECT_NE(find_mark(explained, "zeros", 1'000'000), nullptr);
}

// A file that a finding names, and that the store's own view does not look into.
TEST(Explain, AMisnamedSegmentIsShownToo) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const fs::path store =
      copy_tree(shared_path("fixtures/tay/stores/valid/lifecycle"), scratch / "store");
  fs::copy_file(store / "segments/00000000000000000001.tay", store / "segments/first.tay.old");
  const Explained explained = explain({store.string()});
  EXPECT_EQ(explained.exit_code, 2);
  EXPECT_EQ(explained.bytes.at("segments/first.tay.old"),
            fs::file_size(store / "segments/first.tay.old"));
  // By name, whatever the view knows.
  const Explained one = explain({store.string(), "segments/first.tay.old"});
  EXPECT_EQ(one.bytes.size(), 1U);
}

TEST(Explain, StaleUnitsAndRunsAreMarked) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  // arena: a frame behind the end marker.
  const std::string store = (scratch / "arena").string();
  ASSERT_EQ(run_tool({"init", "--format", "arena", "--bare", store}).exit_code, 0);
  RunOptions input;
  input.input = "{\"payload\":{\"$bytes\":\"AAAA\"}}\n";
  ASSERT_EQ(run_tool({"append", store}, input).exit_code, 0);
  std::fstream file(store + "/seg_0.bin", std::ios::in | std::ios::out | std::ios::binary);
  std::string frame(19, '\0');
  file.read(frame.data(), 19);
  file.seekp(1000);
  file.write(frame.data(), 19);
  file.close();
  const Explained arena = explain({store});
  const Mark* stale = find_mark(arena, "stale");
  ASSERT_NE(stale, nullptr);
  EXPECT_EQ(stale->offset, 1000U);
  EXPECT_EQ(stale->length, 19U);
  EXPECT_THAT(stale->text, HasSubstr("frame, seq"));
  // kladde: pages of older worlds.
  const Explained kladde = explain({shared_path("fixtures/kladde/07-reuse.kladde").string()});
  const Mark* page = find_mark(kladde, "stale", 4096);
  ASSERT_NE(page, nullptr);
  EXPECT_THAT(page->text, HasSubstr("page of epoch"));
  EXPECT_TRUE(kladde.classes.contains("stale"));
  // tay: a record behind the footer.
  const fs::path segment =
      shared_path("fixtures/tay/stores/valid/lifecycle/segments/00000000000000000001.tay");
  const std::string bytes = read_file(segment);
  const std::string first_record = bytes.substr(44);
  write_file(scratch / "00000000000000000001.tay",
             bytes + repeated_bytes("\xAB\xCD", 100) + first_record);
  const Explained tay = explain({(scratch / "00000000000000000001.tay").string()});
  EXPECT_EQ(tay.exit_code, 2);
  const Mark* record = find_mark(tay, "stale");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->offset, bytes.size() + 100);
  EXPECT_EQ(record->text, "record, seq 1");
  const Mark* pattern = find_mark(tay, "repeated", 90);
  ASSERT_NE(pattern, nullptr);
  EXPECT_THAT(pattern->text, testing::AnyOf("abcd", "cdab"));
  // jss: a block in bytes that belong to no unit, in an active file behind a hurt place.
  const std::string sealed = read_file(shared_path("fixtures/jss/one_event.jss"));
  write_file(scratch / "cut.jss", noise(300, 7) + sealed.substr(256) + std::string(64, '\0'));
  const Explained jss = explain({"--format", "jss", (scratch / "cut.jss").string()});
  EXPECT_EQ(jss.exit_code, 2);
  EXPECT_NE(find_mark(jss, "zeros", 60), nullptr);
}

TEST(Explain, ColourFollowsTheClassAndTheUsersWish) {
  VARVE_REQUIRE_SHARED();
  const std::string hurt = shared_path("fixtures/jss/invalid/block_bit_flipped.jss").string();
  EXPECT_THAT(run_tool({"explain", hurt}).out, Not(HasSubstr("\x1b[")));
  const std::string always = run_tool({"explain", "--color", "always", hurt}).out;
  for (const char* colour : {"\x1b[36m", "\x1b[33m", "\x1b[34m", "\x1b[32m", "\x1b[31m"}) {
    EXPECT_THAT(always, HasSubstr(colour)) << colour + 1;
  }
  EXPECT_THAT(run_tool({"explain", "--color", "never", hurt}).out, Not(HasSubstr("\x1b[")));
}

// What cannot be opened as a whole is shown file by file, and the refusal is told.
TEST(Explain, ARefusedStoreIsShownFileByFile) {
  VARVE_REQUIRE_SHARED();
  for (const char* kind : {"tay/stores/invalid", "jss/invalid"}) {
    for (const auto& entry : fs::directory_iterator(shared_path("fixtures") / kind)) {
      if (entry.path().extension() == ".json" || entry.path().extension() == ".jsonl" ||
          entry.path().extension() == ".md" || entry.path().extension() == ".py") {
        continue;
      }
      SCOPED_TRACE(entry.path().string());
      const Explained explained = explain({entry.path().string()});
      if (explained.exit_code == 66) {
        continue;  // no store at all
      }
      EXPECT_LE(explained.exit_code, 3);
      for (const auto& [file, bytes] : explained.bytes) {
        EXPECT_EQ(bytes, fs::file_size(file.empty() ? entry.path() : entry.path() / file)) << file;
      }
      EXPECT_TRUE(!explained.bytes.empty() || fs::is_empty(entry.path()));
    }
  }
}

}  // namespace
}  // namespace varve::test
