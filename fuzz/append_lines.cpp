// SPDX-License-Identifier: MIT OR Apache-2.0
// JSON Lines into the writer of each format (the first byte says which): whatever was taken, the
// store verifies clean and holds as many records as were acknowledged.
#include "fuzz/store_fuzz.hpp"

namespace {

using namespace varve;

struct Base {
  explicit Base(const Format& entry) : format(&entry) {
    image = fuzz::make_base(entry, {}, path(), 2, 10, false);
  }
  std::string path() const { return format->name() == "jss" ? "/lost" : fuzz::k_store_path; }
  const Format* format;
  io::simulated::Image image;
};

void append(const Base& base, io::SimulatedFileSystem& files, std::string_view text) {
  io::FixedEnvironment environment;
  WriteRequest request;
  request.environment = &environment;
  request.threads = 1;
  auto appender = base.format->open_appender(files, base.path(), request);
  fuzz::require(appender.has_value());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto taken = (*appender)->append_line(text.substr(0, end));
    if (!taken && taken.error().code == ErrorCode::poisoned) {
      return;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if ((*appender)->end_of_input()) {
    (void)(*appender)->sync();
  }
  (void)(*appender)->close();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Base> bases = [] {
    std::vector<Base> out;
    for (const Format* format : formats()) {
      out.emplace_back(*format);
    }
    return out;
  }();
  if (size == 0) {
    return 0;
  }
  const Base& base = bases[data[0] % bases.size()];
  io::SimulatedFileSystem files(base.image, {nullptr, false});
  append(base, files, {reinterpret_cast<const char*>(data) + 1, size - 1});
  auto view = base.format->open(files, base.path(), {});
  fuzz::require(view.has_value());
  FindingList findings;
  VerifyRequest verify;
  verify.threads = 1;
  const auto report = (*view)->verify(verify, findings);
  fuzz::require(report.has_value() && report->verdict == Verdict::clean);
  fuzz::require(findings.errors() == 0);
  return 0;
}
