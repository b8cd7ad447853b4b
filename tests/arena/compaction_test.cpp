// SPDX-License-Identifier: MIT OR Apache-2.0
// Compaction: the state before is the state after, what was appended meanwhile is carried over,
// and what is not understood is refused.
#include "compaction_support.hpp"
#include "tests/support.hpp"

namespace varve::arena {
namespace {

using namespace test;

std::unique_ptr<Journal> store_of(io::SimulatedFileSystem& files,
                                  const std::vector<std::string>& transactions) {
  put_store(files, k_compacted);
  auto journal = must_open(files, "/store", k_compacted);
  for (const std::string& payload : transactions) {
    const auto done = append(*journal, payload);
    EXPECT_TRUE(done.has_value()) << done.error().text();
  }
  return journal;
}

std::vector<std::string> random_transactions(std::uint32_t seed, bool shared_ids,
                                             std::size_t count) {
  Transactions source(seed, shared_ids);
  std::vector<std::string> out;
  while (out.size() < count) {
    out.push_back(source.next());
  }
  return out;
}

// Where each kind of thing has its own ids, every state can be written again.
TEST(ArenaCompaction, TheStateAfterIsTheStateBefore) {
  for (std::uint32_t seed = 1; seed <= varve::test::scaled(160); ++seed) {
    io::SimulatedFileSystem files;
    const auto journal = store_of(files, random_transactions(seed, false, 60));
    const auto before = state_lines(files, "/store");
    const auto done = journal->compact();
    ASSERT_TRUE(done.has_value()) << seed << ": " << done.error().text();
    EXPECT_EQ(done->warning, "");
    ASSERT_EQ(state_lines(files, "/store"), before) << seed;
    EXPECT_EQ(frames_in(files), done->frames_of_state);
    // And it is the state that a compaction of the compacted log leads to.
    ASSERT_TRUE(journal->compact().has_value()) << seed;
    ASSERT_EQ(state_lines(files, "/store"), before) << seed;
    EXPECT_EQ(verify(*open_view(files, "/store", {}, k_compacted)).report.verdict, Verdict::clean);
  }
}

// Where one id is a vector, then a triplet, then an atom, there may be no short log that leads to
// the same state. Then nothing happens.
TEST(ArenaCompaction, IdsOfSeveralUsesEitherKeepTheirStateOrAreRefused) {
  std::uint64_t compacted = 0;
  std::uint64_t refused = 0;
  for (std::uint32_t seed = 1; seed <= varve::test::scaled(320); ++seed) {
    io::SimulatedFileSystem files;
    const auto journal = store_of(files, random_transactions(seed, true, 40));
    const auto before = state_lines(files, "/store");
    const std::uint64_t hash = files.hash();
    const auto done = journal->compact();
    if (done) {
      ++compacted;
    } else {
      ++refused;
      EXPECT_EQ(done.error().reason, "state-not-reproducible") << done.error().text();
      EXPECT_EQ(files.hash(), hash) << seed;
    }
    ASSERT_EQ(state_lines(files, "/store"), before) << seed;
    ASSERT_TRUE(append(*journal, txn(R"({"Delete":{"id":"x1"}})")).has_value());
  }
  EXPECT_GT(compacted, 0U);
  RecordProperty("compacted", std::to_string(compacted));
  RecordProperty("refused", std::to_string(refused));
}

TEST(ArenaCompaction, FramesAppendedMeanwhileAreCarriedOver) {
  for (std::uint32_t seed = 1; seed <= varve::test::scaled(48); ++seed) {
    io::SimulatedFileSystem files;
    const auto journal = store_of(files, random_transactions(seed, false, 30));
    const auto later = random_transactions(seed + 1000, false, 20);
    BusySource source(files, *journal, later);
    const auto done = journal->compact(source);
    ASSERT_TRUE(done.has_value()) << done.error().text();
    EXPECT_EQ(done->frames_carried, later.size());
    const auto after = state_lines(files, "/store");
    io::SimulatedFileSystem plain;
    auto all = random_transactions(seed, false, 30);
    all.insert(all.end(), later.begin(), later.end());
    (void)store_of(plain, all);
    ASSERT_EQ(after, state_lines(plain, "/store")) << seed;
  }
}

TEST(ArenaCompaction, LeavesOneGenerationAndTheSameGeometry) {
  io::SimulatedFileSystem files;
  const auto journal = store_of(files, random_transactions(3, false, 60));
  ASSERT_TRUE(files.add_directory("/store/vectors_data.bin/gen-1-2"));
  put(files, "/store/vectors_data.bin/gen-1-2/seg_0.bin", "left by a crash");
  put(files, "/store/vectors_data.bin/.CURRENT.tmp-1", "gen-1-2");
  for (int round = 0; round < 3; ++round) {
    const auto done = journal->compact();
    ASSERT_TRUE(done.has_value()) << done.error().text();
    EXPECT_EQ(done->warning, "");
    EXPECT_EQ(done->old_generation == "vectors_data.bin", round == 0);
    const std::string arena = "/store/vectors_data.bin/";
    EXPECT_EQ(text_of_file(files, arena + "CURRENT"), done->new_generation);
    EXPECT_EQ(text_of_file(files, arena + done->new_generation + "/format.json"),
              text_of_file(files, arena + "format.json"));
    for (const std::string& path : files.paths("/store/vectors_data.bin")) {
      EXPECT_TRUE(path == "format.json" || path == "CURRENT" ||
                  path.starts_with(done->new_generation))
          << path;
    }
    EXPECT_EQ(journal->end().generation, done->new_generation);
    ASSERT_TRUE(append(*journal, random_transactions(9, false, 1)[0]).has_value());
  }
}

constexpr const char* k_document_without_text =
    R"({"Document":{"id":"d","source_uri":null,"version":"1","metadata":null,"chunks":[)"
    R"({"id":"hms:chunk:1:d:0","text":null,"start_byte":0,"end_byte":5,)"
    R"("vector":{"dim":4096,"indices":[1]},"embedding":null,"terms":{},"word_count":1}]}})";

TEST(ArenaCompaction, TextThatTheLogLacksIsAskedForAndWrittenInline) {
  io::SimulatedFileSystem files;
  const auto journal = store_of(files, {txn(k_document_without_text)});
  const std::uint64_t hash = files.hash();
  const auto refused = journal->compact();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "document-text-missing");
  EXPECT_EQ(files.hash(), hash);
  const auto text = [](std::string_view document, std::string_view chunk, std::uint64_t start,
                       std::uint64_t end) -> std::optional<std::string> {
    EXPECT_EQ(document, "d");
    EXPECT_EQ(chunk, "hms:chunk:1:d:0");
    return std::string("hello").substr(start, end - start);
  };
  ASSERT_TRUE(journal->compact(text).has_value());
  const auto frames = read_log(files, "/store", k_compacted);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_NE(frames[0].payload.find(R"("text":"hello")"), std::string::npos);
}

// The reason of the refusal, which changes nothing; or "done".
std::string refusal(const std::string& schema, const std::string& payload,
                    const std::string& file_that_appears = "") {
  io::SimulatedFileSystem files;
  put_store(files, k_compacted);
  if (schema.empty()) {
    EXPECT_TRUE((*files.open_directory("/store"))->remove_file("store.json"));
  } else {
    put(files, "/store/store.json", schema);
  }
  JournalOptions options = quiet_options();
  options.check_payloads = false;
  auto journal = open_journal(files, "/store", options, k_compacted);
  if (!journal) {
    return "not opened: " + journal.error().reason;
  }
  EXPECT_TRUE(append(**journal, payload).has_value());
  if (!file_that_appears.empty()) {
    put(files, file_that_appears, "x");
  }
  const std::uint64_t hash = files.hash();
  const auto done = (*journal)->compact();
  if (done) {
    return "done";
  }
  EXPECT_EQ(files.hash(), hash);
  return done.error().reason;
}

TEST(ArenaCompaction, RefusesWhatItDoesNotUnderstand) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string schema = k_schema_2;
    return schema.replace(schema.find(from), from.size(), to);
  };
  const std::string good = txn(R"({"Delete":{"id":"v"}})");
  EXPECT_EQ(refusal(k_schema_2, good), "done");
  EXPECT_EQ(refusal("", good), "no-schema");
  EXPECT_EQ(refusal(with("\"encrypted\":false", "\"encrypted\":true"), good),
            "unsupported-payload");
  EXPECT_EQ(refusal(with("\"version\":2", "\"version\":3"), good), "unsupported-schema");
  EXPECT_EQ(refusal(k_schema_2, std::string(k_txn3_magic) + "\x01"), "unsupported-payload");
  EXPECT_EQ(refusal(k_schema_2, "no transaction"), "bad-payload");
  const std::string checkpoint = "/store/vectors_data.bin/documents.ckpt";
  EXPECT_EQ(refusal(k_schema_2, good, checkpoint), "checkpoint-unsupported");
  io::SimulatedFileSystem files;
  put_store(files, k_compacted);
  put(files, "/store/vectors_data.bin/seg_0.bin", "");
  put(files, checkpoint, "x");
  EXPECT_EQ(open_journal(files, "/store", quiet_options(), k_compacted).error().reason,
            "checkpoint-unsupported");
}

