// SPDX-License-Identifier: MIT OR Apache-2.0
// The files of the page, which the build puts into the program.
#pragma once

#include <span>
#include <string_view>

#include "serve/http.hpp"

namespace varve::serve {

struct PageFile {
  std::string_view name;  // "index.html"
  std::string_view type;  // its Content-Type
  std::string_view content;
};

// The files of src/serve/page; made by cmake/EmbedPage.cmake.
std::span<const PageFile> page_files();

// "/" and "/explorer/NAME". The page may load nothing but these files, and speak to nobody but its
// server.
HttpResponse page_answer(const HttpRequest& request);

}  // namespace varve::serve
