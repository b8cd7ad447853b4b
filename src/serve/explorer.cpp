// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/explorer.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "serve/explorer_answer.hpp"
#include "serve/explorer_documents.hpp"
#include "serve/explorer_page.hpp"
#include "serve/parameters.hpp"

namespace varve::serve {

namespace {

constexpr std::string_view k_api = "/api/";
constexpr std::size_t k_longest_id = 64;

// The store's name or the last component of its path, of characters that need no escape anywhere;
// different for each store.
std::string id_of(const std::string& name,
                  const std::vector<std::unique_ptr<ExploredStore>>& others) {
  std::string trimmed = name;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) {
    trimmed.pop_back();
  }
  std::string id = io::split_path(trimmed).name.substr(0, k_longest_id);
  for (char& c : id) {
    const auto byte = static_cast<unsigned char>(c);
    c = (byte < 0x80 && std::isalnum(byte) != 0) || c == '.' || c == '_' ? c : '-';
  }
  if (id.empty() || id == "." || id == "..") {
    id = "store";
  }
  const auto taken = [&](const std::string& wanted) {
    return std::ranges::any_of(others, [&](const auto& other) { return other->id() == wanted; });
  };
  std::string wanted = id;
  for (int i = 2; taken(wanted); ++i) {
    wanted = id + '-' + std::to_string(i);
  }
  return wanted;
}

}  // namespace

// One request about one store.
class Explorer::Call {
 public:
  Call(Explorer& explorer, ExploredStore& store, const HttpRequest& request)
      : explorer_(explorer), store_(store), request_(request) {}

  HttpResponse run(std::string_view what) {
    if (what == "check") {
      return check();
    }
    if (request_.method != "GET" && request_.method != "HEAD") {
      return refused_answer(405, "method", "this is only read");
    }
    if (what == "overview") {
      return overview();
    }
    if (what == "map") {
      return from_check([](const CheckResult& result, const HttpRequest& request) {
        return map_document(result, request);
      });
    }
    if (what == "findings") {
      return from_check([](const CheckResult& result, const HttpRequest& request) {
        return findings_document(result, request);
      });
    }
    if (what == "records") {
      return records();
    }
    if (what == "record" || what == "explain" || what == "stats") {
      return looked_up(what);
    }
    return refused_answer(404, "path", "there is nothing of that name");
  }

 private:
  // Begins the check anew. A page of another site cannot: browsers say where a form comes from.
  HttpResponse check() {
    if (request_.method != "POST") {
      return refused_answer(405, "method", "a check is begun with POST");
    }
    store_.begin_check();
    return document_answer(check_json(store_.check()));
  }

  HttpResponse overview() {
    // The check is told as it is now; the rest is kept as long as the store does not change.
    const std::string generation = store_.generation();
    HttpResponse response = explorer_.answers_.answer(
        key("info", generation), [this_store = &store_, files = &explorer_.files_](auto sign) {
          ReadingFiles reading(*files, sign);
          return document_answer(info_document(*this_store, reading));
        });
    if (response.status != 200) {
      return response;
    }
    const auto* info = std::get_if<std::string>(response.body.data());
    return document_answer(Json::object()
                               .set("schema", "varve.overview/1")
                               .set("generation", generation)
                               .set("store", Json::raw(*info))
                               .set("check", check_json(store_.check())));
  }

  template <class Make>
  HttpResponse from_check(Make make) {
    const ExploredStore::CheckState state = store_.check();
    if (state.result == nullptr) {
      return document_answer(Json::object()
                                 .set("schema", "varve.pending/1")
                                 .set("pending", true)
                                 .set("check", check_json(state)),
                             202);
    }
    auto document = make(*state.result, request_);
    if (!document) {
      return failed_answer(document.error());
    }
    return document_answer(document->set("check", check_json(state)));
  }

  HttpResponse records() {
    auto query = parse_record_query(store_.format(), request_);
    if (!query) {
      return failed_answer(query.error());
    }
    // A list that was begun on an older state of the store goes on in it.
    const std::string generation = store_.generation();
    const std::string place = (query->after ? "a" + std::to_string(*query->after) : "") +
                              (query->before ? "b" + std::to_string(*query->before) : "") + 's' +
                              std::to_string(query->start) + 'l' + std::to_string(query->limit);
    return explorer_.answers_.answer(
        key("records\n" + place + '\n' + query->list_key(), generation),
        [store = &store_, pages = &explorer_.pages_, generation, query = *query](auto sign) {
          const auto page = pages->page(*store, generation, query, sign);
          return page ? document_answer(*page) : failed_answer(page.error());
        });
  }

  HttpResponse looked_up(std::string_view what) {
    auto lookup = parse_lookup(what, request_);
    if (!lookup) {
      return failed_answer(lookup.error());
    }
    return explorer_.answers_.answer(
        key(lookup->key(), store_.generation()),
        [store = &store_, files = &explorer_.files_, lookup = *lookup](auto sign) {
          ReadingFiles reading(*files, sign);
          const auto document = lookup_document(*store, reading, lookup);
          return document ? document_answer(*document) : failed_answer(document.error());
        });
  }

  std::string key(const std::string& what, const std::string& generation) const {
    return store_.id() + '\n' + generation + '\n' + what;
  }

  Explorer& explorer_;
  ExploredStore& store_;
  const HttpRequest& request_;
};

Explorer::Explorer(io::FileSystem& files, const std::vector<Store>& stores,
                   AnswerCache::Limits limits)
    : files_(files), pages_(files), answers_(limits) {
  for (const Store& store : stores) {
    stores_.push_back(std::make_unique<ExploredStore>(
        files, *store.format, store.path,
        id_of(store.name.empty() ? store.path : store.name, stores_)));
  }
}

Explorer::~Explorer() = default;

HttpResponse Explorer::handle(const HttpRequest& request) {
  const std::string* site = request.header("Sec-Fetch-Site");
  if (site != nullptr && *site == "cross-site" && request.path.starts_with(k_api)) {
    return refused_answer(403, "cross_site", "pages of other sites may not look into stores");
  }
  if (request.path.starts_with(k_api)) {
    return handle_api(request);
  }
  return page_answer(request);
}

HttpResponse Explorer::handle_api(const HttpRequest& request) {
  std::string_view path = std::string_view(request.path).substr(k_api.size());
  if (path == "stores") {
    return request.method == "GET" || request.method == "HEAD"
               ? stores_answer()
               : refused_answer(405, "method", "this is only read");
  }
  const std::size_t slash = path.find('/');
  const std::string_view id = path.substr(0, slash);
  const auto store = std::ranges::find_if(stores_, [&](const auto& s) { return s->id() == id; });
  if (slash == std::string_view::npos || store == stores_.end()) {
    return refused_answer(404, "path", "there is no store of that name");
  }
  return Call(*this, **store, request).run(path.substr(slash + 1));
}

HttpResponse Explorer::stores_answer() const {
  Json list = Json::array();
  for (const auto& store : stores_) {
    list.push(Json::object()
                  .set("id", store->id())
                  .set("path", store->path())
                  .set("format", store->format().name()));
  }
  return document_answer(
      Json::object().set("schema", "varve.stores/1").set("stores", std::move(list)));
}

}  // namespace varve::serve
