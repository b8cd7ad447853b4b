// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/remote_archive.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace varve::serve {

namespace {

constexpr std::string_view k_services = "/xrpc/network.bsky.jetstream.";
constexpr std::uint64_t k_most_page_bytes = std::uint64_t{16} << 20;
// 100,000 entries of a little over 200 bytes, and room for servers with larger pages.
constexpr std::uint64_t k_most_plan_bytes = std::uint64_t{64} << 20;
constexpr std::size_t k_most_segments = std::size_t{1} << 20;

std::string text_or_empty(const std::string* text) {
  return text != nullptr ? *text : std::string();
}

std::uint64_t last_byte(std::uint64_t offset, std::uint64_t length) { return offset + length - 1; }

}  // namespace

bool is_changed_generation(const Error& error) {
  return error.code == ErrorCode::locked && error.reason == "changed-while-reading";
}

Result<std::shared_ptr<RemoteArchive>> RemoteArchive::connect(const RemoteAddress& address,
                                                              RemoteOptions options) {
  VARVE_ASSIGN(auto http, HttpClient::create(address, std::move(options)));
  return std::shared_ptr<RemoteArchive>(
      new RemoteArchive(address.archive_url(), address.base_path, std::move(http)));
}

std::string RemoteArchive::target(std::string_view service, std::string_view query) const {
  std::string out = base_path_;
  out += k_services;
  out += service;
  if (!query.empty()) {
    out += '?';
    out += query;
  }
  return out;
}

std::unexpected<Error> RemoteArchive::refuse(std::string message) const {
  return fail(ErrorCode::io, "remote-answer",
              "the server's answer is refused: " + std::move(message), url_);
}

Error RemoteArchive::at(Error error, const std::string& segment, std::uint64_t offset) const {
  error.path = segment.empty() ? url_ : url_ + "/" + segment;
  error.offset = offset;
  return error;
}

Result<std::vector<RemoteSegment>> RemoteArchive::list() {
  std::vector<RemoteSegment> out;
  std::string cursor;
  do {
    RemoteRequest request;
    request.target =
        target("listSegments",
               "limit=1000" + (cursor.empty() ? "" : "&cursor=" + encode_in_query(cursor)));
    request.max_bytes = k_most_page_bytes;
    auto answer = http_->send(request);
    if (!answer) {
      Error error = at(std::move(answer).error(), "", 0);
      if (error.system_errno == ENOENT) {
        error.code = ErrorCode::not_a_store;
        error.message = "there is no jss archive at this address: " + error.message;
      }
      return std::unexpected(std::move(error));
    }
    auto page = parse_segment_page(answer->body);
    if (!page) {
      return std::unexpected(at(std::move(page).error(), "", 0));
    }
    for (RemoteSegment& segment : page->segments) {
      if (!out.empty() && segment.index <= out.back().index) {
        return refuse("pages of segments do not ascend");
      }
      out.push_back(std::move(segment));
    }
    if (out.size() > k_most_segments) {
      return fail(ErrorCode::limit, "limit",
                  "the server lists more segments than an archive may have", url_);
    }
    cursor = std::move(page->cursor);
  } while (!cursor.empty());
  return out;
}

Result<jss::SnapshotPlan> RemoteArchive::plan(const jss::SnapshotRequest& wanted) {
  RemoteRequest request;
  request.method = "POST";
  request.target = target("planSnapshot", "");
  request.body = plan_request_json(wanted);
  request.max_bytes = k_most_plan_bytes;
  auto answer = http_->send(request);
  if (!answer) {
    return std::unexpected(at(std::move(answer).error(), "", 0));
  }
  auto plan = parse_plan(answer->body);
  if (!plan) {
    return std::unexpected(at(std::move(plan).error(), "", 0));
  }
  return plan;
}

Result<std::string> RemoteArchive::block(const std::string& segment, std::uint32_t block,
                                         std::uint64_t max_bytes) {
  RemoteRequest request;
  request.target = target(
      "getBlock", "segment=" + encode_in_query(segment) + "&blockIndex=" + std::to_string(block));
  request.max_bytes = max_bytes;
  auto answer = http_->send(request);
  if (!answer) {
    return std::unexpected(at(std::move(answer).error(), segment, 0));
  }
  if (answer->status != 200) {
    return std::unexpected(at(refuse("a block was not sent whole").error(), segment, 0));
  }
  return std::move(answer->body);
}

