// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/state.hpp"

#include <algorithm>

namespace varve::kladde {

namespace {

constexpr std::size_t k_copies_a_piece = 16;  // bounds the time that hostile copies can take

Piece zeros(std::uint64_t length) {
  return {PieceKind::zero, 0, static_cast<std::uint32_t>(length), 0};
}

}  // namespace

bool State::exists(Id id) const {
  if (const auto found = touched_.find(id); found != touched_.end()) {
    return found->second.exists;
  }
  const auto found = committed_->find(id);
  return found != committed_->end() && found->second.exists;
}

std::uint32_t State::size(Id id) const {
  if (const auto found = touched_.find(id); found != touched_.end()) {
    return pool_.length(found->second.rope);
  }
  const auto found = committed_->find(id);
  return found != committed_->end() ? found->second.size : 0;
}

std::vector<Id> State::ids() const {
  std::vector<Id> out;
  for_each([&](Id id, const Allocation*) { out.push_back(id); });
  return out;
}

// The id's rope, made to exist.
State::Touched& State::touch(Id id) {
  const auto [entry, fresh] = touched_.try_emplace(id);
  Touched& touched = entry->second;
  if (fresh) {
    const auto found = committed_->find(id);
    if (found != committed_->end() && found->second.exists) {
      touched.rope = pool_.leaf({PieceKind::stored, id, found->second.size, 0});
    }
  }
  touched.exists = true;
  return touched;
}

void State::grow(Touched& touched, std::uint64_t end) {
  const std::uint32_t size = pool_.length(touched.rope);
  if (end > size) {
    touched.rope = pool_.join(touched.rope, pool_.leaf(zeros(end - size)));
  }
}

// The bytes that a record carries, as the pieces of the journal that they stand in.
State::Root State::payload_rope(const Record& record, std::span<const Extent> extents) {
  Root rope = 0;
  const std::uint64_t end = std::uint64_t{record.payload_position} + record.length;
  const auto behind =
      std::ranges::upper_bound(extents, record.payload_position, {}, &Extent::position);
  for (auto i = static_cast<std::size_t>(behind - extents.begin()) - (extents.empty() ? 0 : 1);
       i < extents.size() && extents[i].position < end; ++i) {
    const std::uint64_t extent_end = i + 1 < extents.size() ? extents[i + 1].position : UINT64_MAX;
    const std::uint64_t from =
        std::max<std::uint64_t>(record.payload_position, extents[i].position);
    const std::uint64_t to = std::min(end, extent_end);
    if (from < to) {
      const std::uint64_t address = extents[i].place.file_offset() + (from - extents[i].position);
      rope = pool_.join(rope, pool_.leaf({PieceKind::literal, 0,
                                          static_cast<std::uint32_t>(to - from), address}));
    }
  }
  return rope;
}

// A copy of what reads at [from, from+length): zeros past the end and for what does not exist.
State::Root State::source_rope(Id id, std::uint32_t from, std::uint32_t length) {
  const std::uint32_t size = this->size(id);
  const std::uint32_t there = from >= size ? 0 : std::min(length, size - from);
  Root rope = 0;
  if (there > 0) {
    Touched& source = touch(id);
    const auto [left, rest] = pool_.split(source.rope, from);
    const auto [middle, right] = pool_.split(rest, there);
    rope = pool_.clone(middle);
    source.rope = pool_.join(left, pool_.join(middle, right));
  }
  return pool_.join(rope, pool_.leaf(zeros(length - there)));
}

void State::overwrite(Root& rope, std::uint32_t offset, std::uint32_t length, Root fresh) {
  const auto [left, rest] = pool_.split(rope, offset);
  const auto [old, right] = pool_.split(rest, length);
  pool_.release(old);
  rope = pool_.join(left, pool_.join(fresh, right));
}

// What journals hold most: the same range again, or bytes at the end, needs no tree to be cut.
void State::write(const Record& record, std::span<const Extent> extents) {
  Touched& touched = touch(record.id);
  const Root bytes = payload_rope(record, extents);
  if (record.offset >= pool_.length(touched.rope)) {
    grow(touched, record.offset);
    touched.rope = pool_.join(touched.rope, bytes);
  } else if (!pool_.replace_piece(touched.rope, record.offset, bytes)) {
    grow(touched, std::uint64_t{record.offset} + record.length);
    overwrite(touched.rope, record.offset, record.length, bytes);
  }
}

std::expected<void, Fault> State::splice(const Record& record, std::span<const Extent> extents) {
  const std::uint64_t old_end = std::uint64_t{record.offset} + record.old_length;
  const std::uint64_t grown = std::max<std::uint64_t>(size(record.id), old_end);
  const std::uint64_t new_size = grown - record.old_length + record.length;
  if (new_size > k_max_u32) {
    return std::unexpected(Fault{word::transaction, record.position, Number::decimal(k_max_u32),
                                 Number::decimal(new_size)});
  }
  Touched& touched = touch(record.id);
  grow(touched, old_end);
  overwrite(touched.rope, record.offset, record.old_length, payload_rope(record, extents));
  return {};
}

// After a move: zero what the destination did not just overwrite of the source.
void State::zero_source(const Record& record) {
  const std::uint32_t size = this->size(record.source);
  std::uint64_t from = record.source_offset;
  std::uint64_t to = std::min<std::uint64_t>(from + record.length, size);
  if (record.source == record.id) {
    const std::uint64_t written_from = record.offset;
    const std::uint64_t written_to = written_from + record.length;
    if (written_from <= from) {
      from = std::max(from, written_to);
    } else {
      to = std::min(to, written_from);
    }
  }
  if (from < to) {
    const auto length = static_cast<std::uint32_t>(to - from);
    overwrite(touch(record.source).rope, static_cast<std::uint32_t>(from), length,
              pool_.leaf(zeros(length)));
  }
}

void State::transfer(const Record& record) {
  const Root bytes = source_rope(record.source, record.source_offset, record.length);
  Touched& touched = touch(record.id);
  grow(touched, std::uint64_t{record.offset} + record.length);
  overwrite(touched.rope, record.offset, record.length, bytes);
  if (record.kind == RecordKind::move) {
    zero_source(record);
  }
}

std::expected<void, Fault> State::apply(const Record& record, std::span<const Extent> extents) {
  switch (record.kind) {
    case RecordKind::free:
      if (exists(record.id)) {
        Touched& touched = touch(record.id);
        pool_.release(touched.rope);
        touched = {false, true, 0};
      }
      break;
    case RecordKind::resize: {
      Touched& touched = touch(record.id);
      grow(touched, record.length);
      if (pool_.length(touched.rope) > record.length) {
        const auto [kept, cut] = pool_.split(touched.rope, record.length);
        pool_.release(cut);
        touched.rope = kept;
      }
      break;
    }
    case RecordKind::write:
      write(record, extents);
      break;
    case RecordKind::splice:
      if (auto done = splice(record, extents); !done) {
        return done;
      }
      break;
    case RecordKind::copy:
    case RecordKind::move:
      transfer(record);
      break;
  }
  if (pool_.nodes() > max_pieces_ || pool_.cloned() / k_copies_a_piece > max_pieces_) {
    return std::unexpected(Fault{word::limit, record.position, Number::decimal(max_pieces_),
                                 Number::decimal(pool_.nodes())});
  }
  return {};
}

}  // namespace varve::kladde
