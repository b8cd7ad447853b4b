// SPDX-License-Identifier: MIT OR Apache-2.0
// One fault a time, in each unit of a store: every record of every other unit is in the new store,
// or (where the format wants a log without gaps) in lost+found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "tests/damage/salvage_checks.hpp"
#include "tests/damage/sample_stores.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

// A unit with a check of its own, and the records in it, as lines without their places.
struct Unit {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::set<std::string> lines;
};

std::uint64_t number_behind(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key, line.rfind("\"at\":"));
  return at == std::string::npos ? 0 : std::stoull(line.substr(at + key.size()));
}

// The units that hold records, by what each line of the log says about its place.
std::vector<Unit> units_of(const SampleStore& store, io::SimulatedFileSystem& files) {
  const Format& format = *find_format(store.format);
  const Sight sight = look_at(format, files, "/store");
  std::map<std::pair<std::string, std::uint64_t>, Unit> units;
  for (const std::string& line : sight.log) {
    Unit unit;
    if (store.format == "tay") {
      char name[32];
      std::snprintf(name, sizeof name, "%020llu.tay",
                    static_cast<unsigned long long>(number_behind(line, "\"segment\":")));
      unit.file = "/segments/" + std::string(name);
      unit.offset = number_behind(line, "\"offset\":");
      unit.length = number_behind(line, "\"length\":");
    } else if (store.format == "arena") {
      unit.file = "/vectors_data.bin/seg_0.bin";
      unit.offset = number_behind(line, "\"offset\":");
      const std::size_t at = line.find("\"comp_len\":");
      unit.length = 16 + std::stoull(line.substr(at + 11));
    } else {
      unit.offset = number_behind(line, "\"block\":");  // the ordinal, for now
    }
    Unit& known = units.try_emplace({unit.file, unit.offset}, unit).first->second;
    known.lines.insert(without_place(line));
  }
  std::vector<Unit> out;
  for (auto& [place, unit] : units) {
    out.push_back(std::move(unit));
  }
  if (store.format == "jss") {  // the place of each block
    struct Blocks final : ExplainSink {
      std::vector<ExplainRow> rows;
      bool add(ExplainRow row) override {
        if (row.container && row.depth == 0 && row.field.starts_with("block ") &&
            row.field[6] >= '0' && row.field[6] <= '9') {
          rows.push_back(std::move(row));
        }
        return true;
      }
    } blocks;
    FindingList findings;
    (void)(*format.open(files, "/store", {}))->explain({}, blocks, findings);
    for (Unit& unit : out) {
      const ExplainRow& row = blocks.rows.at(unit.offset);
      unit.offset = row.offset;
      unit.length = row.length;
    }
  }
  return out;
}

class SalvageUnits : public ::testing::TestWithParam<SampleStore> {};

TEST_P(SalvageUnits, AFaultInOneCostsNoRecordOfAnother) {
  VARVE_REQUIRE_SHARED();
  const SampleStore& store = GetParam();
  const Format& format = *find_format(store.format);
  const io::simulated::Image image = image_of(store.path);
  io::SimulatedFileSystem healthy(image, {nullptr, false});
  const std::vector<Unit> units = units_of(store, healthy);
  ASSERT_GT(units.size(), 1U);
  for (const Unit& hurt : units) {
    // The first byte, one in the middle, the last one; a bit, and all bits of it.
    for (const std::uint64_t at :
         {hurt.offset, hurt.offset + hurt.length / 2, hurt.offset + hurt.length - 1}) {
      for (const unsigned bits : {1U, 0xFFU}) {
        SCOPED_TRACE(hurt.file + " byte " + std::to_string(at) + " bits " + std::to_string(bits));
        io::SimulatedFileSystem files(image, {nullptr, false});
        auto bytes = files.get("/store" + hurt.file).value();
        bytes[at] ^= static_cast<std::byte>(bits);
        ASSERT_TRUE(files.put("/store" + hurt.file, bytes));
        std::string why;
        const auto salvaged = salvage_and_check(format, files, why);
        ASSERT_TRUE(salvaged) << why;
        std::set<std::string> got(salvaged->log.begin(), salvaged->log.end());
        got.insert(salvaged->aside.begin(), salvaged->aside.end());
        for (const Unit& unit : units) {
          for (const std::string& line : unit.lines) {
            EXPECT_TRUE(&unit == &hurt || got.contains(line)) << line;
          }
        }
        if (HasFailure()) {
          return;
        }
      }
    }
  }
}

std::vector<SampleStore> stores_of_units() {
  std::vector<SampleStore> out;
  for (const SampleStore& store : sample_stores()) {
    if (store.format != "kladde") {
      out.push_back(store);
    }
  }
  out.erase(
      std::remove_if(out.begin(), out.end(),
                     [](const SampleStore& store) { return store.path == "jss/golden_seal.jss"; }),
      out.end());  // one block
  return out;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SalvageUnits);
INSTANTIATE_TEST_SUITE_P(Damage, SalvageUnits, ::testing::ValuesIn(stores_of_units()),
                         [](const auto& param) { return test_name(param.param.path); });

// The format without units in its log: one page hurt at a time. Allocations whose bytes stand
// elsewhere are as they were, and those that are not are listed.
TEST(SalvagePages, AFaultInOneCostsNoAllocationOfAnother) {
  VARVE_REQUIRE_SHARED();
  const Format& format = *find_format("kladde");
  const std::uint64_t page_bytes = 4096;
  for (const char* path : {"kladde/02-flushed.kladde", "kladde/16-runs.kladde"}) {
    const io::simulated::Image image = image_of(path);
    io::SimulatedFileSystem healthy(image, {nullptr, false});
    const Sight whole = look_at(format, healthy, "/store");
    const std::vector<std::string>& state = whole.state;
    const std::uint64_t pages = healthy.get("/store").value().size() / page_bytes;
    for (std::uint64_t page = 2; page < pages; ++page) {
      SCOPED_TRACE(std::string(path) + " page " + std::to_string(page));
      io::SimulatedFileSystem files(image, {nullptr, false});
      auto bytes = files.get("/store").value();
      bytes[page * page_bytes + 40] ^= std::byte{1};
      ASSERT_TRUE(files.put("/store", bytes));
      std::string why;
      const auto salvaged = salvage_and_check(format, files, why);
      ASSERT_TRUE(salvaged) << why;
      const std::string detail = salvaged->report.detail.text();
      if (detail.find("\"world\":\"newer\"") == std::string::npos ||
          detail.find("\"table_whole\":true") == std::string::npos) {
        continue;  // a page of the table: another state is what can be proven
      }
      if (salvaged->log.size() < whole.log.size()) {
        continue;  // a page of the journal: what follows it cannot be told from stale bytes
      }
      const std::vector<std::string> now = look_at(format, files, "/new").state;
      ASSERT_EQ(now.size(), state.size());
      for (std::size_t i = 0; i < state.size(); ++i) {
        const std::string id = state[i].substr(1, state[i].find(',') - 1);  // "id":7
        const bool listed = detail.find("{" + id + ",\"offset\"") != std::string::npos;
        EXPECT_TRUE(listed || now[i] == state[i]) << id;
      }
    }
  }
}

}  // namespace
}  // namespace varve::test
