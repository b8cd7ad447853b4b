// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/record_pages.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "output/batch_slice.hpp"
#include "output/pull_scan.hpp"
#include "output/report_json.hpp"

namespace varve::serve {

namespace {

constexpr std::size_t k_most_lists = 8;
constexpr auto k_list_lives = std::chrono::seconds(60);
constexpr auto k_page_time = std::chrono::milliseconds(800);
constexpr std::size_t k_page_bytes = 4U << 20;
constexpr std::size_t k_line_bytes = 16U << 10;
constexpr std::size_t k_findings_told = 20;
// Above it a cursor is taken for "the end".
constexpr std::uint64_t k_greatest_cursor = UINT64_MAX >> 1;

// What a scan finds on its way, told from another thread.
class SharedFindings final : public FindingSink {
 public:
  void add(Finding finding) override {
    const std::scoped_lock lock(mutex_);
    findings_.add(std::move(finding));
  }
  FindingList snapshot() const {
    const std::scoped_lock lock(mutex_);
    return findings_;
  }

 private:
  mutable std::mutex mutex_;
  FindingList findings_{k_findings_told};
};

struct PageRow {
  std::string line;
  std::uint64_t cut_from = 0;  // bytes of the whole line, if what a user stored was left out
  std::optional<std::uint64_t> seq;
};

}  // namespace

class RecordList {
 public:
  // `first`: of who asks for the first page, and may go away before it is there.
  RecordList(io::FileSystem& files, Face face, std::shared_ptr<const StopSign> first)
      : face_(face), first_files_(files, std::move(first)), files_(first_files_, sign_) {}
  RecordList(const RecordList&) = delete;
  RecordList& operator=(const RecordList&) = delete;
  ~RecordList() { call_off(); }

  // Ends the scan, without waiting for that.
  void call_off() {
    sign_->raise();
    if (scan_ != nullptr) {
      scan_->stop();
    }
  }

  Result<void> begin(const ExploredStore& store, ScanRequest request) {
    VARVE_ASSIGN(view_, store.open(files_));
    // Of 64 bits, that is: a "seq" of fewer is a counter that says nothing of the place in the log.
    const Schema& schema = view_->schema(face_);
    const int seq = schema.find("seq");
    const bool numbers =
        seq >= 0 && schema.fields[static_cast<std::size_t>(seq)].type == ColumnType::uint64;
    seq_column_ = numbers ? seq : -1;
    scan_ = std::make_unique<output::PullScan>(view_, std::move(request), findings_);
    return {};
  }

  // The next rows: at most `limit`, fewer at the end, or where the page has become large or long in
  // the making.
  Result<std::vector<PageRow>> next(std::size_t limit) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<PageRow> rows;
    std::size_t bytes = 0;
    while (rows.size() < limit && bytes < k_page_bytes) {
      if (!rows.empty() && std::chrono::steady_clock::now() - begin > k_page_time) {
        break;
      }
      VARVE_ASSIGN(const bool more, fetch());
      if (!more) {
        break;
      }
      while (position_ < batch_->rows && rows.size() < limit && bytes < k_page_bytes) {
        rows.push_back(row_of(output::slice_batch(*batch_, position_++, 1)));
        bytes += rows.back().line.size();
      }
    }
    return rows;
  }

  // The last `limit` rows before the row of `seq`, which may be missing.
  Result<std::vector<PageRow>> up_to(std::uint64_t seq, std::size_t limit) {
    std::deque<Batch> kept;  // rendered only at the end: most may be passed over
    while (true) {
      VARVE_ASSIGN(const bool more, fetch());
      if (!more || seq_at(position_).value_or(seq) >= seq) {
        break;
      }
      kept.push_back(output::slice_batch(*batch_, position_++, 1));
      if (kept.size() > limit) {
        kept.pop_front();
      }
    }
    std::vector<PageRow> rows;
    for (const Batch& one : kept) {
      rows.push_back(row_of(one));
    }
    return rows;
  }

  Result<void> skip(std::uint64_t count) {
    while (count > 0) {
      VARVE_ASSIGN(const bool more, fetch());
      if (!more) {
        break;
      }
      const std::uint64_t step = std::min<std::uint64_t>(count, batch_->rows - position_);
      position_ += static_cast<std::size_t>(step);
      count -= step;
    }
    return {};
  }

