// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/store_tables.hpp"

#include <algorithm>
#include <utility>

#include "query/report_rows.hpp"
#include "store/sql_names.hpp"

namespace varve::query {

namespace {

// The rows of a batch as `cat` prints them, in Batch::mapped.
class LineMapper final : public BatchMapper {
 public:
  LineMapper(const StoreView& view, Face face) : view_(view), face_(face) {}
  void map(Batch& batch) const override {
    batch.mapped.clear();
    view_.render(face_, batch, RenderOptions{}, batch.mapped);
  }

 private:
  const StoreView& view_;
  Face face_;
};

bool lists_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

// A filter stands for the column of its name, or of its name with what such a column holds:
// "job" for job_id, "queue" for queue_key.
bool stands_for(const FilterSpec& filter, std::string_view column) {
  if (!column.starts_with(filter.name)) {
    return false;
  }
  const std::string_view rest = column.substr(filter.name.size());
  return rest.empty() || rest == "_id" || rest == "_key";
}

bool has_term(const Predicate& predicate, std::string_view name) {
  return std::ranges::find(predicate.terms, name, &FilterTerm::name) != predicate.terms.end();
}

// Both conditions must hold; terms of a name that is there already stay out, since those of one
// name are alternatives.
Predicate both(Predicate base, const Predicate& more) {
  const auto later = [](auto& to, const auto& from) {
    if (from && (!to || *from > *to)) {
      to = from;
    }
  };
  const auto earlier = [](auto& to, const auto& from) {
    if (from && (!to || *from < *to)) {
      to = from;
    }
  };
  later(base.seq_first, more.seq_first);
  earlier(base.seq_last, more.seq_last);
  later(base.since_us, more.since_us);
  earlier(base.until_us, more.until_us);
  std::vector<FilterTerm> added;
  for (const FilterTerm& term : more.terms) {
    if (!has_term(base, term.name)) {
      added.push_back(term);
    }
  }
  base.terms.insert(base.terms.end(), added.begin(), added.end());
  return base;
}

bool is_face(TableKind kind) { return kind == TableKind::log || kind == TableKind::state; }

}  // namespace

std::string_view to_text(TableKind kind) {
  switch (kind) {
    case TableKind::log:
      return "log";
    case TableKind::state:
      return "state";
    case TableKind::units:
      return "units";
    case TableKind::segments:
      return "segments";
    case TableKind::findings:
      return "findings";
  }
  return "";
}

std::optional<TableKind> table_of_name(std::string_view name) {
  for (const TableKind kind : k_table_kinds) {
    if (name == to_text(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

TableShape face_shape(const Format& format, Face face, const Schema& schema) {
  TableShape shape{&schema, {}};
  const bool log = face == Face::log;
  std::vector<const FilterSpec*> unused;
  for (const FilterSpec& filter : format.filters()) {
    if (lists_word(filter.verbs, log ? "cat" : "state")) {
      unused.push_back(&filter);
    }
  }
  bool time_seen = !log || !format.has_time();
  for (const Field& field : schema.fields) {
    TableColumn column{.name = field.name, .type = field.type};
    const auto filter = std::ranges::find_if(
        unused, [&](const FilterSpec* spec) { return stands_for(*spec, field.name); });
    if (filter != unused.end()) {
      column.pushdown = Pushdown::filter;
      column.filter = *filter;
      const auto prefixes = store::sql_names(format).prefix_filters;
      column.takes_prefix = std::ranges::find(prefixes, (*filter)->name) != prefixes.end();
      unused.erase(filter);
    } else if (log && format.has_seq() && field.name == "seq") {
      column.pushdown = Pushdown::seq;
    } else if (!time_seen && field.type == ColumnType::timestamp_us) {
      time_seen = true;  // the filters of time go by the first one
      column.pushdown = Pushdown::time;
    }
    shape.columns.push_back(std::move(column));
  }
  for (const FilterSpec* filter : unused) {
    shape.columns.push_back({.name = std::string(filter->name),
                             .hidden = true,
                             .is_argument = true,
                             .pushdown = Pushdown::filter,
                             .filter = filter});
  }
  shape.columns.push_back({.name = "line", .hidden = true, .is_line = true});
  return shape;
}

TableStream::TableStream(StoreTables& tables, std::unique_ptr<StoreView> view)
    : tables_(tables), view_(std::move(view)) {}
TableStream::~TableStream() {
  rows_.reset();  // the scan uses the view
  tables_.give_back(std::move(view_));
}

Result<std::optional<Batch>> TableStream::next(FindingSink& findings) {
  auto batch = rows_->next(findings);
  // A view need not map batches that it makes on the scan's own thread.
  if (batch && *batch && request_.mapper != nullptr && (*batch)->mapped.empty()) {
    request_.mapper->map(**batch);
  }
  return batch;
}

Result<std::unique_ptr<StoreTables>> StoreTables::open(StoreSource source) {
  std::unique_ptr<StoreTables> tables(new StoreTables(std::move(source)));
  VARVE_ASSIGN(auto view, tables->take_view());
  tables->shapes_.push_back(
      face_shape(*tables->source_.format, Face::log, view->schema(Face::log)));
  tables->shapes_.push_back(
      face_shape(*tables->source_.format, Face::state, view->schema(Face::state)));
  for (const Schema* schema : {&unit_schema(), &segment_schema(), &finding_schema()}) {
    TableShape shape{schema, {}};
    for (const Field& field : schema->fields) {
      shape.columns.push_back({.name = field.name, .type = field.type});
    }
    tables->shapes_.push_back(std::move(shape));
  }
  tables->give_back(std::move(view));
  return tables;
}

const TableShape& StoreTables::shape(TableKind kind) const {
  return shapes_[static_cast<std::size_t>(kind)];
}

Result<std::unique_ptr<StoreView>> StoreTables::take_view() {
  if (!idle_.empty()) {
    auto view = std::move(idle_.back());
    idle_.pop_back();
    return view;
  }
  return source_.format->open(*source_.files, source_.path, source_.open);
}

void StoreTables::give_back(std::unique_ptr<StoreView> view) { idle_.push_back(std::move(view)); }

// The source's filters, as far as they are of that face.
Predicate StoreTables::own_predicate(Face face) const {
  Predicate out = source_.request.predicate;
  std::erase_if(out.terms, [&](const FilterTerm& term) {
    const auto filters = source_.format->filters();
    const auto filter = std::ranges::find(filters, term.name, &FilterSpec::name);
    return filter == filters.end() ||
           !lists_word(filter->verbs, face == Face::log ? "cat" : "state");
  });
  return out;
}

ScanRequest StoreTables::scan_request(TableKind kind, const TableRequest& request) const {
  ScanRequest out = source_.request;
  out.face = kind == TableKind::log ? Face::log : Face::state;
  out.predicate = both(own_predicate(out.face), request.predicate);
  out.mapper = request.mapper;
  const TableShape& table = shape(kind);
  const std::size_t fields = table.schema->fields.size();
  bool line = false;
  for (std::size_t i = fields; i < table.columns.size(); ++i) {
    line = line || (table.columns[i].is_line && request.columns[i]);
  }
  for (std::size_t i = 0; i < fields; ++i) {
    // A line is made of all columns that are stored.
    if (request.columns[i] || (line && !table.schema->fields[i].computed)) {
      out.columns.push_back(table.schema->fields[i].name);
    }
  }
  if (out.columns.empty()) {
    out.columns.push_back(table.schema->fields.front().name);  // none would mean all
  }
  return out;
}

Result<std::unique_ptr<TableStream>> StoreTables::start(TableKind kind,
                                                        const TableRequest& request) {
  VARVE_ASSIGN(auto view, take_view());
  auto stream = std::make_unique<TableStream>(*this, std::move(view));
  StoreView& opened = *stream->view_;
  if (!is_face(kind)) {
    stream->request_.mapper = request.mapper;
    stream->rows_.emplace(report_work(kind, opened, source_.request.threads));
    return stream;
  }
  stream->request_ = scan_request(kind, request);
  ScanRequest& scan = stream->request_;
  if (request.columns.back()) {
    stream->lines_ = std::make_unique<LineMapper>(opened, scan.face);
    scan.mapper = stream->lines_.get();
  }
  const bool droppable = request.terms_checked && !request.predicate.terms.empty();
  stream->rows_.emplace([&, droppable](BatchSink& sink, FindingSink& findings) {
    auto summary = opened.scan(scan, sink, findings);
    if (!summary && droppable && summary.error().code == ErrorCode::invalid_argument) {
      scan.predicate.terms = own_predicate(scan.face).terms;
      summary = opened.scan(scan, sink, findings);
    }
    return summary;
  });
  return stream;
}

Result<Json> StoreTables::plan(TableKind kind, const TableRequest& request) {
  if (!is_face(kind)) {
    return Json();
  }
  VARVE_ASSIGN(auto view, take_view());
  ScanRequest scan = scan_request(kind, request);
  auto plan = view->plan(scan);
  if (!plan && request.terms_checked && plan.error().code == ErrorCode::invalid_argument) {
    scan.predicate.terms = own_predicate(scan.face).terms;
    plan = view->plan(scan);
  }
  give_back(std::move(view));
  if (!plan && plan.error().code == ErrorCode::unsupported) {
    return Json();
  }
  return plan;
}

}  // namespace varve::query
