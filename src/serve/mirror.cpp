// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/mirror.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "base/pipeline.hpp"
#include "jss/view.hpp"
#include "output/report_json.hpp"
#include "serve/mirror_directory.hpp"
#include "serve/mirror_download.hpp"
#include "serve/mirror_parts.hpp"

namespace varve::serve {

namespace {

using Fate = MirroredSegment::Fate;

// Small segments would leave the line idle one by one; parts_at_once bounds all together.
constexpr unsigned k_segments_at_once = 3;
constexpr unsigned k_most_failures_in_a_row = 3;
constexpr std::size_t k_most_findings = 100;  // of a segment

bool is_interruption(const Error& error) { return error.reason == "interrupted"; }

// A segment on its way.
struct Fetch {
  RemoteSegment segment;
  bool replaces = false;
  MirroredSegment outcome;
  SegmentMark mark;
};

}  // namespace

std::string_view to_text(Fate fate) {
  switch (fate) {
    case Fate::added:
      return "added";
    case Fate::replaced:
      return "replaced";
    case Fate::kept:
      return "kept";
    case Fate::pruned:
      return "pruned";
    case Fate::foreign:
      return "foreign";
    case Fate::failed:
      return "failed";
  }
  return "failed";
}

Json MirrorReport::to_json() const {
  Json list = Json::array();
  for (const MirroredSegment& change : changes) {
    Json entry = Json::object();
    entry.set("name", change.name)
        .set("fate", to_text(change.fate))
        .set("bytes", change.bytes)
        .set("bytes_before", change.bytes_before);
    if (change.error) {
      entry.set("error", change.error->text());
    }
    if (!change.findings.empty()) {
      entry.set("findings", output::findings_json(change.findings));
    }
    list.push(std::move(entry));
  }
  Json out = Json::object();
  out.set("schema", "varve.mirror/1")
      .set("url", url)
      .set("path", directory)
      .set("segments", segments)
      .set("present", present)
      .set("bytes_fetched", bytes_fetched)
      .set("interrupted", interrupted)
      .set("changes", std::move(list));
  if (error) {
    out.set("error", error->text());
  }
  return out;
}

struct Mirror::Impl {
  Impl(io::FileSystem& files_, MirrorOptions options_)
      : files(files_), options(std::move(options_)) {}

  io::FileSystem& files;
  MirrorOptions options;
  std::string path;
  std::shared_ptr<RemoteArchive> archive;
  std::unique_ptr<MirrorDirectory> directory;

  // Of the round under way.
  MirrorReport report;
  std::mutex mutex;
  std::uint64_t bytes_arrived = 0;
  std::uint64_t bytes_to_come = 0;
  unsigned failures_in_a_row = 0;

  bool interrupted() const { return options.interrupted && options.interrupted(); }

  void arrived(std::uint64_t bytes) {
    const std::lock_guard lock(mutex);
    bytes_arrived += bytes;
    if (options.progress) {
      options.progress(bytes_arrived, std::max(bytes_arrived, bytes_to_come));
    }
  }

