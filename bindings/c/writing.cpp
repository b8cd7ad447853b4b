// SPDX-License-Identifier: MIT OR Apache-2.0
// The C interface's calls that write: create, and append through a writer.
#include <memory>

#include "handles.hpp"

using namespace varve;

struct varve_writer {
  std::unique_ptr<Appender> appender;
};

namespace {

Result<WriteRequest> read_request(const Format& format, const varve_write_options* given) {
  VARVE_ASSIGN(const varve_write_options options, c::read_options(given));
  WriteRequest request;
  request.threads = options.threads;
  VARVE_ASSIGN(request.options, c::read_settings(format, options.settings, options.setting_count));
  return request;
}

}  // namespace

extern "C" {

varve_code varve_create(const char* format, const char* path, const varve_write_options* options,
                        varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(format != nullptr && path != nullptr, "format and path"));
    VARVE_ASSIGN(const Format* chosen, c::choose_format(format, path));
    VARVE_ASSIGN(const WriteRequest request, read_request(*chosen, options));
    VARVE_TRY(chosen->init(io::posix_file_system(), path, request));
    return {};
  });
}

varve_code varve_writer_open(const char* path, const varve_write_options* options,
                             varve_writer** writer, varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(path != nullptr && writer != nullptr, "path and writer"));
    *writer = nullptr;
    VARVE_ASSIGN(const Format* format, c::choose_format(nullptr, path));
    VARVE_ASSIGN(const WriteRequest request, read_request(*format, options));
    auto opened = std::make_unique<varve_writer>();
    VARVE_ASSIGN(opened->appender, format->open_appender(io::posix_file_system(), path, request));
    *writer = opened.release();
    return {};
  });
}

varve_code varve_writer_append(varve_writer* writer, const char* json, size_t length,
                               varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(writer != nullptr && json != nullptr, "writer and json"));
    return writer->appender->append_line({json, length});
  });
}

varve_code varve_writer_sync(varve_writer* writer, uint64_t* acknowledged, varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(writer != nullptr, "writer"));
    VARVE_ASSIGN(const std::uint64_t durable, writer->appender->sync());
    if (acknowledged != nullptr) {
      *acknowledged = durable;
    }
    return {};
  });
}

varve_code varve_writer_close(varve_writer* writer, varve_error** error) {
  const std::unique_ptr<varve_writer> owned(writer);
  return c::guarded(error, [&]() -> Result<void> {
    if (writer == nullptr) {
      return {};
    }
    VARVE_TRY(writer->appender->end_of_input());
    VARVE_TRY(writer->appender->sync());
    return writer->appender->close();
  });
}

void varve_writer_abandon(varve_writer* writer) { delete writer; }

}  // extern "C"
