// SPDX-License-Identifier: MIT OR Apache-2.0
// Errors as values. No exception leaves the library: every call that can fail returns a Result.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace varve {

// What kind of failure an Error is. Closed: each value maps to one exit code of the program.
enum class ErrorCode : std::uint8_t {
  io,                // the operating system refused; Error::system_errno says why
  not_a_store,       // nothing of a known format is there
  unsupported,       // a version, dialect, encryption or feature this build does not know
  damaged,           // a committed unit is hurt, or a rule of the format is broken
  torn,              // the log ends in an incomplete or unverifiable last unit
  locked,            // another process holds the store, or it changes too fast
  limit,             // a budget or cap was reached
  invalid_argument,  // the caller asked for something that cannot be
  poisoned,          // an earlier failed write or sync made this handle unusable
};

// How a number in an Error or Finding is to be shown.
enum class NumberStyle : std::uint8_t { none, decimal, hex32, hex64, hex8 };

// One of the two values that disagree. `none` means that there is no such value.
struct Number {
  std::uint64_t value = 0;
  NumberStyle style = NumberStyle::none;

  static constexpr Number decimal(std::uint64_t v) { return {v, NumberStyle::decimal}; }
  static constexpr Number hex32(std::uint32_t v) { return {v, NumberStyle::hex32}; }
  static constexpr Number hex64(std::uint64_t v) { return {v, NumberStyle::hex64}; }
  static constexpr Number hex8(std::uint8_t v) { return {v, NumberStyle::hex8}; }
  constexpr bool present() const { return style != NumberStyle::none; }
  friend constexpr bool operator==(const Number&, const Number&) = default;
};

// "0x0000002A", "42"; empty for an absent number.
std::string to_text(Number number);

// What a codec found wrong with a unit. Codecs know no paths; a reader turns a Fault once into an
// Error or a Finding. Trivially copyable; `word` points to a string literal.
struct Fault {
  const char* word = "";     // the spec's own reason word
  std::uint64_t offset = 0;  // bytes from the start of the unit (or file, where a codec says so)
  Number expected;
  Number actual;

  friend bool operator==(const Fault& a, const Fault& b) {
    return std::string_view(a.word) == b.word && a.offset == b.offset && a.expected == b.expected &&
           a.actual == b.actual;
  }
};

struct Error {
  ErrorCode code = ErrorCode::io;
  std::string path;          // the file concerned, as far as known
  std::uint64_t offset = 0;  // bytes from the start of the file
  std::uint64_t length = 0;  // bytes concerned; 0 if unknown
  std::string unit;          // "record", "header", "block"...; empty if none
  std::string reason;        // the format's reason word, or the name of the failed system call
  Number expected;
  Number actual;
  int system_errno = 0;  // errno of a failed system call, else 0
  std::string message;   // a sentence for people

  // The sentence that the program prints: path, offset, message, the two numbers.
  std::string text() const;
};

template <class T>
using Result = std::expected<T, Error>;

// Shorthands for the two commonest errors.
std::unexpected<Error> fail(ErrorCode code, std::string reason, std::string message,
                            std::string path = {});
std::unexpected<Error> fail_errno(int system_errno, std::string call, std::string path);

// The name of a code as it stands in JSON ("io", "not_a_store"...).
std::string_view to_text(ErrorCode code);

// The exit code of CONTRACT section 2 for this error.
int exit_code(const Error& error);

}  // namespace varve

// Evaluates an expression of type Result<...>; on error returns that error from the function.
#define VARVE_TRY(expression)                                      \
  do {                                                             \
    auto&& varve_try_result = (expression);                        \
    if (!varve_try_result) {                                       \
      return std::unexpected(std::move(varve_try_result).error()); \
    }                                                              \
  } while (false)

#define VARVE_CONCAT_2(a, b) a##b
#define VARVE_CONCAT(a, b) VARVE_CONCAT_2(a, b)

// VARVE_ASSIGN(auto file, open(...)); declares `file` from a Result, or returns its error.
#define VARVE_ASSIGN(declaration, expression) \
  VARVE_ASSIGN_2(VARVE_CONCAT(varve_assign_, __LINE__), declaration, expression)
#define VARVE_ASSIGN_2(temporary, declaration, expression) \
  auto temporary = (expression);                           \
  if (!temporary) {                                        \
    return std::unexpected(std::move(temporary).error());  \
  }                                                        \
  declaration = *std::move(temporary)
