// SPDX-License-Identifier: MIT OR Apache-2.0
// Every fixture file, valid and invalid, against what its manifest says.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <set>

#include "fixture_rows.hpp"
#include "jss/block.hpp"
#include "view_support.hpp"

namespace varve::jss::test {
namespace {

// A row of an .events.jsonl as CONTRACT section 5 prints it.
std::string expected_line(const std::string& event, const std::string& segment) {
  simdjson::dom::parser parser;
  const simdjson::dom::element json = parser.parse(event);
  const auto raw = [&](const char* key) { return simdjson::minify(json[key].value()); };
  std::string out = "{\"seq\":" + raw("seq") + ",\"witnessed_at\":" + raw("witnessed_at") +
                    ",\"indexed_at\":" + raw("indexed_at") + ",\"kind\":" + raw("kind_name") +
                    ",\"did\":" + raw("did") + ",\"collection\":" + raw("collection") +
                    ",\"rkey\":" + raw("rkey") + ",\"rev\":" + raw("rev");
  simdjson::dom::element value;
  out += ",\"cid\":";
  out += json["cid"].get(value) == simdjson::SUCCESS ? simdjson::minify(value) : "null";
  out += ",\"record\":";
  out += json["value"].get(value) == simdjson::SUCCESS ? simdjson::minify(value) : "null";
  if (json["payload_hex"].get(value) == simdjson::SUCCESS) {
    out += ",\"payload\":{\"$bytes\":\"" +
           base::to_base64(base::from_hex(std::string_view(value)).value()) + "\"}";
  }
  return out + ",\"at\":{\"segment\":\"" + segment + "\",\"block\":" + raw("block") +
         ",\"row\":" + raw("row") + "}}";
}

std::vector<std::string> top_level_keys(const std::string& line) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(line);
  std::vector<std::string> keys;
  const simdjson::dom::object object = parser.parse(padded);
  for (const auto member : object) {
    keys.emplace_back(member.key);
  }
  return keys;
}

TEST(JssFixtures, RowsAreExactlyThoseListed) {
  VARVE_REQUIRE_SHARED();
  std::size_t files = 0;
  for (const fs::path& path : fixture_files(true)) {
    const std::string stem = path.stem().string();
    if (!fs::exists(fixture(stem + ".events.jsonl"))) {
      EXPECT_EQ(stem, "active_torn_footer");
      continue;
    }
    ++files;
    SCOPED_TRACE(stem);
    const auto view = open_view(path);
    const auto expected = lines_of(fixture(stem + ".events.jsonl"));
    const Scanned scanned = scan_lines(*view);
    ASSERT_EQ(scanned.lines.size(), expected.size());
    EXPECT_EQ(scanned.summary.rows, expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string want = expected_line(expected[i], stem + ".jss");
      EXPECT_EQ(canonical_json(scanned.lines[i]), canonical_json(want));
      EXPECT_EQ(top_level_keys(scanned.lines[i]), top_level_keys(want));
    }
  }
  EXPECT_EQ(files, 22U);
}

TEST(JssFixtures, AnOrphanedFooterHidesNoRow) {
  VARVE_REQUIRE_SHARED();
  // Its rows are those of active.jss, whose footer it holds.
  const auto view = open_view(fixture("active_torn_footer.jss"));
  EXPECT_EQ(scan_lines(*view).lines.size(), lines_of(fixture("active.events.jsonl")).size());
}

TEST(JssFixtures, VerdictsOfTheValidFiles) {
  VARVE_REQUIRE_SHARED();
  const std::map<std::string, std::string> torn = {
      {"active_torn_prefix.jss", "torn-tail"}, {"active_torn_body.jss", "torn-tail"},
      {"active_huge_prefix.jss", "torn-tail"}, {"active_zero_tail.jss", "zero-tail"},
      {"active_zero_frame.jss", "zero-tail"},  {"active_torn_footer.jss", "orphaned-footer"}};
  simdjson::dom::parser parser;
  const simdjson::dom::element manifest = parser.load(fixture("manifest.json").string());
  for (const fs::path& path : fixture_files(true)) {
    const std::string name = path.filename().string();
    SCOPED_TRACE(name);
    const std::string before = varve::test::tree_snapshot(path);
    const Verified verified = verify_path(path);
    const std::uint64_t rows = manifest[name]["events"];
    EXPECT_EQ(verified.report.intact_records, rows);
    EXPECT_EQ(verified.report.lost_records, 0U);
    EXPECT_EQ(verified.report.counts.records, rows);
    EXPECT_EQ(verified.report.counts.bytes, fs::file_size(path)) << verified.text();
    EXPECT_EQ(verified.report.counts.files, 1U);
    const auto expected = torn.find(name);
    if (expected == torn.end()) {
      EXPECT_EQ(verified.report.verdict, Verdict::clean) << verified.text();
      EXPECT_EQ(verified.first_error(), nullptr);
    } else {
      EXPECT_EQ(verified.report.verdict, Verdict::torn) << verified.text();
      ASSERT_NE(verified.first_error(), nullptr);
      EXPECT_EQ(verified.first_error()->code, expected->second);
      const std::uint64_t good_end = manifest[name]["good_end"];
      EXPECT_EQ(verified.first_error()->offset, good_end);
    }
    EXPECT_EQ(varve::test::tree_snapshot(path), before);
  }
}

TEST(JssFixtures, FilesOfTheReferenceAreFreeOfWarnings) {
  VARVE_REQUIRE_SHARED();
  for (const fs::path& path : fixture_files(true)) {
    const std::string name = path.filename().string();
    if (name.find("golden") == std::string::npos && name.find("upstream") == std::string::npos) {
      continue;
    }
    const Verified verified = verify_path(path);
    EXPECT_TRUE(verified.findings.empty()) << name << "\n" << verified.text();
  }
  // The old fixed bloom size is worth a note, no more.
  const Verified legacy = verify_path(fixture("legacy_fixed4096_blooms.jss"));
  EXPECT_EQ(legacy.report.verdict, Verdict::clean);
  for (const Finding& finding : legacy.findings) {
    EXPECT_EQ(finding.severity, Severity::note) << finding.message;
  }
}

struct InvalidCase {
  std::string file, what, stage, error;
};

std::vector<InvalidCase> invalid_cases() {
  std::vector<InvalidCase> out;
  for (const std::string& line : lines_of(fixture("invalid/cases.tsv"))) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '\t');) {
      cells.push_back(cell);
    }
    if (cells.at(0) != "file") {
      out.push_back({cells.at(0), cells.at(1), cells.at(2), cells.at(4)});
    }
  }
  return out;
}

