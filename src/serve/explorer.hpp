// SPDX-License-Identifier: MIT OR Apache-2.0
// The explorer: one page for any store of any format, and the JSON that it is drawn from
// (docs/explorer.md). Everything it looks at stores through only reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/answer_cache.hpp"
#include "serve/explored_store.hpp"
#include "serve/http.hpp"
#include "serve/record_pages.hpp"

namespace varve::serve {

// Thread-safe: answers of several connections at a time.
class Explorer {
 public:
  struct Store {
    const Format* format = nullptr;
    std::string path;
    std::string name = {};  // in addresses, unique; empty: made of the path
  };

  // `files` outlives the explorer. Stores need not open: what is broken is shown.
  Explorer(io::FileSystem& files, const std::vector<Store>& stores,
           AnswerCache::Limits limits = AnswerCache::Limits{});
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;
  // Calls off what is worked on, and waits for that.
  ~Explorer();

  // Answers "/", "/explorer/..." and "/api/...", everything else with 404. Within a tenth of a
  // second or so; what takes longer is 202, to be asked again.
  HttpResponse handle(const HttpRequest& request);

 private:
  class Call;

  HttpResponse handle_api(const HttpRequest& request);
  HttpResponse stores_answer() const;

  io::FileSystem& files_;
  std::vector<std::unique_ptr<ExploredStore>> stores_;
  RecordPages pages_;
  AnswerCache answers_;  // last: its threads use the others
};

}  // namespace varve::serve
