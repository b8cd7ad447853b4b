// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/cli/fake_format.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <stdexcept>

#include "base/bytes.hpp"
#include "base/json_writer.hpp"
#include "cli/session.hpp"
#include "model/copy_catalogue.hpp"
#include "model/tally.hpp"

namespace varve::test {

namespace {

constexpr std::string_view k_magic = "LINES 1\n";

struct Line {
  enum class State { whole, damaged, torn } state = State::whole;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t seq = 0;
  std::int64_t time_us = 0;
  std::string text;
};

std::string content_of(io::FileSystem& files, const std::string& path) {
  const auto file = files.open_file(path, io::OpenMode::read);
  if (!file) {
    return {};
  }
  std::string content(static_cast<std::size_t>((*file)->identity()->size_bytes), '\0');
  (void)(*file)->read_at({reinterpret_cast<std::byte*>(content.data()), content.size()}, 0);
  return content;
}

std::vector<Line> lines_of(const std::string& content) {
  std::vector<Line> out;
  std::size_t at = k_magic.size();
  while (at < content.size()) {
    const std::size_t end = content.find('\n', at);
    Line line;
    line.offset = at;
    line.length = (end == std::string::npos ? content.size() : end + 1) - at;
    line.seq = out.size() + 1;
    line.state = end == std::string::npos ? Line::State::torn
                 : content[at] == '!'     ? Line::State::damaged
                                          : Line::State::whole;
    const std::string body = content.substr(at, line.length);
    const std::size_t space = std::min(body.find(' '), body.size());
    std::from_chars(body.data(), body.data() + space, line.time_us);
    line.text = body.substr(std::min(space + 1, body.size()));
    if (line.text.ends_with('\n')) {
      line.text.pop_back();
    }
    out.push_back(std::move(line));
    at += out.back().length;
  }
  return out;
}

Finding finding_of(const Line& line) {
  Finding finding;
  finding.unit = "line";
  finding.offset = line.offset;
  finding.length = line.length;
  finding.index = line.seq - 1;
  if (line.state == Line::State::torn) {
    finding.verdict = Verdict::torn;
    finding.code = "torn-tail";
    finding.message = "the last line has no end";
  } else {
    finding.verdict = Verdict::damaged;
    finding.code = "line_checksum";
    finding.expected = Number::hex32(0x1A2B3C4D);
    finding.actual = Number::hex32(0);
    finding.message = "the line's checksum does not hold";
  }
  return finding;
}

const Schema& line_schema() {
  static const Schema schema{{{"seq", ColumnType::uint64}, {"text", ColumnType::text}}};
  return schema;
}

class LinesView final : public StoreView {
 public:
  LinesView(std::string path, std::string content)
      : path_(std::move(path)), content_(std::move(content)), lines_(lines_of(content_)) {}

  Result<StoreInfo> info() override {
    StoreInfo info;
    info.format = "lines";
    info.version = 1;
    info.path = path_;
    info.bytes = info.bytes_allocated = content_.size();
    info.segments = 1;
    info.records = lines_.size();
    if (!lines_.empty()) {
      info.first_seq = 1;
      info.last_seq = lines_.size();
      info.first_time_us = lines_.front().time_us;
      info.last_time_us = lines_.back().time_us;
    }
    info.sealed = false;
    info.tail = "ends with a line feed";
    info.detail.set("header", Json::object().set("magic", "LINES").set("large", UINT64_MAX));
    return info;
  }

  Result<VerifyReport> verify(const VerifyRequest& request, FindingSink& findings) override {
    VerifyReport report;
    report.path = path_;
    report.format = "lines";
    report.version = 1;
    report.counts = {1, 1, lines_.size() + 1, lines_.size(), content_.size()};
    for (const Line& line : lines_) {
      if (line.state == Line::State::whole) {
        ++report.intact_records;
        continue;
      }
      Finding finding = finding_of(line);
      report.verdict = worse(report.verdict, finding.verdict);
      ++(finding.verdict == Verdict::torn ? report.unknown_records : report.lost_records);
      findings.add(std::move(finding));
    }
    if (request.progress) {
      request.progress(content_.size(), content_.size());
    }
    return report;
  }

