// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/explain_frame.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_writer.hpp"
#include "jss/frame_probe.hpp"
#include "jss/tail.hpp"

namespace varve::jss {

namespace {

constexpr std::uint64_t k_max_raw_bytes = 32;
constexpr std::size_t k_most_stale_frames = 64;

}  // namespace

Result<bool> RowWriter::send(ExplainRow row) {
  if (!row.container && row.length != 0) {
    row.raw.resize(static_cast<std::size_t>(std::min(row.length, k_max_raw_bytes)));
    VARVE_TRY(file_.read(std::as_writable_bytes(std::span(row.raw)), row.offset));
  }
  row.file = file_.name();
  stopped_ = stopped_ || !sink_.add(std::move(row));
  return !stopped_;
}

Result<bool> RowWriter::container(std::uint64_t offset, std::uint64_t length, unsigned depth,
                                  std::string field, std::string value, std::string meaning,
                                  Check check) {
  ExplainRow row;
  row.offset = offset;
  row.length = length;
  row.depth = depth;
  row.container = true;
  row.field = std::move(field);
  row.value = std::move(value);
  row.meaning = std::move(meaning);
  row.check = check;
  return send(std::move(row));
}

Result<bool> RowWriter::bytes(std::uint64_t offset, std::uint64_t length, unsigned depth,
                              std::string field, std::string value, std::string meaning,
                              Check check, Class sort, std::vector<ByteMark> marks) {
  if (length == 0) {
    return !stopped_;
  }
  ExplainRow row;
  row.offset = offset;
  row.length = length;
  row.depth = depth;
  row.field = std::move(field);
  row.value = std::move(value);
  row.meaning = std::move(meaning);
  row.check = check;
  row.sort = sort;
  row.marks = std::move(marks);
  return send(std::move(row));
}

Result<bool> RowWriter::stretch(std::uint64_t offset, std::uint64_t length, unsigned depth,
                                std::string field, std::string meaning, Check check) {
  if (length == 0) {
    return !stopped_;
  }
  std::vector<ByteMark> marks;
  FrameProver prover(file_, k_max_body_bytes);
  std::uint64_t from = offset == 0 ? 0 : offset - 1;
  while (marks.size() < k_most_stale_frames && offset + length - from > 1) {
    VARVE_ASSIGN(const auto frame,
                 hunt_frame(file_, from, offset + length, WalkPolicy::report, prover));
    if (!frame) {
      break;
    }
    const std::uint64_t rows = prover.block().columns.rows;
    marks.push_back({ByteMark::Kind::stale, frame->offset, frame->end() - frame->offset,
                     "block of " + std::to_string(rows) + (rows == 1 ? " row" : " rows")});
    from = frame->end() - 1;
  }
  return bytes(offset, length, depth, std::move(field), "", std::move(meaning), check, Class::gap,
               std::move(marks));
}

Result<bool> RowWriter::fields(std::span<const FieldSpec> specs, std::uint64_t offset,
                               std::uint64_t available, unsigned depth) {
  bool go_on = !stopped_;
  for (const FieldSpec& spec : specs) {
    if (spec.offset >= available) {
      break;
    }
    if (spec.length > available - spec.offset) {
      VARVE_ASSIGN(go_on,
                   bytes(offset + spec.offset, available - spec.offset, depth, spec.name, "",
                         "cut off: the file or section ends inside this field", Check::fails));
      break;
    }
    std::array<std::byte, k_header_bytes> raw;
    const auto value = std::span(raw).first(static_cast<std::size_t>(spec.length));
    VARVE_TRY(file_.read(value, offset + spec.offset));
    Check check = Check::none;
    const auto expected = std::ranges::find(expected_, spec.name, &Expectation::field);
    if (expected != expected_.end()) {
      check = expected->holds ? Check::holds : Check::fails;
    }
    VARVE_ASSIGN(
        go_on, bytes(offset + spec.offset, spec.length, depth, spec.name,
                     model::field_text(spec.type, value, std::endian::little), spec.meaning, check,
                     spec.type == FieldType::zeros ? Class::padding : Class::unset));
    if (!go_on) {
      break;
    }
  }
  expected_.clear();
  return go_on;
}

namespace {

// Takes a frame apart, from its first byte to its last.
class FrameExplainer {
 public:
  FrameExplainer(RowWriter& rows, std::uint64_t offset, std::uint64_t length, unsigned depth,
                 std::optional<bool> decodes)
      : rows_(rows),
        reader_(rows.file()),
        at_(offset),
        end_(offset + length),
        depth_(depth),
        decodes_(decodes) {}

  Result<bool> run() {
    VARVE_ASSIGN(const bool header, explain_header());
    if (header) {
      VARVE_TRY(explain_blocks());
    }
    return rows_.bytes(at_, end_ - at_, depth_, "frame rest", "",
                       "bytes that are no part of a well-formed frame", RowWriter::Check::fails,
                       RowWriter::Class::gap);
  }

