// SPDX-License-Identifier: MIT OR Apache-2.0
// A format of one file, "toy" and frames (length, CRC-32C, payload), for tests of the tests: it
// goes through the same interface as the real ones.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/checksum.hpp"
#include "base/cursor.hpp"
#include "varve/store.hpp"

namespace varve::test {

inline base::Bytes toy_store(int frames) {
  base::Bytes out;
  base::ByteWriter writer(out);
  writer.text("toy\n");
  for (int i = 0; i < frames; ++i) {
    const std::string payload = "payload " + std::to_string(i);
    writer.u32le(static_cast<std::uint32_t>(payload.size()));
    writer.u32le(base::crc32c(base::as_bytes(payload)));
    writer.text(payload);
  }
  return out;
}

class ToyView final : public StoreView {
 public:
  // The end is fixed here: what another process appends later is not looked at.
  ToyView(std::unique_ptr<io::File> file, std::uint64_t size_bytes)
      : file_(std::move(file)), size_bytes_(size_bytes) {
    schema_.fields.push_back(Field{"payload", ColumnType::text, false, false});
  }

  Result<StoreInfo> info() override { return StoreInfo{}; }
  Result<VerifyReport> verify(const VerifyRequest&, FindingSink& findings) override {
    VerifyReport report;
    VARVE_TRY(walk([&](const Frame& frame) { report.intact_records += frame.whole ? 1 : 0; },
                   [&](Finding finding) {
                     report.verdict = worse(report.verdict, finding.verdict);
                     findings.add(std::move(finding));
                   }));
    return report;
  }
  const Schema& schema(Face) const override { return schema_; }
  Result<ScanSummary> scan(const ScanRequest&, BatchSink& sink, FindingSink& findings) override {
    ScanSummary summary;
    BatchBuilder builder(schema_);
    VARVE_TRY(walk(
        [&](const Frame& frame) {
          if (frame.whole) {
            builder.add_bytes(0, frame.payload);
            builder.end_row();
            ++summary.rows;
          }
        },
        [&](Finding finding) { findings.add(std::move(finding)); }));
    VARVE_TRY(sink.consume(builder.finish()));
    return summary;
  }
  void render(Face, const Batch& batch, const RenderOptions&, std::string& out) const override {
    for (std::size_t row = 0; row < batch.rows; ++row) {
      out += batch.columns[0].bytes(row);
      out += '\n';
    }
  }
  Result<ScanSummary> explain(const ExplainRequest&, ExplainSink& sink,
                              FindingSink& findings) override {
    sink.add(ExplainRow{"", 0, 4, 0, false, "magic", "toy", "", "", ExplainRow::Check::holds});
    VARVE_TRY(walk(
        [&](const Frame& frame) {
          const auto row = [&](std::uint64_t offset, std::uint64_t length, unsigned depth,
                               const char* field) {
            sink.add(ExplainRow{"", offset, length, depth, depth == 0, field, "", "", "",
                                ExplainRow::Check::none});
          };
          row(frame.offset, 8 + frame.payload.size(), 0, "frame");
          row(frame.offset, 4, 1, "length");
          row(frame.offset + 4, 4, 1, "crc");
          row(frame.offset + 8, frame.payload.size(), 1, "payload");
        },
        [&](Finding finding) { findings.add(std::move(finding)); }));
    return ScanSummary{};
  }

 private:
  struct Frame {
    std::uint64_t offset = 0;
    std::string payload;
    bool whole = false;
  };

  template <class OnFrame, class OnFinding>
  Result<void> walk(OnFrame on_frame, OnFinding on_finding) {
    for (std::uint64_t at = 4; at < size_bytes_;) {
      std::array<std::byte, 8> head;
      VARVE_ASSIGN(const std::size_t got, file_->read_at(head, at));
      base::ByteCursor cursor(base::ByteSpan(head).first(got));
      const auto length = cursor.u32le();
      const auto crc = cursor.u32le();
      Finding finding;
      finding.offset = at;
      finding.code = "torn-tail";
      finding.verdict = Verdict::torn;
      if (!crc || *length > size_bytes_ - at - 8) {
        on_finding(std::move(finding));
        return {};
      }
      Frame frame{at, std::string(*length, '\0'), false};
      VARVE_ASSIGN(const std::size_t body,
                   file_->read_at(std::as_writable_bytes(std::span(frame.payload)), at + 8));
      if (body < *length) {
        on_finding(std::move(finding));
        return {};
      }
      frame.whole = base::crc32c(base::as_bytes(frame.payload)) == *crc;
      if (!frame.whole) {
        finding.code = "crc";
        finding.verdict = Verdict::damaged;
        on_finding(std::move(finding));
      }
      on_frame(frame);
      at += 8 + *length;
    }
    return {};
  }

  std::unique_ptr<io::File> file_;
  std::uint64_t size_bytes_;
  Schema schema_;
};

class ToyFormat final : public Format {
 public:
  std::string_view name() const override { return "toy"; }
  std::string_view summary() const override { return "frames in a file, for tests"; }
  std::span<const FilterSpec> filters() const override { return {}; }
  std::span<const OptionSpec> options() const override { return {}; }
  bool has_seq() const override { return false; }
  bool has_time() const override { return false; }
  Confidence detect(io::FileSystem&, const std::string&) const override { return Confidence::none; }
  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                          const OpenOptions&) const override {
    VARVE_ASSIGN(auto file, files.open_file(path, io::OpenMode::read));
    std::array<std::byte, 4> magic{};
    VARVE_ASSIGN(const std::size_t got, file->read_at(magic, 0));
    if (base::as_text(base::ByteSpan(magic).first(got)) != "toy\n") {
      return fail(ErrorCode::damaged, "magic", "not a toy store", path);
    }
    VARVE_ASSIGN(const io::FileIdentity info, file->identity());
    return std::make_unique<ToyView>(std::move(file), info.size_bytes);
  }
};

}  // namespace varve::test
