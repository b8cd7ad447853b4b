// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/copy_catalogue.hpp"

#include <gmock/gmock.h>

#include "tests/support.hpp"

namespace varve::model {
namespace {

using test::ScratchDirectory;

CopyRequest two_member_request(const ScratchDirectory& scratch) {
  test::fs::create_directories(scratch / "live/segments");
  test::write_file(scratch / "live/STORE", "marker");
  test::write_file(scratch / "live/segments/1", "0123456789");
  CopyRequest request;
  request.format = "probe";
  request.source_path = (scratch / "live").string();
  request.source_directory = (scratch / "live").string();
  request.store_name = "live";
  request.directories = {"staging"};
  request.members = {{"segments/1", 4, {}, {}}, {"STORE", 6, {}, {}}};
  request.target = (scratch / "copy").string();
  return request;
}

std::vector<std::string> names_in(const test::fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : test::fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST(CopyCatalogue, CopiesUpToTheHorizonAndListsHashesOutsideTheCopy) {
  const ScratchDirectory scratch;
  const CopyRequest request = two_member_request(scratch);
  const auto report = copy_with_catalogue(io::posix_file_system(), request, {});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(test::read_file(scratch / "copy/live/segments/1"), "0123");
  EXPECT_EQ(test::read_file(scratch / "copy/live/STORE"), "marker");
  EXPECT_TRUE(test::fs::is_directory(scratch / "copy/live/staging"));
  EXPECT_THAT(names_in(scratch / "copy/live"),
              testing::UnorderedElementsAre("STORE", "segments", "staging"));
  EXPECT_THAT(names_in(scratch.path()), testing::UnorderedElementsAre("live", "copy"));

  test::RunOptions options;
  options.directory = scratch / "copy";
  EXPECT_EQ(test::run_command({"sha256sum", "-c", "--strict", "SHA256SUMS"}, options).exit_code, 0);
  const std::string catalogue = test::read_file(scratch / "copy/backup.json");
  EXPECT_THAT(catalogue, testing::HasSubstr("\"schema\": \"varve.backup/1\""));
  EXPECT_THAT(catalogue, testing::HasSubstr(
                             "1be2e452b46d7a0d9656bbb1f768e8248eba1b75baed65f5d99eafa948899a6a"));
}

TEST(CopyCatalogue, KeepsHolesAndLength) {
  const ScratchDirectory scratch;
  constexpr std::uint64_t k_length = 64 << 20;
  test::write_file(scratch / "sparse", "head");
  test::fs::resize_file(scratch / "sparse", k_length);
  CopyRequest request;
  request.source_directory = scratch.path().string();
  request.store_name = "sparse";
  request.single_file = true;
  request.members = {{"sparse", k_length, {}, {}}};
  request.target = (scratch / "copy").string();
  ASSERT_TRUE(copy_with_catalogue(io::posix_file_system(), request, {}));
  const auto copy = io::posix_file_system().identity_of((scratch / "copy/sparse").string());
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->size_bytes, k_length);
  EXPECT_LT(copy->allocated_bytes, k_length / 2);
  test::RunOptions options;
  options.directory = scratch / "copy";
  EXPECT_EQ(test::run_command({"sha256sum", "-c", "--strict", "SHA256SUMS"}, options).exit_code, 0);
}

TEST(CopyCatalogue, RefusesAnExistingTargetAndTouchesNothing) {
  const ScratchDirectory scratch;
  const CopyRequest request = two_member_request(scratch);
  test::fs::create_directory(scratch / "copy");
  const std::string before = test::tree_snapshot(scratch.path());
  const auto report = copy_with_catalogue(io::posix_file_system(), request, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(exit_code(report.error()), 73);
  EXPECT_EQ(test::tree_snapshot(scratch.path()), before);
}

TEST(CopyCatalogue, LeavesNothingBehindWhenAMemberIsShorterOrReplaced) {
  const ScratchDirectory scratch;
  CopyRequest request = two_member_request(scratch);
  request.members[0].length = 11;
  auto report = copy_with_catalogue(io::posix_file_system(), request, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(exit_code(report.error()), 75);
  EXPECT_THAT(names_in(scratch.path()), testing::ElementsAre("live"));

  request.members[0].length = 10;
  request.members[1].identity =
      *io::posix_file_system().identity_of((scratch / "live/segments/1").string());
  report = copy_with_catalogue(io::posix_file_system(), request, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().reason, "changed");
  EXPECT_THAT(names_in(scratch.path()), testing::ElementsAre("live"));
}

TEST(CopyCatalogue, RehearsalOnlyLists) {
  const ScratchDirectory scratch;
  const CopyRequest request = two_member_request(scratch);
  WriteRequest rehearsal;
  rehearsal.dry_run = true;
  const auto report = copy_with_catalogue(io::posix_file_system(), request, rehearsal);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->actions.size(), 2U);
  EXPECT_EQ(report->actions[0].file, "live/segments/1");
  EXPECT_EQ(report->actions[0].length, 4U);
  EXPECT_THAT(names_in(scratch.path()), testing::ElementsAre("live"));
}

}  // namespace
}  // namespace varve::model
