// SPDX-License-Identifier: MIT OR Apache-2.0
// The journal's records on plain byte arrays (section 8.2, word by word), and random transactions.
#pragma once

#include <map>
#include <random>
#include <string>

#include "tests/kladde/helpers.hpp"
#include "varve/kladde_store.hpp"

namespace varve::kladde::test {

class Naive {
 public:
  Contents contents;

  void free(Id id) { contents.erase(id); }
  void resize(Id id, std::uint32_t size) { contents[id].resize(size); }
  void write(Id id, std::uint32_t offset, std::string_view bytes) {
    grow(id, offset + bytes.size());
    contents[id].replace(offset, bytes.size(), bytes);
  }
  void splice(Id id, std::uint32_t offset, std::uint32_t old_length, std::string_view bytes) {
    grow(id, std::size_t{offset} + old_length);
    contents[id].replace(offset, old_length, bytes);
  }
  void copy(Id source, std::uint32_t from, std::uint32_t length, Id target, std::uint32_t to) {
    write(target, to, bytes_at(source, from, length));
  }
  void move(Id source, std::uint32_t from, std::uint32_t length, Id target, std::uint32_t to) {
    const auto there = contents.find(source);
    const std::size_t end =
        there == contents.end() ? 0 : std::min<std::size_t>(there->second.size(), from + length);
    copy(source, from, length, target, to);
    for (std::size_t i = from; i < end; ++i) {
      if (source != target || i < to || i >= std::size_t{to} + length) {
        contents[source][i] = '\0';
      }
    }
  }

 private:
  void grow(Id id, std::size_t size) {
    std::string& bytes = contents[id];
    bytes.resize(std::max(bytes.size(), size));
  }
  std::string bytes_at(Id id, std::uint32_t from, std::uint32_t length) const {
    std::string out(length, '\0');
    const auto found = contents.find(id);
    if (found != contents.end() && from < found->second.size()) {
      const std::string part = found->second.substr(from, length);
      out.replace(0, part.size(), part);
    }
    return out;
  }
};

// How wild the random records are.
struct Shape {
  Id ids = 24;
  std::uint32_t max_offset = 6000;
  std::uint32_t max_length = 3000;
};

// Makes records, the same for a transaction and for the naive store.
class RandomRecords {
 public:
  RandomRecords(std::uint64_t seed, Shape shape) : random_(seed), shape_(shape) {}

  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_() % std::max<std::uint32_t>(bound, 1));
  }
  // Mostly short, sometimes long.
  std::uint32_t length() {
    const std::uint32_t kind = below(10);
    return kind < 5   ? below(40)
           : kind < 9 ? below(shape_.max_length / 8)
                      : below(shape_.max_length);
  }
  Id id() { return 1 + below(shape_.ids); }
  std::string bytes(std::uint32_t count) {
    std::string out(count, '\0');
    for (char& c : out) {
      c = static_cast<char>('A' + random_() % 26);
    }
    return out;
  }

  void add(Transaction& transaction, Naive& naive) {
    const Id a = id();
    const Id b = below(3) == 0 ? a : id();
    const std::uint32_t offset = below(shape_.max_offset);
    const std::uint32_t other = below(shape_.max_offset);
    const std::uint32_t count = length();
    switch (below(12)) {
      case 0:
        transaction.free(a);
        naive.free(a);
        break;
      case 1:
      case 2: {
        const std::uint32_t size = below(4) == 0 ? 0 : offset;
        transaction.resize(a, size);
        naive.resize(a, size);
        break;
      }
      case 3: {
        // Splices keep allocations small: they grow without bound otherwise.
        const std::uint32_t old = length();
        const std::string text = bytes(std::min(count, old + 20));
        const std::uint32_t at = offset / 2;
        transaction.splice(a, at, old, base::as_bytes(text));
        naive.splice(a, at, old, text);
        break;
      }
      case 4:
        transaction.copy(a, offset, count, b, other);
        naive.copy(a, offset, count, b, other);
        break;
      case 5:
      case 6:
        transaction.move(a, offset, count, b, other);
        naive.move(a, offset, count, b, other);
        break;
      default: {
        // Often the very range that was written last.
        const bool again = below(4) == 0;
        if (!again) {
          last_ = {a, offset, count};
        }
        const std::string text = bytes(last_.count);
        transaction.write(last_.id, last_.offset, base::as_bytes(text));
        naive.write(last_.id, last_.offset, text);
        break;
      }
    }
  }

 private:
  struct Range {
    Id id = 1;
    std::uint32_t offset = 0;
    std::uint32_t count = 0;
  };
  std::mt19937_64 random_;
  Shape shape_;
  Range last_;
};

// Everything that a store says it holds.
inline Contents contents_of(const Store& store) {
  Contents out;
  for (const Id id : store.ids()) {
    std::string bytes(store.size(id), '\0');
    const std::size_t got =
        must(store.read(id, 0, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()}));
    EXPECT_EQ(got, bytes.size());
    out[id] = std::move(bytes);
  }
  return out;
}

// The first difference in words; empty if there is none.
inline std::string difference(const Contents& actual, const Contents& expected) {
  for (const auto& [id, bytes] : expected) {
    const auto found = actual.find(id);
    if (found == actual.end()) {
      return "allocation " + std::to_string(id) + " is missing";
    }
    if (found->second.size() != bytes.size()) {
      return "allocation " + std::to_string(id) + " has " + std::to_string(found->second.size()) +
             " bytes instead of " + std::to_string(bytes.size());
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (found->second[i] != bytes[i]) {
        return "allocation " + std::to_string(id) + " differs at byte " + std::to_string(i);
      }
    }
  }
  for (const auto& [id, bytes] : actual) {
    if (!expected.contains(id)) {
      return "allocation " + std::to_string(id) + " should not exist";
    }
  }
  return {};
}

}  // namespace varve::kladde::test
