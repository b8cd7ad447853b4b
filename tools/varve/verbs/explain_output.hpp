// SPDX-License-Identifier: MIT OR Apache-2.0
// What `explain` prints: varve.explain/1, or a table coloured by the sort of bytes. Rows are
// printed as they come: a store may have more of them than memory.
#pragma once

#include <string>

#include "cli/open.hpp"
#include "cli/session.hpp"

namespace varve::cli {

// varve.explain/1, written piece by piece.
class JsonRows final : public ExplainSink {
 public:
  JsonRows(Session& session, const Target& target);
  bool add(ExplainRow row) override;
  void finish(Verdict verdict, const FindingList& findings);

 private:
  Session& session_;
  bool first_ = true;
};

// A table whose columns have fixed places, since later rows are not known yet.
class TextRows final : public ExplainSink {
 public:
  explicit TextRows(Session& session) : session_(session) {}
  bool add(ExplainRow row) override;

 private:
  std::string coloured(const ExplainRow& row, const std::string& text) const;
  std::string check_text(ExplainRow::Check check) const;
  std::string mark_line(const ByteMark& mark, const std::string& indent) const;
  void begin_file(const std::string& file);

  Session& session_;
  bool first_ = true;
  std::string file_;
};

}  // namespace varve::cli
