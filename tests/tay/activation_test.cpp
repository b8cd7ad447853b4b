// SPDX-License-Identifier: MIT OR Apache-2.0
// Initialization and activation: who may begin, and what must not have changed.
#include "tests/tay/stores.hpp"

namespace varve::tay::test {
namespace {

class Activation : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_store(files, environment));
    options.environment = &environment;
  }
  // What is refused at activation after `change`, leaving every byte as the change made it.
  template <class Change>
  Refusal refused(Change change) {
    auto candidate = recover_at(files, &environment);
    EXPECT_TRUE(candidate);
    change();
    const std::uint64_t before = files.hash();
    const auto writer = activate(*candidate, options);
    EXPECT_FALSE(writer);
    EXPECT_EQ(files.hash(), before);
    return writer ? Refusal() : writer.error();
  }

  io::SimulatedFileSystem files;
  io::FixedEnvironment environment;
  LogWriterOptions options;
};

TEST_F(Activation, RefusesWhatChangedMeanwhile) {
  const std::string stage =
      std::string(k_root) + "/segments/" + segment_stage_name(2, Bytes(k_id_bytes, std::byte{1}));
  EXPECT_EQ(refused([&] { ASSERT_TRUE(files.put(stage, {})); }).kind, RefusalKind::changed_view);
  EXPECT_EQ(refused([&] { ASSERT_TRUE(files.erase(stage)); }).kind, RefusalKind::changed_view);
  EXPECT_EQ(refused([&] {
              const auto bytes = files.get(segment_path(1)).value();
              ASSERT_TRUE(files.erase(segment_path(1)));
              ASSERT_TRUE(files.put(segment_path(1), bytes));
            }).kind,
            RefusalKind::changed_view);
  Bytes record;
  ASSERT_FALSE(encode_record(1, 1, 1, {}, record));
  EXPECT_EQ(refused([&] {
              auto bytes = files.get(segment_path(1)).value();
              bytes.insert(bytes.end(), record.begin(), record.end());
              auto file = files.open_file(segment_path(1), io::OpenMode::read_write);
              ASSERT_TRUE((*file)->write_at(bytes, 0));
            }).kind,
            RefusalKind::changed_view);
}

TEST_F(Activation, RecoveryRefusesAFileThatAppearedWhileItRead) {
  const std::string stage =
      std::string(k_root) + "/segments/" + segment_stage_name(2, Bytes(k_id_bytes, std::byte{1}));
  bool put = false;
  files.set_hook([&](const io::Call& call) {
    if (!put && call.kind == io::CallKind::read && call.path == segment_path(1)) {
      put = true;
      ASSERT_TRUE(files.put(stage, {}));
    }
  });
  const auto candidate = recover_at(files, &environment);
  files.set_hook(nullptr);
  ASSERT_TRUE(put);
  ASSERT_FALSE(candidate);
  EXPECT_EQ(candidate.error().word, "changed_listing");
}

