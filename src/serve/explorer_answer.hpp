// SPDX-License-Identifier: MIT OR Apache-2.0
// The answers of the explorer's interface: JSON in which no number loses precision, and the headers
// that keep a browser from doing anything with it but read it.
#pragma once

#include <string_view>

#include "serve/http.hpp"
#include "varve/json.hpp"
#include "varve/result.hpp"

namespace varve::serve {

// Status 200. Integers of 64 bits are text, since browsers have doubles.
HttpResponse document_answer(const Json& json, int status = 200);
// varve.error/1. 400 for what the caller asked wrongly, 404 for what is not there, 500 for what the
// system refused, else 200's neighbour 422: the store is such that there is no answer.
HttpResponse failed_answer(const Error& error);
// varve.error/1 for what has no Error: a path, a method.
HttpResponse refused_answer(int status, std::string_view reason, std::string_view message);
// 202: ask again.
HttpResponse pending_answer();
// Headers for every answer of the explorer, page included.
void add_safety_headers(HttpResponse& response);

}  // namespace varve::serve
