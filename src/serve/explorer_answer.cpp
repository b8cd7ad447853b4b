// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/explorer_answer.hpp"

#include <string>
#include <utility>

#include "output/report_json.hpp"

namespace varve::serve {

namespace {

int status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
      return error.reason == "not_found" ? 404 : 400;
    case ErrorCode::io:
    case ErrorCode::poisoned:
      return 500;
    case ErrorCode::locked:
      return 503;
    case ErrorCode::not_a_store:
    case ErrorCode::unsupported:
    case ErrorCode::damaged:
    case ErrorCode::torn:
    case ErrorCode::limit:
      break;
  }
  return 422;
}

}  // namespace

void add_safety_headers(HttpResponse& response) {
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

HttpResponse document_answer(const Json& json, int status) {
  HttpResponse response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/json");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("Content-Security-Policy", "default-src 'none'");
  add_safety_headers(response);
  response.body.emplace_back(json.text(true));
  return response;
}

HttpResponse failed_answer(const Error& error) {
  return document_answer(output::error_json(error, exit_code(error)), status_of(error));
}

HttpResponse refused_answer(int status, std::string_view reason, std::string_view message) {
  Error error;
  error.code = ErrorCode::invalid_argument;
  error.reason = reason;
  error.message = message;
  return document_answer(output::error_json(error, exit_code(error)), status);
}

HttpResponse pending_answer() {
  return document_answer(Json::object().set("schema", "varve.pending/1").set("pending", true), 202);
}

}  // namespace varve::serve
