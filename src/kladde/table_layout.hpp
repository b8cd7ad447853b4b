// SPDX-License-Identifier: MIT OR Apache-2.0
// Which statement of a flush goes into which table page: the header while it has room, else leaves
// (section 6.2).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "kladde/codec.hpp"
#include "kladde/statement.hpp"

namespace varve::kladde {

// A statement that a flush writes.
struct NewStatement {
  Statement statement;
  std::uint32_t plan = 0;        // index of its id's plan
  std::size_t payload = 0;       // in_line: where its bytes begin in the payload pool
  bool untouched = false;        // of an id that the journal did not change
  PageNumber table = 0;          // filled in by the layout
  std::uint16_t in_content = 0;  // in_line: where the payload stands in the page's content
};

struct NewTable {
  PageNumber page = 0;
  std::uint32_t statements = 0;
  base::Bytes content;
};

// The tree of table pages below the header.
struct TableShape {
  std::set<PageNumber> leaves;           // pages with statements and no children
  std::vector<PageNumber> interior;      // pages with children
  std::vector<PageNumber> header_names;  // the header's children, ascending
};

struct TableLayout {
  std::vector<NewTable> pages;  // leaves and interior pages to write
  base::Bytes header_content;
  std::uint32_t header_statements = 0;
  TableShape shape;
  std::vector<PageNumber> dropped_interior;
};

// Takes so many pages to write to.
using TakePages = std::function<Result<std::vector<PageNumber>>(std::size_t count)>;

struct LayoutRequest {
  Dialect dialect = Dialect::a;
  PageNumber slot = 0;  // that the header goes to
  const TableShape* old = nullptr;
  std::set<PageNumber> leaves;  // of the old ones, those that stay
  bool rebuild = false;         // make the interior pages anew though the leaves stay
};

// Places the statements (in id and offset order) and fills in their table pages. Errors are those
// of `take`.
Result<TableLayout> lay_out(const LayoutRequest& request, std::vector<NewStatement>& statements,
                            base::ByteSpan payloads, const TakePages& take);

}  // namespace varve::kladde
