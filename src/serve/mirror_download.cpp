// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/mirror_download.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "serve/mirror_parts.hpp"

namespace varve::serve {

namespace {

constexpr unsigned k_most_new_beginnings = 2;
// Written, and noted, at a time.
constexpr std::size_t k_piece_bytes = std::size_t{128} << 10;

Error interrupted_error() {
  return fail(ErrorCode::io, "interrupted", "interrupted; what has arrived is kept").error();
}

// Collects an answer's body into pieces and appends them to a part.
class PartWriter {
 public:
  PartWriter(PartFile& file, std::size_t part, const DownloadOptions& options)
      : file_(file), part_(part), options_(options) {}

  Result<void> take(std::string_view bytes) {
    if (options_.interrupted && options_.interrupted()) {
      return std::unexpected(interrupted_error());
    }
    held_ += bytes;
    return held_.size() < k_piece_bytes ? Result<void>() : flush();
  }

  Result<void> flush() {
    if (held_.empty()) {
      return {};
    }
    VARVE_TRY(file_.append(part_, held_));
    if (options_.arrived) {
      options_.arrived(held_.size());
    }
    advanced_ = true;
    held_.clear();
    return {};
  }

  // Whether anything was written since it was last asked.
  bool advanced() { return std::exchange(advanced_, false); }

 private:
  PartFile& file_;
  std::size_t part_;
  const DownloadOptions& options_;
  std::string held_;
  bool advanced_ = false;
};

class Download {
 public:
  Download(io::Directory& work, RemoteArchive& archive, const std::string& segment,
           const DownloadOptions& options)
      : work_(work), archive_(archive), segment_(segment), options_(options) {}

  // All of one generation.
  Result<Downloaded> run() {
    VARVE_ASSIGN(file_, PartFile::resume(work_, segment_, options_.part_bytes));
    Downloaded out;
    if (file_ != nullptr) {
      out.bytes_before = file_->received_in_all();
    } else {
      VARVE_TRY(probe());
    }
    if (file_ != nullptr) {
      VARVE_TRY(fetch_parts());
      VARVE_TRY(file_->sync());
      out.bytes = file_->generation().size_bytes;
      return out;
    }
    VARVE_ASSIGN(out.bytes, fetch_whole());
    return out;
  }

 private:
  // Asks for the first part of whatever there is. Leaves file_ null where the server knows no
  // ranges or has no ETag: nothing would tell two generations apart.
  Result<void> probe() {
    RemoteRequest request = archive_.range_request(segment_, nullptr, 0, options_.part_bytes);
    std::optional<PartWriter> writer;
    bool plain = false;
    BodyReceiver receiver;
    receiver.begin = [&](const RemoteAnswer& answer) -> Result<void> {
      VARVE_TRY(begin_file(answer, plain));
      writer.emplace(*file_, 0, options_);
      return {};
    };
    receiver.take = [&](std::string_view bytes) { return writer->take(bytes); };
    RetryPauses pauses(archive_.options());
    for (;;) {
      auto answer = archive_.http().attempt(request, &receiver);
      if (writer) {
        VARVE_TRY(writer->flush());
      }
      if (plain || file_ != nullptr) {
        // What is missing of the part is fetched with the others; a refusal by the receiving end
        // would only come again.
        return answer || answer.error().may_pass || plain
                   ? Result<void>()
                   : std::unexpected(archive_.at(answer.error().error, segment_, 0));
      }
      if (answer) {  // 416: there is not one byte
        return std::unexpected(archive_.at(
            fail(ErrorCode::io, "remote-answer", "the server says that the segment is empty")
                .error(),
            segment_, 0));
      }
      if (!pauses.wait_after(answer.error())) {
        return std::unexpected(archive_.at(std::move(answer).error().error, segment_, 0));
      }
    }
  }

  // From the head of the probe's answer. An error where the body is not wanted.
  Result<void> begin_file(const RemoteAnswer& answer, bool& plain) {
    const std::string* etag = answer.header("ETag");
    const std::string* stretch = answer.header("Content-Range");
    const auto range = stretch != nullptr ? parse_content_range(*stretch) : std::nullopt;
    if (answer.status == 200 || etag == nullptr || etag->starts_with("W/")) {
      plain = true;
      return fail(ErrorCode::unsupported, "plain", "one plain download");
    }
    if (!range || range->first != 0 ||
        range->last + 1 != std::min(options_.part_bytes, range->size)) {
      return fail(ErrorCode::io, "remote-answer",
                  "the server's answer is refused: it holds another range than was asked for");
    }
    VARVE_TRY(check_size(range->size));
    VARVE_ASSIGN(file_,
                 PartFile::begin(work_, segment_, {*etag, range->size}, options_.part_bytes));
    return {};
  }

