// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve torture`: the four formats hold, and writers that lie are found out.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "tests/support.hpp"
#include "verbs/torture_run.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;

enum class Lie : std::uint8_t { acknowledges_early, writes_twice, changes_bytes, fails };

// An appender over a real one that does one thing wrong.
class LyingAppender final : public Appender {
 public:
  LyingAppender(std::unique_ptr<Appender> honest, Lie lie)
      : honest_(std::move(honest)), lie_(lie) {}
  Result<void> append_line(std::string_view json) override {
    std::string line(json);
    if (++lines_ % 7 == 0) {
      if (lie_ == Lie::acknowledges_early) {
        return {};
      }
      if (lie_ == Lie::writes_twice) {
        VARVE_TRY(honest_->append_line(line));
      }
      if (lie_ == Lie::changes_bytes) {
        line.insert(line.find("\"text\":\"") + 20, "?");
      }
      if (lie_ == Lie::fails) {
        return fail(ErrorCode::io, "planted", "no");
      }
    }
    return honest_->append_line(line);
  }
  Result<std::uint64_t> sync() override { return honest_->sync(); }
  Result<std::uint64_t> flush() override { return honest_->flush(); }
  Result<void> close() override { return honest_->close(); }

 private:
  std::unique_ptr<Appender> honest_;
  Lie lie_;
  int lines_ = 0;
};

class HonestFormat : public Format {
 public:
  explicit HonestFormat(const Format& honest) : honest_(honest) {}
  std::string_view name() const override { return honest_.name(); }
  std::string_view summary() const override { return honest_.summary(); }
  std::span<const FilterSpec> filters() const override { return {}; }
  std::span<const OptionSpec> options() const override { return {}; }
  bool has_seq() const override { return true; }
  bool has_time() const override { return true; }
  Confidence detect(io::FileSystem& files, const std::string& path) const override {
    return honest_.detect(files, path);
  }
  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                          const OpenOptions& options) const override {
    return honest_.open(files, path, options);
  }
  std::optional<ProbeRecord> probe_record(std::uint64_t number,
                                          std::string_view text) const override {
    return honest_.probe_record(number, text);
  }
  Result<WriteReport> init(io::FileSystem& files, const std::string& path,
                           const WriteRequest& request) const override {
    return honest_.init(files, path, request);
  }
  Result<WriteReport> recover(io::FileSystem& files, const std::string& path,
                              const WriteRequest& request) const override {
    return honest_.recover(files, path, request);
  }
  Result<std::unique_ptr<Appender>> open_appender(io::FileSystem& files, const std::string& path,
                                                  const WriteRequest& request) const override {
    return honest_.open_appender(files, path, request);
  }

 private:
  const Format& honest_;
};

class LyingFormat final : public HonestFormat {
 public:
  LyingFormat(const Format& honest, Lie lie) : HonestFormat(honest), lie_(lie) {}
  Result<std::unique_ptr<Appender>> open_appender(io::FileSystem& files, const std::string& path,
                                                  const WriteRequest& request) const override {
    VARVE_ASSIGN(auto honest, HonestFormat::open_appender(files, path, request));
    return std::make_unique<LyingAppender>(std::move(honest), lie_);
  }

 private:
  Lie lie_;
};

// Each kill cuts the writer's last write short.
class TornFormat final : public HonestFormat {
 public:
  using HonestFormat::HonestFormat;
  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                          const OpenOptions& options) const override {
    std::vector<fs::path> segments;
    for (const auto& entry : fs::directory_iterator(fs::path(path) / "segments")) {
      segments.push_back(entry.path());
    }
    std::ofstream(std::ranges::max(segments), std::ios::app | std::ios::binary) << "TAY";
    return HonestFormat::open(files, path, options);
  }
};

class Torture : public testing::Test {
 protected:
  void SetUp() override {
    if (thread_sanitized()) {
      GTEST_SKIP() << "ThreadSanitizer does not follow forks";
    }
  }
  cli::TortureResult torture(const Format& format, std::uint64_t rounds) {
    cli::TortureRequest request;
    request.seed = 5;
    request.rounds = rounds;
    request.directory = scratch_.path().string();
    return cli::torture(io::posix_file_system(), format, request).value();
  }
  ScratchDirectory scratch_;
};

TEST_F(Torture, EveryFormatHolds) {
  for (const Format* format : formats()) {
    SCOPED_TRACE(format->name());
    const cli::TortureResult result = torture(*format, 5);
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.rounds, 5U);
    EXPECT_GE(result.found, result.acknowledged);
    EXPECT_GT(result.acknowledged, 0U);
    EXPECT_TRUE(fs::is_empty(scratch_.path()));
  }
}

// tay's engine refuses a log that ends inside a record, which a kill in the middle of a write
// leaves now and then: nothing is lost, and the next writer begins another store.
TEST_F(Torture, AStoreThatItsFormatDoesNotCarryOnIsFollowedByAnother) {
  const cli::TortureResult result = torture(TornFormat(*find_format("tay")), 4);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.rounds, 4U);
  EXPECT_EQ(result.torn, 4U);
  EXPECT_EQ(result.stores, 4U);
}

TEST_F(Torture, ALiarIsFoundOutAndItsStoreKept) {
  const Format& honest = *find_format("jss");
  const struct {
    Lie lie;
    const char* says;
  } cases[] = {{Lie::acknowledges_early, "is not record"},
               {Lie::writes_twice, "is not record"},
               {Lie::changes_bytes, "is not record"},
               {Lie::fails, "the writer's call failed"}};
  for (const auto& planted : cases) {
    const cli::TortureResult result = torture(LyingFormat(honest, planted.lie), 30);
    EXPECT_THAT(result.failure, HasSubstr(planted.says));
    ASSERT_TRUE(fs::exists(result.kept));
    fs::remove_all(result.kept);
  }
}

TEST_F(Torture, TheProgramSaysWhatItFound) {
  const std::string directory = (scratch_ / "made").string();
  const RunResult text =
      run_tool({"torture", "--rounds", "2", "--seed", "3", "--format", "tay", directory});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("nothing acknowledged was lost (seed 3)"));
  const RunResult json = run_tool({"torture", "--rounds", "1", "--json", directory});
  EXPECT_THAT(json.out, HasSubstr("\"verdict\":\"nothing_lost\""));
  EXPECT_THAT(json.out, HasSubstr("\"format\":\"kladde\",\"rounds\":1"));
  EXPECT_EQ(run_tool({"torture", "--rounds", "0", directory}).exit_code, 64);
  EXPECT_EQ(run_tool({"torture", "/dev/null/x"}).exit_code, 66);
  // Nothing is written over what is there.
  fs::create_directory(fs::path(directory) / "torture-tay-0");
  EXPECT_EQ(run_tool({"torture", "--format", "tay", "--rounds", "1", directory}).exit_code, 73);
}

}  // namespace
}  // namespace varve::test
