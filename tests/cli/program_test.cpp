// SPDX-License-Identifier: MIT OR Apache-2.0
// The program as its users meet it, over formats that exist only here.
#include <gmock/gmock.h>

#include "cli/exit_codes.hpp"
#include "cli/session.hpp"
#include "tests/cli/fake_format.hpp"

namespace varve::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A scratch directory with one store of every condition.
class Program : public testing::Test {
 protected:
  Program() {
    write_file(scratch_ / "clean", "LINES 1\n10 one\n20 two\n30 three\n");
    write_file(scratch_ / "torn", "LINES 1\n10 one\n20 tw");
    write_file(scratch_ / "hurt", "LINES 1\n10 one\n!!\n30 three\n!!\n");
    write_file(scratch_ / "newer", "LINES 2\n");
    write_file(scratch_ / "wreck.lines", "....");
    write_file(scratch_ / "bare", "BARE\n");
    write_file(scratch_ / "text", "hello\n");
  }
  std::string at(const char* name) const { return (scratch_ / name).string(); }
  ScratchDirectory scratch_;
};

TEST_F(Program, VerdictsBecomeExitCodes) {
  EXPECT_EQ(run_fake({"verify", at("clean")}).exit_code, 0);
  EXPECT_EQ(run_fake({"verify", at("torn")}).exit_code, 1);
  EXPECT_EQ(run_fake({"verify", at("hurt")}).exit_code, 2);
  EXPECT_EQ(run_fake({"verify", at("newer")}).exit_code, 3);
  EXPECT_EQ(run_fake({"verify", at("wreck.lines")}).exit_code, 2);
  EXPECT_EQ(run_fake({"verify", at("text")}).exit_code, 66);
  EXPECT_EQ(run_fake({"verify", at("missing")}).exit_code, 66);
  EXPECT_EQ(run_fake({"verify", scratch_.path().string()}).exit_code, 66);
}

TEST_F(Program, SeveralStoresCombineTheirCodesAndPrintJsonLines) {
  EXPECT_EQ(run_fake({"verify", at("clean"), at("torn")}).exit_code, 1);
  EXPECT_EQ(run_fake({"verify", at("torn"), at("newer")}).exit_code, 3);
  EXPECT_EQ(run_fake({"verify", at("newer"), at("hurt"), at("torn")}).exit_code, 2);
  EXPECT_EQ(run_fake({"verify", at("hurt"), at("missing"), at("clean")}).exit_code, 66);
  const RunResult lines = run_fake({"verify", "--json", at("clean"), at("missing"), at("torn")});
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 3);
  EXPECT_THAT(lines.out, HasSubstr("\n{\"schema\":\"varve.error/1\""));
  EXPECT_EQ(cli::combined_exit_code(66, 77), 77);
  EXPECT_EQ(cli::combined_exit_code(77, 74), 74);
  EXPECT_EQ(cli::combined_exit_code(74, 2), 74);
}

TEST_F(Program, VerifyDocumentHasTheContractsKeys) {
  const RunResult result = run_fake({"verify", "--json", at("hurt")});
  EXPECT_THAT(
      result.out,
      StartsWith("{\"schema\":\"varve.verify/1\",\"path\":\"" + at("hurt") +
                 "\",\"format\":\"lines\",\"version\":1,\"verdict\":\"damaged\","
                 "\"counts\":{\"files\":1,\"segments\":1,\"units\":5,\"records\":4,\"bytes\":30},"
                 "\"intact\":{\"records\":2},\"lost\":{\"records\":2},\"unknown\":{\"records\":0},"
                 "\"findings\":[{\"severity\":\"error\",\"verdict\":\"damaged\","
                 "\"code\":\"line_checksum\",\"file\":\"\",\"offset\":15,\"length\":3,"
                 "\"unit\":\"line\",\"index\":1,\"expected\":\"0x1A2B3C4D\","
                 "\"actual\":\"0x00000000\",\"message\":\"the line's checksum does not hold\"},"));
  EXPECT_EQ(result.err, "");
}

