// SPDX-License-Identifier: MIT OR Apache-2.0
// Decoding of HMS-TXN-2 with every rule of section 10.1.
#include <algorithm>
#include <charconv>

#include "arena/json_text.hpp"
#include "arena/mutation_table.hpp"
#include "arena/transaction.hpp"
#include "base/text_coding.hpp"

namespace varve::arena {

namespace {

// One pass over a payload's JSON. The first rule that does not hold is kept.
class Decoder {
 public:
  Decoder(std::string_view json, const PayloadRules& rules) : reader_(json), rules_(rules) {}

  bool transaction(std::vector<Mutation>& out) {
    const bool good = reader_.array([&] {
      if (out.size() == k_max_mutations) {
        return refuse("more than 4096 mutations");
      }
      return mutation(out.emplace_back());
    });
    if (!good) {
      return refuse("not a JSON array of mutations");
    }
    if (out.empty()) {
      return refuse("no mutation");
    }
    return reader_.at_end() || refuse("bytes behind the array");
  }

  bool single(Mutation& out) {
    return mutation(out) && (reader_.at_end() || refuse("bytes behind the mutation"));
  }

  PayloadFault fault() const { return fault_; }

 private:
  bool refuse(const char* what, const char* word = "bad-payload") {
    if (!refused_) {
      refused_ = true;
      fault_ = {word, reader_.position(), what};
    }
    return false;
  }

  bool mutation(Mutation& out) {
    std::size_t variants = 0;
    const bool good = reader_.object([&](std::string_view key) {
      if (++variants > 1) {
        return refuse("a mutation with more than one key");
      }
      const std::string_view name = unescape(key, scratch_);
      const auto spec = std::ranges::find(k_mutations, name, &MutationSpec::name);
      if (spec == k_mutations.end()) {
        return refuse("a mutation of an unknown kind", "unsupported-payload");
      }
      out.kind = static_cast<MutationKind>(spec - k_mutations.begin());
      if (spec->needs_meaning && !rules_.meaning_enabled) {
        return refuse("a mutation that needs meaning_enabled");
      }
      return body(*spec, out);
    });
    if (!good) {
      return refuse("not a mutation object");
    }
    return variants == 1 || refuse("a mutation without a key");
  }

  bool body(const MutationSpec& spec, Mutation& out) {
    const bool good = reader_.object([&](std::string_view key) {
      const std::string_view name = unescape(key, scratch_);
      for (std::size_t i = 0; i < spec.key_count; ++i) {
        if (spec.keys[i].key == name) {
          if (!out.values[i].empty()) {
            return refuse("a key twice");
          }
          return value(spec.keys[i].type, out.values[i]);
        }
      }
      std::string_view ignored;
      return reader_.value(ignored);
    });
    if (!good) {
      return refuse("not a mutation body");
    }
    for (std::size_t i = 0; i < spec.key_count; ++i) {
      if (out.values[i].empty()) {
        if (spec.keys[i].type != ValueType::optional_text) {
          return refuse("a key is missing");
        }
        out.values[i] = "null";
      }
    }
    return derived_ids(spec, out) && times(out);
  }

  bool value(ValueType type, std::string_view& token) {
    switch (type) {
      case ValueType::id:
        return id(token);
      case ValueType::text:
        return reader_.string(token) || refuse("not a string");
      case ValueType::optional_text:
        return optional(token, [&] { return reader_.string(token) || refuse("not a string"); });
      case ValueType::boolean:
        return reader_.boolean(token) || refuse("neither true nor false");
      case ValueType::vector:
        return spanned(token, [&] { return vector(); });
      case ValueType::time:
        return time(token);
      case ValueType::any:
        return reader_.value(token) || refuse("not JSON");
      case ValueType::chunks:
      case ValueType::children:
      case ValueType::ids:
        // Their elements are looked at when all keys are known.
        return array_of_any(token) || refuse("not an array");
    }
    return false;
  }

  bool array_of_any(std::string_view& token) {
    return reader_.peek() == '[' && reader_.value(token);
  }

  // Takes a null, or calls `take`.
  template <class Take>
  bool optional(std::string_view& token, Take take) {
    if (reader_.peek() == 'n') {
      token = "null";
      return reader_.null() || refuse("not JSON");
    }
    return take();
  }

  // Gives the text that `take` went over.
  template <class Take>
  bool spanned(std::string_view& token, Take take) {
    reader_.peek();
    const std::size_t begin = reader_.position();
    if (!take()) {
      return false;
    }
    token = reader_.text().substr(begin, reader_.position() - begin);
    return true;
  }

