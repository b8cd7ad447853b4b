// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/byte_answer.hpp"

#include <algorithm>
#include <charconv>

#include "serve/answers.hpp"
#include "serve/http_date.hpp"
#include "serve/http_head.hpp"

namespace varve::serve {

namespace {

constexpr std::string_view k_bytes = "application/octet-stream";
constexpr std::size_t k_max_ranges = 64;
constexpr std::int64_t k_ns_a_second = 1'000'000'000;
// Nothing a client could know: what is between two parts is no guess at what they hold.
constexpr std::string_view k_boundary = "varve-9f1c6a52d0b84e7f93c1";

std::time_t modified_s(const ByteSource& source) { return source.modified_ns / k_ns_a_second; }

// Whether a list of entity tags ("*" for any) holds the tag. `weak`: W/ does not matter.
bool lists_tag(std::string_view list, std::string_view tag, bool weak) {
  if (trimmed(list) == "*") {
    return true;
  }
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    std::string_view one = trimmed(item);
    if (weak && one.starts_with("W/")) {
      one.remove_prefix(2);
    }
    if (one == tag) {
      return true;
    }
  }
  return false;
}

bool not_modified(const HttpRequest& request, const ByteSource& source) {
  if (request.header("If-None-Match") != nullptr) {
    const auto [begin, end] = request.headers.equal_range("If-None-Match");
    return std::any_of(begin, end, [&](const auto& header) {
      return lists_tag(header.second, source.etag, true);
    });
  }
  const std::string* since = request.header("If-Modified-Since");
  const auto time = since != nullptr ? parse_http_date(*since) : std::nullopt;
  return time && modified_s(source) <= *time;
}

// Whether ranges count: without If-Range, or where it names what is here now.
bool range_counts(const HttpRequest& request, const ByteSource& source) {
  const std::string* condition = request.header("If-Range");
  return condition == nullptr || *condition == source.etag ||
         *condition == http_date(modified_s(source));
}

std::string content_range(const ByteRange& range, std::uint64_t size) {
  return "bytes " + std::to_string(range.first) + "-" + std::to_string(range.last) + "/" +
         std::to_string(size);
}

FileBody part_of(const FileBody& whole, const ByteRange& range) {
  return {whole.file, whole.offset + range.first, range.last - range.first + 1};
}

void add_parts(HttpResponse& answer, const FileBody& whole, const std::vector<ByteRange>& ranges) {
  for (const ByteRange& range : ranges) {
    std::string head = answer.body.empty() ? "" : "\r\n";
    head += "--" + std::string(k_boundary) + "\r\nContent-Type: " + std::string(k_bytes) +
            "\r\nContent-Range: " + content_range(range, whole.length) + "\r\n\r\n";
    answer.body.emplace_back(std::move(head));
    answer.body.emplace_back(part_of(whole, range));
  }
  answer.body.emplace_back("\r\n--" + std::string(k_boundary) + "--\r\n");
}

std::optional<std::uint64_t> digits(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  // A number beyond 64 bits is beyond any end.
  return error == std::errc::result_out_of_range ? ~std::uint64_t{0} : value;
}

// One "a-b", "a-" or "-n". False if malformed; an unsatisfiable one adds nothing.
bool add_range(std::string_view text, std::uint64_t size, std::vector<ByteRange>& out) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    return false;
  }
  const auto first = digits(text.substr(0, dash));
  const auto last = digits(text.substr(dash + 1));
  if (dash == 0) {
    if (!last) {
      return false;
    }
    if (*last != 0 && size != 0) {
      out.push_back({size - std::min(*last, size), size - 1});
    }
    return true;
  }
  if (!first || (!last && dash + 1 != text.size()) || (last && *last < *first)) {
    return false;
  }
  if (*first < size) {
    out.push_back({*first, last ? std::min(*last, size - 1) : size - 1});
  }
  return true;
}

void add_headers(HttpResponse& answer, const ByteSource& source) {
  answer.headers.emplace_back("ETag", source.etag);
  answer.headers.emplace_back("Last-Modified", http_date(modified_s(source)));
  answer.headers.emplace_back("Accept-Ranges", "bytes");
  answer.headers.emplace_back("Cache-Control",
                              source.cache_age_s == 0
                                  ? "public, no-cache"
                                  : "public, max-age=" + std::to_string(source.cache_age_s));
}

}  // namespace

std::optional<std::vector<ByteRange>> parse_ranges(std::string_view header, std::uint64_t size) {
  const std::size_t equals = header.find('=');
  if (equals == std::string_view::npos || !equal_ignoring_case(header.substr(0, equals), "bytes")) {
    return std::nullopt;
  }
  header.remove_prefix(equals + 1);
  std::vector<ByteRange> out;
  std::size_t count = 0;
  for (bool more = true; more;) {
    const std::size_t comma = header.find(',');
    const std::string_view item = trimmed(header.substr(0, comma));
    more = comma != std::string_view::npos;
    header.remove_prefix(more ? comma + 1 : header.size());
    if (item.empty() && (more || count != 0)) {
      continue;
    }
    if (++count > k_max_ranges) {
      return std::nullopt;
    }
    if (!add_range(item, size, out)) {
      return std::vector<ByteRange>();
    }
  }
  std::uint64_t total = 0;
  for (const ByteRange& range : out) {
    total += range.last - range.first + 1;
  }
  if (out.size() > 1 && total > size) {
    return std::nullopt;
  }
  return out;
}

HttpResponse byte_answer(const HttpRequest& request, const ByteSource& source) {
  HttpResponse answer;
  add_headers(answer, source);
  const std::string* match = request.header("If-Match");
  if (match != nullptr && !lists_tag(*match, source.etag, false)) {
    return error_answer(412, "the segment is no longer the one of If-Match");
  }
  if (not_modified(request, source)) {
    answer.status = 304;
    return answer;
  }
  const std::string* range = request.header("Range");
  const auto ranges = range != nullptr && range_counts(request, source)
                          ? parse_ranges(*range, source.bytes.length)
                          : std::nullopt;
  if (ranges && ranges->empty()) {
    HttpResponse refused = error_answer(416, "the range lies outside of the bytes");
    refused.headers.emplace_back("Content-Range", "bytes */" + std::to_string(source.bytes.length));
    refused.headers.emplace_back("ETag", source.etag);
    return refused;
  }
  if (ranges && ranges->size() > 1) {
    answer.status = 206;
    answer.headers.emplace_back("Content-Type",
                                "multipart/byteranges; boundary=" + std::string(k_boundary));
    add_parts(answer, source.bytes, *ranges);
    return answer;
  }
  answer.headers.emplace_back("Content-Type", k_bytes);
  if (ranges) {
    answer.status = 206;
    answer.headers.emplace_back("Content-Range",
                                content_range(ranges->front(), source.bytes.length));
    answer.body.emplace_back(part_of(source.bytes, ranges->front()));
  } else {
    answer.body.emplace_back(source.bytes);
  }
  return answer;
}

}  // namespace varve::serve
