// SPDX-License-Identifier: MIT OR Apache-2.0
// Explaining what is there, also where the store as a whole cannot be opened.
#pragma once

#include <set>
#include <string>

#include "output/explain_marks.hpp"
#include "varve/store.hpp"

namespace varve::output {

// What is to be explained: a store, or a file that may be a member of one.
struct ExplainTarget {
  io::FileSystem* files = nullptr;
  const Format* format = nullptr;
  std::string path;
  OpenOptions options;
};

class StoreExplainer final : private FindingSink {
 public:
  // `findings` takes what was found. All outlive the explainer.
  StoreExplainer(const ExplainTarget& target, ExplainSink& rows, FindingSink& findings)
      : target_(target), rows_(*target.files, target.path, rows), findings_(findings) {}

  // Damage is told as a finding, and the bytes are shown all the same; an error is only what leaves
  // nothing to show.
  Result<Verdict> run(const ExplainRequest& where);

 private:
  void add(Finding finding) override;
  void tell(const Error& error);
  Result<void> explain_directory(const ExplainRequest& where);
  // One file by itself, `file` relative to the store.
  Result<void> explain_member(const std::string& file, std::optional<std::uint64_t> offset);
  Result<void> explain_raw(const std::string& file, const Error& error);
  // All files below the store that look like members and had no rows yet.
  Result<void> explain_members(const ExplainRequest& where);
  Result<void> find_members(const std::string& below, int depth, std::set<std::string>& found);
  bool is_regular(const std::string& file) const;

  const ExplainTarget& target_;
  MarkingSink rows_;
  FindingSink& findings_;
  Verdict verdict_ = Verdict::clean;
  std::string member_;                // the file that is explained by itself; empty: the store is
  std::set<std::string> complained_;  // files that errors name
};

}  // namespace varve::output