  bool ended() const { return ended_; }
  FindingList findings() const { return findings_->snapshot(); }

 private:
  // True if the batch has a row at the position.
  Result<bool> fetch() {
    while (!ended_ && (!batch_ || position_ == batch_->rows)) {
      std::optional<Error> error;
      batch_ = scan_->next(error);
      position_ = 0;
      if (error) {
        return std::unexpected(*std::move(error));
      }
      ended_ = !batch_;
    }
    return !ended_;
  }

  std::optional<std::uint64_t> seq_at(std::size_t position) const {
    return seq_of(*batch_, position);
  }

  std::optional<std::uint64_t> seq_of(const Batch& batch, std::size_t position) const {
    return seq_column_ < 0
               ? std::nullopt
               : std::optional(
                     batch.columns[static_cast<std::size_t>(seq_column_)].value<std::uint64_t>(
                         position));
  }

  PageRow row_of(const Batch& one) const {
    PageRow row;
    row.line = line_of(one, PayloadForm::json);
    if (row.line.size() > k_line_bytes) {
      row.cut_from = row.line.size();
      row.line = line_of(one, PayloadForm::none);
    }
    row.seq = seq_of(one, 0);
    return row;
  }

  std::string line_of(const Batch& one, PayloadForm form) const {
    RenderOptions options;
    options.payload = form;
    options.int64_as_string = true;
    std::string line;
    view_->render(face_, one, options, line);
    while (line.ends_with('\n')) {
      line.pop_back();
    }
    return line;
  }

  Face face_;
  std::shared_ptr<StopSign> sign_ = std::make_shared<StopSign>();
  ReadingFiles first_files_;
  ReadingFiles files_;
  std::shared_ptr<StoreView> view_;
  std::shared_ptr<SharedFindings> findings_ = std::make_shared<SharedFindings>();
  std::optional<Batch> batch_;
  std::size_t position_ = 0;
  bool ended_ = false;
  int seq_column_ = -1;
  std::unique_ptr<output::PullScan> scan_;  // last: its thread uses the others
};

namespace {

// False if no row can be there.
bool narrow(Predicate& predicate, std::uint64_t seq, bool above) {
  if (above) {
    if (seq == UINT64_MAX) {
      return false;
    }
    predicate.seq_first = std::max(predicate.seq_first.value_or(0), seq + 1);
  } else {
    if (seq == 0) {
      return false;
    }
    predicate.seq_last = std::min(predicate.seq_last.value_or(UINT64_MAX), seq - 1);
  }
  return predicate.seq_first.value_or(0) <= predicate.seq_last.value_or(UINT64_MAX);
}

Json row_json(const PageRow& row) {
  Json json = Json::object();
  json.set("record", Json::raw(row.line));
  if (row.cut_from != 0) {
    json.set("cut_from_bytes", row.cut_from);
  }
  return json;
}

Json page_json(const RecordQuery& query, const std::string& generation,
               const std::vector<PageRow>& rows, bool more, const FindingList& findings,
               bool by_seq = false) {
  Json list = Json::array();
  for (const PageRow& row : rows) {
    list.push(row_json(row));
  }
  Json json = Json::object();
  json.set("schema", "varve.records/1")
      .set("generation", generation)
      .set("face", query.face == Face::log ? "log" : "state")
      .set("start", query.start)
      .set("rows", std::move(list))
      .set("more", more)
      .set("verdict", to_text(findings.verdict()))
      .set("findings", output::findings_json(findings));
  if (by_seq && !rows.empty() && rows.front().seq && rows.back().seq) {
    json.set("first_seq", *rows.front().seq).set("last_seq", *rows.back().seq);
  }
  return json;
}

}  // namespace

RecordPages::RecordPages(io::FileSystem& files) : files_(files) {}

RecordPages::~RecordPages() = default;

