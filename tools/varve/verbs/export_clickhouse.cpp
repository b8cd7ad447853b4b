// SPDX-License-Identifier: MIT OR Apache-2.0
// The export target `clickhouse`: rows into a table, over HTTP.
#include <algorithm>
#include <utility>

#include "output/clickhouse.hpp"
#include "verbs/clickhouse_client.hpp"
#include "verbs/export_typed.hpp"

namespace varve::cli {

namespace {

constexpr std::uint64_t k_rows_per_request = 100'000;
constexpr unsigned k_attempts = 8;

class ClickHouseExport final : public Exporter {
 public:
  ClickHouseExport(const ExportJob& job, output::ClickHouseTable table,
                   std::vector<std::string> columns, std::unique_ptr<ClickHouseClient> client,
                   std::unique_ptr<output::ClickHouseSink> sink)
      : session_(job.session),
        table_(std::move(table)),
        columns_(std::move(columns)),
        mapper_(*table_.schema, table_.columns),
        client_(std::move(client)),
        sink_(std::move(sink)) {}

  Result<void> begin(ScanRequest& request) override {
    request.columns = columns_;
    request.mapper = &mapper_;
    if (session_.has("create")) {
      VARVE_ASSIGN(const std::string sql, output::create_statement(table_));
      return client_->post(sql, "");
    }
    return {};
  }
  BatchSink& sink() override { return *sink_; }
  Result<void> finish() override {
    VARVE_TRY(sink_->finish());
    session_.message("sent " + std::to_string(sink_->rows()) + " rows to " + table_.name +
                     " (requests: " + std::to_string(sink_->requests()) + ")");
    return {};
  }

 private:
  Session& session_;
  output::ClickHouseTable table_;
  std::vector<std::string> columns_;
  output::RowBinaryMapper mapper_;
  std::unique_ptr<ClickHouseClient> client_;
  std::unique_ptr<output::ClickHouseSink> sink_;  // before the client: it may be sending
};

std::vector<std::size_t> indexes(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<std::size_t> columns;
  for (const std::string& name : names) {
    columns.push_back(static_cast<std::size_t>(schema.find(name)));
  }
  return columns;
}

// What tells rows apart: --key, or the log's sequence number, or the place of a record.
Result<std::vector<std::size_t>> key_of(const ExportJob& job,
                                        const std::vector<std::size_t>& columns) {
  const Schema& schema = job.view.schema(job.face);
  std::vector<std::size_t> key;
  if (job.session.has("key")) {
    VARVE_ASSIGN(key, named_columns("key", job.session.arguments().value("key"), schema));
  } else if (job.face == Face::log && job.target.format->has_seq()) {
    key.push_back(static_cast<std::size_t>(schema.find("seq")));
  } else if (job.face == Face::log) {
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      if (schema.fields[i].name.starts_with("at.")) {
        key.push_back(i);
      }
    }
  }
  const bool all_there = std::ranges::all_of(
      key, [&](std::size_t at) { return std::ranges::find(columns, at) != columns.end(); });
  if (key.empty() || !all_there) {
    return fail(ErrorCode::invalid_argument, "usage",
                "--key names the columns that tell rows apart; they must be among --columns");
  }
  return key;
}

Result<std::unique_ptr<Exporter>> make_clickhouse(const ExportJob& job) {
  const Arguments& arguments = job.session.arguments();
  if (!job.session.has("url") || !job.session.has("table") || job.file != nullptr) {
    return fail(ErrorCode::invalid_argument, "usage",
                "--to clickhouse needs --url and --table, and has no -o");
  }
  VARVE_ASSIGN(auto names, typed_columns(job, "clickhouse"));
  output::ClickHouseTable table;
  table.schema = &job.view.schema(job.face);
  table.name = arguments.value("table");
  table.columns = indexes(*table.schema, names);
  VARVE_ASSIGN(table.key, key_of(job, table.columns));
  std::uint64_t rows = k_rows_per_request;
  if (job.session.has("batch")) {
    VARVE_ASSIGN(rows, parse_count("batch", arguments.value("batch")));
  }
  VARVE_ASSIGN(auto client, ClickHouseClient::create(arguments.value("url"), k_attempts));
  const bool by_seq = job.face == Face::log && job.target.format->has_seq() &&
                      std::ranges::find(names, "seq") != names.end();
  const auto post = [server = client.get()](const std::string& sql, const std::string& body) {
    return server->post(sql, body);
  };
  VARVE_ASSIGN(auto sink,
               output::ClickHouseSink::create(table, by_seq ? table.schema->find("seq") : -1,
                                              std::max<std::uint64_t>(rows, 1), post));
  return std::make_unique<ClickHouseExport>(job, std::move(table), std::move(names),
                                            std::move(client), std::move(sink));
}

const ExportTargetRegistration k_clickhouse({"clickhouse", make_clickhouse});

}  // namespace

}  // namespace varve::cli
