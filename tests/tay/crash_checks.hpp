// SPDX-License-Identifier: MIT OR Apache-2.0
// What a store must look like after a crash, by the tables of sections 9 and 11.
#pragma once

#include <memory>
#include <string>

#include "tests/exhaustive/every_call.hpp"
#include "tests/exhaustive/every_crash.hpp"
#include "tests/tay/stores.hpp"

namespace varve::tay::test {

using varve::test::Claim;
using varve::test::Promises;

// The payload of the record with this sequence: as large as to cross sectors now and then.
inline Bytes payload_of(std::uint64_t sequence) {
  return Bytes(static_cast<std::size_t>(40 + sequence * 211 % 700),
               std::byte(0x80 + sequence % 100));
}

inline LogWriterOptions write_options(io::Environment& environment,
                                      Durability durability = Durability::sync) {
  LogWriterOptions options;
  options.environment = &environment;
  options.durability = durability;
  return options;
}

// The physical half alone: these records are no events.
inline std::expected<Candidate, Refusal> recover_physically(io::FileSystem& files) {
  RecoveryOptions options;
  options.semantic = false;
  return recover(files, k_root, options);
}

// A store with so many records, durable, and with the first of them sealed if `sealed`.
inline io::simulated::Image store_image(std::uint64_t records, bool sealed = false) {
  io::SimulatedFileSystem files;
  io::FixedEnvironment environment;
  auto owner = make_store(files, environment);
  EXPECT_TRUE(owner);
  RecoveryOptions recovery;
  recovery.semantic = false;
  auto writer = open_writer(recover(*std::move(owner), recovery), write_options(environment));
  EXPECT_TRUE(writer);
  for (std::uint64_t i = 1; i <= records; ++i) {
    EXPECT_TRUE(writer->add(1, 1, payload_of(i)));
  }
  EXPECT_TRUE(writer->commit());
  if (sealed) {
    EXPECT_TRUE(writer->seal());
  }
  writer = fail(ErrorCode::io, "gone", "");  // lets go of the lock
  files.settle();
  return files.image();
}

// The records that stand whole, with what they must hold, from the beginning of the log.
inline std::uint64_t whole_records(io::SimulatedFileSystem& files) {
  std::uint64_t sequence = 0;
  for (std::uint64_t id = 1;; ++id) {
    const auto bytes = files.get(segment_path(id));
    if (!bytes) {
      return sequence;
    }
    std::size_t at = k_header_bytes;
    while (at < bytes->size()) {
      const DecodedRecord record = decode_record(ByteSpan(*bytes).subspan(at));
      const Bytes want = payload_of(sequence + 1);
      if (record.status != RecordStatus::record || record.header.sequence != sequence + 1 ||
          !std::ranges::equal(record.payload, want)) {
        break;  // a footer, or the end of what is whole
      }
      ++sequence;
      at += static_cast<std::size_t>(record.header.frame_bytes());
    }
  }
}

// A store that opens must be one that can be activated and appended to, with every record as it
// was.
inline std::string check_usable(io::SimulatedFileSystem& files, std::uint64_t records) {
  io::FixedEnvironment environment(1, 0, 99);
  auto writer = open_writer(recover_physically(files), write_options(environment));
  if (!writer) {
    return "cannot be activated: " + writer.error().text();
  }
  if (writer->next_sequence() != records + 1) {
    return "goes on with another sequence";
  }
  if (!writer->add(1, 1, payload_of(records + 1)) || !writer->commit()) {
    return "cannot be appended to";
  }
  return whole_records(files) == records + 1 ? "" : "records are not what they were";
}

// A refusal that an interrupted write at the end of the highest segment leads to, in a log whose
// acknowledged records all stand before it.
inline std::string check_torn(io::SimulatedFileSystem& files, const Refusal& refusal,
                              const Claim& claim, std::uint64_t segment_id) {
  // A killed process leaves a part of its last write; a power cut, zeros and old sectors too.
  const bool torn = refusal.kind == RefusalKind::incomplete_tail;
  const bool scrambled =
      refusal.kind == RefusalKind::physical_corruption &&
      (refusal.physical_kind == "record_or_sequence_error" ||
       refusal.physical_kind == "corrupt_footer" || refusal.physical_kind == "segment_crc");
  if (!torn && !(claim.power_cut && scrambled)) {
    return "refused as " + std::string(to_text(refusal.kind)) + " " + refusal.word;
  }
  if (refusal.segment_id != segment_id) {
    return "refused in segment " + std::to_string(refusal.segment_id.value_or(0));
  }
  const std::uint64_t whole = whole_records(files);
  return whole >= claim.owed() ? "" : "only " + std::to_string(whole) + " records are whole";
}

}  // namespace varve::tay::test
