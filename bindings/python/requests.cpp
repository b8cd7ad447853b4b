// SPDX-License-Identifier: MIT OR Apache-2.0
#include "requests.hpp"

#include <algorithm>

#include "output/report_json.hpp"

namespace varve::python {

namespace {

bool names(auto&& specs, const std::string& name) {
  return std::ranges::any_of(specs, [&](const auto& spec) { return spec.name == name; });
}

// varve.Error(text) with what the error knows as attributes.
void raise(const py::object& type, const Error& error) {
  py::object raised = type(error.text());
  raised.attr("code") = std::string(to_text(error.code));
  raised.attr("exit_code") = exit_code(error);
  raised.attr("path") = py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefaultAndSize(
      error.path.data(), static_cast<Py_ssize_t>(error.path.size())));
  raised.attr("offset") = error.offset;
  raised.attr("length") = error.length;
  raised.attr("unit") = error.unit;
  raised.attr("reason") = error.reason;
  raised.attr("expected") = to_text(error.expected);
  raised.attr("actual") = to_text(error.actual);
  raised.attr("errno") = error.system_errno;
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

store::Located locate(const std::string& path, const std::string& format) {
  return unwrap(store::locate(formats(), io::posix_file_system(), path, format));
}

std::map<std::string, std::string> options_of(const Format& format, const Words& words) {
  std::map<std::string, std::string> options;
  for (const auto& [name, value] : words) {
    if (!names(format.options(), name)) {
      refuse(name, std::string(format.name()) + " has no option '" + name + "'");
    }
    options[name] = value;
  }
  return options;
}

ScanRequest request_of(const Format& format, const OpenOptions& options,
                       const ScanArguments& arguments) {
  ScanRequest request;
  request.face = arguments.face == "state" ? Face::state : Face::log;
  if ((arguments.seq_first || arguments.seq_last) && !format.has_seq()) {
    refuse("seq", std::string(format.name()) + " records have no sequence numbers");
  }
  if ((arguments.since_us || arguments.until_us) && !format.has_time()) {
    refuse("time", std::string(format.name()) + " records have no times");
  }
  request.predicate.seq_first = arguments.seq_first;
  request.predicate.seq_last = arguments.seq_last;
  request.predicate.since_us = arguments.since_us;
  request.predicate.until_us = arguments.until_us;
  request.limit = arguments.limit.value_or(request.limit);
  request.reverse = arguments.reverse;
  request.strict = arguments.strict;
  request.partial = arguments.partial;
  request.threads = arguments.threads;
  request.columns = arguments.columns;
  request.max_memory_bytes = options.max_memory_bytes;
  Words settings;
  for (const auto& [name, value] : arguments.words) {
    if (names(format.filters(), name)) {
      request.predicate.terms.push_back({name, value});
    } else if (names(format.options(), name)) {
      settings.emplace_back(name, value);
    } else {
      refuse(name, std::string(format.name()) + " has no filter or option '" + name + "'");
    }
  }
  // What the store was opened with counts for its scans, unless they say otherwise.
  request.options = options_of(format, settings);
  request.options.insert(options.options.begin(), options.options.end());
  return request;
}

RenderOptions render_of(const std::string& payload,
                        const std::map<std::string, std::string>& options) {
  static const std::map<std::string, PayloadForm, std::less<>> forms = {
      {"json", PayloadForm::json},
      {"base64", PayloadForm::base64},
      {"hex", PayloadForm::hex},
      {"sha256", PayloadForm::sha256},
      {"none", PayloadForm::none}};
  RenderOptions render;
  const auto form = forms.find(payload);
  if (form == forms.end()) {
    refuse("payload", "payload is one of json, base64, hex, sha256, none");
  }
  render.payload = form->second;
  if (const auto as = options.find("as"); as != options.end()) {
    render.as = as->second;
  }
  return render;
}

std::string SharedFindings::json() const {
  const std::scoped_lock lock(mutex_);
  return output::findings_json(list_).text();
}

}  // namespace varve::python

PYBIND11_MODULE(_varve, module) {
  namespace py = pybind11;
  using namespace varve::python;
  static PyObject* const type = PyErr_NewException("varve.Error", PyExc_Exception, nullptr);
  module.add_object("Error", py::reinterpret_borrow<py::object>(type));
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) {
        std::rethrow_exception(thrown);
      }
    } catch (const Failure& failure) {
      raise(py::reinterpret_borrow<py::object>(type), failure.error);
    }
  });
  module.def("version", [] { return std::string(varve::version()); });
  module.def("formats", [] {
    std::vector<std::string> names;
    for (const varve::Format* format : varve::formats()) {
      names.emplace_back(format->name());
    }
    return names;
  });
  define_reading(module);
  define_writing(module);
}