TEST(ArenaCompaction, OneAtATimeAndNotOnAClosedJournal) {
  io::SimulatedFileSystem files;
  const auto journal = store_of(files, random_transactions(1, false, 5));
  class Nested final : public LiveStateSource {
   public:
    explicit Nested(Journal& journal) : journal_(journal) {}
    Result<void> freeze(const JournalEnd&) override { return {}; }
    Result<void> write(PayloadSink& sink) override {
      // From another thread: a mutex must not be tried by the one that holds it.
      std::jthread([&] { inner = journal_.compact().error().code; }).join();
      return sink.add(base::as_bytes(std::string_view("one frame")));
    }
    Result<std::optional<std::string>> carry(std::span<const std::byte>) override {
      return std::optional<std::string>();
    }
    Result<void> confirm(std::span<const std::byte>) override { return {}; }
    Result<void> confirmed() override { return {}; }
    ErrorCode inner = ErrorCode::io;

   private:
    Journal& journal_;
  };
  Nested source(*journal);
  ASSERT_TRUE(journal->compact(source).has_value());
  EXPECT_EQ(source.inner, ErrorCode::locked);
  EXPECT_EQ(payloads_in(read_log(files, "/store", k_compacted)),
            std::vector<std::string>{"one frame"});
  ASSERT_TRUE(journal->close().has_value());
  EXPECT_EQ(journal->compact(source).error().code, ErrorCode::poisoned);
}

}  // namespace
}  // namespace varve::arena
