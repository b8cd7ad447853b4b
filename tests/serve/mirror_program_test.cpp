// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve mirror` as a program: killed again and again, its exit codes, its documents.
#include <random>

#include "tests/serve/remote_support.hpp"

namespace varve::serve::test {
namespace {

namespace fs = std::filesystem;
using varve::test::run_tool;
using varve::test::RunResult;

// Starts the program with its output thrown away; gives its process.
pid_t start(const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> words;
    for (const std::string& argument : arguments) {
      words.push_back(const_cast<char*>(argument.c_str()));
    }
    words.push_back(nullptr);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  return child;
}

constexpr std::uint64_t k_lost_bytes = 384 << 10;

// Three segments of ten megabytes: payloads that do not compress.
fs::path make_bulky_archive(const fs::path& at) {
  io::FileSystem& files = io::posix_file_system();
  EXPECT_TRUE(jss::Writer::create(files, at.string()));
  jss::WriterOptions options;
  options.block_rows = 200;
  auto writer = jss::Writer::open(files, at.string(), options);
  EXPECT_TRUE(writer);
  jss::test::RowMaker rows(3, 60);
  std::mt19937_64 random(3);
  for (int i = 0; i < 7500; ++i) {
    jss::test::Row row = rows.next();
    row.payload.resize(4096);
    for (std::size_t at_byte = 0; at_byte < row.payload.size(); at_byte += 8) {
      const std::uint64_t word = random();
      row.payload.replace(at_byte, 8, reinterpret_cast<const char*>(&word), 8);
    }
    EXPECT_TRUE((*writer)->append(row.event()));
    if (i % 2500 == 2499) {
      EXPECT_TRUE((*writer)->seal());
    }
  }
  EXPECT_TRUE((*writer)->close());
  return at;
}

class MirrorProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(VARVE_TEST_TOOL).empty()) {
      GTEST_SKIP() << "the program is not built";
    }
  }
  static void expect_fits_schema(const std::string& document) {
    varve::test::RunOptions options;
    options.input = document;
    const RunResult checked = varve::test::run_command(
        {"python3", VARVE_TEST_SOURCE_DIR "/tests/cli/check_json.py", "mirror"}, options);
    EXPECT_TRUE(checked.exit_code == 0 || checked.exit_code == 77) << checked.err << document;
  }
  std::uint64_t bytes_of_sealed(const fs::path& archive) const {
    std::uint64_t out = 0;
    for (const auto& entry : fs::directory_iterator(archive)) {
      const std::string content = varve::test::read_file(entry.path());
      out += content.substr(4, 8) == std::string(8, '\0') ? 0 : content.size();
    }
    return out;
  }

  ScratchDirectory scratch_;
  fs::path copy_ = scratch_ / "copy";
};

TEST_F(MirrorProgram, KilledTenTimesItFetchesLittleTwice) {
  const fs::path archive = make_bulky_archive(scratch_ / "archive");
  const std::uint64_t size = bytes_of_sealed(archive);
  ArchiveServer server(archive);
  server.tamper([&](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.bytes_per_second = size / 4;
    }
  });
  std::mt19937 random(5);
  for (int kill = 0; kill < 10; ++kill) {
    const pid_t child = start({VARVE_TEST_TOOL, "mirror", server.url(), copy_.string()});
    ASSERT_GT(child, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + random() % 250));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  server.tamper(nullptr);
  const RunResult last = run_tool({"mirror", server.url(), copy_.string()});
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(run_tool({"verify", copy_.string()}).exit_code, 0);
  // A kill loses what was in the kernel or not yet a whole piece, of the three segments under way:
  // far less than a part of 16 MiB, and than what a killed run has fetched.
  RecordProperty("sent_twice", static_cast<int>(server.segment_bytes() - size));
  EXPECT_LE(server.segment_bytes(), size + 10 * 3 * k_lost_bytes);
  EXPECT_EQ(run_tool({"diff", copy_.string(), server.url()}).exit_code, 0);
}

TEST_F(MirrorProgram, SaysWhatItDid) {
  const fs::path archive = make_archive(scratch_ / "archive");
  ArchiveServer server(archive);
  const RunResult first = run_tool({"mirror", server.url(), copy_.string()});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("added  seg_0000000003.jss"), std::string::npos) << first.out;
  const RunResult second = run_tool({"mirror", "--json", server.url(), copy_.string()});
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_TRUE(second.out.starts_with("{\"schema\":\"varve.mirror/1\",\"url\":\"" + server.url()));
  expect_fits_schema(second.out);
  EXPECT_NE(second.out.find("\"present\":4,\"bytes_fetched\":0"), std::string::npos) << second.out;
}

TEST_F(MirrorProgram, ExitCodes) {
  const fs::path archive = make_archive(scratch_ / "archive");
  ArchiveServer server(archive);
  EXPECT_EQ(run_tool({"mirror", archive.string(), copy_.string()}).exit_code, 64);
  EXPECT_EQ(run_tool({"mirror", server.url() + "/seg_0000000000.jss", copy_.string()}).exit_code,
            64);
  EXPECT_EQ(run_tool({"mirror", server.url() + "/elsewhere", copy_.string()}).exit_code, 66);

  const fs::path mine = scratch_ / "mine";
  fs::create_directory(mine);
  varve::test::write_file(mine / "seg_0000000001.jss", "mine");
  EXPECT_EQ(run_tool({"mirror", server.url(), mine.string()}).exit_code, 73);

  std::string hurt = varve::test::read_file(archive / "seg_0000000002.jss");
  hurt[900] ^= 4;
  varve::test::write_file(archive / "seg_0000000002.jss", hurt);
  const RunResult damaged = run_tool({"mirror", server.url(), (scratch_ / "b").string()});
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_NE(damaged.out.find("Decode"), std::string::npos) << damaged.out;
  expect_fits_schema(run_tool({"mirror", "--json", server.url(), (scratch_ / "b").string()}).out);
}

TEST_F(MirrorProgram, WatchesUntilItIsTold) {
  const fs::path archive = make_archive(scratch_ / "archive");
  ArchiveServer server(archive);
  const pid_t watcher =
      start({VARVE_TEST_TOOL, "mirror", "--watch", "1", server.url(), copy_.string()});
  while (server.requests("listSegments") < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ::kill(watcher, SIGTERM);
  int status = 0;
  ::waitpid(watcher, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 143);
  EXPECT_EQ(run_tool({"verify", copy_.string()}).exit_code, 0);
}

}  // namespace
}  // namespace varve::serve::test
