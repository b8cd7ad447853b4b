// SPDX-License-Identifier: MIT OR Apache-2.0
// Stores on a simulated file system, for the tests of the writer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/fixed_environment.hpp"
#include "io/simulated.hpp"
#include "tay/activation.hpp"
#include "tay/initialize.hpp"
#include "tay/record.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay::test {

inline constexpr const char* k_root = "/data/store";

inline std::string segment_path(std::uint64_t id) {
  return std::string(k_root) + "/segments/" + segment_name(id);
}

inline std::expected<Candidate, Refusal> recover_at(io::FileSystem& files,
                                                    io::Environment* environment = nullptr) {
  RecoveryOptions options;
  options.environment = environment;
  options.keep_definitions = true;
  return recover(files, k_root, options);
}

inline Result<Ownership> make_store(io::FileSystem& files, io::Environment& environment,
                                    const std::string& path = k_root,
                                    std::optional<Id> store_id = std::nullopt) {
  InitializeOptions options;
  options.environment = &environment;
  options.store_id = store_id;
  return initialize(files, path, options);
}

// Recovers and activates what the owner holds, or what is found at the path.
inline Result<LogWriter> open_writer(std::expected<Candidate, Refusal> candidate,
                                     const LogWriterOptions& options) {
  if (!candidate) {
    return std::unexpected(to_error(candidate.error()));
  }
  auto writer = activate(*candidate, options);
  if (!writer) {
    return std::unexpected(to_error(writer.error()));
  }
  return *std::move(writer);
}

// One record taken out of a log.
struct PlainRecord {
  std::uint8_t type = 0;
  std::uint8_t schema = 0;
  std::uint64_t sequence = 0;
  Bytes payload;
};

// The whole records of a segment's bytes, up to its footer, its end or a cut.
inline std::vector<PlainRecord> records_of(ByteSpan segment) {
  std::vector<PlainRecord> out;
  std::size_t at = k_header_bytes;
  while (at + 4 <= segment.size() && base::as_text(segment.subspan(at, 4)) == k_record_magic) {
    const DecodedRecord record = decode_record(segment.subspan(at));
    if (record.status != RecordStatus::record) {
      break;
    }
    out.push_back({record.header.type, record.header.schema, record.header.sequence,
                   Bytes(record.payload.begin(), record.payload.end())});
    at += static_cast<std::size_t>(record.header.frame_bytes());
  }
  return out;
}

}  // namespace varve::tay::test
