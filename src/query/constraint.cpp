// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/constraint.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace varve::query {

namespace {

constexpr std::int64_t k_lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t k_highest = std::numeric_limits<std::int64_t>::max();
// A range of ids no longer than this is asked for id by id.
constexpr std::uint64_t k_most_ids = 256;

bool is_integer(ColumnType type) {
  return type != ColumnType::text && type != ColumnType::bytes && type != ColumnType::boolean;
}

// The whole numbers that a column may still have.
struct Range {
  std::int64_t first = k_lowest;
  std::int64_t last = k_highest;
  bool bounded_below = false;
  bool bounded_above = false;
  bool empty = false;

  void at_least(std::int64_t value) {
    first = std::max(first, value);
    bounded_below = true;
  }
  void at_most(std::int64_t value) {
    last = std::min(last, value);
    bounded_above = true;
  }
};

// Doubles from here on are no longer told apart from their whole neighbours.
constexpr double k_exact = 9007199254740992.0;

// Narrows by a comparison with a number; what cannot be used is left to SQLite.
void narrow_by_double(Range& range, Operator op, double value) {
  if (!(std::fabs(value) < k_exact)) {
    return;
  }
  const auto below = static_cast<std::int64_t>(std::floor(value));
  const auto above = static_cast<std::int64_t>(std::ceil(value));
  switch (op) {
    case Operator::above:
      range.at_least(below + 1);
      break;
    case Operator::at_least:
      range.at_least(above);
      break;
    case Operator::below:
      range.at_most(above - 1);
      break;
    case Operator::at_most:
      range.at_most(below);
      break;
    case Operator::equal:
      range.at_least(above);
      range.at_most(below);
      break;
    default:
      break;
  }
}

void narrow_by_integer(Range& range, Operator op, std::int64_t value) {
  switch (op) {
    case Operator::above:
      // A number beyond 63 bits comes as text, which is greater than any number.
      range.at_least(value == k_highest ? value : value + 1);
      break;
    case Operator::at_least:
      range.at_least(value);
      break;
    case Operator::below:
      if (value == k_lowest) {
        range.empty = true;
      } else {
        range.at_most(value - 1);
      }
      break;
    case Operator::at_most:
      range.at_most(value);
      break;
    case Operator::equal:
      range.at_least(value);
      range.at_most(value);
      break;
    default:
      break;
  }
}

void narrow(Range& range, Operator op, sqlite3_value* value) {
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
      narrow_by_integer(range, op, sqlite3_value_int64(value));
      break;
    case SQLITE_FLOAT:
      narrow_by_double(range, op, sqlite3_value_double(value));
      break;
    case SQLITE_NULL:
      range.empty = true;  // a comparison with NULL is never true
      break;
    default:
      break;  // text and blobs: SQLite knows how they compare
  }
}

