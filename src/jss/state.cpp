// SPDX-License-Identifier: MIT OR Apache-2.0
// Folding the log into its live records: the newest create or update of each path that no later
// delete of the path, and no later sync or deletion of the account, has ended (section 14.3).
#include "jss/state.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/json_writer.hpp"
#include "jss/cid.hpp"
#include "jss/dag_cbor.hpp"
#include "jss/live_records.hpp"
#include "jss/log_schema.hpp"
#include "jss/render_payload.hpp"
#include "jss/select.hpp"
#include "jss/tombstones.hpp"
#include "jss/view.hpp"

namespace varve::jss {

namespace {

constexpr std::size_t k_batch_rows = 4096;
constexpr std::size_t k_batch_bytes = std::size_t{16} << 20;

// Takes the log in order.
class Folder final : public BatchSink {
 public:
  explicit Folder(LiveRecords& records) : records_(records) {}

  Result<bool> consume(Batch batch) override {
    const auto& c = batch.columns;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      VARVE_TRY(fold(c, row));
    }
    return true;
  }

 private:
  Result<void> fold(const std::vector<Column>& c, std::size_t row) {
    const auto kind = c[k_log_kind].value<std::uint8_t>(row);
    const std::string_view did = c[k_log_did].bytes(row);
    if (is_materialization(kind)) {
      return records_.put({.did = did,
                           .collection = c[k_log_collection].bytes(row),
                           .rkey = c[k_log_rkey].bytes(row),
                           .seq = c[k_log_seq].value<std::uint64_t>(row),
                           .witnessed_at = c[k_log_witnessed_at].value<std::int64_t>(row),
                           .kind = kind,
                           .rev = c[k_log_rev].bytes(row),
                           .payload = c[k_log_payload].bytes(row)});
    }
    if (kind == std::uint8_t(Kind::remove)) {
      return records_.remove(did, c[k_log_collection].bytes(row), c[k_log_rkey].bytes(row));
    }
    if (ends_account(kind, base::as_bytes(c[k_log_payload].bytes(row)))) {
      return records_.remove_account(did);
    }
    return {};
  }

  LiveRecords& records_;
};

// Passes findings on and keeps the first that the state cannot be told for.
class Watch final : public FindingSink {
 public:
  explicit Watch(FindingSink& next) : next_(next) {}
  void add(Finding finding) override {
    if (!refusal_ && finding.severity == Severity::error && finding.verdict != Verdict::torn) {
      Error error;
      error.code =
          finding.verdict == Verdict::unknown ? ErrorCode::unsupported : ErrorCode::damaged;
      error.path = finding.file;
      error.offset = finding.offset;
      error.length = finding.length;
      error.unit = finding.unit;
      error.reason = finding.code;
      error.message = "rows are missing, so the state is not known: " + finding.message;
      refusal_ = std::move(error);
    }
    next_.add(std::move(finding));
  }
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  FindingSink& next_;
  std::optional<Error> refusal_;
};

// The log that must be folded for a request: filters on accounts and collections leave whole paths
// out and every marker in; all others are asked of what is left.
ScanRequest log_request(const ScanRequest& request) {
  ScanRequest log;
  for (const FilterTerm& term : request.predicate.terms) {
    if (term.name == "did" || term.name == "collection") {
      log.predicate.terms.push_back(term);
    }
  }
  log.columns = {"seq", "witnessed_at", "kind", "did", "collection", "rkey", "rev", "payload"};
  log.threads = request.threads;
  log.max_memory_bytes = request.max_memory_bytes;
  return log;
}

// Gathers records into batches and hands them on.
class Emitter {
 public:
  Emitter(const ScanRequest& request, BatchSink& sink) : request_(request), sink_(sink) {
    for (std::size_t i = 0; i < k_state_columns; ++i) {
      const Field& field = state_schema().fields[i];
      wanted_[i] = request.columns.empty()
                       ? !field.computed
                       : std::ranges::find(request.columns, field.name) != request.columns.end();
    }
  }

  Result<bool> add(const LiveRecord& record) {
    text(k_state_did, record.did);
    text(k_state_collection, record.collection);
    text(k_state_rkey, record.rkey);
    text(k_state_rev, record.rev);
    computed(record);
    text(k_state_payload, record.payload);
    if (wanted_[k_state_seq]) {
      builder_.add_u64(k_state_seq, record.seq);
    }
    builder_.end_row();
    ++rows_;
    const bool last = rows_ == request_.limit;
    if (builder_.rows() == k_batch_rows || builder_.data_bytes() >= k_batch_bytes || last) {
      VARVE_ASSIGN(const bool more, flush());
      return more && !last;
    }
    return true;
  }

