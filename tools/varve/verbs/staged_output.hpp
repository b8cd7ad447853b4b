// SPDX-License-Identifier: MIT OR Apache-2.0
// A large file that a verb writes for the user piece by piece: it appears whole or not at all.
#pragma once

#include <memory>
#include <string>

#include "cli/interrupt.hpp"
#include "io/publish.hpp"
#include "output/byte_sink.hpp"
#include "verbs/output_file.hpp"

namespace varve::cli {

// Collects writes in a buffer in front of a staging file beside `path`. Destroyed before publish(),
// or interrupted by a signal, it leaves nothing behind.
class StagedOutput final : public output::ByteSink {
 public:
  // Without `force` an existing file at `path` is the error 73.
  static std::expected<std::unique_ptr<StagedOutput>, OutputError> create(
      io::FileSystem& files, io::Environment& environment, const std::string& path, bool force);
  Result<bool> write(std::string_view bytes) override;
  // For those who write the file themselves, under the name that it has until it is published.
  const std::string& path() const { return path_; }
  io::File& file() { return file_.file(); }
  // Writes the rest, syncs and gives the file its name.
  Result<void> publish();

 private:
  StagedOutput(std::unique_ptr<io::Directory> directory, io::StagedFile file, std::string name,
               const std::string& parent, bool force)
      : directory_(std::move(directory)),
        file_(std::move(file)),
        path_(parent + "/" + file_.name()),
        when_interrupted_(path_),
        name_(std::move(name)),
        force_(force) {}
  Result<void> flush();

  std::unique_ptr<io::Directory> directory_;
  io::StagedFile file_;
  std::string path_;
  RemoveWhenInterrupted when_interrupted_;
  std::string name_;
  bool force_;
  std::string buffer_;
  std::uint64_t written_ = 0;  // bytes in the file
};

}  // namespace varve::cli