Result<Json> RecordPages::page(ExploredStore& store, const std::string& generation,
                               const RecordQuery& query, std::shared_ptr<const StopSign> sign) {
  ScanRequest request;
  request.face = query.face;
  request.predicate = query.predicate;
  request.partial = query.partial;
  // A page of a log needs a block or two, not those that other cores would decode ahead.
  request.threads = query.face == Face::log ? 1 : 0;
  request.reverse = query.newest_first != query.before.has_value();
  const std::optional<std::uint64_t> cursor = query.after ? query.after : query.before;
  if (cursor) {
    const bool above = query.after.has_value() != query.newest_first;
    if (!narrow(request.predicate, *cursor, above)) {
      return page_json(query, generation, {}, false, FindingList());
    }
    const bool only_seq =
        query.predicate.terms.empty() && !query.predicate.since_us && !query.predicate.until_us;
    if (!above && only_seq && *cursor <= k_greatest_cursor) {
      VARVE_ASSIGN(const auto page, page_below(store, generation, query, *cursor, request, sign));
      if (page) {
        return *page;
      }
    }
  }
  const bool by_seq = query.by_seq(store.format());
  const std::string list_key = store.id() + '\n' + generation + '\n' + query.list_key() + '\n';
  std::unique_ptr<RecordList> list;
  if (query.after || query.start != 0) {
    list = take(list_key + std::to_string(query.after.value_or(query.start)));
  }
  if (list == nullptr) {
    list = std::make_unique<RecordList>(files_, query.face, sign);
    VARVE_TRY(list->begin(store, request));
    VARVE_TRY(list->skip(query.start));
  }
  VARVE_ASSIGN(std::vector<PageRow> rows, list->next(query.limit));
  if (sign->raised()) {
    return fail(ErrorCode::io, "stopped", "nobody waits for the answer any more");
  }
  const bool more = !list->ended();
  const FindingList findings = list->findings();
  if (query.before) {
    std::ranges::reverse(rows);
  } else if (more && !rows.empty() && (!by_seq || rows.back().seq)) {
    const std::uint64_t place = by_seq ? *rows.back().seq : query.start + rows.size();
    keep(list_key + std::to_string(place), std::move(list));
  }
  return page_json(query, generation, rows, more, findings, by_seq);
}

// Reading backwards begins at the end of the store, which may be a segment without an index. Rows
// just below a seq are found forward from a little before it, if not too many are missing there.
Result<std::optional<Json>> RecordPages::page_below(ExploredStore& store,
                                                    const std::string& generation,
                                                    const RecordQuery& query, std::uint64_t cursor,
                                                    ScanRequest request,
                                                    std::shared_ptr<const StopSign> sign) {
  const std::uint64_t lowest = query.predicate.seq_first.value_or(0);
  request.reverse = false;
  request.predicate.seq_last.reset();
  for (const std::uint64_t factor : {1, 16, 256}) {
    const std::uint64_t from = cursor - std::min<std::uint64_t>(cursor, factor * query.limit);
    request.predicate.seq_first = std::max(lowest, from);
    RecordList list(files_, query.face, sign);
    VARVE_TRY(list.begin(store, request));
    VARVE_ASSIGN(std::vector<PageRow> rows, list.up_to(cursor, query.limit));
    if (rows.size() == query.limit || from <= lowest) {
      if (query.newest_first) {
        std::ranges::reverse(rows);
      }
      return page_json(query, generation, rows, from > lowest, list.findings(), true);
    }
  }
  return std::nullopt;
}

std::unique_ptr<RecordList> RecordPages::take(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(waiting_, key, &Waiting::key);
  if (found == waiting_.end()) {
    return nullptr;
  }
  auto list = std::move(found->list);
  waiting_.erase(found);
  return list;
}

void RecordPages::keep(std::string key, std::unique_ptr<RecordList> list) {
  const auto now = std::chrono::steady_clock::now();
  std::list<Waiting> old;  // ended outside the lock: their scans have had time to stop
  {
    const std::scoped_lock lock(mutex_);
    old.swap(ending_);
    waiting_.push_front({std::move(key), std::move(list), now});
    while (waiting_.size() > k_most_lists || now - waiting_.back().since > k_list_lives) {
      waiting_.back().list->call_off();
      ending_.splice(ending_.begin(), waiting_, std::prev(waiting_.end()));
    }
  }
}

}  // namespace varve::serve
