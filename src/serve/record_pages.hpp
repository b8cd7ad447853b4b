// SPDX-License-Identifier: MIT OR Apache-2.0
// Records a page at a time. A scan goes on where the last page ended, as long as somebody turns
// pages; where the format has sequence numbers, any page can be begun from one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/explored_store.hpp"
#include "serve/http.hpp"
#include "serve/reading_files.hpp"
#include "varve/json.hpp"
#include "varve/scan.hpp"

namespace varve::serve {

struct RecordQuery {
  Face face = Face::log;
  bool newest_first = false;
  bool partial = false;  // state: fold what can be read although the format refuses the log
  Predicate predicate;
  // Where the page begins: behind or before the row of that seq in the order of the list (formats
  // with seq, face log), or behind so many rows.
  std::optional<std::uint64_t> after;
  std::optional<std::uint64_t> before;
  std::uint64_t start = 0;
  std::size_t limit = 100;

  // The same for the same list, whatever its page.
  std::string list_key() const;
  bool by_seq(const Format& format) const { return face == Face::log && format.has_seq(); }
};

// The query of a request's parameters. ErrorCode::invalid_argument for names, numbers or filters
// that the format does not have.
Result<RecordQuery> parse_record_query(const Format& format, const HttpRequest& request);

// The filters of a list, for a page to offer them.
Json filters_json(const Format& format, Face face);

class RecordList;  // a scan that waits for the next page

// Thread-safe.
class RecordPages {
 public:
  explicit RecordPages(io::FileSystem& files);
  RecordPages(const RecordPages&) = delete;
  RecordPages& operator=(const RecordPages&) = delete;
  ~RecordPages();

  // varve.records/1. `generation` is that of the store when the list was begun. Ends soon after
  // `sign` is raised.
  Result<Json> page(ExploredStore& store, const std::string& generation, const RecordQuery& query,
                    std::shared_ptr<const StopSign> sign);

 private:
  // Nothing where the rows lie too far apart for it.
  Result<std::optional<Json>> page_below(ExploredStore& store, const std::string& generation,
                                         const RecordQuery& query, std::uint64_t cursor,
                                         ScanRequest request, std::shared_ptr<const StopSign> sign);
  std::unique_ptr<RecordList> take(const std::string& key);
  void keep(std::string key, std::unique_ptr<RecordList> list);

  struct Waiting {
    std::string key;
    std::unique_ptr<RecordList> list;
    std::chrono::steady_clock::time_point since;
  };

  io::FileSystem& files_;
  std::mutex mutex_;
  std::list<Waiting> waiting_;  // the latest first
  std::list<Waiting> ending_;   // called off
};

}  // namespace varve::serve
