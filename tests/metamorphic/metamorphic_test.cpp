// SPDX-License-Identifier: MIT OR Apache-2.0
// One sequence of operations, many ways to write it: the log and the state do not depend on them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "io/simulated.hpp"
#include "output/json_lines.hpp"
#include "tests/damage/field_path.hpp"
#include "tests/metamorphic/operations.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

constexpr const char* k_path = "/store";

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : parse_number(text).value_or(otherwise);
}

class Text final : public output::ByteSink {
 public:
  Result<bool> write(std::string_view bytes) override {
    text += bytes;
    return true;
  }
  std::string text;
};

class Metamorphic : public testing::TestWithParam<std::string> {
 protected:
  using Options = std::map<std::string, std::string>;
  const Format& format_ = *find_format(GetParam());

  // How one store is written.
  struct Ways {
    Random random;
    bool plain = false;
    Options init;
    Options always;  // of every verb, reading included
  };

  Ways ways(std::uint64_t seed, bool plain) const {
    Ways out{Random(seed), plain, {}, {}};
    if (plain) {
      return out;
    }
    if (GetParam() == "arena") {
      out.init["format-version"] = std::to_string(3 + below(out.random, 2));
    } else if (GetParam() == "kladde" && below(out.random, 2) == 0) {
      out.always["dialect"] = "b";
    }
    return out;
  }

  Options append_options(Ways& w) const {
    Options out = w.always;
    if (!w.plain && GetParam() == "jss") {
      out["block-rows"] = std::to_string(1 + below(w.random, 40));
      out["rotation-bytes"] = std::to_string(300 + below(w.random, 4000));
    }
    if (!w.plain && GetParam() == "tay") {
      out["durability"] = below(w.random, 2) == 0 ? "write" : "sync";
    }
    return out;
  }

  // Runs a writing verb between two sessions.
  Result<void> keep_up(io::FileSystem& files, Ways& w) const {
    WriteRequest request;
    request.options = w.always;
    request.threads = 1 + static_cast<unsigned>(below(w.random, 3));
    const std::uint64_t verb = below(w.random, 3);
    Result<WriteReport> done;
    if (verb == 0) {
      done = format_.compact(files, k_path, request);
    } else if (verb == 1 && GetParam() == "tay") {
      done = format_.seal(files, k_path, request);
    } else if (GetParam() != "jss") {
      done = format_.recover(files, k_path, request);
    }
    if (!done && done.error().code != ErrorCode::unsupported) {
      return std::unexpected(done.error());
    }
    return {};
  }

  // Opens, appends some of what is left from `at` on, closes.
  Result<void> session(io::FileSystem& files, const std::vector<std::string>& lines, Ways& w,
                       std::size_t& at) const {
    WriteRequest request;
    request.options = append_options(w);
    request.threads = 1 + static_cast<unsigned>(below(w.random, 3));
    VARVE_ASSIGN(const auto appender, format_.open_appender(files, k_path, request));
    const std::size_t end =
        w.plain ? lines.size() : std::min(lines.size(), at + 1 + below(w.random, 60));
    while (at < end) {
      VARVE_TRY(appender->append_line(lines[at++]));
      const std::uint64_t what = w.plain ? 9 : below(w.random, 10);
      if (what == 0) {
        VARVE_TRY(appender->sync());
      } else if (what == 1) {
        VARVE_TRY(appender->flush());
      }
    }
    VARVE_TRY(appender->sync());
    return appender->close();
  }

  Result<void> write(io::FileSystem& files, const std::vector<std::string>& lines, Ways w) const {
    WriteRequest init;
    init.options = w.init;
    if (w.always.contains("dialect")) {
      init.options["dialect"] = w.always.at("dialect");
    }
    VARVE_TRY(format_.init(files, k_path, init));
    for (std::size_t at = 0; at < lines.size();) {
      VARVE_TRY(session(files, lines, w, at));
      if (!w.plain && below(w.random, 2) == 0) {
        VARVE_TRY(keep_up(files, w));
      }
    }
    return {};
  }

  // The rows without their places.
  Result<std::string> rows(io::FileSystem& files, Face face, const Options& options) const {
    OpenOptions open;
    open.options = options;
    VARVE_ASSIGN(const auto view, format_.open(files, k_path, open));
    FindingList findings;
    VARVE_ASSIGN(const VerifyReport report, view->verify({}, findings));
    EXPECT_EQ(report.verdict, Verdict::clean);
    EXPECT_EQ(findings.errors(), 0U);
    ScanRequest request;
    request.face = face;
    request.options = options;
    const output::LineRenderer renderer(*view, face, {});
    request.mapper = &renderer;
    Text out;
    output::LineSink sink(renderer, out);
    VARVE_TRY(view->scan(request, sink, findings));
    static const std::regex k_places(",\"at\":\\{\"segment[^}]*\\}");
    return std::regex_replace(out.text, k_places, "");
  }

  // Compaction drops rows of a log, a kladde flush folds it: there the state alone is compared.
  bool log_stays() const { return GetParam() == "tay"; }

  std::pair<std::string, std::string> outcome(const std::vector<std::string>& lines,
                                              const Ways& w) const {
    io::SimulatedFileSystem files;
    const auto written = write(files, lines, w);
    EXPECT_TRUE(written) << written.error().text();
    const auto state = rows(files, Face::state, w.always);
    EXPECT_TRUE(state) << state.error().text();
    const auto log = log_stays() ? rows(files, Face::log, w.always) : Result<std::string>("");
    EXPECT_TRUE(log) << log.error().text();
    return {state.value_or(""), log.value_or("")};
  }
};

TEST_P(Metamorphic, TheSameOperationsEndInTheSameLogAndState) {
  const std::uint64_t runs = setting("VARVE_METAMORPHIC_RUNS", small_run() ? 3 : 12);
  const std::uint64_t only = setting("VARVE_METAMORPHIC_SEED", 0);
  for (std::uint64_t seed = only == 0 ? 1 : only; seed <= (only == 0 ? runs : only); ++seed) {
    SCOPED_TRACE("again: VARVE_METAMORPHIC_SEED=" + std::to_string(seed));
    const auto lines = random_operations(format_, seed, 150);
    const auto expected = outcome(lines, ways(seed, true));
    EXPECT_NE(expected.first, "");
    for (std::uint64_t way = 1; way <= 3; ++way) {
      const auto found = outcome(lines, ways(seed * 1000 + way, false));
      ASSERT_EQ(found.first, expected.first) << "way " << way;
      ASSERT_EQ(found.second, expected.second) << "way " << way;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Metamorphic, testing::Values("arena", "kladde", "tay", "jss"),
                         [](const auto& format) { return format.param; });

}  // namespace
}  // namespace varve::test
