// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as JSON Lines (CONTRACT section 5). On the hot path of `cat`: the short fields of a row are
// written into one piece of memory without checks between them.
#include <charconv>
#include <string>
#include <string_view>

#include "base/json_writer.hpp"
#include "jss/json_text.hpp"
#include "jss/log_schema.hpp"
#include "jss/render_payload.hpp"
#include "jss/render_streams.hpp"
#include "jss/state.hpp"
#include "jss/view.hpp"

namespace varve::jss {

namespace {

// More than the keys, numbers and kind of a line take.
constexpr std::size_t k_fixed_room_bytes = 320;

char* put(char* to, std::string_view text) {
  base::copy_bytes(to, text.data(), text.size());
  return to + text.size();
}

template <class T>
char* put_number(char* to, T value) {
  return std::to_chars(to, to + 24, value).ptr;
}

// Writes rows of one batch.
class LineWriter {
 public:
  LineWriter(const Batch& batch, const RenderOptions& options, std::string& out)
      : c_(batch.columns), options_(options), out_(out) {
    at_ = ",\"at\":{\"segment\":";
    base::append_json_text_or_bytes(at_, c_[k_log_at_segment].bytes(0));
    at_ += ",\"block\":";
    base::append_integer(at_, number<std::uint32_t>(k_log_at_block, 0));
    at_ += ",\"row\":";
  }

  void write(std::size_t row) {
    const base::ByteSpan payload = base::as_bytes(text(k_log_payload, row));
    write_fields(row);
    append_payload_members(out_, is_materialization(kind_of(row)), payload, options_.payload);
    out_ += at_;
    base::append_integer(out_, number<std::uint32_t>(k_log_at_row, row));
    out_ += "}}\n";
  }

  Event event(std::size_t row) const {
    Event e;
    e.seq = number<std::uint64_t>(k_log_seq, row);
    e.witnessed_at = number<std::int64_t>(k_log_witnessed_at, row);
    e.indexed_at = number<std::int64_t>(k_log_indexed_at, row);
    e.kind = kind_of(row);
    e.did = text(k_log_did, row);
    e.collection = text(k_log_collection, row);
    e.rkey = text(k_log_rkey, row);
    e.rev = text(k_log_rev, row);
    e.payload = base::as_bytes(text(k_log_payload, row));
    return e;
  }

 private:
  // A column that the scan was not asked for reads as zeros and empty texts.
  template <class T>
  T number(LogColumn column, std::size_t row) const {
    return c_[column].layout == Column::Layout::absent ? T{} : c_[column].value<T>(row);
  }
  std::string_view text(LogColumn column, std::size_t row) const { return c_[column].bytes(row); }
  std::uint8_t kind_of(std::size_t row) const { return number<std::uint8_t>(k_log_kind, row); }

  template <class T>
  char* put_wide(char* to, T value) const {
    if (!options_.int64_as_string) {
      return put_number(to, value);
    }
    *to++ = '"';
    to = put_number(to, value);
    *to++ = '"';
    return to;
  }

  // Everything before the payload. Strings that are no UTF-8 (rare) take the slow way.
  void write_fields(std::size_t row) {
    const std::string_view strings[] = {text(k_log_did, row), text(k_log_collection, row),
                                        text(k_log_rkey, row), text(k_log_rev, row)};
    std::size_t room = k_fixed_room_bytes;
    for (const std::string_view s : strings) {
      room += s.size() * k_max_escaped_bytes + k_copy_slack_bytes;
    }
    const std::size_t before = out_.size();
    bool fits = true;
    out_.resize_and_overwrite(before + room, [&](char* data, std::size_t) {
      char* to = put_numbers(data + before, row);
      static constexpr std::string_view k_keys[] = {",\"did\":\"", ",\"collection\":\"",
                                                    ",\"rkey\":\"", ",\"rev\":\""};
      for (std::size_t i = 0; i < 4 && fits; ++i) {
        to = put(to, k_keys[i]);
        char* const end = write_escaped(to, strings[i]);
        fits = end != nullptr;
        to = fits ? end : to;
        *to++ = '"';
      }
      return fits ? static_cast<std::size_t>(to - data) : before;
    });
    if (!fits) {
      write_fields_slowly(row, strings);
    }
  }

  char* put_numbers(char* to, std::size_t row) const {
    to = put_wide(put(to, "{\"seq\":"), number<std::uint64_t>(k_log_seq, row));
    to = put_wide(put(to, ",\"witnessed_at\":"), number<std::int64_t>(k_log_witnessed_at, row));
    to = put_wide(put(to, ",\"indexed_at\":"), number<std::int64_t>(k_log_indexed_at, row));
    to = put(put(to, ",\"kind\":\""), k_kind_names[kind_of(row)]);
    *to++ = '"';
    return to;
  }

  void write_fields_slowly(std::size_t row, const std::string_view (&strings)[4]) {
    const std::size_t before = out_.size();
    out_.resize_and_overwrite(before + k_fixed_room_bytes, [&](char* data, std::size_t) {
      return static_cast<std::size_t>(put_numbers(data + before, row) - data);
    });
    static constexpr std::string_view k_keys[] = {
        ",\"did\":", ",\"collection\":", ",\"rkey\":", ",\"rev\":"};
    for (std::size_t i = 0; i < 4; ++i) {
      out_ += k_keys[i];
      base::append_json_text_or_bytes(out_, strings[i]);
    }
  }

  const std::vector<Column>& c_;
  const RenderOptions& options_;
  std::string& out_;
  std::string at_;  // the part of `at` that all rows of a block share
};

}  // namespace

void View::render(Face face, const Batch& batch, const RenderOptions& options,
                  std::string& out) const {
  if (face == Face::state) {
    render_state(batch, options, out);
    return;
  }
  if (batch.rows == 0) {
    return;
  }
  LineWriter writer(batch, options, out);
  for (std::size_t row = 0; row < batch.rows; ++row) {
    if (options.as.empty()) {
      writer.write(row);
    } else if (options.as == "v1") {
      if (append_stream_v1(out, writer.event(row))) {
        out += '\n';
      }
    } else {
      append_stream_v2(out, writer.event(row));
      out += '\n';
    }
  }
}

}  // namespace varve::jss
