// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "output/arrow_layout.hpp"
#include "output/pull_scan.hpp"
#include "varve/arrow.hpp"

namespace varve {

namespace {

class ScanStream {
 public:
  ScanStream(std::shared_ptr<StoreView> view, ScanRequest request,
             std::shared_ptr<FindingSink> findings, output::ArrowNode layout)
      : view_(view),
        face_(request.face),
        layout_(std::move(layout)),
        scan_(std::move(view), std::move(request), std::move(findings)) {}

  void schema(ArrowSchema* out) const {
    output::export_arrow_schema(view_->schema(face_), layout_, out);
  }
  int next(ArrowArray* out) {
    std::optional<Error> error;
    const std::optional<Batch> batch = scan_.next(error);
    if (!batch) {
      *out = {};
      if (error) {
        error_ = error->text();
        return EIO;
      }
      return 0;
    }
    if (auto done = output::export_arrow_array(*batch, layout_, out); !done) {
      error_ = done.error().text();
      return EIO;
    }
    return 0;
  }
  void remember(std::string error) { error_ = std::move(error); }
  const char* error() const { return error_.empty() ? nullptr : error_.c_str(); }

 private:
  std::shared_ptr<StoreView> view_;
  Face face_;
  output::ArrowNode layout_;
  std::string error_;
  output::PullScan scan_;
};

ScanStream& of(ArrowArrayStream* stream) { return *static_cast<ScanStream*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    of(stream).schema(out);
    return 0;
  } catch (const std::exception& e) {
    of(stream).remember(e.what());
    return ENOMEM;
  }
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  try {
    return of(stream).next(out);
  } catch (const std::exception& e) {
    of(stream).remember(e.what());
    return ENOMEM;
  }
}

const char* get_last_error(ArrowArrayStream* stream) { return of(stream).error(); }

void release_stream(ArrowArrayStream* stream) {
  const std::unique_ptr<ScanStream> owned(&of(stream));
  stream->release = nullptr;
}

}  // namespace

Result<void> export_arrow_stream(std::shared_ptr<StoreView> view, ScanRequest request,
                                 std::shared_ptr<FindingSink> findings, ArrowArrayStream* out) {
  auto layout = output::arrow_layout(view->schema(request.face), request.columns);
  if (!layout) {
    return std::unexpected(std::move(layout).error());
  }
  request.mapper = nullptr;
  auto stream = std::make_unique<ScanStream>(std::move(view), std::move(request),
                                             std::move(findings), std::move(*layout));
  *out = {get_schema, get_next, get_last_error, release_stream, stream.release()};
  return {};
}

}  // namespace varve
