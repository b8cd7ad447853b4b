// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/torture_run.hpp"

#include <fmt/format.h>

#include <random>

#include "cli/command.hpp"
#include "output/json_lines.hpp"
#include "verbs/torture_writer.hpp"

namespace varve::cli {

namespace {

// A store that has grown to so many records is left behind for a new one: each round reads it all.
constexpr std::uint64_t k_store_records = 2000;

class Text final : public output::ByteSink {
 public:
  Result<bool> write(std::string_view bytes) override {
    text_ += bytes;
    return true;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Torture {
 public:
  Torture(io::FileSystem& files, const Format& format, const TortureRequest& request)
      : files_(files), format_(format), request_(request), random_(request.seed) {}

  Result<TortureResult> run() {
    while (result_.rounds < request_.rounds && result_.failure.empty()) {
      VARVE_TRY(round());
      ++result_.rounds;
      if (request_.finished && request_.finished()) {
        break;
      }
    }
    if (!result_.failure.empty()) {
      result_.kept = path_;
    } else if (!path_.empty()) {
      VARVE_TRY(remove_store(files_, path_));
    }
    return result_;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::optional<ProbeRecord> probe(std::uint64_t number) const {
    return format_.probe_record(number, torture_text(request_.seed, number));
  }

  Result<void> round() {
    if (path_.empty() || over_ || records_ >= k_store_records) {
      VARVE_TRY(new_store());
    }
    WriterPlan plan;
    plan.seed = request_.seed;
    plan.first = records_;
    plan.batch = std::uint64_t{1} << below(7);
    plan.records = 1 + below(40 * plan.batch);
    if (below(3) == 0) {
      const auto verbs = split_words(probe(0)->upkeep);
      plan.upkeep = verbs[below(verbs.size())];
    }
    WriterKill kill;
    kill.after_acknowledgements = below(4) == 0 ? 0 : below(40);
    kill.and_then = std::chrono::microseconds(below(std::uint64_t{1} << below(14)));
    VARVE_ASSIGN(const WriterEnd end, run_writer(files_, format_, path_, plan, kill));
    result_.kills += end.killed ? 1 : 0;
    result_.acknowledged += end.acknowledged - plan.first;
    result_.failure = end.failure;
    if (result_.failure.empty()) {
      result_.failure = what_is_wrong(end);
    }
    return {};
  }

  Result<void> new_store() {
    if (!path_.empty()) {
      VARVE_TRY(remove_store(files_, path_));
    }
    path_ = fmt::format("{}/torture-{}-{}", request_.directory, format_.name(), result_.stores);
    records_ = 0;
    over_ = false;
    VARVE_TRY(format_.init(files_, path_, {}));
    ++result_.stores;
    return {};
  }

  // Reads the store as anyone would; empty if all is well.
  std::string what_is_wrong(const WriterEnd& end) {
    const auto view = opened();
    if (!view) {
      return "the store does not open: " + view.error().text();
    }
    FindingList findings;
    VerifyRequest verify;
    verify.threads = 1;
    const auto report = (*view)->verify(verify, findings);
    if (!report) {
      return "verify failed: " + report.error().text();
    }
    if (report->verdict != Verdict::clean && report->verdict != Verdict::torn) {
      return fmt::format("verify says {}: {}", to_text(report->verdict), first_of(findings));
    }
    if (report->verdict == Verdict::torn) {
      ++result_.torn;
      over_ = !carries_on();
    }
    const auto text = rows(**view);
    return text ? compare(*text, end) : "reading failed: " + text.error().text();
  }

  // Whether the format's own recovery takes a torn log on. Nothing is written: that is left to the
  // next writer.
  bool carries_on() const {
    WriteRequest request;
    request.dry_run = true;
    return format_.recover(files_, path_, request).has_value();
  }

  Result<std::unique_ptr<StoreView>> opened() const {
    OpenOptions options;
    options.threads = 1;
    return format_.open(files_, path_, options);
  }

  static std::string first_of(const FindingList& findings) {
    for (const Finding& finding : findings.findings()) {
      if (finding.severity == Severity::error) {
        return to_error(finding).text();
      }
    }
    return "without a finding";
  }

  Result<std::string> rows(StoreView& view) {
    ScanRequest request;
    request.face = probe(0)->face;
    // A torn log has no state of its own in some formats; what can be proven is what counts.
    request.partial = true;
    request.threads = 1;
    const output::LineRenderer renderer(view, request.face, {});
    request.mapper = &renderer;
    Text text;
    output::LineSink sink(renderer, text);
    FindingList findings;
    VARVE_TRY(view.scan(request, sink, findings));
    return text.text();
  }

  std::string compare(const std::string& text, const WriterEnd& end) {
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < text.size(); ++number) {
      const std::size_t line_end = text.find('\n', at);
      const std::string_view line = std::string_view(text).substr(at, line_end - at);
      const auto record = probe(number);
      if (line.find(record->shows) == std::string_view::npos) {
        return fmt::format("row {} is not record {}; {} records were acknowledged", number, number,
                           end.acknowledged);
      }
      at = line_end + 1;
    }
    if (number < end.acknowledged) {
      return fmt::format("{} records were acknowledged, {} are there", end.acknowledged, number);
    }
    if (number > end.begun) {
      return fmt::format("{} records were appended, {} are there", end.begun, number);
    }
    result_.found += number - records_;
    records_ = number;
    return {};
  }

  io::FileSystem& files_;
  const Format& format_;
  const TortureRequest& request_;
  std::mt19937_64 random_;
  TortureResult result_;
  std::string path_;
  std::uint64_t records_ = 0;  // in the store
  bool over_ = false;          // the format does not carry the store on
};

}  // namespace

std::string torture_text(std::uint64_t seed, std::uint64_t number) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15 + number);
  std::string text = fmt::format("{:010}-{}-", number, seed);
  // Short ones mostly, so that many fit into a page; now and then one that fills several.
  const std::uint64_t length = random() % 32 == 0 ? random() % 20'000 : random() % 300;
  for (std::uint64_t i = 0; i < length; ++i) {
    text += "abcdefghijklmnopqrstuvwxyz012345"[random() % 32];
  }
  return text;
}

Result<TortureResult> torture(io::FileSystem& files, const Format& format,
                              const TortureRequest& request) {
  return Torture(files, format, request).run();
}

Result<void> remove_store(io::FileSystem& files, const std::string& path) {
  const io::SplitPath split = io::split_path(path);
  VARVE_ASSIGN(const auto parent, files.open_directory(split.parent));
  VARVE_ASSIGN(const io::FileIdentity identity, parent->identity_of(split.name));
  if (identity.type != io::FileType::directory) {
    return parent->remove_file(split.name);
  }
  VARVE_ASSIGN(const auto directory, parent->open_directory(split.name));
  VARVE_ASSIGN(const auto entries, directory->list());
  for (const io::DirectoryEntry& entry : entries) {
    VARVE_TRY(remove_store(files, path + "/" + entry.name));
  }
  return parent->remove_directory(split.name);
}

}  // namespace varve::cli
