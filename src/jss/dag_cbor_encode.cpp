// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/dag_cbor_encode.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "base/text_coding.hpp"
#include "jss/cid.hpp"
#include "jss/dag_cbor_walk.hpp"

namespace varve::jss {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr const char* k_malformed = "malformed JSON";

enum Major : std::uint8_t {
  unsigned_integer,
  negative_integer,
  byte_string,
  text,
  array,
  map,
  tag
};

// The shortest head; at most 9 bytes.
struct Head {
  std::array<std::byte, 9> bytes;
  std::size_t size = 1;

  Head(Major major, std::uint64_t value) {
    const auto first = [&](unsigned info) { bytes[0] = static_cast<std::byte>(major << 5 | info); };
    if (value < 24) {
      first(static_cast<unsigned>(value));
    } else if (value <= 0xFF) {
      first(24);
      bytes[1] = static_cast<std::byte>(value);
      size = 2;
    } else if (value <= 0xFFFF) {
      first(25);
      base::store_be(bytes.data() + 1, static_cast<std::uint16_t>(value));
      size = 3;
    } else if (value <= 0xFFFFFFFF) {
      first(26);
      base::store_be(bytes.data() + 1, static_cast<std::uint32_t>(value));
      size = 5;
    } else {
      first(27);
      base::store_be(bytes.data() + 1, value);
      size = 9;
    }
  }
};

void put_head(base::Bytes& out, Major major, std::uint64_t value) {
  const Head head(major, value);
  out.insert(out.end(), head.bytes.begin(), head.bytes.begin() + head.size);
}

void put_string(base::Bytes& out, Major major, base::ByteSpan content) {
  put_head(out, major, content.size());
  out.insert(out.end(), content.begin(), content.end());
}

// Puts the head of a container in front of its items, whose number was not known before.
void put_head_before(base::Bytes& out, std::size_t from, Major major, std::uint64_t count) {
  const Head head(major, count);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(from), head.bytes.begin(),
             head.bytes.begin() + head.size);
}

// One pair of a map, encoded at [from, to) of the output.
struct Pair {
  std::size_t key = 0;  // where the key's text begins
  std::size_t key_bytes = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

class Encoder {
 public:
  explicit Encoder(base::Bytes& out) : out_(out) {}

  const char* encode(ondemand::value value, std::size_t depth) {
    if (depth > k_max_cbor_depth) {
      return "nested too deeply";
    }
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) {
      return k_malformed;
    }
    switch (type) {
      case ondemand::json_type::object:
        return encode_object(value, depth);
      case ondemand::json_type::array:
        return encode_array(value, depth);
      case ondemand::json_type::number:
        return encode_number(value.raw_json_token());
      case ondemand::json_type::string:
        return encode_text(value);
      default:
        return encode_literal(value);
    }
  }

 private:
  const char* encode_literal(ondemand::value value) {
    bool truth = false;
    bool null = false;
    if (value.is_null().get(null) == simdjson::SUCCESS && null) {
      out_.push_back(std::byte{0xF6});
    } else if (value.get_bool().get(truth) == simdjson::SUCCESS) {
      out_.push_back(truth ? std::byte{0xF5} : std::byte{0xF4});
    } else {
      return k_malformed;
    }
    return nullptr;
  }

  const char* encode_text(ondemand::value value) {
    std::string_view content;
    if (value.get_string().get(content) != simdjson::SUCCESS) {
      return k_malformed;
    }
    put_string(out_, text, base::as_bytes(content));
    return nullptr;
  }

