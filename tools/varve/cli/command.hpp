// SPDX-License-Identifier: MIT OR Apache-2.0
// The command table: every verb with its options, operands and examples. Parsing, help texts,
// completions and man pages are all generated from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.hpp"
#include "varve/store.hpp"

namespace varve::cli {

class Session;

struct Option {
  std::string name = {};        // without dashes
  std::string value_name = {};  // empty: a flag
  std::string help = {};
  char short_name = 0;
  bool repeatable = false;
  std::string choices = {};   // space-separated; empty: any value
  bool from_formats = false;  // merged in from the formats' filters and options
  bool names_a_file = false;  // completions offer files
};

struct Operand {
  std::string name = {};  // "STORE"
  std::string help = {};
  bool optional = false;
  bool repeats = false;  // only the last operand may
};

struct Example {
  std::string arguments = {};  // behind "varve "
  std::string says = {};       // what it does, a few words
};

// Options that many verbs share, declared once.
enum SharedOptions : std::uint32_t {
  k_no_options = 0,
  k_json_option = 1U << 0,      // --json, --int64
  k_open_options = 1U << 1,     // --format, --threads, --max-memory
  k_progress_option = 1U << 2,  // --progress
  k_findings_option = 1U << 3,  // --max-findings
  k_log_options = 1U << 4,      // --seq, --since, --until, --limit, --reverse
  k_payload_option = 1U << 5,   // --payload
  k_dry_run_option = 1U << 6,   // --dry-run
};

// Where a verb stands in `varve --help`.
enum class Group : std::uint8_t { look, read, write, other };

struct Command {
  std::string name = {};
  Group group = Group::other;
  int order = 0;                 // within the group
  std::string summary = {};      // one line, no full stop
  std::string description = {};  // paragraphs, separated by empty lines
  std::vector<Operand> operands = {};
  std::vector<Example> examples = {};
  std::vector<Option> options = {};
  std::uint32_t shared = k_no_options;
  int (*run)(Session&) = nullptr;  // gives the exit code
};

// Adds a verb to the table while the program starts.
class Registration {
 public:
  explicit Registration(Command command);
};

// All verbs, by group and order.
std::span<const Command* const> commands();
// The verb of that name, or nullptr.
const Command* find_command(std::string_view name);
// The verb whose name is nearest to a mistyped one, or nullptr if none is near.
const Command* nearest_command(std::string_view name);

// The verb's own options, the shared ones it takes, and those of the formats for it, in that order,
// --color and --help last. An option that several formats offer appears once.
std::vector<Option> options_of(const Command& command, std::span<const Format* const> formats);

// Whether `verb` stands in the space-separated list.
using base::lists_word;
using base::split_words;

}  // namespace varve::cli