TEST(JssFixtures, EachInvalidFileGivesItsStageAndErrorClass) {
  VARVE_REQUIRE_SHARED();
  const auto cases = invalid_cases();
  EXPECT_EQ(cases.size(), 70U);
  for (const InvalidCase& c : cases) {
    SCOPED_TRACE(c.file + ": " + c.what);
    const fs::path path = fixture("invalid/" + c.file);
    const Verified verified = verify_path(path);
    const Finding* first = verified.first_error();
    if (c.stage == "accepted") {
      EXPECT_EQ(first, nullptr) << verified.text();
      EXPECT_EQ(verified.report.verdict, Verdict::clean);
      continue;
    }
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->code, c.error) << verified.text();
    const bool decode = c.stage == "decode block 1";
    EXPECT_EQ(first->stage, decode ? "decode" : c.stage);
    if (decode) {
      EXPECT_EQ(first->index, 1U);
      EXPECT_EQ(first->unit, "block");
      // The index says how many rows are gone, and the other two blocks are intact.
      EXPECT_EQ(verified.report.lost_records + verified.report.intact_records, 12U);
      EXPECT_GT(verified.report.lost_records, 0U);
      EXPECT_EQ(verified.findings.size(), 1U) << verified.text();
    }
    const bool newer = c.file == "version_2.jss";
    EXPECT_EQ(verified.report.verdict, newer ? Verdict::unknown : Verdict::damaged);
  }
}

