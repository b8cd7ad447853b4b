// SPDX-License-Identifier: MIT OR Apache-2.0
// Store v2 (Part 2): the published vectors, and whole roots: what the verbs say of them.
#include <functional>
#include <map>

#include "tests/tay/v2_stores.hpp"
#include "tests/tay/views.hpp"

namespace varve::tay::test {
namespace {

const EventBudget k_budget{64, 100'000, 16'777'216};

DecodedRecord whole_record(ByteSpan bytes, std::uint8_t type) {
  const DecodedRecord record = decode_record(bytes);
  EXPECT_EQ(record.status, RecordStatus::record);
  EXPECT_EQ(record.header.type, type);
  EXPECT_EQ(record.header.sequence, 1U);
  EXPECT_EQ(record.header.frame_bytes(), bytes.size());
  return record;
}

TEST(V2Vectors, RecordsBothWays) {
  VARVE_REQUIRE_SHARED();
  for (const auto& [name, kind, payload_bytes] : {std::tuple{"inserted", 1, 401U},
                                                  {"available", 2, 98U},
                                                  {"started", 3, 92U},
                                                  {"finished", 4, 172U},
                                                  {"cancelled", 5, 67U},
                                                  {"retried", 6, 120U}}) {
    SCOPED_TRACE(name);
    const Bytes bytes = fixture_hex(std::string("v2/record-") + name + ".hex");
    const DecodedRecord record = whole_record(bytes, k_type_mutation);
    EXPECT_EQ(record.payload.size(), payload_bytes);
    V2Mutation mutation;
    ASSERT_FALSE(decode_mutation(record.payload, k_budget, mutation));
    const std::uint64_t expected = kind == 1 ? 0 : kind == 4 ? 2 : 1;
    EXPECT_EQ(static_cast<int>(mutation.event.type), kind);
    EXPECT_EQ(mutation.event.expected_revision, expected);
    EXPECT_EQ(mutation.new_revision, expected + 1);
    EXPECT_EQ(mutation.event.at, 100U);
    EXPECT_EQ(mutation.event.job_id, v2_id(1));
    Bytes again;
    encode_mutation(mutation, again);
    EXPECT_EQ(again, Bytes(record.payload.begin(), record.payload.end()));
  }
  const Bytes bytes = fixture_hex("v2/record-snapshot.hex");
  const DecodedRecord record = whole_record(bytes, k_type_snapshot);
  EXPECT_EQ(record.payload.size(), 558U);
  V2Snapshot snapshot;
  ASSERT_FALSE(decode_snapshot(record.payload, k_budget, snapshot));
  EXPECT_EQ(snapshot.job.state, JobState::available);
  EXPECT_EQ(snapshot.job.revision, 1U);
  EXPECT_EQ(snapshot.job.available_sequence, 1U);
  EXPECT_EQ(snapshot.worker_key, "worker");
  Bytes again;
  encode_snapshot(snapshot.job,
                  record.payload.subspan(snapshot.definition_at, snapshot.job.definition_length),
                  again);
  EXPECT_EQ(again, Bytes(record.payload.begin(), record.payload.end()));
}

TEST(V2Vectors, Manifests) {
  VARVE_REQUIRE_SHARED();
  for (const char* name : {"infinity", "bounded", "maximum"}) {
    SCOPED_TRACE(name);
    const Bytes bytes = fixture_hex(std::string("v2/manifest-") + name + ".hex");
    Manifest manifest;
    ASSERT_FALSE(decode_manifest(bytes, manifest));
    EXPECT_EQ(manifest.store_id, v2_id(1));
    EXPECT_EQ(manifest.epoch_id, v2_id(2));
    EXPECT_EQ(manifest.captured_at, 3'600'000U);
    Bytes again;
    encode_manifest(manifest, again);
    EXPECT_EQ(again, bytes);
  }
  for (const char* name : {"over_maximum", "empty", "zero", "negative", "float", "extra",
                           "alternate", "string", "integer", "nil"}) {
    Manifest manifest;
    const auto fault =
        decode_manifest(fixture_hex(std::string("v2/manifest-") + name + ".hex"), manifest);
    ASSERT_TRUE(fault) << name;
    EXPECT_STREQ(fault->word, "invalid_manifest") << name;
    EXPECT_TRUE(fault->understood) << name;
  }
}

TEST(V2Vectors, CurrentPinsTheBoundedManifest) {
  VARVE_REQUIRE_SHARED();
  const Bytes bytes = fixture_hex("v2/current.hex");
  Current current;
  ASSERT_FALSE(decode_current(bytes, current));
  EXPECT_EQ(current.store_id, v2_id(1));
  EXPECT_EQ(current.epoch_id, v2_id(2));
  EXPECT_EQ(current.manifest_digest, base::sha256(fixture_hex("v2/manifest-bounded.hex")));
  Bytes again;
  encode_current(current, again);
  EXPECT_EQ(again, bytes);
}

TEST(V2Vectors, EveryFlippedBitAndEveryCutIsRefused) {
  VARVE_REQUIRE_SHARED();
  const auto refused = [](const Bytes& bytes, const std::function<bool(ByteSpan)>& good) {
    ASSERT_TRUE(good(bytes));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(good(ByteSpan(bytes).first(length))) << length;
    }
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      Bytes hurt = bytes;
      hurt[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_FALSE(good(hurt)) << "bit " << bit;
    }
  };
  refused(fixture_hex("v2/current.hex"), [](ByteSpan bytes) {
    Current current;
    return !decode_current(bytes, current);
  });
  refused(fixture_hex("v2/manifest-bounded.hex"), [](ByteSpan bytes) {
    Manifest manifest;
    return !decode_manifest(bytes, manifest);
  });
  const Bytes record = fixture_hex("v2/record-snapshot.hex");
  const ByteSpan payload = decode_record(record).payload;
  for (std::size_t length = 0; length < payload.size(); ++length) {
    V2Snapshot snapshot;
    EXPECT_TRUE(decode_snapshot(payload.first(length), k_budget, snapshot)) << length;
  }
}

class V2Root : public ::testing::Test {
 protected:
  static Bytes definition() {
    Bytes args;
    ValueWriter(args).map(0);
    DefinitionFields fields;
    fields.args = args;
    fields.worker_key = "worker";
    Bytes out;
    encode_definition(fields, out);
    return out;
  }
  static Bytes snapshot_of(Job job) {
    const Bytes bytes = definition();
    job.inserted_at = 100;
    Bytes out;
    encode_snapshot(job, bytes, out);
    return out;
  }
  // Available since 100, as number `order`.
  static Bytes available(std::uint8_t id, std::uint64_t order) {
    Job job;
    job.id = v2_id(id);
    job.revision = job.cycle = 1;
    job.state = JobState::available;
    job.available_sequence = order;
    job.eligible_at = 100;
    job.next_attempt = 1;
    return snapshot_of(job);
  }
  static Bytes mutation(Event event, std::uint64_t revision, std::uint64_t order = 0) {
    const Bytes bytes = definition();
    event.expected_revision = revision - 1;
    V2Mutation out;
    out.event = event;
    out.event.definition.bytes = bytes;
    out.new_revision = revision;
    out.availability_order = order;
    Bytes payload;
    encode_mutation(out, payload);
    return payload;
  }
  static Event event(EventType type, std::uint8_t id, std::uint64_t at) {
    Event out;
    out.type = type;
    out.job_id = v2_id(id);
    out.at = at;
    return out;
  }
  static Bytes inserted(std::uint8_t id, std::uint64_t order) {
    Event insert = event(EventType::inserted, id, 200);
    insert.due_at = 200;
    return mutation(insert, 1, order);
  }
  static Bytes started(std::uint8_t id, std::uint64_t revision, std::uint64_t cycle = 1) {
    Event start = event(EventType::started, id, 300);
    start.attempt = 1;
    start.token = cycle;
    return mutation(start, revision);
  }
  static Bytes succeeded(std::uint8_t id, std::uint64_t revision) {
    Event finish = event(EventType::finished, id, 400);
    finish.token = revision - 1;
    return mutation(finish, revision);
  }
  static V2Store sample() {
    V2Store store;
    store.base = {{available(1, 2), available(2, 1)}, {available(3, 3)}};
    store.tail = {{inserted(9, 4), started(2, 2)}, {succeeded(2, 3)}};
    return store;
  }
  std::string write(V2Store store) {
    const auto root = scratch_ / std::to_string(++stores_);
    store.write(root);
    return root.string();
  }
  // Verdict and word of the first error.
  static std::string said(const std::string& path) {
    const Seen seen = verify(path);
    const Finding* first = seen.first_error();
    return std::string(to_text(seen.report.verdict)) + ' ' + (first ? first->code : "");
  }
  static ScanRequest state() {
    ScanRequest request;
    request.face = Face::state;
    return request;
  }