TEST_F(Program, VerifyTellsAPersonWhereWhyAndWhatNext) {
  const RunResult hurt = run_fake({"verify", at("hurt")});
  EXPECT_THAT(hurt.out, StartsWith("damaged  " + at("hurt")));
  EXPECT_THAT(hurt.out, HasSubstr("error     15      line_checksum  the line's checksum does not "
                                  "hold; expected 0x1A2B3C4D, found"));
  EXPECT_THAT(hurt.out, HasSubstr("2 intact, 2 lost"));
  EXPECT_THAT(hurt.out, HasSubstr("varve explain " + at("hurt") + " @15"));
  EXPECT_THAT(hurt.out, Not(HasSubstr("\x1b")));
  const RunResult torn = run_fake({"verify", at("torn")});
  EXPECT_THAT(torn.out, HasSubstr("The lines engine opens such a file."));
  EXPECT_THAT(run_fake({"verify", "--color", "always", at("hurt")}).out, HasSubstr("\x1b[31m"));
}

TEST_F(Program, AVerdictThatOpeningGivesIsADocumentToo) {
  const RunResult newer = run_fake({"verify", "--json", at("newer")});
  EXPECT_THAT(newer.out, HasSubstr("\"verdict\":\"unknown\""));
  EXPECT_THAT(newer.out, HasSubstr("\"code\":\"unsupported_version\",\"file\":\"\""));
}

TEST_F(Program, ManyFindingsAreCutWithTheirTotals) {
  std::string content = "LINES 1\n";
  for (int i = 0; i < 50; ++i) {
    content += "!\n";
  }
  write_file(scratch_ / "many", content);
  const RunResult json = run_fake({"verify", "--json", "--max-findings", "3", at("many")});
  EXPECT_THAT(json.out, HasSubstr("\"code\":\"findings_truncated\""));
  EXPECT_THAT(json.out, HasSubstr("\"totals\":{\"errors\":50,\"warnings\":0,\"notes\":0}"));
  const RunResult cat = run_fake({"cat", "--max-findings", "2", at("many")});
  EXPECT_THAT(cat.err, HasSubstr("and 48 findings more"));
  EXPECT_EQ(cat.exit_code, 2);
}

TEST_F(Program, AFormatsOwnExitCodes) {
  EXPECT_EQ(run_fake({"verify", "--exit-codes", "old", at("hurt")}).exit_code, 42);
  EXPECT_EQ(run_fake({"verify", "--exit-codes", "old", at("clean")}).exit_code, 0);
  EXPECT_EQ(run_fake({"verify", "--exit-codes", "new", at("hurt")}).exit_code, 64);
  EXPECT_EQ(run_fake({"verify", "--exit-codes", "old", at("bare")}).exit_code, 64);
}

TEST_F(Program, CatPrintsWhatIsProvenAndNamesGaps) {
  const RunResult hurt = run_fake({"cat", at("hurt")});
  EXPECT_EQ(hurt.out, "{\"seq\":1,\"text\":\"one\"}\n{\"seq\":3,\"text\":\"three\"}\n");
  EXPECT_EQ(hurt.exit_code, 2);
  EXPECT_THAT(hurt.err, HasSubstr("hurt: byte 15: error: line_checksum"));
  const RunResult strict = run_fake({"cat", "--strict", at("hurt")});
  EXPECT_EQ(strict.out, "{\"seq\":1,\"text\":\"one\"}\n");
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_EQ(run_fake({"cat", at("torn")}).exit_code, 1);
}

TEST_F(Program, CatFilters) {
  const auto out = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "cat");
    options.insert(options.end(), {"--payload", "none", at("clean")});
    return run_fake(options).out;
  };
  EXPECT_EQ(out({"--seq", "2..3"}), "{\"seq\":2}\n{\"seq\":3}\n");
  EXPECT_EQ(out({"--seq", "..1"}), "{\"seq\":1}\n");
  EXPECT_EQ(out({"--seq", "3"}), "{\"seq\":3}\n");
  EXPECT_EQ(out({"--since", "20", "--until", "30"}), "{\"seq\":2}\n");
  EXPECT_EQ(out({"--until", "1970-01-01T00:00:00.000020Z"}), "{\"seq\":1}\n");
  EXPECT_EQ(out({"--word", "one", "--word=three"}), "{\"seq\":1}\n{\"seq\":3}\n");
  EXPECT_EQ(out({"--reverse", "--limit", "1"}), "{\"seq\":3}\n");
  EXPECT_EQ(out({"--int64", "string", "--limit", "1"}), "{\"seq\":\"1\"}\n");
  EXPECT_EQ(run_fake({"cat", "--as", "v1", "--limit", "1", at("clean")}).out,
            "{\"seq\":1,\"text\":\"onev1\"}\n");
  EXPECT_EQ(run_fake({"cat", "--plan", "--word", "a", at("clean")}).out,
            "{\"schema\":\"varve.plan/1\",\"terms\":1}\n");
  EXPECT_EQ(run_fake({"state", "--word", "two", at("clean")}).out, "{\"id\":2,\"text\":\"two\"}\n");
}