  const char* encode_number(std::string_view token) {
    while (!token.empty() && (token.back() == ' ' || token.back() == '\t' || token.back() == '\n' ||
                              token.back() == '\r')) {
      token.remove_suffix(1);
    }
    const bool negative = token.starts_with('-');
    const std::string_view digits = token.substr(negative ? 1 : 0);
    if (digits.find_first_of(".eE") != std::string_view::npos) {
      return "a record has no floats";
    }
    if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) {
      return k_malformed;
    }
    if (negative && digits == "18446744073709551616") {
      put_head(out_, negative_integer, std::numeric_limits<std::uint64_t>::max());
      return nullptr;
    }
    std::uint64_t magnitude = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
    if (error == std::errc::result_out_of_range) {
      return "an integer beyond 64 bits";
    }
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      return k_malformed;
    }
    const bool below_zero = negative && magnitude != 0;
    put_head(out_, below_zero ? negative_integer : unsigned_integer,
             below_zero ? magnitude - 1 : magnitude);
    return nullptr;
  }

  const char* encode_array(ondemand::value value, std::size_t depth) {
    const std::size_t from = out_.size();
    ondemand::array elements;
    if (value.get_array().get(elements) != simdjson::SUCCESS) {
      return k_malformed;
    }
    std::uint64_t count = 0;
    for (auto element : elements) {
      ondemand::value item;
      if (std::move(element).get(item) != simdjson::SUCCESS) {
        return k_malformed;
      }
      if (const char* wrong = encode(item, depth + 1)) {
        return wrong;
      }
      ++count;
    }
    put_head_before(out_, from, array, count);
    return nullptr;
  }

  const char* encode_object(ondemand::value value, std::size_t depth) {
    const std::size_t from = out_.size();
    const std::size_t first_pair = pairs_.size();
    ondemand::object members;
    if (value.get_object().get(members) != simdjson::SUCCESS) {
      return k_malformed;
    }
    bool marker = false;  // the first member could make this a link or a byte string
    for (auto member : members) {
      std::string_view key;
      ondemand::value item;
      if (member.unescaped_key().get(key) != simdjson::SUCCESS ||
          member.value().get(item) != simdjson::SUCCESS) {
        return k_malformed;
      }
      Pair pair;
      pair.from = out_.size();
      put_string(out_, text, base::as_bytes(key));
      pair.key_bytes = key.size();
      pair.key = out_.size() - key.size();
      const std::size_t value_from = out_.size();
      if (const char* wrong = encode(item, depth + 1)) {
        return wrong;
      }
      pair.to = out_.size();
      marker =
          pairs_.size() == first_pair && is_marker(pair) && base::u8(out_[value_from]) >> 5 == text;
      pairs_.push_back(pair);
    }
    const std::size_t count = pairs_.size() - first_pair;
    if (marker && count == 1) {
      const Pair pair = pairs_.back();
      pairs_.pop_back();
      return become_marker(from, pair);
    }
    if (const char* wrong = sort_pairs(from, first_pair)) {
      return wrong;
    }
    pairs_.resize(first_pair);
    put_head_before(out_, from, map, count);
    return nullptr;
  }

  std::string_view key_of(const Pair& pair) const {
    return base::as_text(base::ByteSpan(out_).subspan(pair.key, pair.key_bytes));
  }
  bool is_marker(const Pair& pair) const {
    return key_of(pair) == "$link" || key_of(pair) == "$bytes";
  }

  // Replaces the one pair, whose value is text, by the link or byte string that it stands for.
  const char* become_marker(std::size_t from, const Pair& pair) {
    const bool link = key_of(pair) == "$link";
    std::size_t at = pair.key + pair.key_bytes;
    const unsigned info = base::u8(out_[at]) & 31;
    at += info < 24 ? 1 : 1 + (std::size_t{1} << (info - 24));
    const std::string content(base::as_text(base::ByteSpan(out_).subspan(at)));
    out_.resize(from);
    if (!link) {
      const auto bytes = base::from_base64(content);
      if (!bytes) {
        return "$bytes without base64";
      }
      put_string(out_, byte_string, *bytes);
      return nullptr;
    }
    auto cid = parse_cid(content);
    if (!cid) {
      return "$link without a CID";
    }
    cid->insert(cid->begin(), std::byte{0});
    put_head(out_, tag, 42);
    put_string(out_, byte_string, *cid);
    return nullptr;
  }

  // Puts the pairs from `first_pair` on, encoded from `from` on, into the order of DAG-CBOR.
  const char* sort_pairs(std::size_t from, std::size_t first_pair) {
    const auto before = [&](const Pair& a, const Pair& b) {
      return a.key_bytes != b.key_bytes ? a.key_bytes < b.key_bytes : key_of(a) < key_of(b);
    };
    const auto first = pairs_.begin() + static_cast<std::ptrdiff_t>(first_pair);
    if (!std::is_sorted(first, pairs_.end(), before)) {
      std::sort(first, pairs_.end(), before);
      base::Bytes sorted;
      sorted.reserve(out_.size() - from);
      for (auto pair = first; pair != pairs_.end(); ++pair) {
        const std::size_t key_in_pair = pair->key - pair->from;
        const std::size_t at = from + sorted.size();
        sorted.insert(sorted.end(), out_.begin() + static_cast<std::ptrdiff_t>(pair->from),
                      out_.begin() + static_cast<std::ptrdiff_t>(pair->to));
        *pair = {at + key_in_pair, pair->key_bytes, at, from + sorted.size()};
      }
      std::copy(sorted.begin(), sorted.end(), out_.begin() + static_cast<std::ptrdiff_t>(from));
    }
    const auto repeated = std::adjacent_find(
        first, pairs_.end(), [&](const Pair& a, const Pair& b) { return key_of(a) == key_of(b); });
    return repeated == pairs_.end() ? nullptr : "a repeated key";
  }

  base::Bytes& out_;
  std::vector<Pair> pairs_;  // of the maps that are open, innermost last
};

}  // namespace

const char* encode_dag_cbor(ondemand::value value, base::Bytes& out) {
  return Encoder(out).encode(value, 0);
}

const char* encode_dag_cbor(std::string_view json, base::Bytes& out) {
  // Wrapped, since a document that is a bare scalar is no ondemand::value.
  const std::string wrapped = "[" + std::string(json) + "]";
  const simdjson::padded_string padded(wrapped);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::array elements;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_array().get(elements) != simdjson::SUCCESS) {
    return k_malformed;
  }
  std::size_t count = 0;
  for (auto element : elements) {
    ondemand::value value;
    if (std::move(element).get(value) != simdjson::SUCCESS || ++count > 1) {
      return k_malformed;
    }
    if (const char* wrong = encode_dag_cbor(value, out)) {
      return wrong;
    }
  }
  const bool at_end = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  return count == 1 && at_end ? nullptr : k_malformed;
}

}  // namespace varve::jss
