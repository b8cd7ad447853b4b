// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/answers.hpp"

#include <algorithm>
#include <array>

namespace varve::serve {

namespace {

struct Status {
  int status;
  std::string_view phrase;
  std::string_view error;  // how the protocol calls it
};

constexpr std::array k_statuses{
    Status{101, "Switching Protocols", ""},
    Status{200, "OK", ""},
    Status{204, "No Content", ""},
    Status{206, "Partial Content", ""},
    Status{304, "Not Modified", ""},
    Status{400, "Bad Request", "InvalidRequest"},
    Status{403, "Forbidden", "Forbidden"},
    Status{404, "Not Found", "NotFound"},
    Status{405, "Method Not Allowed", "MethodNotAllowed"},
    Status{408, "Request Timeout", "RequestTimeout"},
    Status{412, "Precondition Failed", "PreconditionFailed"},
    Status{413, "Content Too Large", "TooLarge"},
    Status{414, "URI Too Long", "InvalidRequest"},
    Status{416, "Range Not Satisfiable", "RangeNotSatisfiable"},
    Status{417, "Expectation Failed", "InvalidRequest"},
    Status{421, "Misdirected Request", "MisdirectedRequest"},
    Status{426, "Upgrade Required", "UpgradeRequired"},
    Status{429, "Too Many Requests", "RateLimitExceeded"},
    Status{431, "Request Header Fields Too Large", "InvalidRequest"},
    Status{500, "Internal Server Error", "InternalServerError"},
    Status{501, "Not Implemented", "MethodNotImplemented"},
    Status{503, "Service Unavailable", "ServiceUnavailable"},
    Status{505, "HTTP Version Not Supported", "InvalidRequest"},
};

const Status* find_status(int status) {
  const auto* found = std::ranges::find(k_statuses, status, &Status::status);
  return found == k_statuses.end() ? nullptr : found;
}

}  // namespace

std::string_view reason_phrase(int status) {
  const Status* known = find_status(status);
  return known != nullptr ? known->phrase : "Unnamed";
}

HttpResponse text_answer(std::string text, std::string_view content_type, int status) {
  HttpResponse out;
  out.status = status;
  out.headers.emplace_back("Content-Type", content_type);
  out.body.emplace_back(std::move(text));
  return out;
}

HttpResponse json_answer(const Json& json, int status) {
  return text_answer(json.text(), "application/json", status);
}

HttpResponse error_answer(int status, std::string_view name, std::string_view message) {
  Json json = Json::object();
  json.set("error", name).set("message", message);
  return json_answer(json, status);
}

HttpResponse error_answer(int status, std::string_view message) {
  const Status* known = find_status(status);
  return error_answer(status, known != nullptr ? known->error : "Error", message);
}

}  // namespace varve::serve
