// SPDX-License-Identifier: MIT OR Apache-2.0
// The copying half of `varve backup`, the same for every format: the format says which bytes make
// up the store, this copies them into a new directory with a SHA-256 catalogue beside the copy.
//
//   TARGET/backup.json    varve.backup/1: what was copied, from where, with hashes
//   TARGET/SHA256SUMS     the same hashes for `sha256sum -c`
//   TARGET/<store_name>   the copy: a directory with the members, or one file
//
// The catalogue lies outside the copy, which thus holds the store's own files and nothing else.
// TARGET appears under its name only when all of it is durable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/json.hpp"
#include "varve/store.hpp"

namespace varve::model {

// The catalogue's file name; a directory that holds one opens as the store it names.
inline constexpr std::string_view k_backup_catalogue_name = "backup.json";

// One regular file of the store.
struct CopyMember {
  // Relative to CopyRequest::source_directory, components separated by '/'; links are not followed.
  std::string path;
  // Bytes to copy from the start: what lies behind is beyond the horizon. Holes stay holes.
  std::uint64_t length = 0;
  // If set: these bytes are written instead of the file's own.
  std::optional<std::string> content;
  // If set: the file must still be this object, else ErrorCode::locked, reason "changed".
  std::optional<io::FileIdentity> identity;
  // If set: these bytes take the place of the file's first ones, which its owner may be changing.
  // Not longer than `length`.
  std::optional<std::string> head = {};
};

struct CopyRequest {
  std::string format;
  std::string source_path;       // as the user gave it, for the catalogue
  std::string source_directory;  // the directory that members are relative to
  std::string store_name;        // the copy's name in the target: one path component
  // A store of one file: exactly one member, copied to `store_name` itself.
  bool single_file = false;
  std::vector<std::string> directories;  // also made when no member lies in them, e.g. "segments"
  std::vector<CopyMember> members;       // copied in this order
  std::string target;                    // must not exist; its parent must
  Json detail = Json::object();          // the format's own words for the catalogue
};

// Copies. Errors: ErrorCode::io with EEXIST if the target exists (nothing is touched); `locked` if
// a member is shorter than its length or another object by now; what reading and writing gives.
// After a failure nothing is left but, where even removing failed, a directory
// ".<target name>.varve-partial-<hex>" beside the target. With `dry_run` only looks.
Result<WriteReport> copy_with_catalogue(io::FileSystem& files, const CopyRequest& request,
                                        const WriteRequest& write);

}  // namespace varve::model
