// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/writing.hpp"

#include <cerrno>
#include <utility>

#include "jss/event_line.hpp"
#include "jss/layout.hpp"
#include "jss/names.hpp"
#include "model/options.hpp"

namespace varve::jss {

namespace {

// Lines of CONTRACT section 5 into a writer.
class LineAppender final : public Appender {
 public:
  LineAppender(std::unique_ptr<Writer> writer, io::Environment& environment)
      : writer_(std::move(writer)), environment_(environment) {}

  Result<void> append_line(std::string_view json) override {
    VARVE_ASSIGN(const Event event, parser_.parse(json, environment_.now_us()));
    VARVE_TRY(writer_->append(event));
    return {};
  }
  Result<std::uint64_t> sync() override {
    VARVE_TRY(writer_->sync());
    return writer_->acknowledged();
  }
  Result<std::uint64_t> flush() override {
    VARVE_TRY(writer_->flush());
    return writer_->appended();
  }
  Result<void> close() override { return writer_->close(); }

 private:
  std::unique_ptr<Writer> writer_;
  io::Environment& environment_;
  EventLineParser parser_;
};

}  // namespace

Result<WriterOptions> writer_options(const WriteRequest& request) {
  WriterOptions options;
  options.threads = request.threads;
  VARVE_ASSIGN(const std::uint64_t rows,
               model::number_option(request.options, "block-rows", options.block_rows));
  if (rows == 0 || rows > k_max_block_rows) {
    return fail(ErrorCode::invalid_argument, "block-rows", "a block holds 1 to 262144 rows");
  }
  options.block_rows = static_cast<std::uint32_t>(rows);
  VARVE_ASSIGN(options.rotation_bytes,
               model::number_option(request.options, "rotation-bytes", options.rotation_bytes));
  VARVE_ASSIGN(options.next_seq,
               model::number_option(request.options, "next-seq", options.next_seq));
  return options;
}

Result<WriteReport> init_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request) {
  WriteReport report;
  report.dry_run = request.dry_run;
  const bool single = path.ends_with(k_name_suffix);
  if (request.dry_run) {
    if (files.identity_of(path)) {
      return fail_errno(EEXIST, "init", path);
    }
  } else {
    VARVE_TRY(Writer::create(files, path));
  }
  report.actions.push_back({single ? "" : *segment_name(0), "create", 0, k_header_bytes});
  return report;
}

Result<std::unique_ptr<Appender>> open_store_appender(io::FileSystem& files,
                                                      const std::string& path,
                                                      const WriteRequest& request) {
  VARVE_ASSIGN(const WriterOptions options, writer_options(request));
  VARVE_ASSIGN(auto writer, Writer::open(files, path, options));
  io::Environment& environment =
      request.environment != nullptr ? *request.environment : io::system_environment();
  return std::make_unique<LineAppender>(std::move(writer), environment);
}

}  // namespace varve::jss
