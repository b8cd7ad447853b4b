// SPDX-License-Identifier: MIT OR Apache-2.0
// Small segments cut at every byte and with every bit flipped: the right verdict, exactly the rows
// that the format can still prove, never a row that was not written.
#include <gtest/gtest.h>

#include <map>

#include "sealed_file.hpp"
#include "tests/exhaustive/every_bit.hpp"
#include "tests/exhaustive/every_cut.hpp"
#include "tests/exhaustive/sight.hpp"
#include "view_support.hpp"

namespace varve::jss::test {
namespace {

using varve::test::BitLook;
using varve::test::CutLook;
using varve::test::Sight;

constexpr const char* k_path = "/file.jss";

// Sealed and active files of the fixtures; among them one that the reference wrote, one whose
// blocks were emptied, one without blocks, and one with a torn tail.
constexpr std::array k_files = {
    "one_event.jss",   "golden_seal.jss", "sparse_strings.jss",   "compacted_empty_blocks.jss",
    "zero_blocks.jss", "active.jss",      "active_torn_body.jss", "all_kinds.jss"};

// A fixture in a file system of its own, and what can be known of it without the code under test.
struct Specimen {
  std::string name;
  std::string bytes;
  io::simulated::Image image;
  bool sealed = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> frame_ends;  // and the rows up to there
  Sight whole;
  std::map<std::uint64_t, std::string> fields;  // by the first byte

  explicit Specimen(const char* file_name) : name(file_name) {
    bytes = varve::test::read_file(varve::test::shared_path("fixtures/jss/" + name));
    io::SimulatedFileSystem files;
    EXPECT_TRUE(files.put(k_path, base::as_bytes(bytes)));
    files.settle();
    image = files.image();
    whole = look(files);
    find_frames();
    name_fields(files);
  }

  static Sight look(io::FileSystem& files) {
    varve::test::SightOptions options;
    options.state = false;
    return varve::test::look_at(format(), files, k_path, options);
  }

  // Rows in frames that end at or before `size`.
  std::uint64_t rows_within(std::uint64_t size) const {
    std::uint64_t rows = 0;
    for (const auto& [end, rows_so_far] : frame_ends) {
      rows = end <= size ? rows_so_far : rows;
    }
    return rows;
  }
  bool is_frame_end(std::uint64_t size) const {
    return std::ranges::any_of(frame_ends, [&](const auto& f) { return f.first == size; });
  }

  std::string field_at(std::uint64_t offset) const {
    return std::prev(fields.upper_bound(offset))->second;
  }

 private:
  void find_frames() {
    const SealedFile file(bytes);
    sealed = file.header.checksum != 0;
    const std::uint64_t end = sealed ? file.header.footer_offset : bytes.size();
    std::uint64_t at = k_first_frame_offset;
    std::uint64_t rows = 0;
    frame_ends.emplace_back(at, rows);
    Block block;
    while (at + k_length_prefix_bytes < end) {
      const std::uint64_t length = base::u64le(file.data() + at);
      at += k_length_prefix_bytes;
      if (length > end - at ||
          FrameDecoder().decode(file.span().subspan(at, length), k_max_body_bytes, block)) {
        return;  // a tail
      }
      at += length;
      rows += block.columns.rows;
      frame_ends.emplace_back(at, rows);
    }
  }