  const Schema& schema(Face) const override { return line_schema(); }

  Result<ScanSummary> scan(const ScanRequest& request, BatchSink& sink,
                           FindingSink& findings) override {
    ScanSummary summary;
    std::vector<const Line*> order;
    for (const Line& line : lines_) {
      order.push_back(&line);
    }
    if (request.reverse) {
      std::reverse(order.begin(), order.end());
    }
    for (const Line* line : order) {
      if (line->state != Line::State::whole) {
        Finding finding = finding_of(*line);
        summary.verdict = worse(summary.verdict, finding.verdict);
        findings.add(std::move(finding));
        if (request.strict) {
          break;
        }
        continue;
      }
      if (line->text == "interrupt") {
        std::raise(SIGINT);
      }
      if (!wanted(*line, request.predicate) || summary.rows == request.limit) {
        continue;
      }
      BatchBuilder builder(line_schema());
      builder.add_u64(0, line->seq);
      builder.add_bytes(1, line->text);
      builder.end_row();
      Batch batch = builder.finish();
      // Every second batch reaches the sink unmapped, as batches made by the caller's thread may.
      if (request.mapper != nullptr && line->seq % 2 == 0) {
        request.mapper->map(batch);
      }
      ++summary.rows;
      VARVE_ASSIGN(const bool more, sink.consume(std::move(batch)));
      if (!more) {
        break;
      }
    }
    return summary;
  }

  void render(Face face, const Batch& batch, const RenderOptions& options,
              std::string& out) const override {
    for (std::size_t row = 0; row < batch.rows; ++row) {
      Json line = Json::object();
      line.set(face == Face::log ? "seq" : "id", batch.columns[0].value<std::uint64_t>(row));
      if (options.payload != PayloadForm::none) {
        line.set("text", std::string(batch.columns[1].bytes(row)) + options.as);
      }
      line.write(out, options.int64_as_string);
      out += '\n';
    }
  }

  Result<Json> plan(const ScanRequest& request) override {
    return Json::object()
        .set("schema", "varve.plan/1")
        .set("terms", request.predicate.terms.size());
  }

  Result<GetResult> get(const std::string& key, const RenderOptions&, FindingSink&) override {
    for (const Line& line : lines_) {
      if (std::to_string(line.seq) == key) {
        return GetResult{Json::object().set("seq", line.seq).set("text", line.text), line.text};
      }
    }
    return fail(ErrorCode::invalid_argument, "key", "no record has the key " + key);
  }

  Result<ScanSummary> explain(const ExplainRequest& request, ExplainSink& sink,
                              FindingSink&) override {
    ExplainRow header;
    header.length = k_magic.size();
    header.field = "magic";
    header.value = "LINES 1";
    header.meaning = "what the file is";
    header.raw = k_magic;
    header.check = ExplainRow::Check::holds;
    if (!request.offset || *request.offset < k_magic.size()) {
      sink.add(header);
    }
    ScanSummary summary;
    for (const Line& line : lines_) {
      if (request.offset &&
          (*request.offset < line.offset || *request.offset >= line.offset + line.length)) {
        continue;
      }
      ExplainRow row;
      row.offset = line.offset;
      row.length = line.length;
      row.container = true;
      row.field = "line";
      row.check =
          line.state == Line::State::whole ? ExplainRow::Check::none : ExplainRow::Check::fails;
      if (line.state != Line::State::whole) {
        summary.verdict = worse(summary.verdict, finding_of(line).verdict);
      }
      sink.add(row);
      row.container = false;
      row.depth = 1;
      row.field = "text";
      row.value = line.text;
      row.raw = line.text.substr(0, 32);
      sink.add(row);
    }
    return summary;
  }