 private:
  std::uint64_t left() const { return end_ - at_; }

  Result<std::uint64_t> number(std::size_t bytes) {
    VARVE_ASSIGN(const std::byte* const p, reader_.read(at_, bytes));
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) {
      value = value << 8 | base::u8(p[i]);
    }
    return value;
  }
  Result<bool> part(std::uint64_t length, const char* field, std::string value, const char* meaning,
                    RowWriter::Check check = RowWriter::Check::none,
                    RowWriter::Class sort = RowWriter::Class::unset) {
    const std::uint64_t offset = at_;
    at_ += length;
    return rows_.bytes(offset, length, depth_, field, std::move(value), meaning, check, sort);
  }

  // False if there is no whole frame header.
  Result<bool> explain_header() {
    if (left() < 5) {
      return false;
    }
    VARVE_ASSIGN(const std::uint64_t magic, number(4));
    if (magic != k_zstd_magic) {
      return false;
    }
    VARVE_TRY(
        part(4, "zstd magic", "28b52ffd", "begins every zstd frame", RowWriter::Check::holds));
    VARVE_ASSIGN(const std::uint64_t descriptor, number(1));
    const bool single_segment = (descriptor & 0x20) != 0;
    has_checksum_ = (descriptor & 0x04) != 0;
    static constexpr std::uint64_t k_dictionary_bytes[] = {0, 1, 2, 4};
    const std::uint64_t dictionary = k_dictionary_bytes[descriptor & 3];
    const std::uint64_t size_flag = descriptor >> 6;
    const std::uint64_t size_bytes =
        size_flag == 0 ? (single_segment ? 1 : 0) : std::uint64_t{1} << size_flag;
    if (left() < 1 + (single_segment ? 0 : 1) + dictionary + size_bytes) {
      return false;
    }
    VARVE_TRY(part(1, "frame descriptor",
                   to_text(Number::hex8(static_cast<std::uint8_t>(descriptor))),
                   has_checksum_ ? "a content checksum follows the blocks"
                                 : "no content checksum: the bytes are unprotected"));
    if (!single_segment) {
      VARVE_ASSIGN(const std::uint64_t window, number(1));
      const std::uint64_t base = std::uint64_t{1} << (10 + (window >> 3));
      VARVE_TRY(part(1, "window descriptor", std::to_string(base + base / 8 * (window & 7)),
                     "bytes that a decoder must look back"));
    }
    if (dictionary != 0) {
      VARVE_ASSIGN(const std::uint64_t id, number(static_cast<std::size_t>(dictionary)));
      VARVE_TRY(part(dictionary, "dictionary id", std::to_string(id), "segments use no dictionary",
                     RowWriter::Check::fails));
    }
    if (size_bytes != 0) {
      VARVE_ASSIGN(std::uint64_t size, number(static_cast<std::size_t>(size_bytes)));
      size += size_bytes == 2 ? 256 : 0;
      VARVE_TRY(part(size_bytes, "frame content size", std::to_string(size),
                     "bytes of the body, as the frame says"));
    }
    return true;
  }

  Result<void> explain_blocks() {
    static constexpr const char* k_types[] = {"raw", "run", "compressed", "reserved"};
    for (bool last = false; !last;) {
      if (left() < 3) {
        return {};
      }
      VARVE_ASSIGN(const std::uint64_t header, number(3));
      last = (header & 1) != 0;
      const std::uint64_t type = (header >> 1) & 3;
      const std::uint64_t stored = type == 1 ? 1 : header >> 3;
      if (type == 3 || stored > left() - 3) {
        return {};
      }
      VARVE_TRY(part(3, "zstd block header",
                     std::string(k_types[type]) + ", " + std::to_string(header >> 3) + " bytes" +
                         (last ? ", last" : ""),
                     "how the next bytes are stored"));
      VARVE_TRY(part(stored, "zstd block", std::string(k_types[type]), "compressed content",
                     RowWriter::Check::none, RowWriter::Class::payload));
    }
    if (has_checksum_ && left() >= 4) {
      VARVE_ASSIGN(const std::uint64_t checksum, number(4));
      RowWriter::Check check = RowWriter::Check::none;
      if (decodes_) {
        check = *decodes_ ? RowWriter::Check::holds : RowWriter::Check::fails;
      }
      VARVE_TRY(part(4, "content checksum",
                     to_text(Number::hex32(static_cast<std::uint32_t>(checksum))),
                     "low half of xxh64 of the body", check));
    }
    return {};
  }

  RowWriter& rows_;
  WindowReader reader_;
  std::uint64_t at_;
  std::uint64_t end_;
  unsigned depth_;
  std::optional<bool> decodes_;
  bool has_checksum_ = false;
};

}  // namespace

Result<bool> explain_zstd_frame(RowWriter& rows, std::uint64_t offset, std::uint64_t length,
                                unsigned depth, std::optional<bool> decodes) {
  return FrameExplainer(rows, offset, length, depth, decodes).run();
}

}  // namespace varve::jss
