// SPDX-License-Identifier: MIT OR Apache-2.0
// What is generated from the command table, and the parsers of values.
#include <gmock/gmock.h>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "terminal/numbers.hpp"
#include "terminal/style.hpp"
#include "tests/cli/fake_format.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(CommandTable, EveryVerbHasASummaryAnExampleAndHelpThatBeginsWithIt) {
  ASSERT_FALSE(cli::commands().empty());
  for (const cli::Command* command : cli::commands()) {
    SCOPED_TRACE(command->name);
    EXPECT_FALSE(command->summary.empty());
    EXPECT_FALSE(command->description.empty());
    ASSERT_FALSE(command->examples.empty());
    const RunResult help = run_fake({command->name, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, StartsWith("  varve " + command->examples.front().arguments));
    EXPECT_EQ(run_fake({"help", command->name}).out, help.out);
    EXPECT_THAT(run_fake({"--help"}).out, HasSubstr("\n  " + command->name + " "));
    for (const cli::Option& option : cli::options_of(*command, fake_formats())) {
      EXPECT_THAT(help.out, HasSubstr("--" + option.name));
      EXPECT_FALSE(option.help.empty()) << option.name;
    }
  }
}

TEST(CommandTable, FormatsBringTheirOptions) {
  const RunResult help = run_fake({"cat", "--help"});
  EXPECT_THAT(help.out, HasSubstr("--word WORD"));
  EXPECT_THAT(help.out, HasSubstr("lines: lines with this text (may be repeated)"));
  EXPECT_THAT(help.out, HasSubstr("lines: another form [v1|v2]"));
}

TEST(CommandTable, ManPagesAreWellFormed) {
  for (const cli::Command* command : cli::commands()) {
    const RunResult page = run_fake({"man", command->name});
    EXPECT_EQ(page.exit_code, 0);
    EXPECT_THAT(page.out, StartsWith(".TH VARVE\\-"));
  }
  EXPECT_THAT(run_fake({"man"}).out, HasSubstr(".BR varve\\-verify (1)"));
  EXPECT_EQ(run_fake({"man", "nothing"}).exit_code, 64);
  if (run_command({"sh", "-c", "command -v groff"}).exit_code == 0) {
    RunOptions options;
    options.input = run_fake({"man", "cat"}).out;
    const RunResult formatted = run_command({"groff", "-man", "-Tascii", "-ww", "-z"}, options);
    EXPECT_EQ(formatted.exit_code, 0);
    EXPECT_EQ(formatted.err, "");
  }
}

TEST(CommandTable, CompletionsParseAndComplete) {
  const ScratchDirectory scratch;
  const std::string script = (scratch / "varve.bash").string();
  write_file(script, run_fake({"completions", "bash"}).out);
  const auto complete = [&](const std::string& words) {
    return run_command({"bash", "-c",
                        ". " + script + "; COMP_WORDS=(" + words +
                            "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _varve; echo "
                            "\"${COMPREPLY[@]}\""})
        .out;
  };
  EXPECT_EQ(complete("varve ver"), "verify\n");
  EXPECT_EQ(complete("varve cat --pay"), "--payload\n");
  EXPECT_EQ(complete("varve cat --payload s"), "sha256\n");
  EXPECT_EQ(complete("varve cat --format b"), "bare\n");
  EXPECT_EQ(complete("varve help exit"), "exit-codes\n");
  for (const char* shell : {"zsh", "fish"}) {
    const RunResult printed = run_fake({"completions", shell});
    EXPECT_EQ(printed.exit_code, 0);
    if (run_command({"sh", "-c", std::string("command -v ") + shell}).exit_code == 0) {
      write_file(scratch / shell, printed.out);
      EXPECT_EQ(run_command({shell, "-n", (scratch / shell).string()}).exit_code, 0);
    }
    for (const cli::Command* command : cli::commands()) {
      EXPECT_THAT(printed.out, HasSubstr(command->name));
    }
  }
  EXPECT_EQ(run_fake({"completions", "tcsh"}).exit_code, 64);
}

TEST(CommandTable, NearestNames) {
  EXPECT_EQ(cli::nearest_command("vrify")->name, "verify");
  EXPECT_EQ(cli::nearest_command("stat")->name, "stats");
  EXPECT_EQ(cli::nearest_command("frobnicate"), nullptr);
}

TEST(Values, Sizes) {
  EXPECT_EQ(*cli::parse_size("s", "4096"), 4096U);
  EXPECT_EQ(*cli::parse_size("s", "64K"), 65536U);
  EXPECT_EQ(*cli::parse_size("s", "2g"), std::uint64_t{2} << 30);
  EXPECT_EQ(*cli::parse_size("s", "1MiB"), 1U << 20);
  for (const char* bad : {"", "K", "1.5G", "-1", "1Q", "99999999999G"}) {
    EXPECT_FALSE(cli::parse_size("s", bad)) << bad;
  }
}

TEST(Values, Times) {
  EXPECT_EQ(*cli::parse_time("t", "-5"), -5);
  EXPECT_EQ(*cli::parse_time("t", "1970-01-01T00:00:01.5Z"), 1'500'000);
  EXPECT_EQ(*cli::parse_time("t", "1970-01-02"), 86'400'000'000);
  EXPECT_EQ(*cli::parse_time("t", "1970-01-01T01:00:00+01:00"), 0);
  EXPECT_EQ(*cli::parse_time("t", "2026-07-04T12:00:00.123456789Z"), 1'783'166'400'123'456);
  for (const char* bad : {"", "2026-13-01", "2026-02-30", "2026-07-04T12:00", "2026-07-04T12:00:00",
                          "2026-07-04T25:00:00Z", "now"}) {
    EXPECT_FALSE(cli::parse_time("t", bad)) << bad;
  }
}

TEST(Values, FilesAndOffsets) {
  EXPECT_EQ(cli::parse_file_and_offset("a@12").offset, 12U);
  EXPECT_EQ(cli::parse_file_and_offset("@0x1F").offset, 31U);
  EXPECT_EQ(cli::parse_file_and_offset("me@home").file, "me@home");
  EXPECT_EQ(cli::parse_file_and_offset("me@home@7").file, "me@home");
}

TEST(Terminal, TextsForPeople) {
  EXPECT_EQ(terminal::grouped(12293), "12,293");
  EXPECT_EQ(terminal::grouped(999), "999");
  EXPECT_EQ(terminal::human_bytes(1.25e9), "1.2 GB");
  EXPECT_EQ(terminal::human_bytes(999), "999 B");
  EXPECT_EQ(terminal::human_seconds(125), "2 min 5 s");
  EXPECT_EQ(terminal::counted(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(terminal::counted(2, "entry", "entries"), "2 entries");
  EXPECT_EQ(terminal::printable("a\nb\x1b\xc2\x9b"), "a\\x0Ab\\x1B\\x9B");
  EXPECT_EQ(terminal::printable("\xff"), "\\xFF");
  EXPECT_EQ(terminal::printable("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(terminal::wrap_words("aa bb cc", 5, 0), "aa bb\ncc");
}

TEST(Terminal, ColourOnlyWhereItIsWanted) {
  EXPECT_TRUE(terminal::wants_colour("always", false));
  EXPECT_FALSE(terminal::wants_colour("never", true));
  EXPECT_FALSE(terminal::wants_colour("auto", false));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(terminal::wants_colour("auto", true));
  EXPECT_TRUE(terminal::wants_colour("always", true));
  ::unsetenv("NO_COLOR");
}

}  // namespace
}  // namespace varve::test
