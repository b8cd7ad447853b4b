// SPDX-License-Identifier: MIT OR Apache-2.0
// Damage as one line of text. README.md beside this file explains the language.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "io/simulated.hpp"
#include "tests/damage/field_path.hpp"

namespace varve::test {

// Applies lines of the language to a store in a simulated file system. What a line says to do later
// (`live`) happens through a hook, so the object must live as long as the store is looked at.
class Mutator {
 public:
  // `root`: the store; a file name "." in a line means the root itself. `rows`: the explain rows of
  // the store as it is now, asked for only where a line names fields.
  Mutator(io::SimulatedFileSystem& files, std::string root,
          std::function<std::vector<ExplainRow>()> rows)
      : files_(files), root_(std::move(root)), rows_(std::move(rows)) {}

  // Carries the line out: steps separated by ';', the next on what the one before left. The answer
  // is what is wrong with the line, or nothing.
  std::string apply(std::string_view line) {
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(';', at), line.size());
      const std::string problem = apply_step(words_of(line.substr(at, end - at)));
      if (!problem.empty()) {
        return problem + " in \"" + std::string(line.substr(at, end - at)) + "\"";
      }
      at = end + 1;
    }
    return {};
  }

  static std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      if (end > at) {
        out.emplace_back(text.substr(at, end - at));
      }
      at = end + 1;
    }
    return out;
  }

 private:
  using Words = std::vector<std::string>;
  using Step = std::string (Mutator::*)(const Words&);

  std::string path_of(const std::string& file) const {
    return file == "." ? root_ : root_ + "/" + file;
  }

  std::string apply_step(const Words& words) {
    static const std::map<std::string, std::pair<std::size_t, Step>> k_steps = {
        {"cut", {3, &Mutator::cut}},
        {"zero", {4, &Mutator::zero}},
        {"zero-tail", {3, &Mutator::zero_tail}},
        {"extend-zero", {3, &Mutator::extend_zero}},
        {"append", {3, &Mutator::append}},
        {"write", {4, &Mutator::write}},
        {"flip", {3, &Mutator::flip}},
        {"garbage", {4, &Mutator::garbage}},
        {"stale-tail", {4, &Mutator::stale_tail}},
        {"dup", {4, &Mutator::dup}},
        {"swap", {5, &Mutator::swap}},
        {"drop", {4, &Mutator::drop}},
        {"set", {4, &Mutator::set}},
        {"rm", {2, &Mutator::rm}},
        {"empty", {2, &Mutator::empty}},
        {"rename", {3, &Mutator::rename}},
        {"copy", {3, &Mutator::copy}},
    };
    if (words.empty()) {
      return {};
    }
    if (words[0] == "live") {
      return live(words);
    }
    const auto step = k_steps.find(words[0]);
    if (step == k_steps.end()) {
      return "unknown verb";
    }
    // flip and garbage take one more word if they like.
    const bool optional_word = words[0] == "garbage";
    if (words.size() != step->second.first &&
        !(optional_word && words.size() == step->second.first + 1)) {
      return "wrong number of words";
    }
    return (this->*step->second.second)(words);
  }

  // A member's bytes, and the way to change them.
  struct Member {
    std::string path;
    std::string file;
    base::Bytes bytes;
    std::string problem;
  };
  Member load(const std::string& file) {
    Member member{path_of(file), file == "." ? "" : file, {}, {}};
    auto bytes = files_.get(member.path);
    if (bytes) {
      member.bytes = std::move(*bytes);
    } else {
      member.problem = "no file " + member.path;
    }
    return member;
  }
  std::string store(const Member& member) {
    return files_.put(member.path, member.bytes) ? "" : "cannot write " + member.path;
  }
  // Loads words[1], lets `edit` change it, stores it.
  template <class Edit>
  std::string edit_member(const Words& words, Edit edit) {
    Member member = load(words[1]);
    if (member.problem.empty()) {
      member.problem = edit(member);
    }
    return member.problem.empty() ? store(member) : member.problem;
  }
  // With a range [offset, offset + length) from two words.
  template <class Edit>
  std::string edit_range(const Words& words, Edit edit) {
    return edit_member(words, [&](Member& member) -> std::string {
      const auto range = parse_range(words[2], words[3], member.file, member.bytes.size(), rows_);
      if (!range) {
        return "no such range";
      }
      return edit(member, range->first, range->second);
    });
  }

  std::string cut(const Words& words) {
    return edit_member(words, [&](Member& member) -> std::string {
      const auto at = parse_position(words[2], member.file, member.bytes.size(), rows_);
      if (!at) {
        return "no such position";
      }
      member.bytes.resize(*at);
      return {};
    });
  }
  std::string zero(const Words& words) {
    return edit_range(words, [](Member& member, std::size_t offset, std::size_t length) {
      std::fill_n(member.bytes.begin() + static_cast<std::ptrdiff_t>(offset), length, std::byte{0});
      return std::string();
    });
  }
  std::string zero_tail(const Words& words) {
    return zero({words[0], words[1], "-" + words[2], "rest"});
  }
  std::string extend_zero(const Words& words) {
    return edit_member(words, [&](Member& member) -> std::string {
      const auto count = parse_number(words[2]);
      if (!count || *count > k_most_added_bytes) {
        return "bad length";
      }
      member.bytes.resize(member.bytes.size() + *count);
      return {};
    });
  }
  std::string append(const Words& words) { return write({words[0], words[1], "end", words[2]}); }
  std::string write(const Words& words) {
    return edit_member(words, [&](Member& member) -> std::string {
      const auto at = parse_position(words[2], member.file, member.bytes.size(), rows_);
      const auto value = parse_bytes(words[3]);
      if (!at || !value) {
        return "bad position or bytes";
      }
      member.bytes.resize(std::max(member.bytes.size(), *at + value->size()));
      std::copy(value->begin(), value->end(),
                member.bytes.begin() + static_cast<std::ptrdiff_t>(*at));
      return {};
    });
  }
  // flip FILE POSITION[.BIT]
  std::string flip(const Words& words) {
    const std::size_t dot = words[2].rfind('.');
    const auto bit = dot == std::string::npos ? std::optional<std::uint64_t>(0)
                                              : parse_number(words[2].substr(dot + 1));
    return edit_member(words, [&](Member& member) -> std::string {
      const auto at =
          parse_position(words[2].substr(0, dot), member.file, member.bytes.size(), rows_);
      if (!at || !bit || *bit > 7 || *at >= member.bytes.size()) {
        return "no such bit";
      }
      member.bytes[*at] ^= static_cast<std::byte>(1U << *bit);
      return {};
    });
  }
  // garbage FILE POSITION LENGTH [SEED]
  std::string garbage(const Words& words) {
    const auto seed = words.size() > 4 ? parse_number(words[4]) : std::optional<std::uint64_t>(1);
    if (!seed) {
      return "bad seed";
    }
    return edit_range(words, [&](Member& member, std::size_t offset, std::size_t length) {
      std::mt19937_64 random(*seed);
      for (std::size_t i = 0; i < length; ++i) {
        member.bytes[offset + i] = static_cast<std::byte>(random());
      }
      return std::string();
    });
  }
  std::string stale_tail(const Words& words) {
    return edit_range(words, [](Member& member, std::size_t offset, std::size_t length) {
      const base::Bytes old(member.bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                            member.bytes.begin() + static_cast<std::ptrdiff_t>(offset + length));
      member.bytes.insert(member.bytes.end(), old.begin(), old.end());
      return std::string();
    });
  }
  std::string dup(const Words& words) {
    return edit_range(words, [](Member& member, std::size_t offset, std::size_t length) {
      const auto begin = member.bytes.begin() + static_cast<std::ptrdiff_t>(offset);
      const base::Bytes copy(begin, begin + static_cast<std::ptrdiff_t>(length));
      member.bytes.insert(begin + static_cast<std::ptrdiff_t>(length), copy.begin(), copy.end());
      return std::string();
    });
  }
  // swap FILE A B LENGTH: ranges of one length that do not overlap. LENGTH `unit` is that of A.
  std::string swap(const Words& words) {
    return edit_member(words, [&](Member& member) -> std::string {
      const auto a = parse_range(words[2], words[4], member.file, member.bytes.size(), rows_);
      const auto b = a ? parse_range(words[3], std::to_string(a->second), member.file,
                                     member.bytes.size(), rows_)
                       : std::nullopt;
      if (!b || (a->first < b->first + b->second && b->first < a->first + a->second)) {
        return "no such ranges, or they overlap";
      }
      const auto begin = member.bytes.begin();
      std::swap_ranges(begin + static_cast<std::ptrdiff_t>(a->first),
                       begin + static_cast<std::ptrdiff_t>(a->first + a->second),
                       begin + static_cast<std::ptrdiff_t>(b->first));
      return {};
    });
  }
  std::string drop(const Words& words) {
    return edit_range(words, [](Member& member, std::size_t offset, std::size_t length) {
      const auto begin = member.bytes.begin() + static_cast<std::ptrdiff_t>(offset);
      member.bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
      return std::string();
    });
  }
  // set FILE FIELD VALUE
  std::string set(const Words& words) {
    return edit_member(words, [&](Member& member) -> std::string {
      const auto row = find_row(rows_(), member.file, words[2]);
      if (!row || row->offset + row->length > member.bytes.size()) {
        return "no such field";
      }
      const auto value =
          parse_value(words[3], base::ByteSpan(member.bytes).subspan(row->offset, row->length));
      if (!value) {
        return "the value does not fit the field";
      }
      std::copy(value->begin(), value->end(),
                member.bytes.begin() + static_cast<std::ptrdiff_t>(row->offset));
      return {};
    });
  }

  std::string rm(const Words& words) {
    return files_.erase(path_of(words[1])) ? "" : "no such member";
  }
  std::string empty(const Words& words) { return cut({words[0], words[1], "0"}); }
  std::string rename(const Words& words) {
    const std::string problem = copy(words);
    return problem.empty() ? rm({words[0], words[1]}) : problem;
  }
  std::string copy(const Words& words) {
    Member member = load(words[1]);
    if (!member.problem.empty()) {
      return member.problem;
    }
    member.path = path_of(words[2]);
    return store(member);
  }

  // live N STEP: another process does STEP right before the N-th read call of the look (from 0).
  std::string live(const Words& words) {
    const auto call = words.size() > 2 ? parse_number(words[1]) : std::nullopt;
    if (!call || words[2] == "live") {
      return "live wants a call number and a step";
    }
    later_[*call].push_back(Words(words.begin() + 2, words.end()));
    files_.set_hook([this](const io::Call& now) {
      if (now.kind != io::CallKind::read) {
        return;
      }
      const auto due = later_.find(reads_++);
      if (due != later_.end()) {
        for (const Words& step : due->second) {
          live_problem_ += apply_step(step);
        }
      }
    });
    return {};
  }

 public:
  // What went wrong in steps that happened during the look.
  const std::string& live_problem() const { return live_problem_; }

 private:
  io::SimulatedFileSystem& files_;
  std::string root_;
  std::function<std::vector<ExplainRow>()> rows_;
  std::uint64_t reads_ = 0;
  std::map<std::uint64_t, std::vector<Words>> later_;
  std::string live_problem_;
};

}  // namespace varve::test
