// SPDX-License-Identifier: MIT OR Apache-2.0
// A whole segment file through every reading verb. The first byte says whether the metadata
// checksum is made right, so that what lies behind it is reached. What the verbs say must agree.
#include <algorithm>
#include <string>

#include "base/checksum.hpp"
#include "fuzz/store_fuzz.hpp"
#include "jss/layout.hpp"
#include "jss/view.hpp"

namespace {

using namespace varve;
using fuzz::require;

void make_checksum_right(std::vector<std::byte>& file) {
  if (file.size() < jss::k_header_bytes) {
    return;
  }
  const jss::Header h = jss::load_header(file.data());
  if (h.footer_offset < jss::k_header_bytes || h.footer_offset > file.size()) {
    return;
  }
  base::Xxh3Stream hash;
  hash.update(base::ByteSpan(file).subspan(jss::k_checksum_from,
                                           jss::k_header_bytes - jss::k_checksum_from));
  hash.update(base::ByteSpan(file).subspan(h.footer_offset));
  base::store_le(file.data() + jss::k_checksum_offset, hash.digest());
}

void look(StoreView& view, std::uint64_t size, std::uint64_t max_memory_bytes) {
  FindingList findings;
  VerifyRequest verify;
  verify.threads = 1;
  const auto report = view.verify(verify, findings);
  require(report.has_value());
  std::uint64_t rows = 0;
  for (const bool reverse : {false, true}) {
    fuzz::CountingSink sink(view, Face::log);
    ScanRequest scan;
    scan.threads = 1;
    scan.reverse = reverse;
    scan.max_memory_bytes = max_memory_bytes;
    FindingList of_scan;
    const auto summary = view.scan(scan, sink, of_scan);
    require(summary.has_value());
    require(sink.rows == report->intact_records);
    rows = sink.rows;
  }
  const auto info = view.info();
  require(info.has_value());
  if (report->verdict == Verdict::clean) {
    require(info->records == rows && report->counts.records == rows);
  }
  fuzz::CoverageSink coverage;
  FindingList of_explain;
  require(view.explain({}, coverage, of_explain).has_value());
  require(coverage.bytes() == size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t k_max_file_bytes = 256 * 1024;
  if (size == 0 || size > k_max_file_bytes) {
    return 0;
  }
  std::vector<std::byte> file(size - 1);
  std::transform(data + 1, data + size, file.begin(),
                 [](std::uint8_t b) { return static_cast<std::byte>(b); });
  if ((data[0] & 1) != 0) {
    make_checksum_right(file);
  }
  io::SimulatedFileSystem files({nullptr, false});
  require(files.put("/seg_0000000000.jss", file).has_value());
  OpenOptions options;
  options.max_memory_bytes = 16 << 20;
  auto view = jss::format().open(files, "/seg_0000000000.jss", options);
  require(view.has_value());
  look(**view, file.size(), options.max_memory_bytes);
  return 0;
}
