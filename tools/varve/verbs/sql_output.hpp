// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of `varve sql` as a table for people, JSON Lines, or CSV.
#pragma once

#include <memory>

#include "cli/session.hpp"
#include "query/sql.hpp"

namespace varve::cli {

class SqlOutput : public query::SqlSink {
 public:
  // Writes what is held back.
  virtual Result<void> finish() { return {}; }
};

// By --json and --csv; the session outlives it.
std::unique_ptr<SqlOutput> make_sql_output(Session& session);

}  // namespace varve::cli
