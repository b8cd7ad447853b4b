// SPDX-License-Identifier: MIT OR Apache-2.0
// Each sealed fixture, and each broken one, behind a server: what is read and found over HTTP is
// what is read and found on disk.
#include "tests/serve/remote_support.hpp"

namespace varve::serve::test {
namespace {

namespace fs = std::filesystem;

std::string seen(const Finding& finding) {
  return finding.code + " " + finding.stage + " " + std::to_string(finding.offset) + " " +
         finding.unit + " " + to_text(finding.expected) + " " + to_text(finding.actual) + "\n";
}

// Lines, findings and verdict of a scan and a verification.
std::string look(StoreView& view, const ScanRequest& request) {
  std::string out;
  auto scanned = try_scan(view, request);
  for (const std::string& line : scanned.lines) {
    out += line + "\n";
  }
  for (const Finding& finding : scanned.findings) {
    out += seen(finding);
  }
  out += scanned.summary ? std::string(to_text(scanned.summary->verdict))
                         : scanned.summary.error().reason;
  FindingList findings;
  const auto report = view.verify({}, findings);
  for (const Finding& finding : findings.findings()) {
    out += seen(finding);
  }
  return out + (report ? std::string(to_text(report->verdict)) : report.error().reason);
}

// Segments whose header says that they are sealed.
std::vector<fs::path> sealed_files(const fs::path& directory) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() != ".jss") {
      continue;
    }
    const std::string content = varve::test::read_file(entry.path());
    if (content.size() >= 256 && content.substr(4, 8) != std::string(8, '\0')) {
      out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

void expect_same_over_http(const fs::path& fixture) {
  SCOPED_TRACE(fixture.filename().string());
  ScratchDirectory scratch;
  const std::string name = "seg_0000000000.jss";
  varve::test::copy_tree(fixture, scratch / "a" / name);
  ArchiveServer server(scratch / "a");
  const auto local = jss::test::open_view(scratch / "a" / name);
  auto remote = open_remote(server.url() + "/" + name, {}, quick_options());
  ASSERT_TRUE(remote) << remote.error().text();
  EXPECT_EQ(look(**remote, {}), look(*local, {}));
  ScanRequest commits;
  commits.predicate.terms = {{"kind", "commit"}};
  EXPECT_EQ(look(**remote, commits), look(*local, commits));
}

TEST(RemoteFixtures, SealedOnes) {
  VARVE_REQUIRE_SHARED();
  const auto files = sealed_files(jss::test::fixture("."));
  EXPECT_GT(files.size(), 8U);
  for (const fs::path& file : files) {
    expect_same_over_http(file);
  }
}

TEST(RemoteFixtures, BrokenOnes) {
  VARVE_REQUIRE_SHARED();
  const auto files = sealed_files(jss::test::fixture("invalid"));
  EXPECT_GT(files.size(), 40U);
  for (const fs::path& file : files) {
    expect_same_over_http(file);
  }
}

}  // namespace
}  // namespace varve::serve::test