TEST_F(Program, OptionsThatDoNotFitAreWrongUsage) {
  const auto code = [&](std::vector<std::string> words) { return run_fake(words).exit_code; };
  EXPECT_EQ(code({"cat", "--word", "x", at("bare")}), 64);
  EXPECT_EQ(code({"cat", "--seq", "1..2", at("bare")}), 64);
  EXPECT_EQ(code({"cat", "--since", "5", at("bare")}), 64);
  EXPECT_EQ(code({"cat", "--until", "5", at("bare")}), 64);
  EXPECT_EQ(code({"cat", at("bare")}), 0);
  EXPECT_EQ(code({"cat", "--as", "v3", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--seq", "3..2", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--seq", "", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--since", "yesterday", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--limit", "-1", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--limit", "1", "--limit", "2", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--payload", "xml", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--max-memory", "1X", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--threads", "two", at("clean")}), 64);
  EXPECT_EQ(code({"cat", "--nonsense", at("clean")}), 64);
  EXPECT_EQ(code({"cat"}), 64);
  EXPECT_EQ(code({"cat", at("clean"), at("torn")}), 64);
  EXPECT_EQ(code({"cat", "--format", "tar", at("clean")}), 64);
  EXPECT_EQ(code({"seal", at("clean")}), 64);
  EXPECT_EQ(code({"purr", at("clean")}), 64);
  EXPECT_EQ(code({"--json", "verify", at("clean")}), 64);
  EXPECT_EQ(code({}), 64);
  const RunResult message = run_fake({"cat", "--word", "x", at("bare")});
  EXPECT_EQ(message.err, "varve: " + at("bare") +
                             ": --word has no meaning for a bare store (only for: lines)\n");
  EXPECT_THAT(run_fake({"verfy"}).err, HasSubstr("did you mean `varve verify`?"));
}

TEST_F(Program, FailuresAreDocumentsWithJson) {
  const RunResult missing = run_fake({"info", "--json", at("missing")});
  EXPECT_EQ(missing.exit_code, 66);
  EXPECT_THAT(missing.out, HasSubstr("\"schema\":\"varve.error/1\""));
  EXPECT_THAT(missing.out, HasSubstr("\"exit_code\":66"));
  EXPECT_THAT(missing.err, HasSubstr("No such file"));
  const RunResult usage = run_fake({"info", "--json", "--nonsense", at("clean")});
  EXPECT_THAT(usage.out, HasSubstr("\"exit_code\":64"));
}

TEST_F(Program, ForcingAFormatOverrulesContent) {
  const RunResult forced = run_fake({"verify", "--format", "lines", at("text")});
  EXPECT_EQ(forced.exit_code, 2);
  EXPECT_THAT(forced.out, HasSubstr("the first line is hurt"));
}

TEST_F(Program, InfoForPeopleAndForPrograms) {
  const RunResult text = run_fake({"info", at("clean")});
  EXPECT_THAT(text.out, HasSubstr("lines version 1"));
  EXPECT_THAT(text.out, HasSubstr("1970-01-01T00:00:00.000010Z to 1970-01-01T00:00:00.000030Z"));
  EXPECT_THAT(text.out, HasSubstr("units     only a full scan tells"));
  const RunResult json = run_fake({"info", "--json", at("clean")});
  EXPECT_THAT(json.out, HasSubstr("\"units\":null,\"records\":3,\"first_seq\":1,\"last_seq\":3,"
                                  "\"first_time\":10,\"last_time\":30,\"sealed\":false"));
  EXPECT_THAT(json.out, HasSubstr("\"large\":18446744073709551615"));
  EXPECT_THAT(run_fake({"info", "--json", "--int64", "string", at("clean")}).out,
              HasSubstr("\"large\":\"18446744073709551615\""));
}