TEST(JssFixtures, AcceptedOdditiesAreWarnedOf) {
  VARVE_REQUIRE_SHARED();
  const std::map<std::string, std::string> words = {
      {"length_prefix_differs.jss", "length-prefix-differs"},
      {"block_usize_wrong.jss", "uncompressed-size-differs"}};
  for (const auto& [name, word] : words) {
    const Verified verified = verify_path(fixture("invalid/" + name));
    ASSERT_EQ(verified.findings.size(), 1U) << verified.text();
    EXPECT_EQ(verified.findings[0].code, word);
    EXPECT_EQ(verified.findings[0].severity, Severity::warning);
  }
}

TEST(JssFixtures, RowsOfFilesWithADamagedFooterAreStillRead) {
  VARVE_REQUIRE_SHARED();
  // All but one are all_kinds.jss with one deviation in header or footer: the frames are whole.
  for (const InvalidCase& c : invalid_cases()) {
    const bool no_header = c.file == "empty_file.jss" || c.file == "short_header.jss";
    if (c.stage != "open" || no_header || c.file == "version_2.jss") {
      continue;
    }
    const auto view = open_view(fixture("invalid/" + c.file));
    const Scanned scanned = scan_lines(*view);
    EXPECT_EQ(scanned.lines.size(), c.file == "collection_bit_out_of_range.jss" ? 4U : 12U)
        << c.file;
    EXPECT_EQ(scanned.summary.verdict, Verdict::damaged) << c.file;
  }
}

TEST(JssFixtures, TheGoldenBlockDecodes) {
  VARVE_REQUIRE_SHARED();
  const std::string frame = varve::test::read_file(fixture("golden_block.zst"));
  FrameDecoder decoder;
  Block block;
  ASSERT_EQ(decoder.decode(base::as_bytes(frame), k_max_body_bytes, block), std::nullopt);
  const auto rows = fixture_rows("golden_block");
  ASSERT_EQ(block.columns.rows, rows.size());
  for (std::uint32_t i = 0; i < block.columns.rows; ++i) {
    const BlockColumns& c = block.columns;
    const Event event{c.seq[i],     c.witnessed_at[i], c.indexed_at[i],
                      c.kind[i],    c.did.at(i),       c.collection.at(i),
                      c.rkey.at(i), c.rev.at(i),       base::as_bytes(c.payload.at(i))};
    EXPECT_EQ(Row::of(event), rows[i]);
  }
}

// Walks two JSON values along a manifest entry.
class ManifestCheck {
 public:
  ManifestCheck(const simdjson::dom::element& entry, const simdjson::dom::element& detail)
      : entry_(entry), detail_(detail) {}

  void run() {
    const simdjson::dom::element header = entry_["header"];
    const simdjson::dom::element ours = detail_["header"];
    EXPECT_EQ(text(header["magic"]), text(ours["magic"]));
    EXPECT_EQ("0x" + upper(text(header["checksum"])), text(ours["checksum"]));
    static constexpr std::pair<const char*, const char*> k_names[] = {
        {"version", "version"},
        {"block_count", "block_count"},
        {"event_count", "event_count"},
        {"unique_did_count", "unique_did_count"},
        {"min_seq", "min_seq"},
        {"max_seq", "max_seq"},
        {"min_wit", "min_witnessed_at"},
        {"max_wit", "max_witnessed_at"},
        {"footer_off", "footer_offset"},
        {"did_bloom_off", "did_bloom_offset"},
        {"block_bloom_off", "block_did_bloom_offset"},
        {"coll_off", "collection_index_offset"},
        {"block_index_off", "block_index_offset"}};
    for (const auto& [theirs, mine] : k_names) {
      same(header[theirs], ours[mine], theirs);
    }
    check_index();
    check_blooms();
    check_collections();
  }

