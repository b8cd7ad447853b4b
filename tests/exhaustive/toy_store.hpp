// SPDX-License-Identifier: MIT OR Apache-2.0
// Small stores whose writers can be given one classic bug each, to prove that the exhaustive tests
// would find it in a real writer.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/cursor.hpp"
#include "io/fixed_environment.hpp"
#include "io/publish.hpp"
#include "tests/exhaustive/every_call.hpp"
#include "tests/exhaustive/every_crash.hpp"

namespace varve::test {

using base::as_bytes;
using base::as_text;

inline std::string record_text(std::uint64_t index) {
  return "record " + std::to_string(index) + std::string(400 + index % 3 * 100, '.');
}

inline base::Bytes framed(std::string_view payload) {
  base::Bytes out;
  base::ByteWriter writer(out);
  writer.u32le(static_cast<std::uint32_t>(payload.size()));
  writer.u32le(base::crc32c(as_bytes(payload)));
  writer.text(payload);
  return out;
}

// The payloads of the whole frames at the start of `bytes`.
inline std::vector<std::string> frames_in(base::ByteSpan bytes) {
  std::vector<std::string> out;
  base::ByteCursor cursor(bytes);
  for (;;) {
    const auto length = cursor.u32le();
    const auto crc = cursor.u32le();
    const auto payload = crc ? cursor.bytes(*length) : std::nullopt;
    if (!payload || *length == 0 || base::crc32c(*payload) != *crc) {
      return out;
    }
    out.emplace_back(as_text(*payload));
  }
}

inline base::Bytes bytes_of(io::SimulatedFileSystem& files, const std::string& path) {
  return files.get(path).value_or(base::Bytes{});
}

// What is wrong with records that must be record_text(0), (1)... and at least `owed` of them.
inline std::string check_records(const std::vector<std::string>& records, std::uint64_t owed) {
  if (records.size() < owed) {
    return std::to_string(records.size()) + " records left of " + std::to_string(owed);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i] != record_text(i)) {
      return "record " + std::to_string(i) + " is not what was written";
    }
  }
  return {};
}

// A log of frames that is made anew, then appended to. Bug: the directory is never synced.
struct NewLog {
  bool skips_directory_sync = false;

  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    auto directory = files.open_directory("/store");
    auto file = directory ? (*directory)->open_file("log", io::OpenMode::create)
                          : std::unexpected(directory.error());
    if (!file || !(*file)->sync() || (!skips_directory_sync && !(*directory)->sync())) {
      return;
    }
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < 4; ++i) {
      const base::Bytes frame = framed(record_text(i));
      if (!(*file)->write_at(frame, end)) {
        return;
      }
      end += frame.size();
      promises.complete(i + 1);
      if (!(*file)->data_sync()) {
        return;
      }
      promises.acknowledge(i + 1);
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    return check_records(frames_in(bytes_of(files, "/store/log")), claim.owed());
  }
};

// A file that is replaced as a whole. Bug: renamed before its bytes are synced.
struct Replacement {
  bool skips_data_sync = false;

  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    auto directory = files.open_directory("/store");
    for (std::uint64_t i = 0; directory && i < 3; ++i) {
      io::FixedEnvironment environment(0, 0, i);
      auto staged = io::StagedFile::create(**directory, io::staging_name(environment, ".new-"));
      if (!staged || !staged->file().write_at(as_bytes(record_text(i)), 0)) {
        return;
      }
      if (skips_data_sync) {
        if (!(*directory)->rename(staged->name(), **directory, "value") || !(*directory)->sync()) {
          return;
        }
        staged->keep();
      } else if (!staged->publish("value", io::Replace::yes)) {
        return;
      }
      promises.acknowledge(i + 1);
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    const base::Bytes bytes = bytes_of(files, "/store/value");
    for (std::uint64_t i = claim.owed(); i <= 3; ++i) {
      if (i > 0 && as_text(bytes) == record_text(i - 1)) {
        return {};
      }
    }
    return claim.owed() == 0 && bytes.empty() && files.paths("/store").size() < 2
               ? std::string()
               : "the value is neither the old nor the new one";
  }
};

