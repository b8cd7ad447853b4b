// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/explorer_page.hpp"

#include <algorithm>
#include <string>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "serve/explorer_answer.hpp"

namespace varve::serve {

namespace {

constexpr std::string_view k_files = "/explorer/";
constexpr std::string_view k_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PageFile* file_at(const std::string& path) {
  const std::string_view name = path == "/" ? std::string_view("index.html")
                                : path.starts_with(k_files)
                                    ? std::string_view(path).substr(k_files.size())
                                    : std::string_view();
  const auto files = page_files();
  const auto found = std::ranges::find(files, name, &PageFile::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace

HttpResponse page_answer(const HttpRequest& request) {
  const PageFile* const file = file_at(request.path);
  if (file == nullptr) {
    return refused_answer(404, "path", "the explorer has no such file");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return refused_answer(405, "method", "this is only read");
  }
  HttpResponse response;
  const std::string tag =
      '"' + to_text(Number::hex64(base::xxh3_64(base::as_bytes(file->content)))) + '"';
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("Content-Security-Policy", k_policy);
  add_safety_headers(response);
  const std::string* const known = request.header("If-None-Match");
  if (known != nullptr && *known == tag) {
    response.status = 304;
    return response;
  }
  response.headers.emplace_back("Content-Type", file->type);
  response.body.emplace_back(std::string(file->content));
  return response;
}

}  // namespace varve::serve
