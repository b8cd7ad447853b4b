// SPDX-License-Identifier: MIT OR Apache-2.0
// What the calls of the C interface share: errors, option structs of any size, and the wall that no
// exception passes.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "store/open.hpp"
#include "varve.h"
#include "varve/result.hpp"
#include "varve/store.hpp"

namespace varve::c {

// Gives `error` to the caller; the shared out-of-memory error if there is no memory for it.
varve_code give_error(const Error& error, varve_error** out) noexcept;
varve_code give_no_memory(varve_error** out) noexcept;
varve_code give_internal(const char* what, varve_error** out) noexcept;

// Runs a call that returns Result<void>; whatever leaves it becomes a code and an error.
template <class Call>
varve_code guarded(varve_error** out, Call&& call) noexcept {
  if (out != nullptr) {
    *out = nullptr;
  }
  try {
    Result<void> result = call();
    return result ? VARVE_OK : give_error(result.error(), out);
  } catch (const std::bad_alloc&) {
    return give_no_memory(out);
  } catch (const std::exception& e) {
    return give_internal(e.what(), out);
  } catch (...) {
    return give_internal("unknown exception", out);
  }
}

// The caller's options as this build knows them: what the caller's struct lacks is zero, what it
// has beyond ours must be.
template <class Options>
Result<Options> read_options(const Options* given) {
  Options options{};
  if (given == nullptr) {
    return options;
  }
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size) {
    return fail(ErrorCode::invalid_argument, "size", "an option struct does not give its size");
  }
  std::memcpy(&options, given, std::min(size, sizeof options));
  const auto* bytes = reinterpret_cast<const char*>(given);
  for (std::size_t i = sizeof options; i < size; ++i) {
    if (bytes[i] != 0) {
      return fail(ErrorCode::invalid_argument, "size",
                  "an option struct uses members that this version does not know");
    }
  }
  return options;
}

inline Result<void> require(bool holds, const char* what) {
  if (!holds) {
    return fail(ErrorCode::invalid_argument, "null", std::string(what) + " must not be NULL");
  }
  return {};
}

// A copy on the heap, ended by a zero byte, which varve_text_free() frees. Throws std::bad_alloc.
char* copy_text(std::string_view text);

// What lies at the path, as a store of the named format, or of the one found where that is NULL.
Result<store::Located> locate(const char* format, const char* path);

// The settings as the library takes them; names must be of the format's options().
Result<std::map<std::string, std::string>> read_settings(const Format& format,
                                                         const varve_setting* settings,
                                                         std::size_t count);

// The options of a writing call on a store of that format.
Result<WriteRequest> write_request(const Format& format, const varve_write_options& options);

// Hands findings to a C callback, which may be NULL.
class CallbackFindings final : public FindingSink {
 public:
  CallbackFindings(varve_finding_fn call, void* user) : call_(call), user_(user) {}
  void add(Finding finding) override;

 private:
  varve_finding_fn call_;
  void* user_;
};

}  // namespace varve::c
