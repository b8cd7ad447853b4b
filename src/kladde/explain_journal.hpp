// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the fields of a journal's transactions stand, page by page.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kladde/reader.hpp"

namespace varve::kladde {

// A part of a journal page; parts of one field that straddles pages come as several.
struct JournalPart {
  std::uint32_t offset = 0;  // in the page
  std::uint32_t length = 0;
  std::string field;
  std::string value;
  std::string meaning;
  bool checked = false;  // a checksum that holds
};

class JournalLayout {
 public:
  void add(const JournalTransaction& transaction, std::span<const Record> records);
  // After the last transaction: places the trailers, and sorts what add() could not place.
  void finish(const Journal& journal);
  // Ascending by offset.
  const std::vector<JournalPart>& parts(PageNumber page) const;

 private:
  // A field of the stream, in the order of the stream.
  struct Field {
    std::uint64_t length;
    JournalPart part;
  };
  std::vector<Field> fields_;
  std::map<PageNumber, std::vector<JournalPart>> by_page_;
};

// "write(5, 3, 3 bytes)" and the like.
std::string record_text(const Record& record);

}  // namespace varve::kladde