  Result<StatsReport> stats(FindingSink&) override {
    model::Tally sizes;
    model::CategoryTally words;
    for (const Line& line : lines_) {
      sizes.add(line.length);
      words.add(line.text, 1, line.length);
    }
    return StatsReport{{sizes.finish("line size", "bytes"), words.finish("texts")}};
  }

 private:
  static bool wanted(const Line& line, const Predicate& predicate) {
    const bool named = predicate.terms.empty() ||
                       std::any_of(predicate.terms.begin(), predicate.terms.end(),
                                   [&](const FilterTerm& term) { return line.text == term.value; });
    return named && line.seq >= predicate.seq_first.value_or(0) &&
           line.seq <= predicate.seq_last.value_or(UINT64_MAX) &&
           line.time_us >= predicate.since_us.value_or(INT64_MIN) &&
           line.time_us < predicate.until_us.value_or(INT64_MAX);
  }

  std::string path_;
  std::string content_;
  std::vector<Line> lines_;
};

// Takes {"text":"..."}; "refuse" is no record.
class LinesAppender final : public Appender {
 public:
  LinesAppender(std::unique_ptr<io::File> file, std::uint64_t size, std::uint64_t records)
      : file_(std::move(file)), size_(size), records_(records) {}
  Result<void> append_line(std::string_view json) override {
    const std::size_t begin = json.find(":\"");
    if (begin == std::string_view::npos || json.find("refuse") != std::string_view::npos) {
      return fail(ErrorCode::invalid_argument, "record", "a record has a text");
    }
    const std::size_t end = json.find('"', begin + 2);
    pending_ += "7 " + std::string(json.substr(begin + 2, end - begin - 2)) + '\n';
    ++records_;
    return {};
  }
  Result<std::uint64_t> sync() override {
    VARVE_TRY(flush());
    VARVE_TRY(file_->data_sync());
    return records_;
  }
  Result<std::uint64_t> flush() override {
    VARVE_TRY(file_->write_at(base::as_bytes(pending_), size_));
    size_ += pending_.size();
    pending_.clear();
    return records_;
  }
  Result<void> close() override { return {}; }