 private:
  static std::string text(simdjson::simdjson_result<simdjson::dom::element> value) {
    return std::string(std::string_view(value));
  }
  static std::string upper(std::string text) {
    for (char& c : text) {
      c = static_cast<char>(std::toupper(c));
    }
    return text;
  }
  static void same(simdjson::simdjson_result<simdjson::dom::element> a,
                   simdjson::simdjson_result<simdjson::dom::element> b, std::string_view what) {
    ASSERT_EQ(a.error(), simdjson::SUCCESS) << what;
    ASSERT_EQ(b.error(), simdjson::SUCCESS) << what;
    EXPECT_EQ(canonical_json(simdjson::minify(a.value())),
              canonical_json(simdjson::minify(b.value())))
        << what;
  }
  void check_index() {
    const simdjson::dom::array theirs = entry_["block_index"];
    const simdjson::dom::array ours = detail_["block_index"];
    ASSERT_EQ(theirs.size(), ours.size());
    static constexpr std::pair<const char*, const char*> k_names[] = {
        {"offset", "offset"},
        {"csize", "compressed_size"},
        {"usize", "uncompressed_size"},
        {"events", "event_count"},
        {"min_seq", "min_seq"},
        {"max_seq", "max_seq"},
        {"min_wit", "min_witnessed_at"},
        {"max_wit", "max_witnessed_at"}};
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      for (const auto& [a, b] : k_names) {
        same(theirs.at(i)[a], ours.at(i)[b], a);
      }
    }
  }
  void check_blooms() {
    static constexpr std::pair<const char*, const char*> k_names[] = {
        {"blocks", "num_blocks"}, {"k", "k"}, {"count", "count"}, {"bytes", "bytes"}};
    for (const auto& [a, b] : k_names) {
      same(entry_["segment_bloom"][a], detail_["segment_bloom"][b], a);
    }
    same(entry_["block_bloom_bytes"], detail_["block_blooms"]["bloom_size_bytes"], "bloom bytes");
    simdjson::dom::object blooms;
    if (entry_["block_bloom"].get(blooms) == simdjson::SUCCESS) {
      same(blooms["blocks"], detail_["block_blooms"]["num_blocks"], "blocks");
      same(blooms["k"], detail_["block_blooms"]["k"], "k");
      same(blooms["counts"], detail_["block_blooms"]["counts"], "counts");
    }
  }
  void check_collections() {
    const simdjson::dom::array theirs = entry_["collections"];
    const simdjson::dom::array ours = detail_["collections"];
    ASSERT_EQ(theirs.size(), ours.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      same(theirs.at(i)["id"], ours.at(i)["id"], "id");
      same(theirs.at(i)["name"], ours.at(i)["name"], "name");
      same(theirs.at(i)["events"], ours.at(i)["count"], "events");
    }
    same(entry_["block_collections"], detail_["block_collections"], "masks");
  }

  simdjson::dom::element entry_;
  simdjson::dom::element detail_;
};

TEST(JssFixtures, InfoTellsEveryValueOfTheManifest) {
  VARVE_REQUIRE_SHARED();
  simdjson::dom::parser parser;
  const simdjson::dom::object manifest = parser.load(fixture("manifest.json").string());
  std::size_t sealed_files = 0;
  for (const auto member : manifest) {
    const std::string name(member.key);
    SCOPED_TRACE(name);
    const auto view = open_view(fixture(name));
    const auto info = view->info();
    ASSERT_TRUE(info.has_value());
    const bool sealed = member.value["sealed"];
    EXPECT_EQ(info->bytes, std::uint64_t(member.value["size"]));
    EXPECT_EQ(info->records, std::uint64_t(member.value["events"]));
    EXPECT_EQ(info->sealed, sealed);
    if (sealed) {
      ++sealed_files;
      simdjson::dom::parser of_detail;
      const std::string detail = info->detail.text();
      ManifestCheck(member.value, of_detail.parse(detail)).run();
    }
  }
  EXPECT_GE(sealed_files, 15U);
}

}  // namespace
}  // namespace varve::jss::test