TEST_F(Activation, RefusesAfterTheWindow) {
  EXPECT_EQ(refused([&] { environment.advance_ns(31'000'000'000); }).word,
            "activation_window_expired");
}

TEST_F(Activation, RefusesWithoutRoomForASuccessor) {
  {
    auto writer = open_writer(recover_at(files, &environment), options);
    ASSERT_TRUE(writer->add(2, 1, {}));
    ASSERT_TRUE(writer->seal());
  }
  RecoveryOptions recovery;
  recovery.semantic = false;  // the record is no event
  recovery.environment = &environment;
  const auto attempt = [&](const Budgets& budgets) {
    auto candidate = recover(files, k_root, recovery);
    EXPECT_TRUE(candidate);
    options.budgets = budgets;
    return activate(*candidate, options);
  };
  Budgets budgets;
  budgets.total_segment_bytes = 136 + 43;
  EXPECT_EQ(attempt(budgets).error().word, "max_total_segment_bytes");
  budgets = {};
  budgets.directory_entries = 1;
  EXPECT_EQ(attempt(budgets).error().word, "max_directory_entries");
  budgets.total_segment_bytes = 136 + 44;
  budgets.directory_entries = 3;
  const auto writer = attempt(budgets);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(writer->segment_id(), 2U);
  EXPECT_EQ(writer->next_sequence(), 2U);
}

TEST_F(Activation, OnlyOneOwner) {
  const auto writer = open_writer(recover_at(files, &environment), options);
  ASSERT_TRUE(writer);
  const auto second = recover_at(files);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, RefusalKind::ownership_busy);
}

class Initialization : public ::testing::Test {
 protected:
  Result<void> make(bool existing, std::optional<Id> id = std::nullopt) {
    InitializeOptions options;
    options.existing = existing;
    options.environment = &environment;
    options.store_id = id;
    const std::uint64_t before = files.hash();
    const auto may = may_initialize(files, k_root, options);
    EXPECT_EQ(files.hash(), before);
    const auto made = initialize(files, k_root, options);
    EXPECT_EQ(may.has_value(), made.has_value());
    return made ? Result<void>() : std::unexpected(made.error());
  }
  void refuse(bool existing) {
    const std::uint64_t before = files.hash();
    const auto made = make(existing);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().system_errno, EEXIST);
    EXPECT_EQ(files.hash(), before);
  }
  std::string in_store(const char* name) { return std::string(k_root) + "/" + name; }

  io::SimulatedFileSystem files;
  io::FixedEnvironment environment;
};

TEST_F(Initialization, MakesAnEmptyStore) {
  ASSERT_TRUE(make(false));
  EXPECT_EQ(files.paths(k_root).size(), 4U);  // lock, STORE, segments/ and one segment
  const auto candidate = recover_at(files);
  ASSERT_TRUE(candidate);
  EXPECT_FALSE(is_zero(candidate->facts.store_id));
}

TEST_F(Initialization, NeedsAWordForAnExistingDirectory) {
  ASSERT_TRUE(files.add_directory(k_root));
  refuse(false);
  ASSERT_TRUE(make(true));
  refuse(true);  // a store is there now
}

TEST_F(Initialization, GoesOnBehindABareHeader) {
  const Id id = {std::byte{9}};
  ASSERT_TRUE(make(false, id));
  ASSERT_TRUE(files.erase(in_store("STORE")));
  refuse(false);
  EXPECT_EQ(make(true, Id{std::byte{8}}).error().reason, "store_id");
  ASSERT_TRUE(make(true));
  EXPECT_EQ(recover_at(files)->facts.store_id, id);
}

TEST_F(Initialization, RefusesALostStore) {
  ASSERT_TRUE(make(false));
  {
    LogWriterOptions options;
    options.environment = &environment;
    auto writer = open_writer(recover_at(files, &environment), options);
    ASSERT_TRUE(writer->add(1, 1, {}));
    ASSERT_TRUE(writer->commit());
  }
  ASSERT_TRUE(files.erase(in_store("STORE")));
  refuse(true);
}

TEST_F(Initialization, RefusesAForeignDirectory) {
  ASSERT_TRUE(files.add_directory(k_root));
  ASSERT_TRUE(files.put(in_store("notes.txt"), {}));
  refuse(true);
  ASSERT_TRUE(files.erase(in_store("notes.txt")));
  ASSERT_TRUE(files.put(in_store("STORE-V2"), {}));
  refuse(true);
  ASSERT_TRUE(files.erase(in_store("STORE-V2")));
  ASSERT_TRUE(files.put(in_store("old.TAY"), {}));
  refuse(true);
  EXPECT_EQ(make(true, Id{}).error().system_errno, EEXIST);
}

TEST_F(Initialization, RefusesAnIdOfZeros) {
  EXPECT_EQ(make(false, Id{}).error().reason, "store_id");
  EXPECT_FALSE(files.identity_of(k_root));
}

}  // namespace
}  // namespace varve::tay::test
