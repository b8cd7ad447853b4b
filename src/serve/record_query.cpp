// SPDX-License-Identifier: MIT OR Apache-2.0
// What a request asks of the records, checked.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/words.hpp"
#include "serve/parameters.hpp"
#include "serve/record_pages.hpp"

namespace varve::serve {

namespace {

constexpr std::uint64_t k_most_rows = 500;
constexpr std::size_t k_most_terms = 64;
constexpr std::size_t k_longest_value = 2048;

std::string_view verb_of(Face face) { return face == Face::log ? "cat" : "state"; }

const FilterSpec* find_filter(const Format& format, Face face, std::string_view name) {
  const auto found = std::ranges::find_if(format.filters(), [&](const FilterSpec& filter) {
    return filter.name == name && base::lists_word(filter.verbs, verb_of(face));
  });
  return found == format.filters().end() ? nullptr : &*found;
}

Result<void> take_term(const Format& format, const std::string& name, const std::string& value,
                       RecordQuery& query) {
  const FilterSpec* filter = find_filter(format, query.face, name);
  if (filter == nullptr) {
    return bad_parameter(name,
                         fmt::format("the {} of a {} store has no filter of that name",
                                     query.face == Face::log ? "log" : "state", format.name()));
  }
  if (value.empty() || value.size() > k_longest_value ||
      (!filter->choices.empty() && !base::lists_word(filter->choices, value))) {
    return bad_parameter(name, "not a value of this filter");
  }
  const auto same = std::ranges::count(query.predicate.terms, name, &FilterTerm::name);
  if (query.predicate.terms.size() == k_most_terms || (same != 0 && !filter->repeatable)) {
    return bad_parameter(name, "given too often");
  }
  query.predicate.terms.push_back({name, value});
  return {};
}

Result<void> take_places(const Format& format, const HttpRequest& request, RecordQuery& query) {
  VARVE_ASSIGN(query.after, unsigned_parameter(request, "after"));
  VARVE_ASSIGN(query.before, unsigned_parameter(request, "before"));
  VARVE_ASSIGN(query.predicate.seq_first, unsigned_parameter(request, "from"));
  VARVE_ASSIGN(query.predicate.seq_last, unsigned_parameter(request, "to"));
  VARVE_ASSIGN(query.predicate.since_us, signed_parameter(request, "since"));
  VARVE_ASSIGN(query.predicate.until_us, signed_parameter(request, "until"));
  VARVE_ASSIGN(const auto start, unsigned_parameter(request, "start"));
  query.start = start.value_or(0);
  VARVE_ASSIGN(const auto limit, unsigned_parameter(request, "limit"));
  if (limit.value_or(1) == 0 || limit.value_or(1) > k_most_rows) {
    return bad_parameter("limit", fmt::format("from 1 to {}", k_most_rows));
  }
  query.limit = static_cast<std::size_t>(limit.value_or(query.limit));
  const Predicate& predicate = query.predicate;
  const bool seq = query.after || query.before || predicate.seq_first || predicate.seq_last;
  if (seq && !query.by_seq(format)) {
    return bad_parameter("seq", "these records have no sequence numbers");
  }
  if ((predicate.since_us || predicate.until_us) &&
      (query.face != Face::log || !format.has_time())) {
    return bad_parameter("since", "these records have no times");
  }
  if ((query.after && query.before) || ((query.after || query.before) && query.start != 0)) {
    return bad_parameter("after", "a page begins in one place");
  }
  return {};
}

}  // namespace

std::string RecordQuery::list_key() const {
  std::string key =
      fmt::format("{} {} {}", face == Face::log ? "log" : "state", newest_first, partial);
  const auto add = [&](const auto& value) {
    key += value ? fmt::format(" {}", *value) : std::string(" -");
  };
  add(predicate.seq_first);
  add(predicate.seq_last);
  add(predicate.since_us);
  add(predicate.until_us);
  for (const FilterTerm& term : predicate.terms) {
    key += fmt::format("\n{}:{}{}", term.value.size(), term.name, term.value);
  }
  return key;
}

Result<RecordQuery> parse_record_query(const Format& format, const HttpRequest& request) {
  RecordQuery query;
  VARVE_ASSIGN(const std::string face, choice_parameter(request, "face", "log state"));
  query.face = face == "state" ? Face::state : Face::log;
  VARVE_ASSIGN(query.newest_first, flag_parameter(request, "reverse"));
  VARVE_ASSIGN(query.partial, flag_parameter(request, "partial"));
  VARVE_TRY(take_places(format, request, query));
  constexpr std::string_view k_own =
      "face reverse partial after before from to since until start limit";
  for (const auto& [name, value] : request.parameters) {
    if (name.starts_with("f.")) {
      VARVE_TRY(take_term(format, name.substr(2), value, query));
    } else if (!base::lists_word(k_own, name)) {
      return bad_parameter(name, "no parameter of records; filters begin with f.");
    }
  }
  return query;
}

Json filters_json(const Format& format, Face face) {
  Json list = Json::array();
  for (const FilterSpec& filter : format.filters()) {
    if (!base::lists_word(filter.verbs, verb_of(face))) {
      continue;
    }
    Json choices = Json::array();
    for (const std::string& choice : base::split_words(filter.choices)) {
      choices.push(choice);
    }
    list.push(Json::object()
                  .set("name", filter.name)
                  .set("value", filter.value_name)
                  .set("help", filter.help)
                  .set("repeatable", filter.repeatable)
                  .set("choices", std::move(choices)));
  }
  return list;
}

}  // namespace varve::serve
