// SPDX-License-Identifier: MIT OR Apache-2.0
// The C interface's calls that read: open, info, scan, plan, verify, salvage.
#include <memory>

#include "handles.hpp"
#include "output/report_json.hpp"
#include "varve/salvage.hpp"

using namespace varve;

struct varve_store {
  const Format* format = nullptr;
  std::unique_ptr<StoreView> view;
};

namespace {

// Gives the rows of each batch to the callback, one by one.
class CallbackRecords final : public BatchSink {
 public:
  CallbackRecords(const StoreView& view, Face face, varve_record_fn call, void* user)
      : view_(view), face_(face), call_(call), user_(user) {}

  Result<bool> consume(Batch batch) override {
    text_.clear();
    view_.render(face_, batch, {}, text_);
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
  varve_record_fn call_;
  void* user_;
  std::string text_;
  std::uint64_t rows_ = 0;
};

Result<ScanRequest> read_request(const Format& format, const varve_scan_options* given) {
  VARVE_ASSIGN(const varve_scan_options options, c::read_options(given));
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
  if ((options.seq_from != 0 || options.seq_to != 0) && !format.has_seq()) {
    return fail(ErrorCode::invalid_argument, "seq", "records of this format have no seq");
  }
  if (options.seq_from != 0) {
    request.predicate.seq_first = options.seq_from;
  }
  if (options.seq_to != 0) {
    request.predicate.seq_last = options.seq_to;
  }
  VARVE_ASSIGN(request.options, c::read_settings(format, options.settings, options.setting_count));
  for (std::size_t i = 0; i < options.filter_count; ++i) {
    const varve_setting& filter = options.filters[i];
    const std::string name = filter.name != nullptr ? filter.name : "";
    if (std::ranges::none_of(format.filters(),
                             [&](const FilterSpec& spec) { return spec.name == name; })) {
      return fail(ErrorCode::invalid_argument, name,
                  std::string(format.name()) + " has no filter of the name '" + name + "'");
    }
    request.predicate.terms.push_back({name, filter.value != nullptr ? filter.value : "1"});
  }
  return request;
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
    VARVE_ASSIGN(opened->format, c::choose_format(options.format, path));
    OpenOptions wanted;
    wanted.threads = options.threads;
    if (options.max_memory_bytes != 0) {
      wanted.max_memory_bytes = options.max_memory_bytes;
    }
    VARVE_ASSIGN(wanted.options,
                 c::read_settings(*opened->format, options.settings, options.setting_count));
    VARVE_ASSIGN(opened->view, opened->format->open(io::posix_file_system(), path, wanted));
    *store = opened.release();
    return {};
  });
}

void varve_close(varve_store* store) { delete store; }

const char* varve_format(const varve_store* store) {
  return store != nullptr ? store->format->name().data() : "";
}

varve_code varve_info(varve_store* store, char** json, varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(store != nullptr && json != nullptr, "store and json"));
    *json = nullptr;
    VARVE_ASSIGN(const StoreInfo info, store->view->info());
    return c::give_text(output::info_json(info).text(), json);
  });
}

varve_code varve_scan(varve_store* store, const varve_scan_options* options, varve_record_fn record,
                      varve_finding_fn finding, void* user, varve_scan_summary* summary,
                      varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(store != nullptr && record != nullptr, "store and record"));
    VARVE_ASSIGN(const ScanRequest request, read_request(*store->format, options));
    CallbackRecords records(*store->view, request.face, record, user);
    c::CallbackFindings findings(finding, user);
    VARVE_ASSIGN(const ScanSummary done, store->view->scan(request, records, findings));
    if (summary != nullptr) {
      *summary = {records.rows(), static_cast<varve_verdict>(done.verdict)};
    }
    return {};
  });
}

varve_code varve_plan(varve_store* store, const varve_scan_options* options, char** json,
                      varve_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    VARVE_TRY(c::require(store != nullptr && json != nullptr, "store and json"));
    *json = nullptr;
    VARVE_ASSIGN(const ScanRequest request, read_request(*store->format, options));
    VARVE_ASSIGN(const Json plan, store->view->plan(request));
    return c::give_text(plan.text(), json);
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
    VARVE_ASSIGN(const Format* format, c::choose_format(options.format, path));
    SalvageRequest request;
    request.threads = options.threads;
    request.target = options.target != nullptr ? options.target : "";
    if (options.max_memory_bytes != 0) {
      request.max_memory_bytes = options.max_memory_bytes;
    }
    VARVE_ASSIGN(request.options,
                 c::read_settings(*format, options.settings, options.setting_count));
    c::CallbackFindings findings(finding, user);
    VARVE_ASSIGN(const SalvageReport report,
                 format->salvage(io::posix_file_system(), path, request, findings));
    return c::give_text(to_json(report).text(), json);
  });
}

}  // extern "C"
