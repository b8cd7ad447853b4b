// SPDX-License-Identifier: MIT OR Apache-2.0
// Stores of every format with much payload and few records, made by the program: for tests that
// count what is read.
#pragma once

#include <cstdio>
#include <random>
#include <string>

#include "tests/support.hpp"

namespace varve::test {

// Letters that do not compress well.
inline std::string letters(std::size_t length, unsigned seed) {
  static constexpr std::string_view k_alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::mt19937 random(seed);
  std::string out(length, 'A');
  for (char& c : out) {
    c = k_alphabet[random() % k_alphabet.size()];
  }
  return out;
}

class LargeStore {
 public:
  LargeStore(std::string format, const ScratchDirectory& scratch)
      : format_(std::move(format)), path_((scratch / ("large-" + format_)).string()) {
    std::vector<std::string> init{"init", "--format", format_};
    if (format_ == "arena") {
      init.emplace_back("--bare");
    }
    if (format_ == "jss") {
      fs::create_directory(path_);
    }
    init.push_back(path_);
    expect(run_tool(init));
  }

  const std::string& path() const { return path_; }
  // The file that holds the newest records (tay begins an empty segment when it seals one).
  fs::path newest() const {
    if (format_ == "kladde") {
      return path_;
    }
    fs::path last;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if ((name.starts_with("seg_") || name.ends_with(".tay")) && entry.file_size() > 300) {
        last = std::max(last, entry.path());
      }
    }
    return last;
  }

  // Appends `count` records of about `bytes` each.
  void append(int count, std::size_t bytes) {
    RunOptions options;
    for (int i = 0; i < count; ++i) {
      ++number_;
      options.input += line(letters(bytes / 4 * 4, static_cast<unsigned>(number_)));
    }
    expect(run_tool({"append", path_}, options));
  }
  // What the format does with a full segment, or with a long journal.
  void close_segment() {
    if (format_ == "jss" || format_ == "tay") {
      expect(run_tool({"seal", path_}));
    } else if (format_ == "kladde") {
      expect(run_tool({"recover", path_}));
    }
  }

 private:
  static void expect(const RunResult& result) { EXPECT_EQ(result.exit_code, 0) << result.err; }

  std::string line(const std::string& text) const {
    const std::string number = std::to_string(number_);
    if (format_ == "arena") {
      return "{\"payload\":{\"$bytes\":\"" + text + "\"}}\n";
    }
    if (format_ == "kladde") {
      return "{\"op\":\"resize\",\"id\":" + number +
             ",\"size\":" + std::to_string(text.size() / 4 * 3) +
             "}\n{\"op\":\"write\",\"id\":" + number + ",\"offset\":0,\"bytes\":{\"$bytes\":\"" +
             text + "\"}}\n";
    }
    if (format_ == "jss") {
      return "{\"witnessed_at\":" + number +
             ",\"indexed_at\":0,\"kind\":\"create\",\"did\":\"did:plc:a\",\"collection\":\"a.b.c\","
             "\"rkey\":\"k" +
             number + "\",\"rev\":\"r\",\"record\":{\"text\":\"" + text + "\"}}\n";
    }
    char id[33];
    std::snprintf(id, sizeof id, "%032llx", static_cast<unsigned long long>(number_));
    return R"({"type":"inserted","event":{"at":1000,"definition":{"args":{"x":")" + text +
           R"("},"definition_version":1,"max_attempts":10,"queue_key":"default","retry_policy":)"
           R"({"base_ms":1000,"cap_ms":60000,"jitter_divisor":4,"version":1},"scheduled_at":null,)"
           R"("timeout_ms":30000,"worker_key":"mail"},"eligible_at":1000,"expected_revision":0,)"
           R"("job_id":")" +
           std::string(id) + "\"}}\n";
  }

  std::string format_;
  std::string path_;
  int number_ = 0;
};

}  // namespace varve::test
