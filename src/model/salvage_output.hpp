// SPDX-License-Identifier: MIT OR Apache-2.0
// The writing half of `varve salvage`, the same for every format: a place to put the new store
// together, lost+found, and the receipt. Everything appears under its name at the end or not at
// all.
//
//   TARGET                         the new store, as the format writes it at store_path()
//   TARGET.lost+found/             (or TARGET/lost+found/, where the store is a directory whose
//                                  format minds no company)
//     salvage.json                 the receipt, varve.salvage/1
//     NAME, NAME.json              raw bytes, and where they come from
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "varve/file_system.hpp"
#include "varve/json.hpp"
#include "varve/salvage.hpp"

namespace varve::model {

enum class LostAndFound : std::uint8_t { beside, inside };

// Fills the span with the source's bytes from the offset on, or fails.
using ReadAt = std::function<Result<void>(std::span<std::byte>, std::uint64_t offset)>;
// Of a file, which outlives it. ErrorCode::locked, reason "changed", if it is shorter by now.
ReadAt reader_of(const io::File& file);

class SalvageOutput {
 public:
  // Errors: ErrorCode::io with EEXIST if there is anything at the target or its lost+found.
  static Result<SalvageOutput> begin(io::FileSystem& files, io::Environment& environment,
                                     const std::string& target, LostAndFound where);
  SalvageOutput(SalvageOutput&&) noexcept = default;
  SalvageOutput& operator=(SalvageOutput&&) = delete;
  // Unless it was published, removes what was written, as far as that succeeds.
  ~SalvageOutput();

  // Where the format makes the new store: nothing is there yet.
  std::string store_path() const;
  // lost+found of the target, by the name that it will have.
  const std::string& lost_and_found() const { return lost_and_found_; }

  // A new file in lost+found.
  Result<std::unique_ptr<io::File>> create(const std::string& name);
  // Copies [offset, offset+length) of what `read` reads to lost+found as `name`, with a sidecar of
  // `about` and the bytes' SHA-256.
  Result<void> save(const ReadAt& read, std::uint64_t offset, std::uint64_t length,
                    const std::string& name, Json about);
  // Writes the receipt and lets everything appear. Nothing may hold the new store open.
  Result<void> publish(const SalvageReport& report);

 private:
  SalvageOutput() = default;
  Result<void> write_text(const std::string& name, const Json& json);

  std::string target_name_;
  std::string lost_and_found_;
  LostAndFound where_ = LostAndFound::beside;
  std::string staging_path_;
  std::string staging_name_;
  std::unique_ptr<io::Directory> parent_;
  std::unique_ptr<io::Directory> staging_;
  std::unique_ptr<io::Directory> lost_;
};

// Saves the range's bytes as STEM.bin, unless there is no output or nothing to save, and notes the
// name in the range.
Result<void> save_range(SalvageOutput* output, const ReadAt& read, const std::string& stem,
                        SalvageRange& range);

// Lines for one file of lost+found, which comes to be with the first of them.
class LineFile {
 public:
  explicit LineFile(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  // Where lines are added; flush() now and then.
  std::string& text() { return text_; }
  Result<void> flush(SalvageOutput& output);
  // Flushes, and makes it durable.
  Result<void> finish(SalvageOutput& output);

 private:
  std::string name_;
  std::string text_;
  std::unique_ptr<io::File> file_;
  std::uint64_t size_ = 0;
};

// Decides what becomes of every byte of the source; with an output it also puts it there. It is
// called once to look where the request is a rehearsal or limits the loss, and once to write; the
// second time the sink takes nothing.
using SalvagePass = std::function<Result<SalvageReport>(SalvageOutput*, FindingSink&)>;

// The course of a salvage: looks, refuses what would lose too much, writes, publishes.
Result<SalvageReport> salvage_with(io::FileSystem& files, const SalvageRequest& request,
                                   LostAndFound where, FindingSink& findings,
                                   const SalvagePass& pass);

}  // namespace varve::model
