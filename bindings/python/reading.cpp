// SPDX-License-Identifier: MIT OR Apache-2.0
// Stores and scans. Every call that reads lets go of the interpreter's lock; a store's own calls
// take turns. A scan has a view of its own, so that several may run at once.
#include <chrono>
#include <memory>

#include "output/pull_scan.hpp"
#include "output/report_json.hpp"
#include "requests.hpp"
#include "varve/arrow.hpp"

namespace varve::python {

namespace {

using Unlocked = py::call_guard<py::gil_scoped_release>;

class Store {
 public:
  Store(const std::string& path, const std::string& format, unsigned threads,
        std::uint64_t max_memory_bytes, const Words& words)
      : at_(locate(path, format)) {
    options_.threads = threads;
    options_.max_memory_bytes = max_memory_bytes;
    options_.options = options_of(*at_.format, words);
    view_ = open();
  }

  std::string format() const { return std::string(at_.format->name()); }
  void close() {
    const std::scoped_lock lock(mutex_);
    view_.reset();
  }
  std::string info() {
    const std::scoped_lock lock(mutex_);
    return output::info_json(unwrap(view().info())).text();
  }
  std::string verify(bool quick, unsigned threads) {
    const std::scoped_lock lock(mutex_);
    VerifyRequest request;
    request.quick = quick;
    request.threads = threads;
    FindingList findings;
    const auto began = std::chrono::steady_clock::now();
    const VerifyReport report = unwrap(view().verify(request, findings));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    return output::verify_json(report, findings, took.count()).text();
  }
  std::string plan(const ScanArguments& arguments) {
    const std::scoped_lock lock(mutex_);
    return unwrap(view().plan(request(arguments))).text();
  }
  // The document, its own bytes if it has any, the findings.
  std::tuple<std::string, std::optional<std::string>, std::string> get(const std::string& key,
                                                                       const std::string& payload) {
    const std::scoped_lock lock(mutex_);
    FindingList findings;
    GetResult result = unwrap(view().get(key, render_of(payload, options_.options), findings));
    return {result.document.text(), std::move(result.raw), output::findings_json(findings).text()};
  }

  std::shared_ptr<StoreView> open() const {
    return unwrap(at_.format->open(io::posix_file_system(), at_.path, options_));
  }
  // Refuses a closed store.
  ScanRequest request(const ScanArguments& arguments) {
    view();
    return request_of(*at_.format, options_, arguments);
  }
  const OpenOptions& options() const { return options_; }

 private:
  StoreView& view() {
    if (!view_) {
      refuse("closed", "the store is closed");
    }
    return *view_;
  }

  store::Located at_;
  OpenOptions options_;
  std::shared_ptr<StoreView> view_;
  std::mutex mutex_;
};

// The rows of a scan as JSON Lines, some thousands at a time.
class LineScan {
 public:
  LineScan(Store& store, const ScanArguments& arguments)
      : view_(store.open()), findings_(std::make_shared<SharedFindings>()) {
    ScanRequest request = store.request(arguments);
    if (!request.columns.empty()) {
      refuse("columns", "rows as JSON have all their columns");
    }
    face_ = request.face;
    render_ = render_of(arguments.payload, request.options);
    scan_ = std::make_unique<output::PullScan>(view_, std::move(request), findings_);
  }
  // Empty at the end.
  std::string next() {
    const std::scoped_lock lock(mutex_);
    std::string lines;
    while (scan_ && lines.empty()) {
      std::optional<Error> error;
      const std::optional<Batch> batch = scan_->next(error);
      if (batch) {
        view_->render(face_, *batch, render_, lines);
        continue;
      }
      scan_.reset();
      if (error) {
        throw Failure{*std::move(error)};
      }
    }
    return lines;
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    scan_.reset();
  }
  std::string findings() const { return findings_->json(); }

