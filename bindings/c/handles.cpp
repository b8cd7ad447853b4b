// SPDX-License-Identifier: MIT OR Apache-2.0
#include "handles.hpp"

#include <cstdlib>
#include <memory>
#include <type_traits>

namespace varve::c {
namespace {

// An error with the strings that its public part points to.
struct OwnedError {
  varve_error shown{};
  std::string path, unit, reason, expected, actual, text;
};
static_assert(std::is_standard_layout_v<OwnedError>);  // its first member stands for the whole

// Given where there is no memory for another; never freed.
varve_error no_memory = {VARVE_NO_MEMORY, 70, 0, 0, 0, "", "", "no_memory", "", "",
                         "out of memory"};

varve_code code_of(ErrorCode code) { return static_cast<varve_code>(static_cast<int>(code) + 1); }
static_assert(static_cast<int>(ErrorCode::io) + 1 == VARVE_IO);
static_assert(static_cast<int>(ErrorCode::poisoned) + 1 == VARVE_POISONED);

std::unique_ptr<OwnedError> make(varve_code code, const Error& error, int exit) {
  auto owned = std::make_unique<OwnedError>();
  owned->path = error.path;
  owned->unit = error.unit;
  owned->reason = error.reason;
  owned->expected = to_text(error.expected);
  owned->actual = to_text(error.actual);
  owned->text = error.text();
  owned->shown = {code,
                  exit,
                  error.system_errno,
                  error.offset,
                  error.length,
                  owned->path.c_str(),
                  owned->unit.c_str(),
                  owned->reason.c_str(),
                  owned->expected.c_str(),
                  owned->actual.c_str(),
                  owned->text.c_str()};
  return owned;
}

varve_code give(varve_code code, const Error& error, int exit, varve_error** out) noexcept {
  if (out == nullptr) {
    return code;
  }
  try {
    // The public part is the first member: freed as the whole by varve_error_free().
    *out = &make(code, error, exit).release()->shown;
  } catch (...) {
    return give_no_memory(out);
  }
  return code;
}

}  // namespace

varve_code give_error(const Error& error, varve_error** out) noexcept {
  return give(code_of(error.code), error, exit_code(error), out);
}

varve_code give_no_memory(varve_error** out) noexcept {
  if (out != nullptr) {
    *out = &no_memory;
  }
  return VARVE_NO_MEMORY;
}

varve_code give_internal(const char* what, varve_error** out) noexcept {
  try {
    Error error;
    error.reason = "internal";
    error.message = what;
    return give(VARVE_INTERNAL, error, 70, out);
  } catch (...) {
    return give_no_memory(out);
  }
}

char* copy_text(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

Result<store::Located> locate(const char* format, const char* path) {
  return store::locate(formats(), io::posix_file_system(), path, format != nullptr ? format : "");
}

Result<WriteRequest> write_request(const Format& format, const varve_write_options& options) {
  WriteRequest request;
  request.threads = options.threads;
  request.dry_run = options.dry_run != 0;
  VARVE_ASSIGN(request.options, read_settings(format, options.settings, options.setting_count));
  return request;
}

Result<std::map<std::string, std::string>> read_settings(const Format& format,
                                                         const varve_setting* settings,
                                                         std::size_t count) {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = settings[i].name != nullptr ? settings[i].name : "";
    if (std::ranges::none_of(format.options(),
                             [&](const OptionSpec& spec) { return spec.name == name; })) {
      return fail(ErrorCode::invalid_argument, name,
                  std::string(format.name()) + " has no option of the name '" + name + "'");
    }
    out[name] = settings[i].value != nullptr ? settings[i].value : "1";
  }
  return out;
}

void CallbackFindings::add(Finding finding) {
  if (call_ == nullptr) {
    return;
  }
  const std::string expected = to_text(finding.expected);
  const std::string actual = to_text(finding.actual);
  const varve_finding shown = {static_cast<varve_severity>(finding.severity),
                               static_cast<varve_verdict>(finding.verdict),
                               finding.offset,
                               finding.length,
                               finding.code.c_str(),
                               finding.file.c_str(),
                               finding.unit.c_str(),
                               expected.c_str(),
                               actual.c_str(),
                               finding.message.c_str()};
  call_(user_, &shown);
}

}  // namespace varve::c

extern "C" void varve_error_free(varve_error* error) {
  if (error != nullptr && error != &varve::c::no_memory) {
    delete reinterpret_cast<varve::c::OwnedError*>(error);
  }
}

extern "C" void varve_text_free(char* text) { std::free(text); }
