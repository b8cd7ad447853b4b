// SPDX-License-Identifier: MIT OR Apache-2.0
// The C interface's calls that read: open, info, get, scan, plan, verify, salvage.
#include <memory>

#include "handles.hpp"
#include "output/report_json.hpp"
#include "varve/arrow.hpp"
#include "varve/salvage.hpp"

using namespace varve;

struct varve_store {
  store::Located at;
  OpenOptions options;
  std::unique_ptr<StoreView> view;
};

namespace {

// Gives the rows of each batch to the callback, one by one.
class CallbackRecords final : public BatchSink {
 public:
  CallbackRecords(const StoreView& view, Face face, const RenderOptions& render,
                  varve_record_fn call, void* user)
      : view_(view), face_(face), render_(render), call_(call), user_(user) {}

  Result<bool> consume(Batch batch) override {
    text_.clear();
    view_.render(face_, batch, render_, text_);
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      ++rows_;
      if (call_(user_, rest.data(), end) != 0) {
        return false;
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return true;
  }
  std::uint64_t rows() const { return rows_; }

 private:
  const StoreView& view_;
  Face face_;
  RenderOptions render_;
  varve_record_fn call_;
  void* user_;
  std::string text_;
  std::uint64_t rows_ = 0;
};

// Which records: by number, time and the format's own filters.
Result<void> read_bounds(const Format& format, const varve_scan_options& options,
                         Predicate& predicate) {
  if ((options.seq_from != 0 || options.seq_to != 0) && !format.has_seq()) {
    return fail(ErrorCode::invalid_argument, "seq", "records of this format have no seq");
  }
  if ((options.since_us != 0 || options.until_us != 0) && !format.has_time()) {
    return fail(ErrorCode::invalid_argument, "time", "records of this format have no times");
  }
  const auto bound = [](auto& out, auto value) {
    if (value != 0) {
      out = value;
    }
  };
  bound(predicate.seq_first, options.seq_from);
  bound(predicate.seq_last, options.seq_to);
  bound(predicate.since_us, options.since_us);
  bound(predicate.until_us, options.until_us);
  for (std::size_t i = 0; i < options.filter_count; ++i) {
    const varve_setting& filter = options.filters[i];
    const std::string name = filter.name != nullptr ? filter.name : "";
    if (std::ranges::none_of(format.filters(),
                             [&](const FilterSpec& spec) { return spec.name == name; })) {
      return fail(ErrorCode::invalid_argument, name,
                  std::string(format.name()) + " has no filter of the name '" + name + "'");
    }
    predicate.terms.push_back({name, filter.value != nullptr ? filter.value : "1"});
  }
  return {};
}

Result<ScanRequest> scan_request(const varve_store& store, const varve_scan_options& options) {
  ScanRequest request;
  if (options.face != VARVE_FACE_LOG && options.face != VARVE_FACE_STATE) {
    return fail(ErrorCode::invalid_argument, "face", "there is no such face");
  }
  request.face = options.face == VARVE_FACE_STATE ? Face::state : Face::log;
  request.threads = options.threads;
  if (options.limit != 0) {
    request.limit = options.limit;
  }
  request.reverse = options.reverse != 0;
  request.strict = options.strict != 0;
  request.partial = options.partial != 0;
  request.max_memory_bytes = store.options.max_memory_bytes;
  VARVE_TRY(read_bounds(*store.at.format, options, request.predicate));
  // What the store was opened with counts for its scans, unless they say otherwise.
  VARVE_ASSIGN(request.options,
               c::read_settings(*store.at.format, options.settings, options.setting_count));
  request.options.insert(store.options.options.begin(), store.options.options.end());
  return request;
}

Result<RenderOptions> render_options(int payload,
                                     const std::map<std::string, std::string>& settings) {
  if (payload < VARVE_PAYLOAD_JSON || payload > VARVE_PAYLOAD_NONE) {
    return fail(ErrorCode::invalid_argument, "payload", "there is no such form of payloads");
  }
  RenderOptions options;
  options.payload = static_cast<PayloadForm>(payload);
  if (const auto as = settings.find("as"); as != settings.end()) {
    options.as = as->second;
  }
  return options;
}
static_assert(static_cast<int>(PayloadForm::none) == VARVE_PAYLOAD_NONE);
static_assert(static_cast<int>(PayloadForm::sha256) == VARVE_PAYLOAD_SHA256);

Result<std::unique_ptr<StoreView>> open_view(const store::Located& at, const OpenOptions& options) {
  return at.format->open(io::posix_file_system(), at.path, options);
}

}  // namespace

extern "C" {

// The library's version text is a literal, and so ended by a zero byte.
const char* varve_version(void) { return version().data(); }

varve_code varve_open(const char* path, const varve_open_options* given, varve_store** store,
                      varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(path != nullptr && store != nullptr, "path and store"));
    *store = nullptr;
    VARVE_ASSIGN(const varve_open_options options, c::read_options(given));
    auto opened = std::make_unique<varve_store>();
    VARVE_ASSIGN(opened->at, c::locate(options.format, path));
    opened->options.threads = options.threads;
    if (options.max_memory_bytes != 0) {
      opened->options.max_memory_bytes = options.max_memory_bytes;
    }
    VARVE_ASSIGN(opened->options.options,
                 c::read_settings(*opened->at.format, options.settings, options.setting_count));
    VARVE_ASSIGN(opened->view, open_view(opened->at, opened->options));
    *store = opened.release();
    return {};
  });
}

void varve_close(varve_store* store) { delete store; }