 private:
  std::shared_ptr<StoreView> view_;
  std::shared_ptr<SharedFindings> findings_;
  Face face_ = Face::log;
  RenderOptions render_;
  std::unique_ptr<output::PullScan> scan_;
  std::mutex mutex_;
};

void release_capsule(PyObject* capsule) {
  auto* stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream == nullptr) {
    PyErr_Clear();
    return;
  }
  // A consumer that took the stream has set release to null.
  const py::gil_scoped_release unlocked;
  if (stream->release != nullptr) {
    stream->release(stream);
  }
  delete stream;
}

py::object arrow_stream(Store& store, const ScanArguments& arguments,
                        const std::shared_ptr<SharedFindings>& findings) {
  auto stream = std::make_unique<ArrowArrayStream>();
  {
    const py::gil_scoped_release unlocked;
    unwrap(export_arrow_stream(store.open(), store.request(arguments), findings, stream.get()));
  }
  PyObject* capsule = PyCapsule_New(stream.get(), "arrow_array_stream", release_capsule);
  if (capsule == nullptr) {
    stream->release(stream.get());
    throw py::error_already_set();
  }
  stream.release();
  return py::reinterpret_steal<py::object>(capsule);
}

// Ends a scan without the interpreter's lock: its thread is waited for.
struct EndUnlocked {
  void operator()(LineScan* scan) const {
    const py::gil_scoped_release unlocked;
    delete scan;
  }
};

std::string salvage(const std::string& path, const std::string& format, const std::string& target,
                    unsigned threads, const Words& words) {
  const store::Located at = locate(path, format);
  SalvageRequest request;
  request.target = target;
  request.threads = threads;
  request.options = options_of(*at.format, words);
  FindingList findings;
  return to_json(unwrap(at.format->salvage(io::posix_file_system(), at.path, request, findings)))
      .text();
}

}  // namespace

void define_reading(py::module_& module) {
  py::class_<ScanArguments>(module, "ScanArguments")
      .def(py::init<>())
      .def_readwrite("face", &ScanArguments::face)
      .def_readwrite("seq_first", &ScanArguments::seq_first)
      .def_readwrite("seq_last", &ScanArguments::seq_last)
      .def_readwrite("since_us", &ScanArguments::since_us)
      .def_readwrite("until_us", &ScanArguments::until_us)
      .def_readwrite("limit", &ScanArguments::limit)
      .def_readwrite("reverse", &ScanArguments::reverse)
      .def_readwrite("strict", &ScanArguments::strict)
      .def_readwrite("partial", &ScanArguments::partial)
      .def_readwrite("threads", &ScanArguments::threads)
      .def_readwrite("payload", &ScanArguments::payload)
      .def_readwrite("columns", &ScanArguments::columns)
      .def_readwrite("words", &ScanArguments::words);
  py::class_<SharedFindings, std::shared_ptr<SharedFindings>>(module, "Findings")
      .def(py::init<>())
      .def("json", [](const SharedFindings& findings) { return py::bytes(findings.json()); });
  py::class_<Store>(module, "Store")
      .def(
          py::init<const std::string&, const std::string&, unsigned, std::uint64_t, const Words&>(),
          Unlocked())
      .def("format", &Store::format)
      .def("close", &Store::close, Unlocked())
      .def("info", [](Store& store) { return unlocked([&] { return store.info(); }); })
      .def("verify",
           [](Store& store, bool quick, unsigned threads) {
             return unlocked([&] { return store.verify(quick, threads); });
           })
      .def("plan",
           [](Store& store, const ScanArguments& arguments) {
             return unlocked([&] { return store.plan(arguments); });
           })
      .def("get",
           [](Store& store, const std::string& key, const std::string& payload) {
             auto [document, raw, findings] = [&] {
               const py::gil_scoped_release unlocked;
               return store.get(key, payload);
             }();
             py::object own = py::none();
             if (raw) {
               own = py::bytes(*raw);
             }
             return py::make_tuple(py::bytes(document), own, py::bytes(findings));
           })
      .def("arrow", &arrow_stream);
  py::class_<LineScan, std::unique_ptr<LineScan, EndUnlocked>>(module, "LineScan")
      .def(py::init([](Store& store, const ScanArguments& arguments) {
        const py::gil_scoped_release unlocked;
        return std::unique_ptr<LineScan, EndUnlocked>(new LineScan(store, arguments));
      }))
      .def("next", [](LineScan& scan) { return unlocked([&] { return scan.next(); }); })
      .def("close", &LineScan::close, Unlocked())
      .def("findings", [](const LineScan& scan) { return py::bytes(scan.findings()); });
  module.def("salvage", [](const std::string& path, const std::string& format,
                           const std::string& target, unsigned threads, const Words& words) {
    return unlocked([&] { return salvage(path, format, target, threads, words); });
  });
}

}  // namespace varve::python