RemoteRequest RemoteArchive::range_request(const std::string& segment, const Generation* generation,
                                           std::uint64_t offset, std::uint64_t length) const {
  RemoteRequest request;
  request.target = target("getSegment", "name=" + encode_in_query(segment));
  request.headers.emplace(
      "Range", "bytes=" + std::to_string(offset) + "-" + std::to_string(last_byte(offset, length)));
  if (generation != nullptr) {
    request.headers.emplace("If-Range", generation->etag);
  }
  request.max_bytes = length;
  return request;
}

Result<void> RemoteArchive::check_range(const RemoteAnswer& answer, const std::string& segment,
                                        const Generation& generation, std::uint64_t offset,
                                        std::uint64_t length) const {
  if (answer.status != 206 || text_or_empty(answer.header("ETag")) != generation.etag) {
    return std::unexpected(at(fail(ErrorCode::locked, "changed-while-reading",
                                   "the segment was replaced on the server while it was read")
                                  .error(),
                              segment, offset));
  }
  const auto range = parse_content_range(text_or_empty(answer.header("Content-Range")));
  if (!range || range->first != offset || range->last != last_byte(offset, length) ||
      range->size != generation.size_bytes) {
    return std::unexpected(
        at(refuse("it holds another range than was asked for").error(), segment, offset));
  }
  return {};
}

Result<std::string> RemoteArchive::range(const std::string& segment, const Generation& generation,
                                         std::uint64_t offset, std::uint64_t length,
                                         const std::atomic<bool>* cancelled) {
  const RemoteRequest request = range_request(segment, &generation, offset, length);
  const auto given_up = [&] { return cancelled != nullptr && *cancelled; };
  std::string bytes;
  BodyReceiver receiver;
  // Looked at before the body: a whole new generation is not downloaded to be thrown away.
  receiver.begin = [&](const RemoteAnswer& answer) -> Result<void> {
    VARVE_TRY(check_range(answer, segment, generation, offset, length));
    bytes.clear();
    bytes.reserve(length);
    return {};
  };
  receiver.take = [&](std::string_view piece) -> Result<void> {
    if (given_up()) {
      return fail(ErrorCode::io, "cancelled", "nobody waits for it any more");
    }
    bytes += piece;
    return {};
  };
  RetryPauses pauses(options());
  for (;;) {
    auto answer = http_->attempt(request, &receiver);
    if (answer) {
      if (answer->status == 416) {
        VARVE_TRY(check_range(*answer, segment, generation, offset, length));
      }
      if (bytes.size() == length) {
        return bytes;
      }
      answer = std::unexpected(RemoteFailure{
          fail(ErrorCode::io, "remote-answer", "the server's answer ended too early").error(),
          true,
          {}});
    }
    if (given_up() || !pauses.wait_after(answer.error())) {
      return std::unexpected(at(std::move(answer).error().error, segment, offset));
    }
  }
}

Result<RangeAnswer> RemoteArchive::probe(const std::string& segment, std::uint64_t length,
                                         std::uint64_t max_whole_bytes) {
  RemoteRequest request = range_request(segment, nullptr, 0, length);
  request.max_bytes = std::max(length, max_whole_bytes);
  auto answer = http_->send(request);
  if (!answer) {
    return std::unexpected(at(std::move(answer).error(), segment, 0));
  }
  RangeAnswer out;
  out.generation.etag = text_or_empty(answer->header("ETag"));
  if (out.generation.etag.starts_with("W/")) {
    out.generation.etag.clear();  // a weak one does not tell generations apart
  }
  out.bytes = std::move(answer->body);
  if (answer->status == 200) {
    out.whole = true;
    out.generation.size_bytes = out.bytes.size();
    return out;
  }
  const auto range = parse_content_range(text_or_empty(answer->header("Content-Range")));
  if (answer->status != 206 || !range || range->first != 0 || out.bytes.size() != range->last + 1 ||
      range->last + 1 != std::min(length, range->size)) {
    return std::unexpected(
        at(refuse("it holds another range than was asked for").error(), segment, 0));
  }
  out.generation.size_bytes = range->size;
  return out;
}

RemoteRequest RemoteArchive::whole_request(const std::string& segment,
                                           std::uint64_t max_bytes) const {
  RemoteRequest request;
  request.target = target("getSegment", "name=" + encode_in_query(segment));
  request.max_bytes = max_bytes;
  return request;
}

Result<RangeAnswer> RemoteArchive::whole(const std::string& segment, std::uint64_t max_bytes) {
  auto answer = http_->send(whole_request(segment, max_bytes));
  if (!answer) {
    return std::unexpected(at(std::move(answer).error(), segment, 0));
  }
  RangeAnswer out;
  out.whole = true;
  out.generation.etag = text_or_empty(answer->header("ETag"));
  out.bytes = std::move(answer->body);
  out.generation.size_bytes = out.bytes.size();
  return out;
}

}  // namespace varve::serve
