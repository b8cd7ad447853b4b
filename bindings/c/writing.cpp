// SPDX-License-Identifier: MIT OR Apache-2.0
// The C interface's calls that write: create, append through a writer, upkeep.
#include <memory>

#include "handles.hpp"
#include "output/report_json.hpp"

using namespace varve;

struct varve_writer {
  std::unique_ptr<Appender> appender;
};

namespace {

// One of the calls that take the store's lock, write and let go.
varve_code keep_up(const char* verb, const char* path, const varve_write_options* given,
                   char** json, varve_error** error, auto&& call) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(path != nullptr, "path"));
    if (json != nullptr) {
      *json = nullptr;
    }
    VARVE_ASSIGN(const varve_write_options options, c::read_options(given));
    VARVE_ASSIGN(const store::Located at, c::locate(options.format, path));
    VARVE_ASSIGN(const WriteRequest request, c::write_request(*at.format, options));
    VARVE_ASSIGN(const WriteReport report, call(*at.format, at.path, request));
    if (json != nullptr) {
      *json = c::copy_text(output::write_json(verb, at.path, at.format->name(), report).text());
    }
    return {};
  });
}

}  // namespace

extern "C" {

varve_code varve_create(const char* format, const char* path, const varve_write_options* given,
                        varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(format != nullptr && path != nullptr, "format and path"));
    VARVE_ASSIGN(const varve_write_options options, c::read_options(given));
    const Format* chosen = find_format(format);
    if (chosen == nullptr) {
      return fail(ErrorCode::invalid_argument, "format",
                  "no format is named " + std::string(format));
    }
    VARVE_ASSIGN(const WriteRequest request, c::write_request(*chosen, options));
    VARVE_TRY(chosen->init(io::posix_file_system(), path, request));
    return {};
  });
}

varve_code varve_seal(const char* path, const varve_write_options* options, char** json,
                      varve_error** error) {
  return keep_up("seal", path, options, json, error,
                 [](const Format& format, const std::string& at, const WriteRequest& request) {
                   return format.seal(io::posix_file_system(), at, request);
                 });
}

varve_code varve_recover(const char* path, const varve_write_options* options, char** json,
                         varve_error** error) {
  return keep_up("recover", path, options, json, error,
                 [](const Format& format, const std::string& at, const WriteRequest& request) {
                   return format.recover(io::posix_file_system(), at, request);
                 });
}

varve_code varve_compact(const char* path, const varve_write_options* options, char** json,
                         varve_error** error) {
  return keep_up("compact", path, options, json, error,
                 [](const Format& format, const std::string& at, const WriteRequest& request) {
                   return format.compact(io::posix_file_system(), at, request);
                 });
}

varve_code varve_backup(const char* path, const char* target, const varve_write_options* options,
                        char** json, varve_error** error) {
  return keep_up("backup", path, options, json, error,
                 [target](const Format& format, const std::string& at,
                          const WriteRequest& request) -> Result<WriteReport> {
                   VARVE_TRY(c::require(target != nullptr, "target"));
                   return format.backup(io::posix_file_system(), at, target, request);
                 });
}

varve_code varve_writer_open(const char* path, const varve_write_options* given,
                             varve_writer** writer, varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(path != nullptr && writer != nullptr, "path and writer"));
    *writer = nullptr;
    VARVE_ASSIGN(const varve_write_options options, c::read_options(given));
    if (options.dry_run != 0) {
      return fail(ErrorCode::invalid_argument, "dry_run", "a writer cannot be rehearsed");
    }
    VARVE_ASSIGN(const store::Located at, c::locate(options.format, path));
    VARVE_ASSIGN(const WriteRequest request, c::write_request(*at.format, options));
    auto opened = std::make_unique<varve_writer>();
    VARVE_ASSIGN(opened->appender,
                 at.format->open_appender(io::posix_file_system(), at.path, request));
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
