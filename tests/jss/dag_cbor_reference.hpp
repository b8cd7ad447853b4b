// SPDX-License-Identifier: MIT OR Apache-2.0
// A plain recursive decoder of strict DAG-CBOR, the yardstick for the fast one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "jss/cid.hpp"

namespace varve::jss::test {

class ReferenceDecoder {
 public:
  // The JSON of the payload; nullopt if it is not strict or its JSON would mean something else.
  static std::optional<std::string> json(std::string_view payload) {
    ReferenceDecoder decoder(payload);
    std::string out;
    if (!decoder.item(out, 0) || decoder.at_ != payload.size()) {
      return std::nullopt;
    }
    return out;
  }

 private:
  explicit ReferenceDecoder(std::string_view payload) : payload_(payload) {}

  bool head(unsigned& major, unsigned& info, std::uint64_t& value) {
    if (at_ >= payload_.size()) return false;
    const auto first = static_cast<unsigned char>(payload_[at_++]);
    major = first >> 5;
    info = first & 31;
    value = info;
    if (major == 7) return info >= 20 && info <= 22;
    if (info < 24) return true;
    if (info > 27) return false;
    const unsigned size = 1U << (info - 24);
    if (payload_.size() - at_ < size) return false;
    value = 0;
    for (unsigned i = 0; i < size; ++i) {
      value = value << 8 | static_cast<unsigned char>(payload_[at_++]);
    }
    return value >= (size == 1 ? 24 : std::uint64_t{1} << (4 * size));
  }

  bool string(std::uint64_t size, std::string_view& out) {
    if (size > payload_.size() - at_) return false;
    out = payload_.substr(at_, size);
    at_ += size;
    return true;
  }

  bool item(std::string& out, int depth) {
    unsigned major = 0, info = 0;
    std::uint64_t value = 0;
    std::string_view content;
    if (depth > 256 || !head(major, info, value)) return false;
    switch (major) {
      case 0:
        out += std::to_string(value);
        return true;
      case 1:
        out += value == UINT64_MAX ? "-18446744073709551616" : "-" + std::to_string(value + 1);
        return true;
      case 2:
        if (!string(value, content)) return false;
        base::append_json_bytes(out, base::as_bytes(content));
        return true;
      case 3:
        if (!string(value, content) || !base::is_utf8(content)) return false;
        base::append_json_text(out, content);
        return true;
      case 4:
        out += '[';
        for (std::uint64_t i = 0; i < value; ++i) {
          if (i > 0) out += ',';
          if (!item(out, depth + 1)) return false;
        }
        out += ']';
        return true;
      case 5:
        return map(value, out, depth);
      case 6:
        return value == 42 && link(out);
      default:
        out += info == 20 ? "false" : info == 21 ? "true" : "null";
        return true;
    }
  }

  bool map(std::uint64_t count, std::string& out, int depth) {
    out += '{';
    std::optional<std::pair<std::size_t, std::string_view>> before;
    for (std::uint64_t i = 0; i < count; ++i) {
      unsigned major = 0, info = 0;
      std::uint64_t size = 0;
      std::string_view key;
      if (!head(major, info, size) || major != 3 || !string(size, key) || !base::is_utf8(key)) {
        return false;
      }
      const std::pair<std::size_t, std::string_view> rank{key.size(), key};
      if (before && !(*before < rank)) return false;
      before = rank;
      if (i > 0) out += ',';
      base::append_json_text(out, key);
      out += ':';
      const std::size_t value_from = out.size();
      if (!item(out, depth + 1)) return false;
      if (count == 1 && (key == "$link" || key == "$bytes") && out[value_from] == '"') {
        return false;
      }
    }
    out += '}';
    return true;
  }

  bool link(std::string& out) {
    unsigned major = 0, info = 0;
    std::uint64_t size = 0;
    std::string_view content;
    if (!head(major, info, size) || major != 2 || !string(size, content) || content.empty() ||
        content[0] != '\0' || !is_cid(base::as_bytes(content.substr(1)))) {
      return false;
    }
    out += "{\"$link\":\"";
    append_cid_text(out, base::as_bytes(content.substr(1)));
    out += "\"}";
    return true;
  }

  std::string_view payload_;
  std::size_t at_ = 0;
};

}  // namespace varve::jss::test