  Result<bool> flush() {
    if (builder_.rows() == 0) {
      return true;
    }
    Batch batch = builder_.finish();
    if (request_.mapper != nullptr) {
      request_.mapper->map(batch);
    }
    return sink_.consume(std::move(batch));
  }

  std::uint64_t rows() const { return rows_; }

 private:
  void text(StateColumn column, std::string_view value) {
    if (wanted_[column]) {
      builder_.add_bytes(column, value);
    }
  }
  void computed(const LiveRecord& record) {
    if (!wanted_[k_state_cid] && !wanted_[k_state_record]) {
      return;
    }
    const base::ByteSpan payload = base::as_bytes(record.payload);
    std::string json;
    if (payload.empty() || append_dag_cbor_json(json, payload)) {
      return;  // null
    }
    text(k_state_record, json);
    std::string cid;
    append_record_cid(cid, payload);
    text(k_state_cid, cid);
  }

  const ScanRequest& request_;
  BatchSink& sink_;
  BatchBuilder builder_{state_schema()};
  std::array<bool, k_state_columns> wanted_{};
  std::uint64_t rows_ = 0;
};

}  // namespace

const Schema& state_schema() {
  static const Schema schema{{
      {.name = "did", .type = ColumnType::text, .repeated_text = true},
      {.name = "collection", .type = ColumnType::text, .repeated_text = true},
      {.name = "rkey", .type = ColumnType::text},
      {.name = "rev", .type = ColumnType::text},
      {.name = "cid", .type = ColumnType::text, .nullable = true, .computed = true},
      {.name = "record", .type = ColumnType::text, .nullable = true, .computed = true},
      {.name = "payload", .type = ColumnType::bytes},
      {.name = "seq", .type = ColumnType::uint64},
  }};
  return schema;
}

void render_state(const Batch& batch, const RenderOptions& options, std::string& out) {
  static constexpr std::string_view k_keys[] = {
      "{\"did\":", ",\"collection\":", ",\"rkey\":", ",\"rev\":"};
  for (std::size_t row = 0; row < batch.rows; ++row) {
    for (std::size_t i = 0; i < std::size(k_keys); ++i) {
      out += k_keys[i];
      base::append_json_text_or_bytes(out, batch.columns[k_state_did + i].bytes(row));
    }
    append_payload_members(out, true, base::as_bytes(batch.columns[k_state_payload].bytes(row)),
                           options.payload);
    out += options.int64_as_string ? ",\"seq\":\"" : ",\"seq\":";
    base::append_integer(out, batch.columns[k_state_seq].value<std::uint64_t>(row));
    out += options.int64_as_string ? "\"}\n" : "}\n";
  }
}

Result<ScanSummary> View::scan_state(const ScanRequest& request, BatchSink& sink,
                                     FindingSink& findings) {
  VARVE_ASSIGN(const RowQuery query, RowQuery::compile(request.predicate));
  for (const std::string& name : request.columns) {
    if (state_schema().find(name) < 0) {
      return fail(ErrorCode::invalid_argument, "column", "the state has no column " + name);
    }
  }
  if (auto overlap = archive_->overlap(); overlap && !request.partial) {
    return std::unexpected(*std::move(overlap));
  }
  // Half of the budget is for the scan's blocks.
  LiveRecords records(request.max_memory_bytes / 2);
  Folder folder(records);
  Watch watch(findings);
  VARVE_ASSIGN(ScanSummary summary, scan(log_request(request), folder, watch));
  if (watch.refusal() && !request.partial) {
    return std::unexpected(*watch.refusal());
  }
  summary.rows = 0;
  if (request.limit == 0) {
    return summary;
  }
  Emitter emitter(request, sink);
  VARVE_TRY(records.visit([&](const LiveRecord& record) -> Result<bool> {
    return query.wants(record.seq, record.witnessed_at, record.kind, record.did, record.collection)
               ? emitter.add(record)
               : Result<bool>(true);
  }));
  VARVE_TRY(emitter.flush());
  summary.rows = emitter.rows();
  return summary;
}

}  // namespace varve::jss
