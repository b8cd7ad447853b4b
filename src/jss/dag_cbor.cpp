// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/dag_cbor.hpp"

#include <charconv>
#include <limits>

#include "jss/dag_cbor_walk.hpp"
#include "jss/json_text.hpp"

namespace varve::jss {

namespace {

// Writes JSON into the spare capacity of a string, which grows by doubling.
class JsonHandler {
 public:
  explicit JsonHandler(std::string& out) : out_(out), used_(out.size()) { open_room(0); }

  // Cuts the string to what was written, or to what was there before.
  void finish(bool keep, std::size_t size_before) { out_.resize(keep ? used_ : size_before); }

  void begin(bool is_map) { put(is_map ? '{' : '['); }
  void end(bool is_map) { put(is_map ? '}' : ']'); }
  void element(bool first) {
    if (!first) {
      put(',');
    }
  }
  bool key(std::string_view text, bool first) {
    element(first);
    if (!this->text(text)) {
      return false;
    }
    put(':');
    return true;
  }
  bool text(std::string_view text) {
    if (text.size() > k_piece_bytes) {
      return long_text(text);
    }
    char* to = room(2 + k_max_escaped_bytes * text.size() + k_copy_slack_bytes);
    *to++ = '"';
    to = write_escaped(to, text);
    if (to == nullptr) {
      return false;
    }
    *to++ = '"';
    wrote_to(to);
    return true;
  }
  void bytes(base::ByteSpan bytes) {
    literal("{\"$bytes\":\"");
    wrote_to(base::write_base64(room(base::base64_size(bytes.size())), bytes));
    literal("\"}");
  }
  void link(base::ByteSpan cid) {
    literal("{\"$link\":\"b");
    wrote_to(base::write_base32(room(base::base32_size(cid.size())), cid));
    literal("\"}");
  }
  void integer(bool negative, std::uint64_t magnitude) {
    constexpr std::size_t k_digits = 21;
    char* to = room(k_digits);
    if (negative) {
      if (magnitude == std::numeric_limits<std::uint64_t>::max()) {
        literal("-18446744073709551616");
        return;
      }
      *to++ = '-';
      ++magnitude;
    }
    wrote_to(std::to_chars(to, to + k_digits - 1, magnitude).ptr);
  }
  void boolean(bool value) { literal(value ? "true" : "false"); }
  void null() { literal("null"); }

 private:
  // Room for the worst case of a whole long text would be six times its size.
  static constexpr std::size_t k_piece_bytes = 4096;

  bool long_text(std::string_view text) {
    if (!base::is_utf8(text)) {
      return false;
    }
    put('"');
    while (!text.empty()) {
      const std::string_view piece = text.substr(0, k_piece_bytes);
      char* to = room(k_max_escaped_bytes * piece.size() + k_copy_slack_bytes);
      wrote_to(write_escaped(to, piece, true));
      text.remove_prefix(piece.size());
    }
    put('"');
    return true;
  }
  void open_room(std::size_t bytes) {
    const std::size_t want = std::max(out_.capacity(), used_ + bytes);
    if (used_ + bytes > out_.capacity()) {
      out_.reserve(std::max(2 * out_.capacity(), want));
    }
    // Takes the whole capacity without clearing it; finish() cuts it to what was written.
    out_.resize_and_overwrite(out_.capacity(), [](char*, std::size_t size) { return size; });
  }
  // A place where `bytes` bytes can be written.
  char* room(std::size_t bytes) {
    if (out_.size() - used_ < bytes) {
      open_room(bytes);
    }
    return out_.data() + used_;
  }
  void wrote_to(const char* end) { used_ = static_cast<std::size_t>(end - out_.data()); }
  void put(char c) {
    *room(1) = c;
    ++used_;
  }
  void literal(std::string_view text) {
    base::copy_bytes(room(text.size()), text.data(), text.size());
    used_ += text.size();
  }

  std::string& out_;
  std::size_t used_;
};

struct CheckHandler {
  void begin(bool) {}
  void end(bool) {}
  bool key(std::string_view text, bool) { return base::is_utf8(text); }
  void element(bool) {}
  bool text(std::string_view text) { return base::is_utf8(text); }
  void bytes(base::ByteSpan) {}
  void link(base::ByteSpan) {}
  void integer(bool, std::uint64_t) {}
  void boolean(bool) {}
  void null() {}
};

// Notes the two members of the outermost map that decide.
struct AccountHandler : CheckHandler {
  bool inactive = false;
  bool deleted = false;

  void begin(bool is_map) {
    outermost_map_ = depth_ == 0 ? is_map : outermost_map_;
    ++depth_;
  }
  void end(bool) { --depth_; }
  bool key(std::string_view text, bool) {
    if (depth_ == 1 && outermost_map_) {
      key_ = text;
    }
    return base::is_utf8(text);
  }
  bool text(std::string_view text) {
    if (depth_ == 1 && key_ == "status") {
      deleted = text == "deleted";
    }
    return base::is_utf8(text);
  }
  void boolean(bool value) {
    if (depth_ == 1 && key_ == "active") {
      inactive = !value;
    }
  }

 private:
  std::string_view key_;
  std::size_t depth_ = 0;
  bool outermost_map_ = false;
};

}  // namespace

std::optional<Fault> append_dag_cbor_json(std::string& out, base::ByteSpan payload) {
  const std::size_t size_before = out.size();
  JsonHandler handler(out);
  auto fault = DagCborWalk(payload, handler).run();
  handler.finish(!fault, size_before);
  return fault;
}

std::optional<Fault> check_dag_cbor(base::ByteSpan payload) {
  CheckHandler handler;
  return DagCborWalk(payload, handler).run();
}

bool is_account_deletion(base::ByteSpan payload) {
  AccountHandler handler;
  return !DagCborWalk(payload, handler).run() && handler.inactive && handler.deleted;
}

}  // namespace varve::jss