 private:
  std::unique_ptr<io::File> file_;
  std::uint64_t size_;
  std::uint64_t records_;
  std::string pending_;
};

class LinesFormat final : public Format {
 public:
  std::string_view name() const override { return "lines"; }
  std::string_view summary() const override { return "lines of text"; }
  std::span<const FilterSpec> filters() const override {
    static constexpr std::array k_filters{
        FilterSpec{"word", "WORD", "lines with this text", true, "cat state", {}}};
    return k_filters;
  }
  std::span<const OptionSpec> options() const override {
    static constexpr std::array k_options{
        OptionSpec{"as", "FORM", "another form", "cat", "v1 v2"},
        OptionSpec{"exit-codes", "SCHEME", "codes of the first checker", "verify", "old"},
        OptionSpec{"width", "N", "line width", "init", {}}};
    return k_options;
  }
  bool has_seq() const override { return true; }
  bool has_time() const override { return true; }
  Confidence detect(io::FileSystem& files, const std::string& path) const override {
    const std::string content = content_of(files, path);
    if (content.starts_with("throw")) {
      throw std::logic_error("planted");
    }
    return content.starts_with("LINES ") ? Confidence::by_content
           : path.ends_with(".lines")    ? Confidence::by_name
                                         : Confidence::none;
  }
  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                          const OpenOptions&) const override {
    std::string content = content_of(files, path);
    if (content.starts_with("LINES 2")) {
      return fail(ErrorCode::unsupported, "unsupported_version", "version 2 is not known", path);
    }
    if (!content.starts_with(k_magic)) {
      return fail(ErrorCode::damaged, "magic", "the first line is hurt", path);
    }
    return std::make_unique<LinesView>(path, std::move(content));
  }
  std::string_view advice(Verdict verdict) const override {
    return verdict == Verdict::torn ? "The lines engine opens such a file." : "";
  }
  std::optional<int> verify_exit_code(
      const VerifyReport& report, std::span<const Finding>,
      const std::map<std::string, std::string>& options) const override {
    if (options.contains("exit-codes")) {
      return report.verdict == Verdict::clean ? 0 : 42;
    }
    return std::nullopt;
  }
  Result<WriteReport> init(io::FileSystem& files, const std::string& path,
                           const WriteRequest& request) const override {
    WriteReport report;
    report.dry_run = request.dry_run;
    report.actions.push_back({"", "create", 0, k_magic.size()});
    if (!request.dry_run) {
      VARVE_ASSIGN(const auto file, files.open_file(path, io::OpenMode::create_exclusive));
      VARVE_TRY(file->write_at(base::as_bytes(k_magic), 0));
    }
    return report;
  }
  Result<std::unique_ptr<Appender>> open_appender(io::FileSystem& files, const std::string& path,
                                                  const WriteRequest&) const override {
    const std::string content = content_of(files, path);
    VARVE_ASSIGN(auto file, files.open_file(path, io::OpenMode::read_write));
    return std::make_unique<LinesAppender>(std::move(file), content.size(),
                                           lines_of(content).size());
  }
  Result<WriteReport> backup(io::FileSystem& files, const std::string& path,
                             const std::string& target,
                             const WriteRequest& request) const override {
    const io::SplitPath split = io::split_path(path);
    model::CopyRequest copy;
    copy.format = "lines";
    copy.source_path = path;
    copy.source_directory = split.parent;
    copy.store_name = split.name;
    copy.single_file = true;
    copy.members = {{split.name, content_of(files, path).size(), {}, {}}};
    copy.target = target;
    return model::copy_with_catalogue(files, copy, request);
  }
};

class BareFormat final : public Format {
 public:
  std::string_view name() const override { return "bare"; }
  std::string_view summary() const override { return "next to nothing"; }
  std::span<const FilterSpec> filters() const override { return {}; }
  std::span<const OptionSpec> options() const override { return {}; }
  bool has_seq() const override { return false; }
  bool has_time() const override { return false; }
  Confidence detect(io::FileSystem& files, const std::string& path) const override {
    return content_of(files, path).starts_with("BARE") ? Confidence::by_content : Confidence::none;
  }
  Result<std::unique_ptr<StoreView>> open(io::FileSystem&, const std::string& path,
                                          const OpenOptions&) const override {
    return std::make_unique<LinesView>(path, std::string(k_magic));
  }
};

// What was written to an anonymous file, from its start.
std::string take(int descriptor) {
  std::string out;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n =
        ::pread(descriptor, buffer.data(), buffer.size(), static_cast<off_t>(out.size()));
    if (n <= 0) {
      ::close(descriptor);
      return out;
    }
    out.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

const Format& lines_format() {
  static const LinesFormat format;
  return format;
}
const Format& bare_format() {
  static const BareFormat format;
  return format;
}
std::span<const Format* const> fake_formats() {
  static const std::array<const Format*, 2> table{&lines_format(), &bare_format()};
  return table;
}

namespace {

RunResult run_here(std::span<const Format* const> over, const std::vector<std::string>& arguments,
                   const std::string& input) {
  const int in = ::memfd_create("in", MFD_CLOEXEC);
  EXPECT_EQ(::write(in, input.data(), input.size()), static_cast<ssize_t>(input.size()));
  ::lseek(in, 0, SEEK_SET);
  const int out = ::memfd_create("out", MFD_CLOEXEC);
  const int err = ::memfd_create("err", MFD_CLOEXEC);
  const cli::Context context{over, io::posix_file_system(), io::system_environment(), in, out, err};
  RunResult result;
  result.exit_code = cli::run(context, arguments);
  ::close(in);
  result.out = take(out);
  result.err = take(err);
  return result;
}

}  // namespace

RunResult run_fake(const std::vector<std::string>& arguments, const std::string& input) {
  return run_here(fake_formats(), arguments, input);
}
RunResult run_real(const std::vector<std::string>& arguments, const std::string& input) {
  return run_here(formats(), arguments, input);
}

}  // namespace varve::test
