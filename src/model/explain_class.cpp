// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/explain_class.hpp"

#include <algorithm>
#include <array>

namespace varve::model {

ExplainRow::Class class_of_field(std::string_view name) {
  using Class = ExplainRow::Class;
  struct Word {
    std::string_view text;
    Class sort;
  };
  // Checks first: "record_crc" is no record, "crc_size" does not occur.
  static constexpr std::array k_words{
      Word{"crc", Class::check},      Word{"checksum", Class::check},
      Word{"sha256", Class::check},   Word{"fingerprint", Class::check},
      Word{"magic", Class::header},   Word{"version", Class::header},
      Word{"flags", Class::header},   Word{"descriptor", Class::header},
      Word{"kind", Class::header},    Word{"reserved", Class::padding},
      Word{"padding", Class::padding}};
  static constexpr std::array<std::string_view, 6> k_ends{"_len",   "length", "size",
                                                          "_count", "offset", "pointer"};
  for (const Word& word : k_words) {
    if (name.find(word.text) != std::string_view::npos) {
      return word.sort;
    }
  }
  const bool length =
      std::ranges::any_of(k_ends, [&](std::string_view end) { return name.ends_with(end); });
  return length ? Class::length : Class::field;
}

}  // namespace varve::model
