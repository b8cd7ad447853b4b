// SPDX-License-Identifier: MIT OR Apache-2.0
// A stretch of an immutable file as an answer, with validators, conditions and ranges (RFC 9110,
// sections 13 and 14).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.hpp"

namespace varve::serve {

struct ByteSource {
  FileBody bytes;                // all of the resource
  std::string etag;              // strong, in quotes
  std::int64_t modified_ns = 0;  // of the file
  std::uint64_t cache_age_s = 0;
};

HttpResponse byte_answer(const HttpRequest& request, const ByteSource& source);

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // inclusive
};
// The satisfiable ranges of a Range header over `size` bytes. nullopt: there is nothing to heed (no
// unit of bytes, too many ranges, or more bytes than the whole). Empty: none can be satisfied, or
// the header is malformed.
std::optional<std::vector<ByteRange>> parse_ranges(std::string_view header, std::uint64_t size);

}  // namespace varve::serve