const char* varve_format(const varve_store* store) {
  return store != nullptr ? store->at.format->name().data() : "";
}

varve_code varve_info(varve_store* store, char** json, varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(store != nullptr && json != nullptr, "store and json"));
    *json = nullptr;
    VARVE_ASSIGN(const StoreInfo info, store->view->info());
    *json = c::copy_text(output::info_json(info).text());
    return {};
  });
}

varve_code varve_get(varve_store* store, const char* key, const varve_get_options* given,
                     varve_finding_fn finding, void* user, char** json, char** bytes,
                     size_t* length, varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(
        c::require(store != nullptr && key != nullptr && json != nullptr, "store, key and json"));
    VARVE_TRY(c::require((bytes == nullptr) == (length == nullptr), "one of bytes and length"));
    *json = nullptr;
    if (bytes != nullptr) {
      *bytes = nullptr;
      *length = 0;
    }
    VARVE_ASSIGN(const varve_get_options options, c::read_options(given));
    VARVE_ASSIGN(const RenderOptions render,
                 render_options(options.payload, store->options.options));
    c::CallbackFindings findings(finding, user);
    VARVE_ASSIGN(const GetResult result, store->view->get(key, render, findings));
    std::unique_ptr<char, decltype(&varve_text_free)> raw(nullptr, varve_text_free);
    if (bytes != nullptr && result.raw) {
      raw.reset(c::copy_text(*result.raw));
    }
    *json = c::copy_text(result.document.text());
    if (raw) {
      *bytes = raw.release();
      *length = result.raw->size();
    }
    return {};
  });
}

varve_code varve_export_arrow(varve_store* store, const varve_scan_options* given,
                              varve_finding_fn finding, void* user, struct ArrowArrayStream* stream,
                              varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(store != nullptr && stream != nullptr, "store and stream"));
    VARVE_ASSIGN(const varve_scan_options options, c::read_options(given));
    VARVE_ASSIGN(ScanRequest request, scan_request(*store, options));
    for (std::size_t i = 0; i < options.column_count; ++i) {
      VARVE_TRY(c::require(options.columns[i] != nullptr, "the name of a column"));
      request.columns.emplace_back(options.columns[i]);
    }
    VARVE_ASSIGN(std::shared_ptr<StoreView> view, open_view(store->at, store->options));
    return export_arrow_stream(std::move(view), std::move(request),
                               std::make_shared<c::CallbackFindings>(finding, user), stream);
  });
}

varve_code varve_scan(varve_store* store, const varve_scan_options* given, varve_record_fn record,
                      varve_finding_fn finding, void* user, varve_scan_summary* summary,
                      varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(store != nullptr && record != nullptr, "store and record"));
    VARVE_ASSIGN(const varve_scan_options options, c::read_options(given));
    if (options.column_count != 0) {
      return fail(ErrorCode::invalid_argument, "columns", "rows as JSON have all their columns");
    }
    VARVE_ASSIGN(const ScanRequest request, scan_request(*store, options));
    VARVE_ASSIGN(const RenderOptions render, render_options(options.payload, request.options));
    CallbackRecords records(*store->view, request.face, render, record, user);
    c::CallbackFindings findings(finding, user);
    VARVE_ASSIGN(const ScanSummary done, store->view->scan(request, records, findings));
    if (summary != nullptr) {
      *summary = {records.rows(), static_cast<varve_verdict>(done.verdict)};
    }
    return {};
  });
}

varve_code varve_plan(varve_store* store, const varve_scan_options* given, char** json,
                      varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(store != nullptr && json != nullptr, "store and json"));
    *json = nullptr;
    VARVE_ASSIGN(const varve_scan_options options, c::read_options(given));
    VARVE_ASSIGN(const ScanRequest request, scan_request(*store, options));
    VARVE_ASSIGN(const Json plan, store->view->plan(request));
    *json = c::copy_text(plan.text());
    return {};
  });
}

varve_code varve_verify(varve_store* store, const varve_verify_options* given,
                        varve_finding_fn finding, void* user, varve_verify_summary* summary,
                        varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(store != nullptr && summary != nullptr, "store and summary"));
    VARVE_ASSIGN(const varve_verify_options options, c::read_options(given));
    VerifyRequest request;
    request.quick = options.quick != 0;
    request.threads = options.threads;
    c::CallbackFindings findings(finding, user);
    VARVE_ASSIGN(const VerifyReport report, store->view->verify(request, findings));
    *summary = {static_cast<varve_verdict>(report.verdict),
                report.counts.bytes,
                report.counts.records,
                report.intact_records,
                report.lost_records,
                report.unknown_records};
    return {};
  });
}

varve_code varve_salvage(const char* path, const varve_salvage_options* given,
                         varve_finding_fn finding, void* user, char** json, varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(path != nullptr && json != nullptr, "path and json"));
    *json = nullptr;
    VARVE_ASSIGN(const varve_salvage_options options, c::read_options(given));
    VARVE_ASSIGN(const store::Located at, c::locate(options.format, path));
    SalvageRequest request;
    request.threads = options.threads;
    request.target = options.target != nullptr ? options.target : "";
    if (options.max_memory_bytes != 0) {
      request.max_memory_bytes = options.max_memory_bytes;
    }
    VARVE_ASSIGN(request.options,
                 c::read_settings(*at.format, options.settings, options.setting_count));
    c::CallbackFindings findings(finding, user);
    VARVE_ASSIGN(const SalvageReport report,
                 at.format->salvage(io::posix_file_system(), at.path, request, findings));
    *json = c::copy_text(to_json(report).text());
    return {};
  });
}

}  // extern "C"
