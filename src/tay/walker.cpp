// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/walker.hpp"

#include <algorithm>
#include <cstring>

namespace varve::tay {

namespace {

constexpr std::size_t k_cheap_payload_bytes = 4096;

class Walker {
 public:
  Walker(Window& window, const WalkRequest& request) : window_(window), request_(request) {
    walk_.begin = walk_.end = request.begin;
    walk_.first_sequence = request.expected_sequence.value_or(0);
    any_sequence_ = !request.expected_sequence;
  }

  Walk run() {
    while (step()) {
    }
    return std::move(walk_);
  }

 private:
  using Kind = WalkStop::Kind;

  bool stop(Kind kind) {
    walk_.stop.kind = kind;
    walk_.stop.available = window_.end() - walk_.end;
    return false;
  }
  bool stop_io(Error error) {
    walk_.stop.error = std::move(error);
    return stop(Kind::io);
  }
  bool stop_record(const DecodedRecord& record) {
    walk_.stop.record = record;
    walk_.stop.record.payload = {};
    walk_.stop.record.available = window_.end() - walk_.end;
    return stop(Kind::bad_record);
  }

  // One unit. False once the walk has ended.
  bool step() {
    if (walk_.end >= request_.limit) {
      return stop(Kind::limit);
    }
    auto view = window_.view(walk_.end, k_record_header_bytes);
    if (!view) {
      return stop_io(std::move(view).error());
    }
    const ByteSpan bytes = *view;
    if (bytes.size() < k_record_header_bytes ||
        !is_plain_record_header(bytes.data(), request_.payload_budget)) {
      return other_unit(bytes);
    }
    const RecordHeader header = load_record_header(bytes.data());
    return header.frame_bytes() <= bytes.size() ? whole(header, bytes) : long_record(header);
  }

  // What follows is not a plain record header.
  bool other_unit(ByteSpan bytes) {
    const ByteSpan magic = bytes.first(std::min(bytes.size(), k_magic_bytes));
    if (magic.empty()) {
      return stop(Kind::end_of_file);
    }
    if (magic.size() < k_magic_bytes) {
      const bool prefix = k_record_magic.starts_with(base::as_text(magic));
      return stop(prefix ? Kind::short_tail : Kind::not_a_unit);
    }
    if (base::as_text(magic) == k_footer_magic) {
      return stop(Kind::footer);
    }
    if (base::as_text(magic) != k_record_magic) {
      return stop(Kind::not_a_unit);
    }
    return stop_record(decode_record_header(bytes, request_.payload_budget));
  }

  bool whole(const RecordHeader& header, ByteSpan bytes) {
    const ByteSpan payload = bytes.subspan(k_record_header_bytes, header.payload_length);
    const std::uint32_t crc = base::crc32c(payload, header.header_crc);
    const std::uint32_t stored = base::u32be(payload.data() + payload.size());
    if (crc != stored) {
      return bad_checksum(header, stored, crc);
    }
    return accept(header, bytes.data(), payload, crc);
  }

  // The record does not lie in the window as a whole. Its length is no reason to allocate before
  // the file is known to be that long.
  bool long_record(const RecordHeader& header) {
    const std::uint64_t left = window_.end() - walk_.end;
    if (header.frame_bytes() > left) {
      DecodedRecord record;
      record.status = left < k_record_header_bytes + header.payload_length
                          ? RecordStatus::incomplete_payload
                          : RecordStatus::incomplete_checksum;
      record.header_proven = true;
      record.header = header;
      return stop_record(record);
    }
    if (request_.collector != nullptr || header.frame_bytes() <= k_read_bytes) {
      auto view = window_.view(walk_.end, static_cast<std::size_t>(header.frame_bytes()));
      return view ? whole(header, *view) : stop_io(std::move(view).error());
    }
    return hash_through(header);
  }

