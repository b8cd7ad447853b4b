// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain`: every byte of every file, unit by unit and field by field, of whole and hurt stores.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/checksum.hpp"
#include "model/renamed_sinks.hpp"
#include "tay/examine.hpp"
#include "tay/explain_member.hpp"
#include "tay/explain_segment.hpp"
#include "tay/value_json.hpp"
#include "tay/view.hpp"

namespace varve::tay {

namespace {

using Check = ExplainRow::Check;
using Class = ExplainRow::Class;

std::span<const FieldSpec> marker_fields(std::string_view name) {
  if (name == k_store_name) return k_store_fields;
  if (name == k_current_name) return k_current_fields;
  if (name.ends_with(k_manifest_name)) return k_manifest_fields;
  return k_marker_fields;
}

std::size_t fixed_bytes(std::span<const FieldSpec> fields) {
  return static_cast<std::size_t>(fields.back().offset + fields.back().length);
}

bool explain_marker(const Snapshot::Marker& marker, const Refusal* refusal,
                    const EventBudget& budget, ExplainSink& sink) {
  RowWriter rows(marker.name, sink);
  const std::uint64_t size = marker.identity.size_bytes;
  const auto fields = marker_fields(marker.name);
  rows.container(0, size, 0, marker.name, refusal != nullptr ? refusal->word : "",
                 refusal != nullptr ? refusal->message : "",
                 refusal != nullptr ? Check::fails : Check::holds);
  const std::size_t fixed = std::min(marker.bytes.size(), fixed_bytes(fields));
  rows.fields(fields, 0, ByteSpan(marker.bytes).first(fixed), 1);
  ByteSpan rest = ByteSpan(marker.bytes).subspan(fixed);
  std::uint64_t at = fixed;
  if (marker.name.ends_with(k_manifest_name) && rest.size() > 4 &&
      !check_value(rest.first(rest.size() - 4), budget)) {
    rows.value(at, rest.first(rest.size() - 4), 1, "map");
    at += rest.size() - 4;
    rest = rest.last(4);
    const bool holds = base::crc32c(ByteSpan(marker.bytes).first(marker.bytes.size() - 4)) ==
                       base::u32be(rest.data());
    rows.bytes(at, rest, 4, 1, "crc", to_text(Number::hex32(base::u32be(rest.data()))),
               "CRC-32C over all before it", holds ? Check::holds : Check::fails);
    at += 4;
    rest = {};
  }
  if (at < size) {
    rows.bytes(at, rest, size - at, 1, "trailing bytes", "", "behind the end of the object",
               Check::fails, Class::gap);
  }
  return !rows.stopped();
}

}  // namespace

Result<ScanSummary> View::explain(const ExplainRequest& request, ExplainSink& sink,
                                  FindingSink& findings) {
  ScanSummary summary;
  std::map<std::string, std::vector<Refusal>> refusals;  // by file
  ExamineRequest examine_with = examine_request(options_.threads);
  examine_with.refused = [&](const Refusal& refusal) {
    findings.add(to_finding(refusal));
    if (refusals[refusal.file].size() < 10'000) {
      refusals[refusal.file].push_back(refusal);
    }
  };
  VARVE_ASSIGN(const Examination found, examine(snapshot_, examine_with));
  summary.verdict = found.verdict();
  const auto asked = [&](const std::string& name) {
    return request.file.empty() || request.file == name ||
           (name.size() > request.file.size() && name.ends_with("/" + request.file));
  };
  bool any = false;
  for (const Snapshot::Marker& marker : snapshot_.markers) {
    if (asked(marker.name) && !request.offset.has_value()) {
      any = true;
      const auto& told = refusals[marker.name];
      if (!explain_marker(marker, told.empty() ? nullptr : &told.front(), budgets_.budgets.event,
                          sink)) {
        return summary;
      }
    } else if (asked(marker.name) && !request.file.empty()) {
      any = true;
      explain_marker(marker, nullptr, budgets_.budgets.event, sink);
    }
  }
  const RecordMeaning meaning{snapshot_.version, budgets_.budgets.event};
  for (const Segment& segment : found.segments) {
    const std::string name = snapshot_.segments_prefix + segment.name;
    if (!asked(name)) {
      continue;
    }
    any = true;
    VARVE_ASSIGN(const auto file,
                 snapshot_.segments_directory->open_file(segment.name, io::OpenMode::read));
    SegmentExplainer explainer(segment, name, std::move(refusals[name]), meaning, request.offset,
                               sink);
    VARVE_TRY(explainer.run(*file));
    if (explainer.stopped()) {
      return summary;
    }
  }
  if (!any) {
    return fail(ErrorCode::invalid_argument, "file",
                "the store has no file '" + request.file + "' to explain", snapshot_.path);
  }
  return summary;
}

namespace {

// The names and magics of the small files.
bool is_marker(std::string_view name, ByteSpan bytes) {
  const std::string_view magic = base::as_text(bytes.first(std::min(bytes.size(), k_magic_bytes)));
  return name == k_store_name || name == k_store_v2_name || name == k_current_name ||
         name == k_manifest_name || magic == k_store_magic || magic == k_store_v2_magic ||
         magic == k_current_magic || magic == k_manifest_magic;
}

// What a small file would be called in its store, by its magic.
std::string_view marker_name(std::string_view name, std::string_view magic) {
  return magic == k_store_magic      ? k_store_name
         : magic == k_current_magic  ? k_current_name
         : magic == k_manifest_magic ? k_manifest_name
                                     : name;
}

constexpr std::size_t k_most_marker_bytes = std::size_t{16} << 20;

Result<ScanSummary> explain_segment_alone(const io::Directory& directory, const std::string& name,
                                          const io::FileIdentity& identity, ByteSpan head,
                                          const ExplainRequest& request, unsigned threads,
                                          ExplainSink& sink, FindingSink& findings) {
  SegmentHeader header;
  Segment segment;
  segment.name = name;
  segment.identity = identity;
  // By itself a segment may have any name.
  const bool sound = !decode_header(head, header);
  segment.id = sound ? header.segment_id : segment_id_of(name).value_or(1);
  std::vector<Segment> segments{std::move(segment)};
  LogPassOptions options;
  options.policy = Policy::report;
  options.from_start = false;
  options.threads = threads;
  options.file_prefix.clear();
  std::vector<Refusal> refusals;
  ScanSummary summary;
  options.refused = [&](Refusal refusal) {
    refusal.file.clear();
    Finding finding = to_finding(refusal);
    summary.verdict = worse(summary.verdict, finding.verdict);
    findings.add(std::move(finding));
    refusals.push_back(std::move(refusal));
  };
  VARVE_TRY(run_log_pass(directory, segments, options));
  const RecordMeaning meaning{1, Budgets{}.event};
  SegmentExplainer explainer(segments[0], "", std::move(refusals), meaning, request.offset, sink);
  VARVE_ASSIGN(const auto file, directory.open_file(name, io::OpenMode::read));
  VARVE_TRY(explainer.run(*file));
  return summary;
}

}  // namespace

Confidence detect_member(io::FileSystem& files, const std::string& path) {
  const auto file = files.open_file(path, io::OpenMode::read);
  if (!file) {
    return Confidence::none;
  }
  const std::string name = io::split_path(path).name;
  std::byte bytes[k_magic_bytes];
  const auto got = (*file)->read_at(bytes, 0);
  const std::string_view magic = base::as_text(bytes);
  if (got && *got == sizeof bytes && (magic == k_header_magic || is_marker({}, ByteSpan(bytes)))) {
    return Confidence::by_content;
  }
  return segment_id_of(name) || is_marker(name, {}) || name.ends_with(k_segment_suffix)
             ? Confidence::by_name
             : Confidence::none;
}

Result<ScanSummary> explain_member(io::FileSystem& files, const std::string& path,
                                   const ExplainRequest& request, unsigned threads,
                                   ExplainSink& sink, FindingSink& findings) {
  const io::SplitPath split = io::split_path(path);
  VARVE_ASSIGN(const auto directory, files.open_directory(split.parent));
  VARVE_ASSIGN(const auto file, directory->open_file(split.name, io::OpenMode::read));
  VARVE_ASSIGN(const io::FileIdentity identity, file->identity());
  if (request.offset && *request.offset >= identity.size_bytes) {
    return fail(ErrorCode::invalid_argument, "offset", "the offset lies behind the end of the file",
                path);
  }
  Bytes head(
      static_cast<std::size_t>(std::min<std::uint64_t>(identity.size_bytes, k_header_bytes)));
  VARVE_ASSIGN(const std::size_t got, file->read_at(head, 0));
  head.resize(got);
  if (!is_marker(split.name, head)) {
    return explain_segment_alone(*directory, split.name, identity, head, request, threads, sink,
                                 findings);
  }
  Snapshot scratch;
  const std::string name(marker_name(
      split.name, base::as_text(ByteSpan(head).first(std::min(head.size(), k_magic_bytes)))));
  VARVE_TRY(read_marker(*directory, split.name, name, k_most_marker_bytes, scratch));
  model::RenamedRows unnamed(sink, "");
  explain_marker(scratch.markers.front(), nullptr, Budgets{}.event, unnamed);
  return ScanSummary{};
}

}  // namespace varve::tay
