// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/salvage_segment.hpp"

#include <algorithm>
#include <utility>

#include "jss/press.hpp"

namespace varve::jss {

namespace {

constexpr std::size_t k_write_bytes = std::size_t{4} << 20;

Envelope widened(Envelope envelope, const Envelope& history, bool has_rows) {
  if (!has_rows) {
    return history;
  }
  envelope.min_seq = std::min(envelope.min_seq, history.min_seq);
  envelope.max_seq = std::max(envelope.max_seq, history.max_seq);
  envelope.min_witnessed_at = std::min(envelope.min_witnessed_at, history.min_witnessed_at);
  envelope.max_witnessed_at = std::max(envelope.max_witnessed_at, history.max_witnessed_at);
  return envelope;
}

}  // namespace

SalvagedSegment::SalvagedSegment(std::unique_ptr<io::File> file, bool sealed)
    : file_(std::move(file)), sealed_(sealed) {
  const HeaderBytes header = active_header();
  pending_.assign(header.begin(), header.end());
}

Result<std::unique_ptr<SalvagedSegment>> SalvagedSegment::create(io::Directory& directory,
                                                                 const std::string& name,
                                                                 bool sealed) {
  VARVE_ASSIGN(auto file, directory.open_file(name, io::OpenMode::create_exclusive));
  return std::unique_ptr<SalvagedSegment>(new SalvagedSegment(std::move(file), sealed));
}

Result<void> SalvagedSegment::write(std::size_t at_least) {
  if (pending_.size() >= at_least && !pending_.empty()) {
    VARVE_TRY(file_->write_at(pending_, written_));
    written_ += pending_.size();
    pending_.clear();
  }
  return {};
}

Result<void> SalvagedSegment::add(base::ByteSpan prefix_and_frame, const BlockSummary& rows,
                                  IndexEntry entry) {
  entry.offset = end_;
  summary_.add(rows, entry);
  pending_.insert(pending_.end(), prefix_and_frame.begin(), prefix_and_frame.end());
  end_ += prefix_and_frame.size();
  return write(k_write_bytes);
}

Result<void> SalvagedSegment::add_empty(const IndexEntry& entry) {
  BlockBuilder no_rows;
  base::ZstdEncoder encoder(k_compression_level);
  base::Bytes scratch;
  PressedBlock pressed;
  press_block(no_rows, encoder, scratch, pressed);
  IndexEntry empty = entry;
  empty.compressed_size = pressed.entry.compressed_size;
  empty.uncompressed_size = pressed.entry.uncompressed_size;
  empty.event_count = 0;
  return add(pressed.bytes, pressed.summary, empty);
}

Result<void> SalvagedSegment::finish(const Envelope* history) {
  if (!sealed_) {
    VARVE_TRY(write(1));
    return file_->sync();
  }
  Envelope envelope = envelope_of(summary_);
  if (history != nullptr) {
    envelope = widened(envelope, *history, summary_.event_count() != 0);
  }
  base::ZstdEncoder encoder(k_compression_level);
  VARVE_ASSIGN(const SealedParts parts, encode_footer(summary_, end_, envelope, encoder));
  pending_.insert(pending_.end(), parts.footer.begin(), parts.footer.end());
  VARVE_TRY(write(1));
  VARVE_TRY(file_->write_at(parts.header_bytes, 0));
  return file_->sync();
}

}  // namespace varve::jss