std::string text_of(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

// "app.bsky.*": the rest of the pattern has no meaning of its own.
bool is_plain_prefix(const std::string& pattern) {
  return pattern.ends_with(".*") && pattern.find_first_of("*?[") == pattern.size() - 1;
}

// Collects what the conditions say, column by column.
class Compiler {
 public:
  explicit Compiler(const TableShape& shape) : shape_(shape), ranges_(shape.columns.size()) {}

  // False: nothing can match.
  bool take(const Constraint& constraint, sqlite3_value* value) {
    const TableColumn& column = shape_.columns[constraint.column];
    if (column.pushdown == Pushdown::filter && !is_integer(column.type)) {
      return take_text(column, constraint.op, value);
    }
    if (constraint.op == Operator::one_of) {
      return take_numbers(column, value);
    }
    Range& range = ranges_[constraint.column];
    narrow(range, constraint.op, value);
    return !range.empty && range.first <= range.last;
  }

  std::optional<Predicate> finish() {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (!finish_range(shape_.columns[i], ranges_[i])) {
        return std::nullopt;
      }
    }
    return std::move(predicate_);
  }

 private:
  // The values of an IN, or the one of a comparison. False where one of them is a blob, with which
  // text that is no UTF-8 may be equal; of an argument a blob is taken for its text.
  static bool values_of(Operator op, sqlite3_value* value, std::vector<std::string>& out,
                        bool blobs = false) {
    const auto add = [&](sqlite3_value* one) {
      if (sqlite3_value_type(one) == SQLITE_BLOB && !blobs) {
        return false;
      }
      if (sqlite3_value_type(one) != SQLITE_NULL) {
        out.push_back(text_of(one));
      }
      return true;
    };
    if (op != Operator::one_of) {
      return add(value);
    }
#if SQLITE_VERSION_NUMBER >= 3038000
    sqlite3_value* one = nullptr;
    for (int rc = sqlite3_vtab_in_first(value, &one); rc == SQLITE_OK && one != nullptr;
         rc = sqlite3_vtab_in_next(value, &one)) {
      if (!add(one)) {
        return false;
      }
    }
#endif
    return true;
  }

  bool take_text(const TableColumn& column, Operator op, sqlite3_value* value) {
    std::vector<std::string> values;
    if (!values_of(op, value, values, column.is_argument)) {
      return true;
    }
    if (values.empty()) {
      return false;
    }
    if (op == Operator::glob && !is_plain_prefix(values.front())) {
      return true;
    }
    add_terms(column, std::move(values));
    return true;
  }

  bool take_numbers(const TableColumn& column, sqlite3_value* value) {
    std::vector<std::string> values;
    if (!values_of(Operator::one_of, value, values)) {
      return true;
    }
    add_terms(column, std::move(values));
    return true;
  }

  // Terms of one name are alternatives: of two conditions on one column the first is pushed.
  void add_terms(const TableColumn& column, std::vector<std::string> values) {
    for (const FilterTerm& term : predicate_.terms) {
      if (term.name == column.filter->name) {
        return;
      }
    }
    for (std::string& value : values) {
      predicate_.terms.push_back({std::string(column.filter->name), std::move(value)});
    }
  }

  bool finish_range(const TableColumn& column, const Range& range) {
    if (!range.bounded_below && !range.bounded_above) {
      return true;
    }
    switch (column.pushdown) {
      case Pushdown::seq:
        if (range.bounded_above && range.last < 0) {
          return false;
        }
        if (range.bounded_below && range.first > 0) {
          predicate_.seq_first = static_cast<std::uint64_t>(range.first);
        }
        if (range.bounded_above) {
          predicate_.seq_last = static_cast<std::uint64_t>(range.last);
        }
        return true;
      case Pushdown::time:
        if (range.bounded_below) {
          predicate_.since_us = range.first;
        }
        if (range.bounded_above && range.last < k_highest) {
          predicate_.until_us = range.last + 1;
        }
        return true;
      case Pushdown::filter:
        add_ids(column, range);
        return true;
      case Pushdown::nothing:
        return true;
    }
    return true;
  }

  void add_ids(const TableColumn& column, const Range& range) {
    if (!range.bounded_below || !range.bounded_above ||
        static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first) >=
            k_most_ids) {
      return;
    }
    std::vector<std::string> ids;
    for (std::int64_t id = range.first; id <= range.last; ++id) {
      ids.push_back(std::to_string(id));
      if (id == k_highest) {
        break;
      }
    }
    add_terms(column, std::move(ids));
  }

  const TableShape& shape_;
  std::vector<Range> ranges_;
  Predicate predicate_;
};

}  // namespace

std::string ScanPlan::text() const {
  std::string out = std::to_string(columns_used);
  for (const Constraint& constraint : constraints) {
    out += ';' + std::to_string(constraint.column) + static_cast<char>(constraint.op);
  }
  return out;
}

ScanPlan ScanPlan::parse(std::string_view text) {
  ScanPlan plan;
  const char* at = text.data();
  const char* end = at + text.size();
  at = std::from_chars(at, end, plan.columns_used).ptr;
  while (at != end && *at == ';') {
    Constraint constraint;
    at = std::from_chars(at + 1, end, constraint.column).ptr;
    constraint.op = static_cast<Operator>(*at++);
    plan.constraints.push_back(constraint);
  }
  return plan;
}

std::optional<TableRequest> table_request(const TableShape& shape, const ScanPlan& plan,
                                          sqlite3_value** values) {
  TableRequest request;
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    const unsigned bit = i < 63 ? static_cast<unsigned>(i) : 63;
    request.columns.push_back(((plan.columns_used >> bit) & 1) != 0);
  }
  Compiler compiler(shape);
  request.terms_checked = true;
  for (std::size_t i = 0; i < plan.constraints.size(); ++i) {
    if (shape.columns[plan.constraints[i].column].is_argument) {
      request.terms_checked = false;
    }
    if (!compiler.take(plan.constraints[i], values[i])) {
      return std::nullopt;
    }
  }
  auto predicate = compiler.finish();
  if (!predicate) {
    return std::nullopt;
  }
  request.predicate = *std::move(predicate);
  return request;
}

}  // namespace varve::query