// A log and, in a file of its own, its length and checksum. Bug: the checksum is made durable over
// bytes that are not.
struct SummedLog {
  bool sums_unsynced_bytes = false;

  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    auto log = files.open_file("/store/log", io::OpenMode::read_write);
    auto sum = files.open_file("/store/sum", io::OpenMode::read_write);
    base::Bytes all;
    for (std::uint64_t i = 0; log && sum && i < 4; ++i) {
      const base::Bytes frame = framed(record_text(i));
      if (!(*log)->write_at(frame, all.size())) {
        return;
      }
      all.insert(all.end(), frame.begin(), frame.end());
      base::Bytes entry;
      base::ByteWriter writer(entry);
      writer.u64le(all.size());
      writer.u32le(base::crc32c(all));
      if ((!sums_unsynced_bytes && !(*log)->data_sync()) || !(*sum)->write_at(entry, i % 2 * 512) ||
          !(*sum)->data_sync()) {
        return;
      }
      promises.acknowledge(i + 1);
    }
  }
  // The greater of two alternating entries whose checksum holds is the log's end.
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    const base::Bytes log = bytes_of(files, "/store/log");
    const base::Bytes sums = bytes_of(files, "/store/sum");
    std::uint64_t end = 0;
    for (const std::uint64_t at : {0, 512}) {
      base::ByteCursor cursor(base::ByteSpan(sums).subspan(std::min<std::size_t>(at, sums.size())));
      const auto length = cursor.u64le();
      const auto crc = cursor.u32le();
      if (crc && *length > end && *length <= log.size() &&
          base::crc32c(base::ByteSpan(log).first(*length)) == *crc) {
        end = *length;
      }
    }
    return check_records(frames_in(base::ByteSpan(log).first(end)), claim.owed());
  }
};

// A log whose syncs can fail. Bug: a failed sync is tried again, and its success believed.
struct StubbornLog {
  bool retries_sync = false;

  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    auto file = files.open_file("/store/log", io::OpenMode::read_write);
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; file && i < 4; ++i) {
      const base::Bytes frame = framed(record_text(i));
      if (!(*file)->write_at(frame, end)) {
        return;
      }
      end += frame.size();
      promises.complete(i + 1);
      auto synced = (*file)->data_sync();
      if (!synced && retries_sync) {
        file = files.open_file("/store/log", io::OpenMode::read_write);
        synced = file ? (*file)->data_sync() : std::unexpected(file.error());
      }
      if (!synced) {
        return;
      }
      promises.acknowledge(i + 1);
    }
  }
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    return NewLog::check(files, claim);
  }
};

// A log whose first sector says how far it reaches. Bug: the marker is written before its frame,
// and one sync serves both.
struct MarkedLog {
  bool marks_first = false;

  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    auto file = files.open_file("/store/log", io::OpenMode::read_write);
    std::uint64_t end = 512;
    for (std::uint64_t i = 0; file && i < 4; ++i) {
      const base::Bytes frame = framed(record_text(i));
      base::Bytes marker;
      base::ByteWriter(marker).u64le(end + frame.size());
      if (marks_first && !(*file)->write_at(marker, 0)) {
        return;
      }
      if (!(*file)->write_at(frame, end) || !(*file)->data_sync()) {
        return;
      }
      if (!marks_first && (!(*file)->write_at(marker, 0) || !(*file)->data_sync())) {
        return;
      }
      end += frame.size();
      promises.acknowledge(i + 1);
    }
  }
  // The marker is believed: what it covers must be whole.
  static std::string check(io::SimulatedFileSystem& files, const Claim& claim) {
    const base::Bytes log = bytes_of(files, "/store/log");
    base::ByteCursor cursor(log);
    const std::uint64_t end = cursor.u64le().value_or(0);
    if (end == 0) {
      return check_records({}, claim.owed());
    }
    if (end > log.size()) {
      return "the marker points behind the end of the file";
    }
    const auto records = frames_in(base::ByteSpan(log).subspan(512, end - 512));
    std::uint64_t covered = 512;
    for (const std::string& record : records) {
      covered += 8 + record.size();
    }
    return covered == end ? check_records(records, claim.owed())
                          : "the marker covers a frame that is not there";
  }
};

// The directory "/store" with empty files of those names.
inline io::simulated::Image empty_store(const std::vector<std::string>& names) {
  io::SimulatedFileSystem files;
  (void)files.add_directory("/store");
  for (const std::string& name : names) {
    (void)files.put("/store/" + name, {});
  }
  files.settle();
  return files.image();
}

}  // namespace varve::test
