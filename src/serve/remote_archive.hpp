// SPDX-License-Identifier: MIT OR Apache-2.0
// The services of an archive (spec section 17) from the client's side: requests, and answers that
// were checked before anybody believes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/remote_http.hpp"
#include "varve/jss_plan.hpp"

namespace varve::serve {

// A sealed segment as listSegments tells of it (section 17.1).
struct RemoteSegment {
  std::string name;
  std::uint64_t index = 0;  // the number in the name
  std::uint64_t size_bytes = 0;
  std::uint64_t checksum = 0;  // of the header: the generation
};

// One generation of a segment's file: what If-Range compares.
struct Generation {
  std::string etag;  // as the server spells it; empty if it gives none
  std::uint64_t size_bytes = 0;
};

// A stretch of a segment's file.
struct RangeAnswer {
  Generation generation;
  std::string bytes;
  bool whole = false;  // the server knows no ranges and has sent all of the file
};

// Segments above this are refused (section 17.5).
inline constexpr std::uint64_t k_most_segment_bytes = std::uint64_t{1} << 30;

// The error of a segment that is another generation than the one that was begun: code locked,
// reason "changed-while-reading".
bool is_changed_generation(const Error& error);

// Thread-safe.
class RemoteArchive {
 public:
  static Result<std::shared_ptr<RemoteArchive>> connect(const RemoteAddress& address,
                                                        RemoteOptions options);

  // The archive's address, for messages.
  const std::string& url() const { return url_; }
  HttpClient& http() { return *http_; }
  const RemoteOptions& options() const { return http_->options(); }

  // All sealed segments, ascending. Errors: io with reason "remote-answer" for an answer that
  // breaks a rule; not_a_store if there is no archive at the address.
  Result<std::vector<RemoteSegment>> list();
  // One page (section 17.4). Answers that section 17.5 has a client refuse are refused.
  Result<jss::SnapshotPlan> plan(const jss::SnapshotRequest& request);
  // The stored frame of a block, without its prefix. `max_bytes`: of the frame.
  Result<std::string> block(const std::string& segment, std::uint32_t block,
                            std::uint64_t max_bytes);
  // The first `length` bytes, of whatever generation there is now. An answer that ignores the range
  // is taken if it has at most `max_whole_bytes`.
  Result<RangeAnswer> probe(const std::string& segment, std::uint64_t length,
                            std::uint64_t max_whole_bytes);
  // A stretch of exactly that generation, wholly inside of it. Given up once `cancelled`, if there
  // is one, is true.
  Result<std::string> range(const std::string& segment, const Generation& generation,
                            std::uint64_t offset, std::uint64_t length,
                            const std::atomic<bool>* cancelled = nullptr);
  // All of a segment, for servers without ranges or ETags.
  Result<RangeAnswer> whole(const std::string& segment, std::uint64_t max_bytes);

  // For downloads that look at the bytes as they arrive: the request, and whether its answer is
  // what was asked for.
  RemoteRequest range_request(const std::string& segment, const Generation* generation,
                              std::uint64_t offset, std::uint64_t length) const;
  RemoteRequest whole_request(const std::string& segment, std::uint64_t max_bytes) const;
  Result<void> check_range(const RemoteAnswer& answer, const std::string& segment,
                           const Generation& generation, std::uint64_t offset,
                           std::uint64_t length) const;
  // `error` with the segment and the place that it is about.
  Error at(Error error, const std::string& segment, std::uint64_t offset) const;

 private:
  RemoteArchive(std::string url, std::string base_path, std::unique_ptr<HttpClient> http)
      : url_(std::move(url)), base_path_(std::move(base_path)), http_(std::move(http)) {}
  std::string target(std::string_view service, std::string_view query) const;
  std::unexpected<Error> refuse(std::string message) const;

  std::string url_;
  std::string base_path_;
  std::unique_ptr<HttpClient> http_;
};

// Readers of answers, apart from the network. `what` of errors is the rule that is broken.
struct SegmentPage {
  std::vector<RemoteSegment> segments;
  std::string cursor;  // empty: no more follow
};
Result<SegmentPage> parse_segment_page(std::string_view json);
Result<jss::SnapshotPlan> parse_plan(std::string_view json);
// A request as the protocol spells it.
std::string plan_request_json(const jss::SnapshotRequest& request);
// "bytes 0-99/1000"; nullopt for anything else, also for an unknown size.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t size = 0;
};
std::optional<ContentRange> parse_content_range(std::string_view text);

}  // namespace varve::serve