  bool id(std::string_view& token) {
    if (!reader_.string(token)) {
      return refuse("not a string");
    }
    return check_id(unescape(token, scratch_));
  }
  bool check_id(std::string_view id) {
    return (!id.empty() && id.size() <= k_max_id_bytes &&
            id.find('\0') == std::string_view::npos) ||
           refuse("an id of no, of too many or of NUL bytes");
  }

  bool integer(std::uint64_t& out) {
    std::string_view token;
    if (!reader_.number(token)) {
      return refuse("not a number");
    }
    const auto value = unsigned_integer(token);
    out = value.value_or(0);
    return value.has_value() || refuse("not an unsigned integer");
  }

  bool time(std::string_view& token) {
    if (!reader_.number(token)) {
      return refuse("not a number");
    }
    const auto value = real(token);
    return (value && *value >= 0) || refuse("a time that is negative or not finite");
  }

  bool vector() {
    std::uint64_t dim = 0;
    std::uint64_t last = 0;
    bool has_dim = false;
    bool has_indices = false;
    const bool good = reader_.object([&](std::string_view key) {
      const std::string_view name = unescape(key, scratch_);
      if (name == "dim" && !has_dim) {
        has_dim = true;
        return integer(dim);
      }
      if (name == "indices" && !has_indices) {
        has_indices = true;
        return indices(last);
      }
      std::string_view ignored;
      return name != "dim" && name != "indices" ? reader_.value(ignored) : refuse("a key twice");
    });
    if (!good || !has_dim || !has_indices) {
      return refuse("not a vector");
    }
    if (rules_.dimensions && dim != *rules_.dimensions) {
      return refuse("a vector of other dimensions than the store's");
    }
    return last <= dim || refuse("an index outside the vector's dimensions");
  }

  // Leaves one more than the last index in `end`.
  bool indices(std::uint64_t& end) {
    return reader_.array([&] {
      std::uint64_t index = 0;
      if (!integer(index)) {
        return false;
      }
      if (index < end || index > UINT32_MAX) {
        return refuse("indices that do not ascend");
      }
      end = index + 1;
      return true;
    });
  }

  bool times(const Mutation& out) {
    if (out.kind != MutationKind::relation) {
      return true;
    }
    const double from = real(out.values[4]).value_or(0);
    const double to = real(out.values[5]).value_or(0);
    return to == 0 || to >= from || refuse("validTo before validFrom");
  }

  // Rules that tie a list to the mutation's own id. The lists' texts were already read once, so
  // that they are well-formed.
  bool derived_ids(const MutationSpec& spec, const Mutation& out) {
    for (std::size_t i = 0; i < spec.key_count; ++i) {
      JsonReader list(out.values[i]);
      const ValueType type = spec.keys[i].type;
      if (type == ValueType::ids && !id_list(list)) {
        return false;
      }
      if (type == ValueType::children && !children(list, out.values[0])) {
        return false;
      }
      if (type == ValueType::chunks && !chunks(list, out.values[0])) {
        return false;
      }
    }
    return true;
  }

  bool id_list(JsonReader& list) {
    return list.array([&] {
      std::string_view token;
      return list.string(token) ? check_id(unescape(token, scratch_)) : refuse("not a string");
    });
  }

  // "hms:<word>:<byte length of the id>:<id>:"
  static std::string prefix(std::string_view word, std::string_view id_token) {
    const std::string id = text_of(id_token);
    return "hms:" + std::string(word) + ":" + std::to_string(id.size()) + ":" + id + ":";
  }
  static bool is_derived(std::string_view id, std::string_view expected_prefix) {
    const std::string_view digits =
        id.starts_with(expected_prefix) ? id.substr(expected_prefix.size()) : std::string_view();
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  }

  bool children(JsonReader& list, std::string_view id_token) {
    const std::string expected = prefix("meaning", id_token);
    std::size_t count = 0;
    return list.array([&] {
      std::string_view token;
      if (!list.string(token)) {
        return refuse("not a string");
      }
      if (++count > k_max_children) {
        return refuse("more than 4094 derived children");
      }
      return is_derived(unescape(token, scratch_), expected) ||
             refuse("a derived child whose id does not name its parent");
    });
  }