  // Hashes a long payload as it passes through the window.
  bool hash_through(const RecordHeader& header) {
    std::byte head[k_record_header_bytes];
    auto view = window_.view(walk_.end, k_record_header_bytes);
    if (!view) {
      return stop_io(std::move(view).error());
    }
    std::memcpy(head, view->data(), sizeof head);
    std::uint32_t crc = header.header_crc;
    std::uint64_t at = walk_.end + k_record_header_bytes;
    const std::uint64_t payload_end = at + header.payload_length;
    while (at < payload_end) {
      view = window_.view(at, 1);
      if (!view) {
        return stop_io(std::move(view).error());
      }
      const auto piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(view->size(), payload_end - at));
      crc = base::crc32c(view->first(piece), crc);
      at += piece;
    }
    view = window_.view(payload_end, k_record_trailer_bytes);
    if (!view) {
      return stop_io(std::move(view).error());
    }
    const std::uint32_t stored = base::u32be(view->data());
    if (crc != stored) {
      return bad_checksum(header, stored, crc);
    }
    return accept(header, head, {}, crc);
  }

  bool bad_checksum(const RecordHeader& header, std::uint32_t stored, std::uint32_t computed) {
    DecodedRecord record;
    record.status = RecordStatus::corrupt;
    record.header_proven = true;
    record.header = header;
    record.fault = {"record_checksum", k_record_header_bytes + header.payload_length,
                    Number::hex32(stored), Number::hex32(computed)};
    return stop_record(record);
  }

  // A proven record: links its sequence and takes its bytes into the running CRC.
  bool accept(const RecordHeader& header, const std::byte* head, ByteSpan payload,
              std::uint32_t record_crc) {
    if (walk_.count == 0 && any_sequence_) {
      walk_.first_sequence = header.sequence;
    } else if (header.sequence != walk_.next_sequence()) {
      walk_.stop.expected_sequence = walk_.next_sequence();
      walk_.stop.record.header = header;
      walk_.stop.record.header_proven = true;
      return stop(Kind::sequence);
    }
    if (walk_.count >= request_.count_limit) {
      walk_.stop.record.header = header;
      walk_.stop.record.header_proven = true;
      return stop(Kind::too_many);
    }
    extend_crc(header, head, payload, record_crc);
    const std::uint64_t offset = walk_.end;
    walk_.end += header.frame_bytes();
    ++walk_.count;
    if (request_.collector != nullptr && !request_.collector->record(header, offset, payload)) {
      return stop(Kind::limit);
    }
    return true;
  }

  // Takes the record's bytes into the running CRC. A small payload is in the cache and hashed again
  // in less time than the arithmetic of a shift takes. A large one was hashed once, behind the
  // header: its own CRC is record_crc with the header's share taken out, and moving both by the
  // payload's length is one shift.
  void extend_crc(const RecordHeader& header, const std::byte* head, ByteSpan payload,
                  std::uint32_t record_crc) {
    const std::uint32_t behind_header = base::crc32c({head, k_record_header_bytes}, walk_.crc);
    if (!payload.empty() && payload.size() <= k_cheap_payload_bytes) {
      walk_.crc =
          base::crc32c({payload.data(), payload.size() + k_record_trailer_bytes}, behind_header);
      return;
    }
    std::byte trailer[k_record_trailer_bytes];
    base::store_be(trailer, record_crc);
    walk_.crc = base::crc32c(trailer, base::crc32c_combine(behind_header ^ header.header_crc,
                                                           record_crc, header.payload_length));
  }

  Window& window_;
  const WalkRequest& request_;
  Walk walk_;
  bool any_sequence_;
};

}  // namespace

Walk walk_records(Window& window, const WalkRequest& request) {
  return Walker(window, request).run();
}

Result<std::optional<std::uint64_t>> find_record_header(Window& window, std::uint64_t from,
                                                        std::uint64_t to,
                                                        std::uint32_t payload_budget) {
  std::uint64_t at = from;
  while (at < to && window.end() - at >= k_record_header_bytes) {
    VARVE_ASSIGN(const ByteSpan bytes, window.view(at, k_record_header_bytes));
    // Positions where a whole header can be looked at.
    const auto places = static_cast<std::size_t>(
        std::min<std::uint64_t>(bytes.size() - (k_record_header_bytes - 1), to - at));
    std::size_t i = 0;
    while (i < places) {
      const void* found = std::memchr(bytes.data() + i, k_record_magic[0], places - i);
      if (found == nullptr) {
        break;
      }
      i = static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data());
      if (is_plain_record_header(bytes.data() + i, payload_budget)) {
        return at + i;
      }
      ++i;
    }
    at += places;
  }
  return std::optional<std::uint64_t>();
}

}  // namespace varve::tay
