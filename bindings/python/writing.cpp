// SPDX-License-Identifier: MIT OR Apache-2.0
// Making stores, appending to them, keeping them up.
#include <memory>

#include "output/report_json.hpp"
#include "requests.hpp"

namespace varve::python {

namespace {

using Unlocked = py::call_guard<py::gil_scoped_release>;

WriteRequest request_of(const Format& format, unsigned threads, bool dry_run, const Words& words) {
  WriteRequest request;
  request.threads = threads;
  request.dry_run = dry_run;
  request.options = options_of(format, words);
  return request;
}

// One writer a store; its calls take turns.
class Writer {
 public:
  Writer(const std::string& path, const std::string& format, unsigned threads, const Words& words) {
    const store::Located at = locate(path, format);
    appender_ = unwrap(at.format->open_appender(io::posix_file_system(), at.path,
                                                request_of(*at.format, threads, false, words)));
  }
  void append(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    unwrap(appender().append_line(line));
  }
  std::uint64_t flush() {
    const std::scoped_lock lock(mutex_);
    return unwrap(appender().flush());
  }
  std::uint64_t sync() {
    const std::scoped_lock lock(mutex_);
    return unwrap(appender().sync());
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    if (const auto owned = std::move(appender_)) {
      unwrap(owned->end_of_input());
      unwrap(owned->sync());
      unwrap(owned->close());
    }
  }
  void abandon() {
    const std::scoped_lock lock(mutex_);
    appender_.reset();
  }

 private:
  Appender& appender() {
    if (!appender_) {
      refuse("closed", "the writer is closed");
    }
    return *appender_;
  }

  std::unique_ptr<Appender> appender_;
  std::mutex mutex_;
};

std::string keep_up(const std::string& verb, const std::string& path, const std::string& format,
                    const std::string& target, unsigned threads, bool dry_run, const Words& words) {
  io::FileSystem& files = io::posix_file_system();
  store::Located at;
  if (verb == "init") {
    at = {find_format(format), path, Confidence::none};
    if (at.format == nullptr) {
      refuse("format", "no format is named '" + format + "'");
    }
  } else {
    at = locate(path, format);
  }
  const WriteRequest request = request_of(*at.format, threads, dry_run, words);
  const WriteReport report =
      unwrap(verb == "init"      ? at.format->init(files, at.path, request)
             : verb == "seal"    ? at.format->seal(files, at.path, request)
             : verb == "recover" ? at.format->recover(files, at.path, request)
             : verb == "compact" ? at.format->compact(files, at.path, request)
                                 : at.format->backup(files, at.path, target, request));
  return output::write_json(verb, at.path, at.format->name(), report).text();
}

}  // namespace

void define_writing(py::module_& module) {
  py::class_<Writer>(module, "Writer")
      .def(py::init<const std::string&, const std::string&, unsigned, const Words&>(), Unlocked())
      .def("append", &Writer::append, Unlocked())
      .def("flush", &Writer::flush, Unlocked())
      .def("sync", &Writer::sync, Unlocked())
      .def("close", &Writer::close, Unlocked())
      .def("abandon", &Writer::abandon, Unlocked());
  module.def("keep_up", [](const std::string& verb, const std::string& path,
                           const std::string& format, const std::string& target, unsigned threads,
                           bool dry_run, const Words& words) {
    return unlocked([&] { return keep_up(verb, path, format, target, threads, dry_run, words); });
  });
}

}  // namespace varve::python
