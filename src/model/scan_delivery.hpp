// SPDX-License-Identifier: MIT OR Apache-2.0
// The ordered end of a scan: what it hands to the caller, with the limit and the strictness that
// the request asks for.
#pragma once

#include <cstdint>
#include <utility>

#include "varve/scan.hpp"

namespace varve::model {

class ScanDelivery {
 public:
  // None is owned; the summary counts what is delivered.
  ScanDelivery(const ScanRequest& request, BatchSink& sink, FindingSink& findings,
               ScanSummary& summary)
      : request_(request), sink_(sink), findings_(findings), summary_(summary) {}

  // False if the scan must stop: a strict one, at an error.
  bool tell(Finding finding) {
    const bool is_error = finding.severity == Severity::error;
    if (is_error) {
      summary_.verdict = worse(summary_.verdict, finding.verdict);
    }
    findings_.add(std::move(finding));
    return !(is_error && request_.strict);
  }

  // Rows were mapped on the worker, unless the limit cuts the batch. False if the scan must stop.
  Result<bool> deliver(Batch batch) {
    const std::uint64_t left = request_.limit - summary_.rows;
    if (batch.rows > left) {
      batch.rows = static_cast<std::size_t>(left);
      batch.mapped.clear();
      if (request_.mapper != nullptr) {
        request_.mapper->map(batch);
      }
    }
    summary_.rows += batch.rows;
    if (batch.rows > 0) {
      VARVE_ASSIGN(const bool go_on, sink_.consume(std::move(batch)));
      if (!go_on) {
        return false;
      }
    }
    return !full();
  }
  bool full() const { return summary_.rows >= request_.limit; }

 private:
  const ScanRequest& request_;
  BatchSink& sink_;
  FindingSink& findings_;
  ScanSummary& summary_;
};

}  // namespace varve::model
