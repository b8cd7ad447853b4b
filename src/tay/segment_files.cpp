// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/segment_files.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include "base/mutant.hpp"
#include "io/group_commit.hpp"
#include "io/publish.hpp"
#include "tay/discovery.hpp"

namespace varve::tay {

namespace {

std::array<std::byte, k_id_bytes> make_nonce(io::Environment& environment) {
  std::array<std::byte, k_id_bytes> nonce{};
  environment.random(nonce);
  return nonce;
}

Result<void> publish(io::Directory& directory, std::string stage, std::string_view name,
                     ByteSpan bytes) {
  VARVE_ASSIGN(auto staged, io::StagedFile::create(directory, std::move(stage)));
  staged.keep();  // the format forbids to remove a stage, whoever left it
  VARVE_TRY(io::commit_bytes(staged.file(), bytes, 0, {.read_back = true, .sync = false}));
  VARVE_ASSIGN(const io::FileIdentity now, staged.file().identity());
  if (now.size_bytes != bytes.size()) {
    return fail(ErrorCode::io, "stage_size", "the new file has another size than was written",
                staged.file().path());
  }
  return staged.publish(name, io::Replace::no);
}

}  // namespace

Result<void> make_segment(io::Directory& segments, const SegmentHeader& header,
                          io::Environment& environment) {
  Bytes bytes;
  encode_header(header, bytes);
  return publish(segments, segment_stage_name(header.segment_id, make_nonce(environment)),
                 segment_name(header.segment_id), bytes);
}

Result<void> make_store_marker(io::Directory& root, const Id& store_id,
                               io::Environment& environment) {
  Bytes bytes;
  encode_store(store_id, bytes);
  return publish(root, store_stage_name(make_nonce(environment)), k_store_name, bytes);
}

Result<void> sync_file(const io::Directory& directory, std::string_view name) {
  VARVE_ASSIGN(const auto file, directory.open_file(name, io::OpenMode::read));
  return base::mutant("tay-begin-sync") ? Result<void>() : file->sync();
}

Result<void> sync_ancestors(io::FileSystem& files, const std::string& path) {
  std::string at = path;
  while (at != "/" && at != ".") {
    io::SplitPath split = io::split_path(at);
    if (split.name == ".." || split.parent == at) {
      break;  // where that leads is not written in the path
    }
    at = std::move(split.parent);
    const auto directory = files.open_directory(at);
    if (!directory) {
      if (directory.error().system_errno == EACCES || directory.error().system_errno == EPERM) {
        continue;  // not ours to read, so not ours to have made
      }
      return std::unexpected(directory.error());
    }
    VARVE_TRY((*directory)->sync());
  }
  return {};
}

}  // namespace varve::tay