  Result<std::vector<Fetch>> decide(const std::vector<RemoteSegment>& segments);
  Result<void> look_at_vanished(const std::vector<RemoteSegment>& segments);
  void fetch(Fetch& fetch);
  Result<void> verify(Fetch& fetch);
  bool settle(Fetch& fetch);
};

// What is to be fetched; the rest is counted or told.
Result<std::vector<Fetch>> Mirror::Impl::decide(const std::vector<RemoteSegment>& segments) {
  std::vector<Fetch> out;
  for (const RemoteSegment& segment : segments) {
    VARVE_ASSIGN(const auto local, directory->look(segment.name));
    const SegmentMark mark{segment.checksum, segment.size_bytes};
    if (local && local->mark == mark) {
      ++report.present;
    } else if (local && !local->own) {
      report.changes.push_back({segment.name, Fate::foreign, segment.size_bytes, 0});
    } else {
      Fetch fetch;
      fetch.segment = segment;
      fetch.replaces = local.has_value();
      bytes_to_come += segment.size_bytes;
      out.push_back(std::move(fetch));
    }
  }
  return out;
}

Result<void> Mirror::Impl::look_at_vanished(const std::vector<RemoteSegment>& segments) {
  for (const std::string& name : directory->own_names()) {
    if (std::ranges::any_of(segments, [&](const auto& s) { return s.name == name; })) {
      continue;
    }
    VARVE_ASSIGN(const auto local, directory->look(name));
    if (!local || !local->own) {
      continue;  // removed or changed by somebody else, whose it is now
    }
    if (options.prune) {
      VARVE_TRY(directory->remove(name));
    }
    report.changes.push_back(
        {name, options.prune ? Fate::pruned : Fate::kept, local->mark.size_bytes, 0});
  }
  return {};
}

// On a worker: downloads and verifies.
void Mirror::Impl::fetch(Fetch& fetch) {
  MirroredSegment& outcome = fetch.outcome;
  outcome.name = fetch.segment.name;
  outcome.fate = fetch.replaces ? Fate::replaced : Fate::added;
  DownloadOptions download;
  download.parts_at_once = options.parts_at_once;
  download.part_bytes = options.part_bytes;
  download.arrived = [this](std::uint64_t bytes) { arrived(bytes); };
  download.interrupted = options.interrupted;
  // What an earlier run has left may be less than it noted, after a power cut: then once more.
  for (bool again = true; again;) {
    again = false;
    outcome.findings.clear();
    auto done = download_segment(directory->work(), *archive, fetch.segment.name, download);
    Result<void> verified = done ? verify(fetch) : std::unexpected(done.error());
    const bool clean = verified.has_value();
    if (!clean) {
      outcome.fate = Fate::failed;
      outcome.error = std::move(verified).error();
    }
    if (done) {
      outcome.bytes = done->bytes;
      outcome.bytes_before = done->bytes_before;
      if (!clean) {
        const auto discarded = discard_parts(directory->work(), fetch.segment.name);
        again = discarded && done->bytes_before != 0;
      }
    }
    if (again) {
      outcome.error.reset();
      outcome.fate = fetch.replaces ? Fate::replaced : Fate::added;
    }
  }
}

// Everything that `varve verify` looks at; a segment that it would not call clean is not put in
// place.
Result<void> Mirror::Impl::verify(Fetch& fetch) {
  const std::string name = part_file_name(fetch.segment.name);
  VARVE_ASSIGN(fetch.mark, directory->mark_of_download(name));
  OpenOptions open;
  open.threads = options.threads;
  VARVE_ASSIGN(const auto view, jss::format().open(files, directory->work_path(name), open));
  FindingList findings(k_most_findings);
  VerifyRequest request;
  request.threads = options.threads;
  VARVE_ASSIGN(const VerifyReport verified, view->verify(request, findings));
  if (verified.verdict == Verdict::clean && fetch.mark.checksum != 0) {
    return {};
  }
  for (Finding& finding : findings.findings()) {
    finding.file = fetch.segment.name;
  }
  fetch.outcome.findings = std::move(findings.findings());
  return std::unexpected(
      archive->at(fail(verified.verdict == Verdict::unknown ? ErrorCode::limit : ErrorCode::damaged,
                       "not-clean", "what the server sent is not clean; it was not put in place")
                      .error(),
                  fetch.segment.name, 0));
}

// In order, on the calling thread: puts the segment in its place. False ends the round.
bool Mirror::Impl::settle(Fetch& fetch) {
  MirroredSegment& outcome = fetch.outcome;
  if (outcome.error && is_interruption(*outcome.error)) {
    report.interrupted = true;
    return false;
  }
  if (!outcome.error) {
    const std::string downloaded = part_file_name(outcome.name);
    auto published = directory->publish(outcome.name, downloaded, fetch.mark);
    if (published) {
      published = discard_parts(directory->work(), outcome.name);
    }
    if (!published) {
      report.error = std::move(published).error();
      return false;
    }
  }
  const bool failed = outcome.error.has_value();
  report.changes.push_back(std::move(outcome));
  failures_in_a_row = failed ? failures_in_a_row + 1 : 0;
  if (failures_in_a_row == k_most_failures_in_a_row) {
    report.error = *report.changes.back().error;
    report.error->message += "; so did the segments before it, and the rest was not asked for";
    return false;
  }
  return true;
}

Mirror::Mirror(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Mirror::~Mirror() = default;

Result<std::unique_ptr<Mirror>> Mirror::open(io::FileSystem& files, io::Environment& environment,
                                             const std::string& url, const std::string& directory,
                                             RemoteOptions remote, MirrorOptions options) {
  VARVE_ASSIGN(const RemoteAddress address, RemoteAddress::parse(url));
  if (!address.segment.empty()) {
    return fail(ErrorCode::invalid_argument, "usage",
                "an archive is mirrored, not one segment of it", url);
  }
  auto impl = std::make_unique<Impl>(files, std::move(options));
  impl->path = directory;
  remote.connections = std::max(impl->options.parts_at_once, 1U);
  remote.interrupted = impl->options.interrupted;
  VARVE_ASSIGN(impl->archive, RemoteArchive::connect(address, std::move(remote)));
  VARVE_ASSIGN(impl->directory,
               MirrorDirectory::open(files, environment, directory, impl->archive->url()));
  return std::unique_ptr<Mirror>(new Mirror(std::move(impl)));
}

Result<MirrorReport> Mirror::round() {
  Impl& impl = *impl_;
  impl.report = {};
  impl.report.url = impl.archive->url();
  impl.report.directory = impl.path;
  impl.bytes_arrived = impl.bytes_to_come = 0;
  impl.failures_in_a_row = 0;
  VARVE_ASSIGN(const auto segments, impl.archive->list());
  impl.report.segments = segments.size();
  VARVE_ASSIGN(std::vector<Fetch> fetches, impl.decide(segments));
  std::vector<std::string> wanted;
  for (const Fetch& fetch : fetches) {
    wanted.push_back(fetch.segment.name);
  }
  VARVE_TRY(impl.directory->tidy(wanted));

  std::size_t next = 0;
  base::run_ordered_pipeline<Fetch>(
      k_segments_at_once, k_segments_at_once,
      [&]() -> std::optional<Fetch> {
        const bool more = next < fetches.size() && !impl.interrupted();
        return more ? std::optional(std::move(fetches[next++])) : std::nullopt;
      },
      [&](Fetch& fetch, unsigned) { impl.fetch(fetch); },
      [&](Fetch& fetch) { return impl.settle(fetch); });
  impl.report.bytes_fetched = impl.bytes_arrived;
  impl.report.interrupted = impl.report.interrupted || impl.interrupted();
  if (!impl.report.interrupted && !impl.report.error) {
    VARVE_TRY(impl.look_at_vanished(segments));
  }
  std::ranges::sort(impl.report.changes, {}, &MirroredSegment::name);
  return std::move(impl.report);
}

}  // namespace varve::serve
