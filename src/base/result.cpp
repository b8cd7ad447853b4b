// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/result.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace varve {

std::string to_text(Number number) {
  switch (number.style) {
    case NumberStyle::none:
      return {};
    case NumberStyle::decimal:
      return fmt::format("{}", number.value);
    case NumberStyle::hex8:
      return fmt::format("0x{:02X}", number.value);
    case NumberStyle::hex32:
      return fmt::format("0x{:08X}", number.value);
    case NumberStyle::hex64:
      return fmt::format("0x{:016X}", number.value);
  }
  return {};
}

std::string Error::text() const {
  std::string out;
  if (!path.empty()) {
    out = path;
    if (offset != 0 || length != 0) {
      out += fmt::format(" at byte {}", offset);
    }
    out += ": ";
  }
  out += message.empty() ? reason : message;
  if (expected.present() && actual.present()) {
    out += fmt::format(" (expected {}, found {})", to_text(expected), to_text(actual));
  }
  return out;
}

std::unexpected<Error> fail(ErrorCode code, std::string reason, std::string message,
                            std::string path) {
  Error error;
  error.code = code;
  error.reason = std::move(reason);
  error.message = std::move(message);
  error.path = std::move(path);
  return std::unexpected(std::move(error));
}

std::unexpected<Error> fail_errno(int system_errno, std::string call, std::string path) {
  Error error;
  error.code = ErrorCode::io;
  error.system_errno = system_errno;
  error.message = fmt::format("{}: {}", call, std::generic_category().message(system_errno));
  error.reason = std::move(call);
  error.path = std::move(path);
  return std::unexpected(std::move(error));
}

std::string_view to_text(ErrorCode code) {
  switch (code) {
    case ErrorCode::io:
      return "io";
    case ErrorCode::not_a_store:
      return "not_a_store";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::damaged:
      return "damaged";
    case ErrorCode::torn:
      return "torn";
    case ErrorCode::locked:
      return "locked";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::poisoned:
      return "poisoned";
  }
  return "io";
}

namespace {

int exit_code_of_errno(int system_errno) {
  switch (system_errno) {
    case ENOENT:
    case ENOTDIR:
      return 66;
    case EACCES:
    case EPERM:
    case EROFS:
      return 77;
    case EEXIST:
      return 73;
    default:
      return 74;
  }
}

}  // namespace

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::io:
      return exit_code_of_errno(error.system_errno);
    case ErrorCode::not_a_store:
      return 66;
    case ErrorCode::unsupported:
    case ErrorCode::limit:
      return 3;
    case ErrorCode::damaged:
      return 2;
    case ErrorCode::torn:
      return 1;
    case ErrorCode::locked:
      return 75;
    case ErrorCode::invalid_argument:
      return 64;
    case ErrorCode::poisoned:
      return 74;
  }
  return 70;
}

}  // namespace varve
