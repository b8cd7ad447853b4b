// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/http_head.hpp"

#include <algorithm>

#include "base/whole_number.hpp"

namespace varve::serve {

namespace {

std::unexpected<HeadFault> refused(int status, std::string message) {
  return std::unexpected(HeadFault{status, std::move(message)});
}

bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}
// Control characters have no place in a header's value; bytes above 127 are let through.
bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = ascii_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool parse_query(std::string_view query, HttpRequest& request) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) {
      continue;
    }
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decoded(pair.substr(0, equals), true);
    auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) {
      return false;
    }
    request.parameters.emplace(*std::move(name), *std::move(value));
  }
  return true;
}

std::expected<void, HeadFault> parse_target(std::string_view target, HttpRequest& request) {
  // A proxy's absolute form; the Host header is what counts for us either way.
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const std::size_t slash = target.find('/', target.find("//") + 2);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/') || target.find('#') != std::string_view::npos) {
    return refused(400, "the request target is no path");
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  auto path = percent_decoded(target.substr(0, question), false);
  if (!path || path->find('\0') != std::string::npos ||
      !parse_query(target.substr(std::min(question + 1, target.size())), request)) {
    return refused(400, "a percent escape of the request target is malformed");
  }
  request.path = *std::move(path);
  return {};
}

std::expected<void, HeadFault> parse_request_line(std::string_view line, HttpHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return refused(400, "the request line is malformed");
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method) || !std::ranges::all_of(target, [](char c) {
        return static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
      })) {
    return refused(400, "the request line is malformed");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return version.starts_with("HTTP/") ? refused(505, "HTTP/1.1 is spoken here")
                                        : refused(400, "the request line is malformed");
  }
  head.http_1_0 = version == "HTTP/1.0";
  head.request.method = method;
  return parse_target(target, head.request);
}

std::expected<void, HeadFault> parse_fields(std::string_view lines, HeaderMap& out) {
  while (lines != "\r\n") {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
      return refused(400, "a header line is malformed");
    }
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!is_field_value(value)) {
      return refused(400, "a header's value holds control characters");
    }
    out.emplace(line.substr(0, colon), value);
  }
  return {};
}

// How long the body is; what leaves room for two readings is refused.
std::expected<void, HeadFault> parse_framing(HttpHead& head) {
  const HeaderMap& headers = head.request.headers;
  const auto [begin, end] = headers.equal_range("Content-Length");
  for (auto length = begin; length != end; ++length) {
    const auto value = base::whole_number<std::uint64_t>(length->second);
    if (!value || (length != begin && *value != head.content_length)) {
      return refused(400, "Content-Length is no number");
    }
    head.content_length = *value;
  }
  const auto coding = headers.equal_range("Transfer-Encoding");
  if (coding.first == coding.second) {
    return {};
  }
  if (begin != end || head.http_1_0 || std::next(coding.first) != coding.second) {
    return refused(400, "the length of the body is said in two ways");
  }
  if (!equal_ignoring_case(coding.first->second, "chunked")) {
    return refused(501, "of transfer codings only chunked is understood");
  }
  head.chunked = true;
  return {};
}

std::expected<void, HeadFault> parse_connection(HttpHead& head) {
  const HttpRequest& request = head.request;
  const auto hosts = request.headers.equal_range("Host");
  const auto count = std::distance(hosts.first, hosts.second);
  if (count > 1 || (count == 0 && !head.http_1_0)) {
    return refused(400, "one Host header is wanted");
  }
  head.keep_alive = !head.http_1_0;
  const auto options = request.headers.equal_range("Connection");
  for (auto option = options.first; option != options.second; ++option) {
    if (has_token(option->second, "close")) {
      head.keep_alive = false;
      break;
    }
    head.keep_alive = head.keep_alive || has_token(option->second, "keep-alive");
  }
  if (const std::string* expect = request.header("Expect"); expect && !head.http_1_0) {
    if (!equal_ignoring_case(*expect, "100-continue")) {
      return refused(417, "of expectations only 100-continue is understood");
    }
    head.expects_continue = true;
  }
  return {};
}

}  // namespace

std::size_t find_head_end(std::string_view bytes, std::size_t scanned) {
  // A line feed is judged with the three bytes before it.
  for (std::size_t at = bytes.find('\n', scanned); at != std::string_view::npos;
       at = bytes.find('\n', at + 1)) {
    if (at == 0 || bytes[at - 1] != '\r') {
      return std::string_view::npos;
    }
    if (at >= 3 && bytes.substr(at - 3, 2) == "\r\n") {
      return at + 1;
    }
  }
  return 0;
}

std::expected<HttpHead, HeadFault> parse_head(std::string_view bytes) {
  HttpHead head;
  const std::size_t line_end = bytes.find("\r\n");
  if (line_end == std::string_view::npos || !bytes.ends_with("\r\n\r\n")) {
    return refused(400, "the request is malformed");
  }
  if (auto parsed = parse_request_line(bytes.substr(0, line_end), head); !parsed) {
    return std::unexpected(std::move(parsed).error());
  }
  if (auto parsed = parse_fields(bytes.substr(line_end + 2), head.request.headers); !parsed) {
    return std::unexpected(std::move(parsed).error());
  }
  if (auto parsed = parse_framing(head); !parsed) {
    return std::unexpected(std::move(parsed).error());
  }
  if (auto parsed = parse_connection(head); !parsed) {
    return std::unexpected(std::move(parsed).error());
  }
  return head;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = text.size() - i > 2 ? hex_digit(text[i + 1]) : -1;
      const int low = text.size() - i > 2 ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return std::nullopt;
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, ascii_lower, ascii_lower);
}

bool has_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    if (equal_ignoring_case(trimmed(item), token)) {
      return true;
    }
  }
  return false;
}

}  // namespace varve::serve
