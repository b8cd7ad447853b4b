// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/salvage.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text_coding.hpp"
#include "model/salvage_output.hpp"
#include "tay/activation.hpp"
#include "tay/examine.hpp"
#include "tay/format_options.hpp"
#include "tay/initialize.hpp"
#include "tay/log_collector.hpp"
#include "tay/refusal.hpp"
#include "tay/salvage_choice.hpp"
#include "tay/window.hpp"
#include "tay/writing.hpp"

namespace varve::tay {

namespace {

constexpr std::size_t k_waiting_bytes = std::size_t{16} << 20;
constexpr std::size_t k_most_reasons = 100'000;

// The words that were said of places in segments.
class Reasons {
 public:
  void add(const Refusal& refusal) {
    if (refusal.segment_id && refusal.offset && words_.size() < k_most_reasons) {
      words_.try_emplace({*refusal.segment_id, *refusal.offset}, refusal.word);
    }
  }
  std::string in(std::uint64_t segment, std::uint64_t begin, std::uint64_t end) const {
    const auto found = words_.lower_bound({segment, begin});
    return found != words_.end() && found->first < std::pair(segment, end) ? found->second
                                                                           : "not_understood";
  }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> words_;
};

Budgets unlimited(Budgets budgets) {
  budgets.retained_jobs = budgets.retained_bytes = budgets.retained_nodes = k_no_limit;
  budgets.recovery_deadline_ms = budgets.activation_deadline_ms = k_no_limit;
  budgets.activation_window_ms = k_no_limit;
  return budgets;
}

// One pass over the proven records: decides what becomes of each byte and, with an output, puts it
// there.
class Salvage {
 public:
  Salvage(const Snapshot& snapshot, const Examination& found, const Reasons& reasons,
          const SalvageRequest& request, const LogWriterOptions& options)
      : snapshot_(snapshot),
        found_(found),
        reasons_(reasons),
        options_(options),
        renumber_(request.options.contains("renumber")),
        chooser_(renumber_, options.budgets.event),
        wanted_(wanted_columns(log_schema(), {})) {
    meaning_.budget = options.budgets.event;
    store_id_ = snapshot.store_id;
    for (const Segment& segment : found.segments) {
      if (!store_id_ && segment.header) {
        store_id_ = segment.header->store_id;
      }
    }
    report_.path = snapshot.path;
    report_.format = "tay";
    report_.verdict = found.verdict();
    report_.unknown_records = found.totals.unknown;
  }

  Result<SalvageReport> run(io::FileSystem& files, model::SalvageOutput* output) {
    output_ = output;
    if (output_ != nullptr) {
      VARVE_TRY(begin_store(files));
    }
    VARVE_TRY(look_at_markers());
    VARVE_TRY(look_at_strangers());
    for (std::size_t i = 0; i < found_.segments.size(); ++i) {
      VARVE_TRY(take_segment(found_.segments[i]));
    }
    report_.lost.records = found_.totals.lost;
    if (output_ != nullptr) {
      VARVE_TRY(end_store(files));
    }
    report_.detail.set("jobs", std::uint64_t{chooser_.jobs().size()}).set("renumbered", renumber_);
    if (renumber_) {
      report_.detail.set("changed_records", changed_).set("bridged_records", chooser_.bridged());
    }
    return std::move(report_);
  }

 private:
  Result<void> begin_store(io::FileSystem& files) {
    InitializeOptions initialize_options;
    initialize_options.environment = options_.environment;
    // A renumbered log is another one: it gets an id of its own.
    if (store_id_ && !renumber_) {
      initialize_options.store_id = store_id_;
    }
    VARVE_ASSIGN(Ownership owner, initialize(files, output_->store_path(), initialize_options));
    RecoveryOptions recovery;
    recovery.environment = options_.environment;
    auto candidate = recover(std::move(owner), recovery);
    if (!candidate) {
      return std::unexpected(to_error(candidate.error()));
    }
    report_.detail.set("store_id", base::to_hex(candidate->facts.store_id));
    auto writer = activate(*candidate, options_);
    if (!writer) {
      return std::unexpected(to_error(writer.error()));
    }
    writer_.emplace(*std::move(writer));
    return {};
  }

