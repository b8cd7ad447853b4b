// SPDX-License-Identifier: MIT OR Apache-2.0
// The writer: what it makes of the valid fixtures' events, and what it refuses.
#include "tests/tay/stores.hpp"

namespace varve::tay::test {
namespace {

namespace fs = varve::test::fs;

class Writer : public ::testing::Test {
 protected:
  LogWriter open(LogWriterOptions options = {}) {
    options.environment = &environment;
    auto writer = open_writer(recover_at(files, &environment), options);
    EXPECT_TRUE(writer) << writer.error().text();
    return *std::move(writer);
  }
  void make() { ASSERT_TRUE(make_store(files, environment)); }
  // Lets a put-together segment and STORE be the whole store.
  void put(const Id& id, const std::vector<std::pair<std::uint64_t, Bytes>>& segments) {
    Bytes store;
    encode_store(id, store);
    ASSERT_TRUE(files.put(std::string(k_root) + "/STORE", store));
    ASSERT_TRUE(files.put(std::string(k_root) + "/" + std::string(k_lock_name), {}));
    for (const auto& [number, bytes] : segments) {
      ASSERT_TRUE(files.put(segment_path(number), bytes));
    }
  }

  io::SimulatedFileSystem files;
  io::FixedEnvironment environment;
};

// Writes the events of a fixture as its own writer did: the same segments, byte for byte.
class SameBytes : public ::testing::TestWithParam<const char*> {};

TEST_P(SameBytes, AsTheFixture) {
  VARVE_REQUIRE_SHARED();
  const fs::path store = fixture("stores/valid") / GetParam();
  const Bytes marker = to_bytes(varve::test::read_file(store / "STORE"));
  io::SimulatedFileSystem files;
  io::FixedEnvironment environment;
  LogWriterOptions options;
  options.environment = &environment;
  auto owner = make_store(files, environment, k_root, load_id(marker.data() + k_store_id_at));
  ASSERT_TRUE(owner) << owner.error().text();
  auto writer = open_writer(recover(*std::move(owner), {}), options);
  ASSERT_TRUE(writer) << writer.error().text();

  std::uint64_t id = 1;
  for (;; ++id) {
    const fs::path path = store / "segments" / segment_name(id);
    if (!fs::exists(path)) {
      break;
    }
    const Bytes want = to_bytes(varve::test::read_file(path));
    for (const PlainRecord& record : records_of(want)) {
      const auto place = writer->add(record.type, record.schema, record.payload);
      ASSERT_TRUE(place);
      EXPECT_EQ(place->sequence, record.sequence);
      EXPECT_EQ(place->segment_id, id);
      // One by one and together give the same bytes.
      if (record.sequence % 3 == 0) {
        ASSERT_TRUE(writer->commit());
      }
    }
    ASSERT_TRUE(writer->commit());
    const bool sealed = fs::exists(store / "segments" / segment_name(id + 1)) ||
                        std::string_view(GetParam()) == "highest-sealed";
    if (sealed) {
      const bool last = !fs::exists(store / "segments" / segment_name(id + 1));
      ASSERT_TRUE(last ? writer->seal().has_value() : writer->rotate().has_value());
    }
    EXPECT_EQ(files.get(segment_path(id)).value(), want) << "segment " << id;
  }
  EXPECT_GT(id, 1U);
  EXPECT_EQ(files.get(std::string(k_root) + "/STORE").value(), marker);
  EXPECT_FALSE(files.get(segment_path(id)));
}
INSTANTIATE_TEST_SUITE_P(Fixtures, SameBytes,
                         ::testing::Values("lifecycle", "highest-sealed", "boundaries", "empty"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(Writer, CompletesAnInterruptedRotation) {
  VARVE_REQUIRE_SHARED();
  ASSERT_TRUE(files.copy_from(io::posix_file_system(),
                              fixture("stores/valid/highest-sealed").string(), k_root));
  const auto before = files.paths(k_root);
  LogWriter writer = open();
  EXPECT_EQ(writer.segment_id(), 3U);
  EXPECT_EQ(writer.next_sequence(), 10U);
  // Stages and unrelated files stay; one file has come.
  EXPECT_EQ(files.paths(k_root).size(), before.size() + 1);
  EXPECT_EQ(files.get(segment_path(3)).value().size(), k_header_bytes);
  ASSERT_TRUE(writer.add(200, 3, {}));
  ASSERT_TRUE(writer.commit());
}

TEST_F(Writer, RotatesWhereARecordWouldNotLeaveRoomForTheFooter) {
  make();
  LogWriterOptions options;
  options.rotation_bytes = k_header_bytes + 2 * (k_record_frame_bytes + 10) + k_footer_bytes;
  LogWriter writer = open(options);
  const Bytes payload(10);
  ASSERT_TRUE(writer.add(1, 1, payload));
  const auto second = writer.add(1, 1, payload);  // equality fits
  ASSERT_TRUE(second);
  EXPECT_EQ(second->segment_id, 1U);
  const auto third = writer.add(1, 1, payload);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->segment_id, 2U);
  EXPECT_EQ(third->sequence, 3U);
  EXPECT_EQ(third->offset, k_header_bytes);
  // An empty segment takes what is larger than the target.
  const auto large = writer.add(1, 1, Bytes(1000));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->segment_id, 3U);
  ASSERT_TRUE(writer.commit());
  EXPECT_EQ(writer.segment_id(), 3U);
  EXPECT_EQ(files.get(segment_path(1)).value().size(), options.rotation_bytes);
  EXPECT_EQ(writer.history_bytes(), options.rotation_bytes + 44 + 38 + 64 + 44 + 1028);
}

TEST_F(Writer, RefusesWhatNoRecordHoldsAndGoesOn) {
  make();
  LogWriter writer = open();
  for (const auto& [type, schema, word] :
       {std::tuple{0, 1, "reserved_type"}, {255, 1, "reserved_type"}, {1, 0, "invalid_schema"}}) {
    const auto place =
        writer.add(static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(schema), {});
    ASSERT_FALSE(place);
    EXPECT_EQ(place.error().reason, word);
  }
  EXPECT_EQ(writer.add(1, 1, Bytes(k_max_payload_bytes + 1)).error().reason,
            "payload_length_exceeds_format");
  const auto empty = writer.rotate();
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().reason, "empty_segment");
  EXPECT_EQ(writer.add(1, 1, {})->sequence, 1U);
  writer.forget_waiting();
  EXPECT_EQ(writer.add(1, 1, {})->sequence, 1U);
  ASSERT_TRUE(writer.commit());
  EXPECT_EQ(writer.rotate().value(), 1U);
}

// Ids and sequences that end: the log is readable for ever, and never written again.
TEST_F(Writer, EndsWithTheLastSegmentIdOnlyWhenItMustRotate) {
  const Id id = {std::byte{7}};
  Bytes header;
  encode_header({1, 1, id}, header);
  put(id, {{1, header}});
  auto candidate = recover_at(files, &environment);
  ASSERT_TRUE(candidate);
  // No store with so many segments fits anywhere, so the facts are made up.
  Segment& highest = candidate->facts.segments.back();
  highest.header->segment_id = k_u64_max;
  LogWriterOptions options;
  options.rotation_bytes = 200;
  auto file = files.open_file(segment_path(1), io::OpenMode::read_write);
  const PhysicalFacts facts = candidate->facts;
  LogWriter writer(std::move(candidate->owner), facts, *std::move(file), options);
  EXPECT_EQ(writer.add(1, 1, Bytes(20))->segment_id, k_u64_max);
  EXPECT_EQ(writer.add(1, 1, Bytes(100)).error().reason, "segment_ids_exhausted");
  EXPECT_TRUE(writer.add(1, 1, {}));  // a smaller one still fits
}

TEST_F(Writer, EndsWithTheLastSequence) {
  const Id id = {std::byte{7}};
  Bytes header;
  encode_header({1, 1, id}, header);
  put(id, {{1, header}});
  auto candidate = recover_at(files, &environment);
  ASSERT_TRUE(candidate);
  candidate->facts.totals.next_sequence = k_u64_max;
  auto file = files.open_file(segment_path(1), io::OpenMode::read_write);
  const PhysicalFacts facts = candidate->facts;
  LogWriter writer(std::move(candidate->owner), facts, *std::move(file), {});
  EXPECT_EQ(writer.add(1, 1, {})->sequence, k_u64_max);
  EXPECT_EQ(writer.next_sequence(), 0U);
  EXPECT_EQ(writer.add(1, 1, {}).error().reason, "sequence_exhausted");
}

// Whatever changes under a writer ends it.
TEST_F(Writer, IsPoisonedByAForeignHand) {
  make();
  const auto expect_poisoned = [&](auto change, const char* what) {
    io::SimulatedFileSystem fresh(files.image(), {});
    LogWriterOptions options;
    options.environment = &environment;
    auto writer = open_writer(recover_at(fresh, &environment), options);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->add(1, 1, {}));
    ASSERT_TRUE(writer->commit());
    change(fresh);
    ASSERT_TRUE(writer->add(1, 1, {}));
    const auto failed = writer->commit();
    ASSERT_FALSE(failed) << what;
    EXPECT_EQ(failed.error().reason, "owner_lost") << what;
    EXPECT_EQ(writer->add(1, 1, {}).error().code, ErrorCode::poisoned) << what;
    EXPECT_EQ(writer->commit().error().code, ErrorCode::poisoned) << what;
    EXPECT_EQ(writer->sync().error().code, ErrorCode::poisoned) << what;
    EXPECT_EQ(writer->rotate().error().code, ErrorCode::poisoned) << what;
  };
  const std::string lock = std::string(k_root) + "/" + std::string(k_lock_name);
  expect_poisoned([&](auto& fresh) { ASSERT_TRUE(fresh.set_size(segment_path(1), 75)); }, "longer");
  expect_poisoned([&](auto& fresh) { ASSERT_TRUE(fresh.set_size(segment_path(1), 44)); },
                  "shorter");
  expect_poisoned(
      [&](auto& fresh) {
        const auto bytes = fresh.get(segment_path(1)).value();
        ASSERT_TRUE(fresh.erase(segment_path(1)));
        ASSERT_TRUE(fresh.put(segment_path(1), bytes));
      },
      "replaced");
  expect_poisoned(
      [&](auto& fresh) { ASSERT_TRUE(fresh.add_hard_link("/data/second", segment_path(1))); },
      "linked");
  expect_poisoned(
      [&](auto& fresh) {
        ASSERT_TRUE(fresh.erase(lock));
        ASSERT_TRUE(fresh.put(lock, {}));
      },
      "lock replaced");
}

TEST_F(Writer, RotationLooksAtTheWholeStoreFirst) {
  make();
  LogWriter writer = open();
  ASSERT_TRUE(writer.add(1, 1, Bytes(40)));
  ASSERT_TRUE(writer.commit());
  auto bytes = files.get(segment_path(1)).value();
  bytes[80] ^= std::byte{1};  // in the payload
  {
    auto file = files.open_file(segment_path(1), io::OpenMode::read_write);
    ASSERT_TRUE((*file)->write_at(std::span(bytes).subspan(80, 1), 80));
  }
  const auto rotated = writer.rotate();
  ASSERT_FALSE(rotated);
  EXPECT_EQ(rotated.error().code, ErrorCode::damaged);
  EXPECT_FALSE(writer.writable());
  EXPECT_EQ(files.get(segment_path(1)).value(), bytes);  // not sealed
}

}  // namespace
}  // namespace varve::tay::test