  bool chunks(JsonReader& list, std::string_view id_token) {
    const std::string expected = prefix("chunk", id_token);
    std::size_t count = 0;
    const bool good = list.array([&] {
      if (++count > k_max_chunks) {
        return refuse("more than 4096 chunks");
      }
      std::string_view token;
      return list.value(token) && chunk(token, expected);
    });
    return (good && count > 0) || refuse("a document without chunks");
  }

  bool chunk(std::string_view text, const std::string& expected_prefix) {
    Decoder inner(text, rules_);
    if (inner.chunk_body(expected_prefix)) {
      return true;
    }
    return refuse(inner.fault_.what);
  }

  bool chunk_body(const std::string& expected_prefix) {
    Chunk chunk;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t words = 0;
    const bool good = reader_.object([&](std::string_view key) {
      const auto at = std::ranges::find(k_chunk_keys, unescape(key, scratch_));
      std::string_view ignored;
      if (at == k_chunk_keys.end()) {
        return reader_.value(ignored);
      }
      const auto field = static_cast<ChunkField>(at - k_chunk_keys.begin());
      std::string_view& token = chunk.values[static_cast<std::size_t>(field)];
      if (!token.empty()) {
        return refuse("a key twice");
      }
      switch (field) {
        case ChunkField::id:
          return id(token) && (is_derived(unescape(token, scratch_), expected_prefix) ||
                               refuse("a chunk whose id does not name its document"));
        case ChunkField::text:
          return optional(token, [&] { return reader_.string(token) || refuse("not a string"); });
        case ChunkField::start_byte:
          return spanned(token, [&] { return integer(begin); });
        case ChunkField::end_byte:
          return spanned(token, [&] { return integer(end); });
        case ChunkField::vector:
          return spanned(token, [&] { return vector(); });
        case ChunkField::embedding:
          return optional(token, [&] { return spanned(token, [&] { return numbers(); }); });
        case ChunkField::terms:
          return spanned(token, [&] { return counts(); });
        case ChunkField::word_count:
          return spanned(token, [&] { return integer(words); });
      }
      return false;
    });
    if (!good) {
      return refuse("not a chunk");
    }
    for (std::size_t i = 0; i < k_chunk_fields; ++i) {
      const bool nullable = i == static_cast<std::size_t>(ChunkField::text) ||
                            i == static_cast<std::size_t>(ChunkField::embedding);
      if (chunk.values[i].empty() && !nullable) {
        return refuse("a key of a chunk is missing");
      }
    }
    return chunk_bytes(chunk.value(ChunkField::text), begin, end);
  }

  bool chunk_bytes(std::string_view text_token, std::uint64_t begin, std::uint64_t end) {
    if (begin >= end || end > k_max_document_bytes || end - begin > k_max_chunk_bytes) {
      return refuse("a chunk with an impossible range");
    }
    if (text_token.empty() || text_token == "null") {
      return true;
    }
    return unescape(text_token, scratch_).size() == end - begin ||
           refuse("a chunk whose text is not as long as its range");
  }

  bool numbers() {
    return reader_.array([&] {
      std::string_view token;
      return reader_.number(token) ? real(token).has_value() || refuse("a number out of range")
                                   : refuse("not a number");
    });
  }

  bool counts() {
    return reader_.object([&](std::string_view) {
      std::uint64_t count = 0;
      return integer(count);
    });
  }

  JsonReader reader_;
  const PayloadRules& rules_;
  std::string scratch_;
  PayloadFault fault_;
  bool refused_ = false;
};

}  // namespace

std::optional<PayloadFault> decode_transaction(base::ByteSpan payload, const PayloadRules& rules,
                                               std::vector<Mutation>& out) {
  out.clear();
  const std::string_view json = base::as_text(payload).substr(k_txn2_magic.size());
  if (!base::is_utf8(json)) {
    return PayloadFault{"bad-payload", k_txn2_magic.size(), "not UTF-8"};
  }
  Decoder decoder(json, rules);
  if (decoder.transaction(out)) {
    return std::nullopt;
  }
  PayloadFault fault = decoder.fault();
  fault.offset += k_txn2_magic.size();
  return fault;
}

std::optional<PayloadFault> decode_mutation(std::string_view json, const PayloadRules& rules,
                                            Mutation& out) {
  out = {};
  if (!base::is_utf8(json)) {
    return PayloadFault{"bad-payload", 0, "not UTF-8"};
  }
  Decoder decoder(json, rules);
  if (decoder.single(out)) {
    return std::nullopt;
  }
  return decoder.fault();
}

}  // namespace varve::arena