  Result<void> end_store(io::FileSystem& files) {
    VARVE_TRY(writer_->commit(true));
    VARVE_TRY(writer_->sync());
    writer_.reset();  // lets go of the lock
    VARVE_TRY(aside_.finish(*output_));
    VARVE_TRY(changes_.finish(*output_));
    RecoveryOptions recovery;
    recovery.environment = options_.environment;
    recovery.budgets = options_.budgets;
    recovery.threads = options_.threads;
    recovery.semantic = false;  // each event was applied before it was written
    const auto again = recover(files, output_->store_path(), recovery);
    if (!again) {
      return std::unexpected(to_error(again.error()));
    }
    if (again->facts.totals.records != chooser_.taken()) {
      return fail(ErrorCode::damaged, "salvage_check",
                  "the new store does not hold what was written", output_->store_path());
    }
    return {};
  }

  Result<void> look_at_markers() {
    for (const Snapshot::Marker& marker : snapshot_.markers) {
      SalvageRange range;
      range.file = marker.name;
      range.length = marker.identity.size_bytes;
      range.unit = "STORE";
      range.fate = Fate::rebuilt;
      if (!snapshot_.store_id) {
        VARVE_ASSIGN(const auto file, snapshot_.root->open_file(marker.name, io::OpenMode::read));
        VARVE_TRY(lose(*file, "STORE", "corrupt_store", range));
        range.fate = Fate::rebuilt;
      }
      report_.add(std::move(range));
    }
    return {};
  }

  // Files whose names may hold history, though none that counts.
  Result<void> look_at_strangers() {
    for (const Refusal& problem : snapshot_.listing.problems) {
      const bool inner = problem.file.starts_with("segments/");
      const std::string name = inner ? problem.file.substr(9) : problem.file;
      const auto& entries = inner ? snapshot_.listing.segments : snapshot_.listing.root;
      const auto found = std::ranges::find(entries, name, &io::DirectoryEntry::name);
      const bool canonical = inner && segment_id_of(name);
      if (found == entries.end() || found->identity.type != io::FileType::regular || canonical) {
        continue;
      }
      SalvageRange range;
      range.file = problem.file;
      range.length = found->identity.size_bytes;
      range.unit = "file";
      const io::Directory& directory = inner ? *snapshot_.segments_directory : *snapshot_.root;
      VARVE_ASSIGN(const auto file, directory.open_file(name, io::OpenMode::read));
      VARVE_TRY(lose(*file, "file-" + std::to_string(++strangers_), problem.word, range));
      report_.add(std::move(range));
    }
    return {};
  }

  Result<void> take_segment(const Segment& segment) {
    VARVE_ASSIGN(const auto file,
                 snapshot_.segments_directory->open_file(segment.name, io::OpenMode::read));
    const bool foreign = segment.header && store_id_ && segment.header->store_id != *store_id_;
    std::uint64_t at = 0;
    if (segment.header) {
      at = k_header_bytes;
      report_.add(object(segment, "header", 0, k_header_bytes));
    }
    for (const LogRun& run : segment.runs) {
      VARVE_TRY(lose_gap(*file, segment, at, run.begin, run.first_sequence));
      VARVE_TRY(take_run(*file, segment, run, foreign));
      at = run.end;
    }
    const std::uint64_t end = segment.bytes();
    if (segment.footer && end - at == k_footer_bytes) {
      report_.add(object(segment, "footer", at, k_footer_bytes));
      at = end;
    }
    return lose_gap(*file, segment, at, end, std::nullopt);
  }

  SalvageRange object(const Segment& segment, const char* unit, std::uint64_t offset,
                      std::uint64_t length) const {
    SalvageRange out;
    out.file = snapshot_.segments_prefix + segment.name;
    out.offset = offset;
    out.length = length;
    out.unit = unit;
    out.fate = Fate::rebuilt;
    return out;
  }

  Result<void> lose_gap(const io::File& file, const Segment& segment, std::uint64_t begin,
                        std::uint64_t end, std::optional<std::uint64_t> next_sequence) {
    if (begin >= end) {
      return {};
    }
    SalvageRange range = object(segment, "bytes", begin, end - begin);
    range.first_seq = last_sequence_;
    range.last_seq = next_sequence;
    VARVE_TRY(lose(file, "segment-" + std::to_string(segment.id) + "-at-" + std::to_string(begin),
                   reasons_.in(segment.id, begin, end), range));
    report_.add(std::move(range));
    return {};
  }

  // Saves the range's bytes.
  Result<void> lose(const io::File& file, const std::string& stem, std::string reason,
                    SalvageRange& range) {
    range.fate = Fate::lost;
    range.reason = std::move(reason);
    return model::save_range(output_, model::reader_of(file), stem, range);
  }