  Result<void> check_size(std::uint64_t bytes) const {
    if (bytes <= k_most_segment_bytes) {
      return {};
    }
    Error error = archive_.at(
        fail(ErrorCode::limit, "limit", "the segment is larger than 1 GiB").error(), segment_, 0);
    error.expected = Number::decimal(k_most_segment_bytes);
    error.actual = Number::decimal(bytes);
    return std::unexpected(std::move(error));
  }

  Result<void> fetch_parts() {
    const auto threads = std::clamp<std::size_t>(file_->parts(), 1, options_.parts_at_once);
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < threads; ++i) {
      workers.emplace_back([this] { fetch_what_is_left(); });
    }
    fetch_what_is_left();
    workers.clear();
    if (error_) {
      return std::unexpected(*error_);
    }
    return {};
  }

  void fetch_what_is_left() {
    for (;;) {
      const std::size_t part = next_part_++;
      if (part >= file_->parts() || failed_) {
        return;
      }
      auto fetched = fetch_part(part);
      if (!fetched) {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        if (!error_) {
          error_ = std::move(fetched).error();
        }
        return;
      }
    }
  }

  // Each attempt begins where the last one broke off.
  Result<void> fetch_part(std::size_t part) {
    PartWriter writer(*file_, part, options_);
    RetryPauses pauses(archive_.options());
    for (;;) {
      const std::uint64_t offset = file_->part_offset(part) + file_->received(part);
      const std::uint64_t length = file_->part_length(part) - file_->received(part);
      if (length == 0) {
        return {};
      }
      const Generation& generation = file_->generation();
      BodyReceiver receiver;
      receiver.begin = [&](const RemoteAnswer& answer) {
        return archive_.check_range(answer, segment_, generation, offset, length);
      };
      receiver.take = [&](std::string_view bytes) -> Result<void> {
        if (failed_) {
          return fail(ErrorCode::io, "cancelled", "another part could not be fetched");
        }
        return writer.take(bytes);
      };
      auto answer = archive_.http().attempt(
          archive_.range_request(segment_, &generation, offset, length), &receiver);
      VARVE_TRY(writer.flush());
      if (answer) {
        if (answer->status == 416) {
          return archive_.check_range(*answer, segment_, generation, offset, length);
        }
        continue;
      }
      if (writer.advanced()) {
        pauses.begin_again();
      }
      if (failed_ || !pauses.wait_after(answer.error())) {
        return std::unexpected(archive_.at(std::move(answer).error().error, segment_, offset));
      }
    }
  }

  // Without ranges or ETags: from the beginning each time.
  Result<std::uint64_t> fetch_whole() {
    VARVE_TRY(discard_parts(work_, segment_));
    VARVE_ASSIGN(const auto data,
                 work_.open_file(part_file_name(segment_), io::OpenMode::create_exclusive));
    std::uint64_t size = 0;
    BodyReceiver receiver;
    receiver.begin = [&](const RemoteAnswer& answer) -> Result<void> {
      if (answer.status != 200) {
        return fail(ErrorCode::io, "remote-answer",
                    "the server's answer is refused: a part, where all was asked for");
      }
      size = 0;
      return data->truncate(0);
    };
    receiver.take = [&](std::string_view bytes) -> Result<void> {
      if (options_.interrupted && options_.interrupted()) {
        return std::unexpected(interrupted_error());
      }
      VARVE_TRY(data->write_at(base::as_bytes(bytes), size));
      size += bytes.size();
      if (options_.arrived) {
        options_.arrived(bytes.size());
      }
      return {};
    };
    const RemoteRequest request = archive_.whole_request(segment_, k_most_segment_bytes);
    RetryPauses pauses(archive_.options());
    for (;;) {
      auto answer = archive_.http().attempt(request, &receiver);
      if (answer && answer->status == 200) {
        VARVE_TRY(data->sync());
        return size;
      }
      if (answer || !pauses.wait_after(answer.error())) {
        return std::unexpected(archive_.at(
            answer ? fail(ErrorCode::io, "remote-answer", "the server sent no segment").error()
                   : std::move(answer).error().error,
            segment_, size));
      }
    }
  }

  io::Directory& work_;
  RemoteArchive& archive_;
  const std::string& segment_;
  const DownloadOptions& options_;
  std::unique_ptr<PartFile> file_;
  std::atomic<std::size_t> next_part_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<Downloaded> download_segment(io::Directory& work, RemoteArchive& archive,
                                    const std::string& segment, const DownloadOptions& options) {
  for (unsigned i = 0;; ++i) {
    auto done = Download(work, archive, segment, options).run();
    if (done || !is_changed_generation(done.error())) {
      return done;
    }
    VARVE_TRY(discard_parts(work, segment));
    if (i == k_most_new_beginnings) {
      return done;
    }
  }
}

}  // namespace varve::serve
