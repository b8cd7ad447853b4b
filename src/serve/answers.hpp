// SPDX-License-Identifier: MIT OR Apache-2.0
// Answers that every service gives in the same form.
#pragma once

#include <string>
#include <string_view>

#include "serve/http.hpp"
#include "varve/json.hpp"

namespace varve::serve {

// `{"error": NAME, "message": TEXT}` (spec section 17).
HttpResponse error_answer(int status, std::string_view name, std::string_view message);
// The same with the error's usual name: 404 NotFound, 413 TooLarge...
HttpResponse error_answer(int status, std::string_view message);
HttpResponse json_answer(const Json& json, int status = 200);
HttpResponse text_answer(std::string text, std::string_view content_type, int status = 200);

// The phrase behind a status in the first line of an answer.
std::string_view reason_phrase(int status);

}  // namespace varve::serve
