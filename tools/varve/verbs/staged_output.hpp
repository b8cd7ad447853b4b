// SPDX-License-Identifier: MIT OR Apache-2.0
// A large file that a verb writes for the user piece by piece: it appears whole or not at all.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/interrupt.hpp"
#include "io/publish.hpp"
#include "output/byte_sink.hpp"
#include "verbs/export_mark.hpp"
#include "verbs/output_file.hpp"

namespace varve::cli {

// Collects writes in a buffer in front of a staging file beside `path`. Destroyed before publish(),
// or interrupted by a signal, it leaves nothing behind; one that was taken up leaves what it has
// under a name of its own (".NAME.partial"), for the next run to take up.
class StagedOutput final : public output::ByteSink {
 public:
  // Without `force` an existing file at `path` is the error 73.
  static std::expected<std::unique_ptr<StagedOutput>, OutputError> create(
      io::FileSystem& files, io::Environment& environment, const std::string& path, bool force);
  static std::expected<std::unique_ptr<StagedOutput>, OutputError> take_up(
      io::FileSystem& files, io::Environment& environment, const std::string& path, bool force);
  // What an earlier run of that identity has kept; the file is cut to it. Without a mark, or of
  // another identity and with force, the file is emptied.
  Result<ExportMark> read_mark(const std::string& identity);
  // Makes what was written durable, with a mark (".NAME.partial.mark").
  Result<void> keep(const ExportMark& mark, const std::string& identity);
  Result<bool> write(std::string_view bytes) override;
  bool force() const { return force_; }
  // For those who write the file themselves, under the name that it has until it is published.
  const std::string& path() const { return path_; }
  io::File& file() { return file_.file(); }
  // Writes the rest, syncs and gives the file its name.
  Result<void> publish();

 private:
  StagedOutput(io::Environment& environment, std::unique_ptr<io::Directory> directory,
               io::StagedFile file, const io::SplitPath& to, bool force)
      : environment_(environment),
        directory_(std::move(directory)),
        file_(std::move(file)),
        path_(to.parent + "/" + file_.name()),
        name_(to.name),
        force_(force) {}
  std::string mark_name() const { return file_.name() + ".mark"; }
  Result<void> flush();

  io::Environment& environment_;
  std::unique_ptr<io::Directory> directory_;
  io::StagedFile file_;
  std::string path_;
  std::optional<RemoveWhenInterrupted> when_interrupted_;
  std::string name_;
  bool force_;
  std::string buffer_;
  std::uint64_t written_ = 0;  // bytes in the file
  bool taken_up_ = false;
};

}  // namespace varve::cli