TEST_F(Program, GetPrintsOrWritesAndNeverOverwrites) {
  EXPECT_EQ(run_fake({"get", at("clean"), "2"}).out, "{\"seq\":2,\"text\":\"two\"}\n");
  EXPECT_EQ(run_fake({"get", "--json", at("clean"), "2"}).out,
            "{\"schema\":\"varve.get/1\",\"seq\":2,\"text\":\"two\"}\n");
  EXPECT_EQ(run_fake({"get", at("clean"), "9"}).exit_code, 64);
  EXPECT_EQ(run_fake({"get", at("clean"), "2", "-o", at("new")}).exit_code, 0);
  EXPECT_EQ(read_file(scratch_ / "new"), "two");
  EXPECT_EQ(run_fake({"get", at("clean"), "1", "-o", at("new")}).exit_code, 73);
  EXPECT_EQ(read_file(scratch_ / "new"), "two");
  EXPECT_EQ(run_fake({"get", at("clean"), "1", "-o", at("new"), "--force"}).exit_code, 0);
  EXPECT_EQ(read_file(scratch_ / "new"), "one");
  EXPECT_EQ(run_fake({"get", at("clean"), "1", "-o", at("no/such")}).exit_code, 73);
}

TEST_F(Program, ExplainNamesEveryByte) {
  const RunResult text = run_fake({"explain", at("hurt")});
  EXPECT_THAT(text.out, HasSubstr("4c494e455320310a"));
  EXPECT_THAT(text.out, HasSubstr("WRONG"));
  EXPECT_EQ(text.exit_code, 2);
  const RunResult json = run_fake({"explain", "--json", at("clean"), "@9"});
  EXPECT_THAT(json.out, StartsWith("{\"schema\":\"varve.explain/1\",\"path\":\"" + at("clean") +
                                   "\",\"format\":\"lines\",\"rows\":[\n{\"file\":\"\","));
  EXPECT_THAT(json.out, EndsWith("],\"verdict\":\"clean\",\"findings\":[]}\n"));
  EXPECT_EQ(run_fake({"explain", "--json", at("clean") + "@9"}).out, json.out);
  EXPECT_EQ(run_fake({"explain", "--json", at("clean"), "@0x9"}).out, json.out);
}

TEST_F(Program, Stats) {
  EXPECT_THAT(run_fake({"stats", at("clean")}).out, HasSubstr("line size (bytes)\n  3 values"));
  EXPECT_THAT(run_fake({"stats", "--json", at("clean")}).out,
              HasSubstr("\"name\":\"line size\",\"unit\":\"bytes\",\"count\":3,\"sum\":23"));
}

TEST_F(Program, OutputErrorsAndClosedPipes) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  const int err = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const cli::Context context{
      fake_formats(), io::posix_file_system(), io::system_environment(), 0, full, err};
  EXPECT_EQ(cli::run(context, {"cat", at("clean")}), 74);
  EXPECT_EQ(cli::run(context, {"verify", "--json", at("clean")}), 74);

  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const cli::Context closed{
      fake_formats(), io::posix_file_system(), io::system_environment(), 0, ends[1], err};
  EXPECT_EQ(cli::run(closed, {"cat", at("hurt")}), 0);
  ::close(ends[1]);
  ::close(full);
  ::close(err);
  std::signal(SIGPIPE, old_handler);
}

TEST_F(Program, AnUnexpectedExceptionIsABug) {
  write_file(scratch_ / "trap", "throw\n");
  const RunResult result = run_fake({"verify", at("trap")});
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_THAT(result.err, HasSubstr("please report"));
}

TEST_F(Program, HostileNamesCannotMoveTheCursor) {
  const RunResult result = run_fake({"verify", "a\x1b[2Jb\nc"});
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_THAT(result.err, HasSubstr("a\\x1B[2Jb\\x0Ac"));
}

TEST_F(Program, ReadingVerbsChangeNothing) {
  const std::string before = tree_snapshot(scratch_.path());
  for (const char* verb : {"info", "verify", "cat", "state", "explain", "stats"}) {
    for (const char* store : {"clean", "torn", "hurt", "newer", "wreck.lines", "bare"}) {
      run_fake({verb, at(store)});
    }
  }
  EXPECT_EQ(tree_snapshot(scratch_.path()), before);
}

}  // namespace
}  // namespace varve::test
