// SPDX-License-Identifier: MIT OR Apache-2.0
// Directories of segments as one store (sections 1, 15, 16).
#include <gtest/gtest.h>

#include "fixture_rows.hpp"
#include "view_support.hpp"

namespace varve::jss::test {
namespace {

using varve::test::copy_tree;
using varve::test::ScratchDirectory;

std::vector<std::string> codes_of(const Verified& verified) {
  std::vector<std::string> out;
  for (const Finding& finding : verified.findings) {
    out.push_back(std::string(to_text(finding.severity)) + " " + finding.code);
  }
  return out;
}

using Codes = std::vector<std::string>;

TEST(JssArchive, IsOneStore) {
  VARVE_REQUIRE_SHARED();
  const std::string before = varve::test::tree_snapshot(fixture("plan"));
  const Verified verified = verify_path(fixture("plan"));
  EXPECT_EQ(verified.report.verdict, Verdict::clean) << verified.text();
  EXPECT_EQ(verified.report.counts.segments, 6U);
  EXPECT_EQ(verified.report.counts.records, 2616U);
  ASSERT_EQ(verified.report.segments.size(), 6U);
  EXPECT_EQ(verified.report.segments[5].name, "seg_0000000005.jss");
  const auto info = open_view(fixture("plan"))->info();
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->segments, 6U);
  EXPECT_EQ(info->records, 2616U);
  EXPECT_EQ(varve::test::tree_snapshot(fixture("plan")), before);
}

TEST(JssArchive, AGapInTheNumbersIsWarnedOf) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  copy_tree(fixture("plan"), scratch / "a");
  fs::remove(scratch / "a/seg_0000000002.jss");
  const Verified verified = verify_path(scratch / "a");
  EXPECT_EQ(codes_of(verified), Codes{"warning segment-gap"});
  EXPECT_EQ(verified.report.verdict, Verdict::clean);
  EXPECT_EQ(verified.findings[0].expected, Number::decimal(2));
  EXPECT_EQ(verified.findings[0].actual, Number::decimal(3));
}

TEST(JssArchive, OverlappingSeqsAreDamage) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  copy_tree(fixture("plan"), scratch / "a");
  copy_tree(fixture("plan/seg_0000000001.jss"), scratch / "a/seg_0000000006.jss");
  const Verified verified = verify_path(scratch / "a");
  EXPECT_EQ(codes_of(verified), Codes{"error segment-overlap"});
  EXPECT_EQ(verified.report.verdict, Verdict::damaged);
  EXPECT_EQ(verified.findings[0].file, "seg_0000000006.jss");
}

TEST(JssArchive, DamageOfOneMemberIsItsOwn) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  copy_tree(fixture("plan"), scratch / "a");
  std::string bytes = varve::test::read_file(scratch / "a/seg_0000000003.jss");
  bytes[300] = static_cast<char>(bytes[300] ^ 1);
  varve::test::write_file(scratch / "a/seg_0000000003.jss", bytes);
  const auto view = open_view(scratch / "a");
  const Verified verified = verify_view(*view);
  EXPECT_EQ(verified.report.verdict, Verdict::damaged);
  EXPECT_EQ(verified.first_error()->file, "seg_0000000003.jss");
  for (const SegmentVerdict& segment : verified.report.segments) {
    EXPECT_EQ(segment.verdict,
              segment.name == "seg_0000000003.jss" ? Verdict::damaged : Verdict::clean);
  }
  EXPECT_EQ(verified.report.intact_records + verified.report.lost_records, 2616U);
  const Scanned scanned = scan_lines(*view);
  EXPECT_EQ(scanned.lines.size(), verified.report.intact_records);
}

// A flipped bit of the header or index must not hide rows from a query that they decide.
TEST(JssArchive, AFlippedBoundHidesNothing) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const std::string whole = varve::test::read_file(fixture("all_kinds.jss"));
  ScanRequest request;
  request.predicate.seq_first = request.predicate.seq_last = 12;
  for (std::size_t byte = 14; byte < 58; ++byte) {
    std::string hurt = whole;
    hurt[byte] = static_cast<char>(hurt[byte] ^ 0x0C);
    varve::test::write_file(scratch / "hurt.jss", hurt);
    const Scanned scanned = scan_lines(*open_view(scratch / "hurt.jss"), request);
    EXPECT_EQ(scanned.lines.size(), 1U) << byte;
    EXPECT_EQ(scanned.summary.verdict, Verdict::damaged) << byte;
  }
}

TEST(JssArchive, OnlyValidNamesCount) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const fs::path one = fixture("one_event.jss");
  copy_tree(one, scratch / "a/seg_0000000000.jss");
  for (const char* name :
       {"seg_000000002A.jss", "seg_2a.jss", "seg_00000000002a.jss", "notes.txt", "other.jss"}) {
    copy_tree(one, scratch / "a" / name);
  }
  EXPECT_EQ(verify_path(scratch / "a").report.counts.files, 1U);
  copy_tree(one, scratch / "a/seg_0000000001.jss.tmp");
  fs::create_directory(scratch / "a/seg_0000000001.jss");
  const Verified verified = verify_path(scratch / "a");
  EXPECT_EQ(codes_of(verified), (Codes{"note not-a-regular-file", "note stale-temporary"}));
  EXPECT_EQ(verified.report.verdict, Verdict::clean);
}

TEST(JssArchive, AnActiveSegmentBelongsAtTheEnd) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  copy_tree(fixture("active.jss"), scratch / "a/seg_0000000000.jss");
  EXPECT_TRUE(verify_path(scratch / "a").findings.empty());
  copy_tree(fixture("active_empty.jss"), scratch / "a/seg_0000000001.jss");
  EXPECT_EQ(codes_of(verify_path(scratch / "a")), Codes{"warning active-not-last"});
}

TEST(JssArchive, TheDataDirectoryIsUnderstoodToo) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  copy_tree(fixture("plan"), scratch / "data/segments");
  EXPECT_EQ(format().detect(io::posix_file_system(), (scratch / "data").string()),
            Confidence::by_content);
  const Verified verified = verify_path(scratch / "data");
  EXPECT_EQ(verified.report.counts.segments, 6U);
  EXPECT_EQ(verified.report.segments[0].name, "segments/seg_0000000000.jss");
}

TEST(JssDetect, ByContentThenByName) {
  VARVE_REQUIRE_SHARED();
  io::FileSystem& files = io::posix_file_system();
  const auto detect = [&](const fs::path& path) { return format().detect(files, path.string()); };
  EXPECT_EQ(detect(fixture("active_empty.jss")), Confidence::by_content);
  EXPECT_EQ(detect(fixture("plan")), Confidence::by_content);
  EXPECT_EQ(detect(fixture("invalid/bad_magic.jss")), Confidence::by_name);
  EXPECT_EQ(detect(fixture("invalid/empty_file.jss")), Confidence::by_name);
  EXPECT_EQ(detect(fixture("manifest.json")), Confidence::none);
  const ScratchDirectory scratch;
  EXPECT_EQ(detect(scratch.path()), Confidence::none);
  EXPECT_FALSE(format().open(files, scratch.path().string(), {}).has_value());
}

}  // namespace
}  // namespace varve::jss::test