  void name_fields(io::FileSystem& files) {
    class Names final : public ExplainSink {
     public:
      explicit Names(std::map<std::uint64_t, std::string>& out) : out_(out) {}
      bool add(ExplainRow row) override {
        if (row.depth == 0) {
          unit_ = row.field.substr(0, row.field.find_last_not_of(" 0123456789") + 1);
        }
        if (!row.container) {
          out_[row.offset] = row.depth == 0 ? unit_ : unit_ + ": " + row.field;
        }
        return true;
      }

     private:
      std::map<std::uint64_t, std::string>& out_;
      std::string unit_;
    } names(fields);
    FindingList findings;
    const auto view = format().open(files, k_path, {});
    ASSERT_TRUE(view);
    EXPECT_TRUE((*view)->explain({}, names, findings));
  }
};

// True if all lines of `some` are lines of `all`, in the same order.
bool is_subsequence(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  auto at = all.begin();
  for (const std::string& line : some) {
    at = std::find(at, all.end(), line);
    if (at == all.end()) {
      return false;
    }
    ++at;
  }
  return true;
}

// Writes the table if asked to; else the documents must hold it as it is.
void publish(const varve::test::Table& table, const char* name) {
  EXPECT_TRUE(table.publish(name));
  if (!varve::test::small_run()) {
    const fs::path docs = fs::path(VARVE_TEST_SOURCE_DIR) / "docs";
    EXPECT_NE(varve::test::read_file(docs / "jss.md").find(table.markdown()), std::string::npos)
        << "docs/jss.md has another table than this:\n"
        << table.markdown();
  }
}

varve::test::CutReport cut_everywhere(const Specimen& specimen) {
  const auto look = [&](io::FileSystem& files, std::uint64_t size) {
    const Sight sight = Specimen::look(files);
    SCOPED_TRACE(specimen.name + " cut to " + std::to_string(size));
    EXPECT_EQ(varve::test::prefix_length(sight.log, specimen.whole.log),
              specimen.rows_within(size));
    Verdict expected = Verdict::damaged;
    if (!specimen.sealed && size >= k_header_bytes) {
      expected = specimen.is_frame_end(size) ? Verdict::clean : Verdict::torn;
    }
    EXPECT_EQ(sight.verdict, expected) << sight.code;
    EXPECT_EQ(sight.code.empty(), expected == Verdict::clean);
    return CutLook{std::string(to_text(sight.verdict)), sight.code, sight.log.size()};
  };
  return varve::test::every_cut(specimen.image, k_path, look, varve::test::scaled_sampling());
}

TEST(JssEveryCut, LeavesExactlyTheRowsOfWholeFrames) {
  VARVE_REQUIRE_SHARED();
  varve::test::Table table("jss files cut to every size",
                           {"file", "size in bytes", "verdict", "first finding", "rows"});
  std::uint64_t cuts = 0;
  for (const char* name : k_files) {
    const Specimen specimen(name);
    const auto report = cut_everywhere(specimen);
    EXPECT_TRUE(report.sampled || report.cuts == specimen.bytes.size());
    for (const auto& row : report.rows) {
      table.add_row({name, varve::test::range_text(row.first, row.last), row.look.verdict,
                     row.look.code, row.look.records});
    }
    cuts += report.cuts;
  }
  table.add_note(std::to_string(cuts) + " cuts, every size of each file.");
  publish(table, "jss-every-cut");
}

varve::test::BitReport flip_everywhere(const Specimen& specimen,
                                       const varve::test::SamplingOptions& options) {
  const auto look = [&](io::FileSystem& files) {
    const Sight sight = Specimen::look(files);
    // A hurt file may lose rows; it must not show one that nobody wrote without a word on it.
    if (sight.warnings > specimen.whole.warnings) {
      EXPECT_TRUE(is_subsequence(sight.log, specimen.whole.log)) << specimen.name;
    }
    const bool noticed = sight.warnings > specimen.whole.warnings ||
                         sight.verdict != specimen.whole.verdict ||
                         sight.code != specimen.whole.code;
    return BitLook{noticed, sight.code.empty() ? "a warning" : sight.code, sight.fingerprint()};
  };
  const auto field_of = [&](std::uint64_t offset) { return specimen.field_at(offset); };
  return varve::test::every_bit(specimen.image, k_path, look, field_of, options);
}

TEST(JssEveryBit, IsNoticedOrWithoutEffect) {
  VARVE_REQUIRE_SHARED();
  varve::test::Table table("jss files with every bit flipped",
                           {"file", "bits", "noticed", "without visible effect", "unprotected",
                            "fields of bits without effect or protection"});
  std::uint64_t bits = 0;
  for (const char* name : k_files) {
    const Specimen specimen(name);
    const auto report = flip_everywhere(specimen, varve::test::scaled_sampling());
    std::map<std::string, std::uint64_t> fields = report.invisible_by_field;
    for (const auto& [field, count] : report.unprotected_by_field) {
      fields[field] += count;
    }
    std::string text;
    for (const auto& [field, count] : fields) {
      text += (text.empty() ? "" : ", ") + field + " " + std::to_string(count);
    }
    EXPECT_EQ(report.unprotected, std::vector<std::uint64_t>{}) << name << ": " << text;
    table.add_row(
        {name, report.bits, report.noticed, report.invisible, report.unprotected.size(), text});
    bits += report.bits;
  }
  table.add_note(std::to_string(bits) + " flips, every bit of each file.");
  publish(table, "jss-every-bit");
}

}  // namespace
}  // namespace varve::jss::test