  varve::test::ScratchDirectory scratch_;
  int stores_ = 0;
};

TEST_F(V2Root, IsReadByAllVerbs) {
  const std::string path = write(sample());
  const std::string before = varve::test::tree_snapshot(path);
  const Seen seen = verify(path, 2);
  EXPECT_EQ(seen.report.verdict, Verdict::clean);
  EXPECT_EQ(seen.findings.findings().size(), 0U);
  EXPECT_EQ(seen.report.counts.records, 6U);
  EXPECT_EQ(seen.report.version, 2U);

  const auto log = lines(path, {});
  ASSERT_EQ(log.size(), 6U);
  EXPECT_TRUE(
      log[0].starts_with(R"({"seq":1,"type":"snapshot","schema":1,"event":)"
                         R"({"job_id":"00000000000000000000000000000001",)"
                         R"("revision":1,"cycle_token":1,"execution_token":null,"attempt":0,)"))
      << log[0];
  EXPECT_TRUE(
      log[4].starts_with(R"({"seq":5,"type":"mutation","schema":1,"event":)"
                         R"({"job_id":"00000000000000000000000000000002",)"
                         R"("kind":"started","expected_revision":1,"new_revision":2,"at":300,)"
                         R"("attempt":1,"cycle_token":1})"))
      << log[4];

  const auto jobs = lines(path, state());
  ASSERT_EQ(jobs.size(), 4U);
  for (const auto& [at, name] : {std::pair{0, "available"}, {1, "completed"}, {3, "available"}}) {
    EXPECT_NE(jobs[static_cast<std::size_t>(at)].find("\"state\":\"" + std::string(name) + '"'),
              std::string::npos)
        << jobs[static_cast<std::size_t>(at)];
  }

  const auto view = open(path);
  const auto info = view->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->version, 2U);
  EXPECT_EQ(info->segments, 4U);
  EXPECT_NE(info->detail.text().find(R"("tail_segment_id":3)"), std::string::npos);
  FindingList findings;
  const auto job = view->get("00000000000000000000000000000002", {}, findings);
  ASSERT_TRUE(job);
  EXPECT_TRUE(job->document.text().ends_with("\"history\":[" + log[1] + "," + log[4] + "," +
                                             log[5] + "]}"));
  EXPECT_EQ(varve::test::tree_snapshot(path), before);
}

TEST_F(V2Root, ExplainCoversEachFile) {
  class Adder final : public ExplainSink {
   public:
    bool add(ExplainRow row) override {
      if (!row.container) {
        EXPECT_EQ(row.offset, sizes[row.file]) << row.file << ' ' << row.field;
        sizes[row.file] += row.length;
        EXPECT_NE(row.check, ExplainRow::Check::fails) << row.file << ' ' << row.field;
      }
      return true;
    }
    std::map<std::string, std::uint64_t> sizes;
  } adder;
  const std::string path = write(sample());
  FindingList findings;
  ASSERT_TRUE(open(path)->explain({}, adder, findings));
  EXPECT_EQ(adder.sizes.size(), 8U);  // STORE, STORE-V2, CURRENT, MANIFEST, four segments
  for (const auto& [file, size] : adder.sizes) {
    EXPECT_EQ(size, fs::file_size(fs::path(path) / file)) << file;
  }
}

// The published CURRENT and manifest, with the empty tail that they call for.
TEST_F(V2Root, OfThePublishedVectorsIsCleanAndEmpty) {
  VARVE_REQUIRE_SHARED();
  V2Store store;
  const std::string path = write(store);
  const fs::path root(path);
  varve::test::write_file(root / store.epoch() / "MANIFEST",
                          as_string(fixture_hex("v2/manifest-bounded.hex")));
  EXPECT_EQ(said(path), "damaged manifest_digest");
  varve::test::write_file(root / "CURRENT", as_string(fixture_hex("v2/current.hex")));
  EXPECT_EQ(said(path), "clean ");
  EXPECT_TRUE(lines(path, {}).empty());
}

TEST_F(V2Root, WhatPinsTheEpochIsChecked) {
  V2Store store = sample();
  store.digest_wrong = true;
  EXPECT_EQ(said(write(store)), "damaged base_segment_digest");
  store = sample();
  store.manifest_last_sequence_shift = 1;
  EXPECT_EQ(said(write(store)), "damaged manifest_coordinates");
  store.base.pop_back();
  EXPECT_EQ(said(write(store)), "damaged base_segment_sequences");

  const auto changed = [&](const std::function<void(const fs::path&)>& change) {
    const std::string path = write(sample());
    change(path);
    return said(path);
  };
  const std::string epoch = sample().epoch();
  EXPECT_EQ(changed([&](const fs::path& root) { fs::remove(root / epoch / "MANIFEST"); }),
            "damaged missing_manifest");
  EXPECT_EQ(changed([&](const fs::path& root) { fs::remove_all(root / epoch); }),
            "damaged missing_epoch");
  EXPECT_EQ(changed([&](const fs::path& root) { fs::remove(root / "STORE-V2"); }),
            "damaged missing_store_v2_marker");
  EXPECT_EQ(changed([&](const fs::path& root) { fs::remove(root / sample().segment_file(1)); }),
            "damaged noncontiguous_ids");
  EXPECT_EQ(
      changed([&](const fs::path& root) { varve::test::write_file(root / epoch / "stray", "x"); }),
      "damaged unrelated_epoch_entry");
  EXPECT_EQ(changed([&](const fs::path& root) { fs::create_directory(root / "segments"); }),
            "damaged segments_beside_epochs");
  EXPECT_EQ(changed([&](const fs::path& root) { fs::resize_file(root / "CURRENT", 75); }),
            "damaged incomplete_current");
  EXPECT_EQ(changed([&](const fs::path& root) {
              const auto last = root / sample().segment_file(4);
              fs::resize_file(last, fs::file_size(last) - 1);
            }),
            "torn incomplete_record");
  // Without CURRENT nobody can say which epoch is the truth.
  EXPECT_EQ(changed([&](const fs::path& root) { fs::remove(root / "CURRENT"); }),
            "unknown store_v2_requires_v2_recovery");
}

TEST_F(V2Root, WhatPartTwoLeavesOpenIsUnknown) {
  V2Store store = sample();
  const std::string path = write(store);
  const fs::path file = fs::path(path) / store.epoch() / "MANIFEST";
  // A manifest with one more key, as release candidates write it.
  Bytes bytes = to_bytes(varve::test::read_file(file));
  bytes.resize(bytes.size() - 4);
  base::store_be(bytes.data() + 13, std::uint32_t{11});
  ValueWriter more(bytes);
  more.text("zz_availability_frontier"), more.integer(3);
  base::store_be(bytes.data() + 8, static_cast<std::uint32_t>(bytes.size() - 12));
  base::ByteWriter(bytes).u32be(base::crc32c(bytes));
  varve::test::write_file(file, as_string(bytes));
  Bytes current;
  encode_current({store.store_id, store.epoch_id, base::sha256(bytes)}, current);
  varve::test::write_file(fs::path(path) / "CURRENT", as_string(current));
  EXPECT_EQ(said(path), "unknown manifest_not_understood");
}

TEST_F(V2Root, RulesOfSnapshotsAndMutations) {
  const auto base_of = [&](std::vector<Bytes> payloads) {
    V2Store store;
    store.base = {std::move(payloads)};
    return said(write(store));
  };
  EXPECT_EQ(base_of({available(2, 1), available(1, 2)}), "damaged snapshot_order");
  EXPECT_EQ(base_of({available(1, 1), available(1, 2)}), "damaged snapshot_order");
  EXPECT_EQ(base_of({available(1, 1), available(2, 3)}), "damaged availability_order");

  const auto tail_of = [&](std::vector<Bytes> payloads) {
    V2Store store = sample();
    store.tail = {std::move(payloads)};
    return said(write(store));
  };
  EXPECT_EQ(tail_of({inserted(9, 4), inserted(10, 5)}), "clean ");
  EXPECT_EQ(tail_of({inserted(9, 3)}), "damaged availability_order");
  EXPECT_EQ(tail_of({inserted(9, 4), inserted(10, 6)}), "damaged availability_order");
  EXPECT_EQ(tail_of({inserted(9, 0)}), "damaged availability_order");
  EXPECT_EQ(tail_of({inserted(1, 4)}), "damaged invalid_transition");
  EXPECT_EQ(tail_of({started(1, 3)}), "damaged invalid_transition");
  EXPECT_EQ(tail_of({started(1, 2, 2)}), "damaged invalid_transition");
  EXPECT_EQ(tail_of({succeeded(1, 2)}), "damaged invalid_transition");
  EXPECT_EQ(tail_of({started(1, 2), succeeded(1, 3), started(1, 4)}), "damaged invalid_transition");
}

// A snapshot must be a state that events could have produced (section 20).
TEST_F(V2Root, ImpossibleSnapshotsAreRefused) {
  const auto accepted = [&](const std::function<void(Job&)>& change) {
    Job job;
    job.id = v2_id(1);
    job.revision = 3;
    job.cycle = 1;
    job.attempt = 1;
    job.attempted_at = 200;
    change(job);
    const Bytes payload = snapshot_of(job);
    V2Snapshot out;
    const auto fault = decode_snapshot(payload, k_budget, out);
    EXPECT_TRUE(!fault || std::string_view(fault->word) == "invalid_event");
    return !fault;
  };
  const auto executing = [](Job& job) {
    job.state = JobState::executing;
    job.execution = 3;
    job.next_attempt = 1;
  };
  const auto completed = [](Job& job) {
    job.state = JobState::completed;
    job.completed_at = job.terminal_at = 300;
  };
  const auto retryable = [](Job& job) {
    job.state = JobState::retryable;
    job.diagnostic = 1;
    job.next_attempt = 2;
    job.eligible_at = 1400;
  };
  EXPECT_TRUE(accepted(executing));
  EXPECT_TRUE(accepted(completed));
  EXPECT_TRUE(accepted(retryable));
  EXPECT_FALSE(accepted([&](Job& job) { executing(job), job.execution = 2; }));
  EXPECT_FALSE(accepted([&](Job& job) { executing(job), job.next_attempt = 2; }));
  EXPECT_FALSE(accepted([&](Job& job) { executing(job), job.attempted_at = k_nil; }));
  EXPECT_FALSE(accepted([&](Job& job) { completed(job), job.terminal_at = 301; }));
  EXPECT_FALSE(accepted([&](Job& job) { completed(job), job.terminal_at = k_nil; }));
  EXPECT_FALSE(accepted([&](Job& job) { completed(job), job.cycle = 4; }));
  EXPECT_FALSE(accepted([&](Job& job) { completed(job), job.attempt = 11; }));
  EXPECT_FALSE(accepted([&](Job& job) { retryable(job), job.diagnostic = 0; }));
  EXPECT_FALSE(accepted([&](Job& job) { retryable(job), job.available_sequence = 1; }));
  EXPECT_FALSE(accepted([&](Job& job) { job.state = JobState::scheduled, job.next_attempt = 1; }));
}

// No verb that writes understands a Store v2.
TEST_F(V2Root, WritingVerbsLeaveItAlone) {
  const std::string path = write(sample());
  const std::string before = varve::test::tree_snapshot(path);
  EXPECT_FALSE(format().recover(io::posix_file_system(), path, {}));
  EXPECT_FALSE(format().seal(io::posix_file_system(), path, {}));
  EXPECT_FALSE(format().open_appender(io::posix_file_system(), path, {}));
  EXPECT_EQ(varve::test::tree_snapshot(path), before);
}

}  // namespace
}  // namespace varve::tay::test
