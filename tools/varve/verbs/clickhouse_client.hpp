// SPDX-License-Identifier: MIT OR Apache-2.0
// ClickHouse over HTTP.
#pragma once

#include <memory>
#include <string>

#include "varve/result.hpp"

namespace varve::cli {

// One server. Name and password, where it asks for them, are those of the environment variables
// CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, which, unlike an argument, other users do not see.
class ClickHouseClient {
 public:
  // `url`: http://HOST:PORT or https://HOST:PORT. Errors: invalid_argument if it is neither.
  static Result<std::unique_ptr<ClickHouseClient>> create(const std::string& url,
                                                          unsigned attempts);
  ~ClickHouseClient();
  ClickHouseClient(const ClickHouseClient&) = delete;
  ClickHouseClient& operator=(const ClickHouseClient&) = delete;

  // Runs the statement. What may pass (no connection, a busy server) is tried again, after a
  // tenth of a second and then twice as long each time, at most ten seconds; the body may arrive
  // more than once. Errors: io, with what the server said.
  Result<void> post(const std::string& sql, const std::string& body);

 private:
  struct Impl;
  explicit ClickHouseClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::cli