  Result<void> take_run(const io::File& file, const Segment& segment, const LogRun& run,
                        bool foreign) {
    VARVE_TRY(read_run(file, run, bytes_));
    LogCollector aside(filter_, meaning_, segment.id, wanted_, k_u64_max, nullptr);
    Result<void> done;
    for_each_record(bytes_, run.begin,
                    [&](const RecordHeader& header, std::uint64_t offset, ByteSpan payload) {
                      done = take_record(segment, header, offset, payload, foreign, aside);
                      return done.has_value();
                    });
    VARVE_TRY(done);
    last_sequence_ = run.first_sequence + run.count - 1;
    aside.finish();
    if (output_ != nullptr) {
      render_log(aside.batch(), {}, aside_.text());
      VARVE_TRY(aside_.flush(*output_));
      VARVE_TRY(changes_.flush(*output_));
    }
    return {};
  }

  Result<void> take_record(const Segment& segment, const RecordHeader& header, std::uint64_t offset,
                           ByteSpan payload, bool foreign, LogCollector& aside) {
    const SalvageChoice choice = chooser_.choose(header, offset, payload, foreign);
    SalvageRange range = object(segment, "records", offset, header.frame_bytes());
    range.records = 1;
    range.first_seq = range.last_seq = header.sequence;
    range.fate = choice.taken ? Fate::kept : Fate::set_aside;
    range.reason = choice.reason;
    changed_ += choice.changes.empty() ? 0 : 1;
    if (output_ != nullptr && choice.taken) {
      VARVE_TRY(writer_->add(header.type, header.schema, choice.payload));
      if (writer_->waiting_bytes() > k_waiting_bytes) {
        VARVE_TRY(writer_->commit(false));
      }
      if (!choice.changes.empty()) {
        changes_.text() += choice.changes + '\n';
      }
    } else if (output_ != nullptr) {
      range.saved_as = aside_.name();
      aside.record(header, offset, payload);
    }
    report_.add(std::move(range));
    return {};
  }

  const Snapshot& snapshot_;
  const Examination& found_;
  const Reasons& reasons_;
  const LogWriterOptions& options_;
  bool renumber_;
  SalvageChooser chooser_;
  std::optional<Id> store_id_;
  SalvageReport report_;

  model::SalvageOutput* output_ = nullptr;
  std::optional<LogWriter> writer_;
  model::LineFile aside_{"records.jsonl"};
  model::LineFile changes_{"renumbered.jsonl"};
  std::uint64_t changed_ = 0;
  std::uint64_t strangers_ = 0;
  std::optional<std::uint64_t> last_sequence_;  // of the whole record before
  Bytes bytes_;
  LogFilter filter_;
  RecordMeaning meaning_;
  std::vector<bool> wanted_;
};

Result<LogWriterOptions> options_of(const SalvageRequest& request) {
  LogWriterOptions out;
  VARVE_ASSIGN(const ReadBudgets budgets, read_budgets(request.options));
  out.budgets = unlimited(budgets.budgets);
  out.threads = request.threads;
  out.environment = request.environment;
  out.durability = Durability::write;  // one sync of all of it, before it gets its name
  VARVE_ASSIGN(out.rotation_bytes,
               number_option(request.options, "rotation-target", k_max_sealed_bytes));
  if (out.rotation_bytes < k_min_rotation_bytes || out.rotation_bytes > k_max_sealed_bytes) {
    return fail(ErrorCode::invalid_argument, "rotation-target",
                "--rotation-target: 16777352 to 1073741824");
  }
  return out;
}

}  // namespace

Result<SalvageReport> salvage_store(io::FileSystem& files, const std::string& path,
                                    const SalvageRequest& request, FindingSink& findings) {
  VARVE_ASSIGN(const LogWriterOptions options, options_of(request));
  VARVE_ASSIGN(const Snapshot snapshot,
               take_snapshot(files, path, options.budgets.directory_entries));
  if (snapshot.version != 1) {
    return fail(ErrorCode::unsupported, "not_offered",
                "salvage of a Store v2 is not offered; `varve cat` prints every whole record",
                path);
  }
  Reasons reasons;
  ExamineRequest examine_with;
  examine_with.threads = request.threads;
  examine_with.budgets = options.budgets;
  examine_with.refused = [&](const Refusal& refusal) {
    reasons.add(refusal);
    findings.add(to_finding(refusal));
  };
  tell_surroundings(snapshot, true, findings);
  VARVE_ASSIGN(const Examination found, examine(snapshot, examine_with));
  tell_surroundings(snapshot, false, findings);
  // The root of a store takes no other directory.
  return model::salvage_with(
      files, request, model::LostAndFound::beside, findings,
      [&](model::SalvageOutput* output, FindingSink&) {
        return Salvage(snapshot, found, reasons, request, options).run(files, output);
      });
}

}  // namespace varve::tay
