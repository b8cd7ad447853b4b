// SPDX-License-Identifier: MIT OR Apache-2.0
// What the Python module's classes share: errors as Python exceptions, and requests from the plain
// values that varve/__init__.py hands over.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/open.hpp"
#include "varve/salvage.hpp"
#include "varve/store.hpp"

namespace varve::python {

namespace py = pybind11;

// Carries an Error to the translator that makes varve.Error of it. The interpreter's lock may be
// away where it is thrown.
struct Failure {
  Error error;
};

template <class T>
T unwrap(Result<T> result) {
  if (!result) {
    throw Failure{std::move(result).error()};
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

inline void refuse(std::string reason, std::string message) {
  throw Failure{fail(ErrorCode::invalid_argument, std::move(reason), std::move(message)).error()};
}

// Names and values of a format's options and filters, as the program's --NAME VALUE.
using Words = std::vector<std::pair<std::string, std::string>>;

store::Located locate(const std::string& path, const std::string& format);

// The words that are options; refuses one that is not.
std::map<std::string, std::string> options_of(const Format& format, const Words& words);

struct ScanArguments {
  std::string face = "log";
  std::optional<std::uint64_t> seq_first, seq_last;
  std::optional<std::int64_t> since_us, until_us;
  std::optional<std::uint64_t> limit;
  bool reverse = false, strict = false, partial = false;
  unsigned threads = 0;
  std::string payload = "json";
  std::vector<std::string> columns;
  Words words;
};

ScanRequest request_of(const Format& format, const OpenOptions& options,
                       const ScanArguments& arguments);
RenderOptions render_of(const std::string& payload,
                        const std::map<std::string, std::string>& options);

// Findings of a scan on another thread.
class SharedFindings final : public FindingSink {
 public:
  void add(Finding finding) override {
    const std::scoped_lock lock(mutex_);
    list_.add(std::move(finding));
  }
  std::string json() const;

 private:
  mutable std::mutex mutex_;
  FindingList list_;
};

// What a call that needs no interpreter gives, as bytes.
template <class Call>
py::bytes unlocked(Call&& call) {
  std::string text;
  {
    const py::gil_scoped_release away;
    text = call();
  }
  return py::bytes(text);
}

void define_reading(py::module_& module);
void define_writing(py::module_& module);

}  // namespace varve::python
