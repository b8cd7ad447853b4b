// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/parameters.hpp"

#include <utility>

#include "base/whole_number.hpp"
#include "base/words.hpp"

namespace varve::serve {

namespace {

template <class T>
Result<std::optional<T>> number_parameter(const HttpRequest& request, const std::string& name) {
  const std::string* text = request.parameter(name);
  if (text == nullptr || text->empty()) {
    return std::optional<T>();
  }
  const auto value = base::whole_number<T>(*text);
  if (!value) {
    return bad_parameter(name, "not a whole number of 64 bits");
  }
  return value;
}

}  // namespace

std::unexpected<Error> bad_parameter(std::string name, std::string message) {
  message = "the parameter " + name + ": " + message;
  return fail(ErrorCode::invalid_argument, std::move(name), std::move(message));
}

Result<std::optional<std::uint64_t>> unsigned_parameter(const HttpRequest& request,
                                                        const std::string& name) {
  return number_parameter<std::uint64_t>(request, name);
}

Result<std::optional<std::int64_t>> signed_parameter(const HttpRequest& request,
                                                     const std::string& name) {
  return number_parameter<std::int64_t>(request, name);
}

Result<bool> flag_parameter(const HttpRequest& request, const std::string& name) {
  const std::string* text = request.parameter(name);
  if (text == nullptr || *text == "0" || text->empty()) {
    return false;
  }
  if (*text != "1") {
    return bad_parameter(name, "0 or 1");
  }
  return true;
}

Result<std::string> choice_parameter(const HttpRequest& request, const std::string& name,
                                     std::string_view choices) {
  const std::string* text = request.parameter(name);
  if (text == nullptr || text->empty()) {
    return base::split_words(choices).front();
  }
  if (!base::lists_word(choices, *text)) {
    return bad_parameter(name, "one of: " + std::string(choices));
  }
  return *text;
}

Result<std::string> text_parameter(const HttpRequest& request, const std::string& name,
                                   std::size_t longest) {
  const std::string* text = request.parameter(name);
  if (text == nullptr) {
    return std::string();
  }
  if (text->size() > longest) {
    return bad_parameter(name, "too long");
  }
  return *text;
}

}  // namespace varve::serve
