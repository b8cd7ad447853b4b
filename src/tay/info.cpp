// SPDX-License-Identifier: MIT OR Apache-2.0
// `info`: the totals, and in `detail` what an offline inspection reports (section 17).
#include <utility>

#include "base/text_coding.hpp"
#include "tay/examine.hpp"
#include "tay/log_collector.hpp"
#include "tay/replay.hpp"
#include "tay/v2_root.hpp"
#include "tay/view.hpp"
#include "varve/tay_inspect.hpp"

namespace varve::tay {

namespace {

// Replaying jobs of more history than this would take longer than a screen of facts should.
constexpr std::uint64_t k_replayed_bytes = std::uint64_t{1} << 30;
constexpr std::size_t k_listed_segments = 10'000;

Json fixed_object(std::string_view magic) {
  return Json::object()
      .set("magic", magic)
      .set("version", std::uint32_t{k_version})
      .set("flags", 0)
      .set("reserved", 0);
}

// The last four bytes of an object that was sound: its own CRC.
Json crc_of(const Bytes& bytes) {
  return Json(Number::hex32(base::u32be(bytes.data() + bytes.size() - 4)));
}

Json header_json(const SegmentHeader& header) {
  Bytes bytes;
  encode_header(header, bytes);
  Json out = fixed_object(k_header_magic);
  out.set("segment_id", header.segment_id);
  out.set("first_sequence", header.first_sequence);
  out.set("STORE_ID", base::to_hex(header.store_id));
  out.set("crc", crc_of(bytes));
  return out;
}

Json footer_json(const SegmentFooter& footer) {
  Bytes bytes;
  encode_footer(footer, bytes);
  Json out = fixed_object(k_footer_magic);
  out.set("segment_id", footer.segment_id);
  out.set("first_sequence", footer.first_sequence);
  out.set("last_sequence", footer.last_sequence);
  out.set("record_count", footer.record_count);
  out.set("STORE_ID", base::to_hex(footer.store_id));
  out.set("segment_crc", Json(Number::hex32(footer.segment_crc)));
  out.set("crc", crc_of(bytes));
  return out;
}

Json segments_json(const Snapshot& snapshot, const Examination& found) {
  Json out = Json::array();
  for (std::size_t i = 0; i < found.segments.size() && i < k_listed_segments; ++i) {
    const Segment& segment = found.segments[i];
    Json one = Json::object();
    one.set("file", snapshot.segments_prefix + segment.name);
    one.set("id", segment.id);
    one.set("state", segment.hurt ? "hurt" : segment.sealed ? "sealed" : "active");
    one.set("first_sequence", segment.header ? Json(segment.header->first_sequence) : Json());
    one.set("last_sequence", segment.records != 0 ? Json(segment.last_sequence) : Json());
    one.set("record_count", segment.records);
    one.set("bytes", segment.bytes());
    one.set("header", segment.header ? header_json(*segment.header) : Json());
    one.set("footer", segment.footer ? footer_json(*segment.footer) : Json());
    out.push(std::move(one));
  }
  return out;
}

Json inspection_json(const Snapshot& snapshot, const Examination& found, bool replayed) {
  if (found.first) {
    Json out = to_json(*found.first);
    out.set("store_id", snapshot.store_id ? Json(base::to_hex(*snapshot.store_id)) : Json());
    return out;
  }
  Inspection inspection;
  inspection.store_id = *snapshot.store_id;
  inspection.record_count = found.totals.records;
  inspection.segment_count = found.segments.size();
  inspection.total_segment_bytes = snapshot.segment_bytes();
  const Segment& highest = found.segments.back();
  if (found.totals.next_sequence != 0 && !(highest.sealed && highest.id == k_u64_max)) {
    inspection.next_sequence = found.totals.next_sequence;
  }
  inspection.staging_count = snapshot.listing.staging.size();
  inspection.ignored_count = snapshot.listing.ignored.size();
  inspection.jobs = found.jobs.size();
  inspection.states = found.jobs.states();
  inspection.state_bytes_charged = found.jobs.charged_bytes();
  inspection.state_nodes_charged = found.jobs.charged_nodes();
  const Json whole = to_json(inspection);
  if (replayed) {
    return whole;
  }
  Json out = Json::object();
  for (const auto& [key, value] : *whole.as_object()) {
    const bool semantic = key == "jobs" || key == "states" || key.starts_with("state_");
    out.set(key, key == "scope" ? Json("headers_and_footers") : semantic ? Json() : value);
  }
  return out;
}

std::string tail_words(const Examination& found) {
  if (found.segments.empty()) {
    return "no segment";
  }
  const Segment& highest = found.segments.back();
  if (found.first && found.first->kind == RefusalKind::incomplete_tail) {
    return "torn: " + found.first->word + " at " + found.first->file + '@' +
           std::to_string(found.first->offset.value_or(0));
  }
  if (highest.hurt) {
    return "the highest segment is hurt";
  }
  if (highest.sealed) {
    return "sealed; the next segment is made when a writer opens the store";
  }
  return "active, " + std::to_string(highest.records) + " records, " +
         std::to_string(highest.bytes()) + " bytes";
}

// The time of the first or last record whose payload decodes, in the first or last run.
Result<std::optional<std::int64_t>> time_at(const Snapshot& snapshot, const Examination& found,
                                            bool last, const EventBudget& budget) {
  const RecordMeaning meaning{snapshot.version, budget};
  std::optional<std::int64_t> time;
  for (std::size_t i = 0; i < found.segments.size(); ++i) {
    const Segment& segment = found.segments[last ? found.segments.size() - 1 - i : i];
    if (segment.runs.empty()) {
      continue;
    }
    VARVE_ASSIGN(const auto file,
                 snapshot.segments_directory->open_file(segment.name, io::OpenMode::read));
    Bytes bytes;
    const LogRun& run = last ? segment.runs.back() : segment.runs.front();
    VARVE_TRY(read_run(*file, run, bytes));
    for_each_record(bytes, run.begin,
                    [&](const RecordHeader& header, std::uint64_t, ByteSpan payload) {
                      Event event;
                      if (meaning.read(header, payload, event) && event.at != k_nil) {
                        time = time_us(event.at);
                      }
                      return last || !time;
                    });
    break;
  }
  return time;
}

}  // namespace

Result<StoreInfo> View::info() {
  const bool replayed =
      snapshot_.segment_bytes() <= k_replayed_bytes || options_.options.contains("full");
  ExamineRequest request = examine_request(options_.threads);
  request.policy = replayed ? Policy::report : Policy::quick;
  request.replay = replayed;
  VARVE_ASSIGN(const Examination found, examine(snapshot_, request));
  StoreInfo out;
  out.format = format().name();
  out.version = static_cast<std::uint32_t>(snapshot_.version);
  out.path = snapshot_.path;
  out.bytes = snapshot_.segment_bytes() + snapshot_.marker_bytes();
  for (const Segment& segment : snapshot_.segments) {
    out.bytes_allocated += segment.identity.allocated_bytes;
  }
  for (const Snapshot::Marker& marker : snapshot_.markers) {
    out.bytes_allocated += marker.identity.allocated_bytes;
  }
  out.segments = snapshot_.segments.size();
  out.units = found.totals.units + snapshot_.marker_units();
  out.records = found.totals.records;
  for (const Segment& segment : found.segments) {
    if (segment.records != 0) {
      out.first_seq = out.first_seq.value_or(segment.last_sequence - (segment.records - 1));
      out.last_seq = segment.last_sequence;
    }
  }
  if (snapshot_.segments_directory) {
    VARVE_ASSIGN(out.first_time_us, time_at(snapshot_, found, false, request.budgets.event));
    VARVE_ASSIGN(out.last_time_us, time_at(snapshot_, found, true, request.budgets.event));
  }
  out.sealed = !found.segments.empty() && found.segments.back().sealed;
  out.tail = tail_words(found);
  out.detail = inspection_json(snapshot_, found, replayed);
  out.detail.set("lock", snapshot_.lock_missing ? "missing"
                         : snapshot_.lock_held  ? "held"
                                                : "free");
  if (snapshot_.store_id) {
    Bytes bytes;
    encode_store(*snapshot_.store_id, bytes);
    Json store = fixed_object(k_store_magic);
    store.set("STORE_ID", base::to_hex(*snapshot_.store_id)).set("crc", crc_of(bytes));
    out.detail.set("STORE", std::move(store));
  }
  add_v2_detail(snapshot_, out.detail);
  out.detail.set("segments", segments_json(snapshot_, found));
  return out;
}

}  // namespace varve::tay
