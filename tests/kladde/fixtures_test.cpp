// SPDX-License-Identifier: MIT OR Apache-2.0
// Every fixture against its manifest: header, pages, statements, journal, both states, refusals.
#include <map>

#include "tests/kladde/helpers.hpp"

namespace varve::kladde::test {
namespace {

// The reason word for each "condition" of the manifests.
const std::map<std::string, std::string> k_words = {
    {"not a kladde file", word::not_kladde},
    {"unsupported version", word::version},
    {"damaged or unsupported", word::page_size},
    {"damaged: no valid header", word::no_header},
    {"damaged: malformed transaction", word::transaction},
    {"damaged: referenced page fails its check", word::page_check},
    {"damaged: page newer than its header", word::page_newer},
    {"damaged: wrong page kind", word::page_kind},
    {"damaged: not a tree", word::not_a_tree},
    {"damaged: child reference out of range", word::child_range},
    {"damaged: malformed table page", word::table_page},
    {"damaged: reference outside the file", word::reference},
    {"damaged: byte without statement", word::uncovered},
};

// The walk's end in the manifests' words.
bool ends_as_told(StopReason reason, std::string_view told) {
  if (told == to_text(reason)) {
    return true;
  }
  return told.find("trailer") != told.npos && reason == StopReason::trailer_crc;
}

void expect_header(simdjson::dom::element expected, const World& world) {
  const Header& header = world.header;
  EXPECT_EQ(world.slot, std::uint64_t(expected["governing_slot"]));
  EXPECT_EQ(header.epoch, std::uint64_t(expected["epoch"]));
  EXPECT_EQ(header.format_version, std::uint64_t(expected["format_version"]));
  EXPECT_EQ(header.min_reader_version, std::uint64_t(expected["min_reader_version"]));
  EXPECT_EQ(header.root_allocation, std::uint64_t(expected["root_allocation"]));
  EXPECT_EQ(header.schema_table, std::uint64_t(expected["schema_table"]));
  EXPECT_EQ(header.consolidator_state, std::uint64_t(expected["consolidator_state"]));
  EXPECT_EQ(base::to_hex(header.root_fingerprint), std::string_view(expected["root_fingerprint"]));
  EXPECT_EQ(header.journal_pointer, std::uint64_t(expected["journal_pointer"]));
}

void expect_tables(simdjson::dom::element manifest, const World& world) {
  std::vector<std::uint64_t> tables;
  for (const std::uint64_t page : manifest["table_pages"]) {
    tables.push_back(page);
  }
  std::vector<std::uint64_t> found;
  for (std::size_t i = 1; i < world.tree.pages.size(); ++i) {
    found.push_back(world.tree.pages[i].page);
  }
  std::sort(tables.begin(), tables.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, tables);
  std::vector<std::uint64_t> data;
  for (const std::uint64_t page : manifest["data_pages"]) {
    data.push_back(page);
  }
  std::vector<std::uint64_t> used;
  for (const DataUse& use : world.data_uses) {
    used.push_back(use.page);
  }
  EXPECT_EQ(used, data);
  std::map<std::string, std::uint64_t> kinds;
  for (const Statement& statement : world.tree.statements) {
    ++kinds[to_text(statement.kind, statement.sizing)];
  }
  std::map<std::string, std::uint64_t> told;
  for (const auto& [kind, count] : simdjson::dom::object(manifest["statements"])) {
    told[std::string(kind)] = count;
  }
  EXPECT_EQ(kinds, told);
}

void expect_journal(simdjson::dom::element expected, const Opened& opened) {
  const Journal& journal = opened.journal;
  EXPECT_EQ(journal.epoch, std::uint64_t(expected["segment_epoch"]));
  EXPECT_EQ(journal.transactions, std::uint64_t(expected["complete_transactions"]));
  std::vector<PageNumber> pages;
  for (const std::uint64_t page : expected["pages_of_valid_prefix"]) {
    pages.push_back(static_cast<PageNumber>(page));
  }
  if (journal.transactions > 0) {
    EXPECT_EQ(journal.pages, pages);
  }
  const std::string_view told = expected["walk_ends_because"];
  EXPECT_TRUE(ends_as_told(journal.stop, told)) << to_text(journal.stop) << " / " << told;
  for (const auto& [kind, count] : simdjson::dom::object(expected["records"])) {
    std::uint64_t found = 0;
    for (std::size_t tag = 1; tag < journal.records_by_kind.size(); ++tag) {
      if (kind == to_text(static_cast<RecordKind>(tag))) {
        found = journal.records_by_kind[tag];
      }
    }
    EXPECT_EQ(found, std::uint64_t(count)) << kind;
  }
}

class Fixture : public ::testing::TestWithParam<std::string> {};

TEST_P(Fixture, ReadsAsItsManifestSays) {
  VARVE_REQUIRE_SHARED();
  const bool dialect_b = GetParam() == "dialect-b";
  std::size_t seen = 0;
  for (const std::string& name : fixture_names(GetParam())) {
    SCOPED_TRACE(name);
    ++seen;
    const Manifest manifest(name);
    const auto files = memory(base::as_bytes(fixture_bytes(name)));
    const auto opened = open_strictly(*files, k_path, dialect_b ? Dialect::b : Dialect::a);
    if (!manifest.opens()) {
      ASSERT_FALSE(opened);
      EXPECT_EQ(opened.error().reason, k_words.at(manifest.text("condition")));
      continue;
    }
    ASSERT_TRUE(opened) << opened.error().text();
    expect_header(manifest.root()["header"], opened->world);
    expect_tables(manifest.root(), opened->world);
    expect_journal(manifest.root()["journal"], *opened);
    expect_contents(manifest.root()["flushed"], opened->flushed);
    const simdjson::dom::element recovered = manifest.root()["recovered"];
    if (recovered.is_object()) {
      expect_contents(recovered, opened->recovered);
    } else {
      EXPECT_EQ(opened->recovered, opened->flushed);
    }
  }
  EXPECT_EQ(seen, GetParam() == "." ? 18U : GetParam() == "edge" ? 35U : 7U);
}
INSTANTIATE_TEST_SUITE_P(All, Fixture, ::testing::Values(".", "edge", "dialect-b"),
                         [](const auto& tested) {
                           return tested.param == "."      ? std::string("Files")
                                  : tested.param == "edge" ? std::string("Edge")
                                                           : std::string("DialectB");
                         });

}  // namespace
}  // namespace varve::kladde::test
