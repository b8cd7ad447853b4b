// SPDX-License-Identifier: MIT OR Apache-2.0
// The members of a store: one segment file, or a directory of them (section 16). Opening reads
// headers only and fixes the horizon; a member is opened in full when it is first needed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jss/footer.hpp"
#include "jss/segment_file.hpp"
#include "jss/walker.hpp"
#include "varve/batch.hpp"
#include "varve/file_system.hpp"
#include "varve/finding.hpp"

namespace varve::jss {

struct Member {
  std::string name;                     // relative to the store; empty if the store is the file
  std::string label;                    // the file's own name: what `at.segment` shows
  std::optional<std::uint64_t> number;  // of a valid segment name
  io::FileIdentity identity;            // at the time of opening
  SegmentHead head;
  // The metadata checksum of this generation was compared and holds.
  bool hash_holds = false;
  // The label as a dictionary of one value, shared by all batches of the member.
  std::shared_ptr<const Dictionary> label_dictionary;
};

// A member opened in full: its file, footer (of a sealed one) and what opening found.
struct OpenSegment {
  std::unique_ptr<SegmentFile> file;
  SegmentHead head;
  std::shared_ptr<const Footer> footer;  // null unless the head is sealed
  std::vector<Finding> findings;         // of opening, in the order of section 10

  bool trusted() const { return footer != nullptr && footer->trusted; }
  // The entry of a block of a trusted segment.
  const IndexEntry& entry(std::size_t block) const { return (*footer->index)[block]; }
};

class Archive {
 public:
  static Result<std::unique_ptr<Archive>> open(io::FileSystem& files, const std::string& path);

  io::FileSystem& files() const { return files_; }
  const std::string& path() const { return path_; }
  bool is_directory() const { return directory_ != nullptr; }
  const std::vector<Member>& members() const { return members_; }
  // Oddities of the directory: leftover temporary files, entries that are no regular files.
  const std::vector<Finding>& notes() const { return notes_; }

  // The error of a sealed segment that does not begin above the rows of those before it (section
  // 15), by the headers; nullopt if they ascend.
  std::optional<Error> overlap() const;
  // For each member its index in `old`, an earlier look at the same archive, if the file is still
  // the same; that its checksum holds is then known here too.
  std::vector<std::optional<std::size_t>> take_over(const Archive& old);
  // Forgets the members that are not sealed: what a compaction does not look at.
  void forget_active();

  // Opens a member's file with the horizon fixed at first sight. If a rewrite has put another file
  // in its place meanwhile, that one is taken, with its own header and size.
  Result<std::shared_ptr<OpenSegment>> open_file(std::size_t member);
  // The same with the footer read and checked. `first_only`: stop at the first failing check.
  Result<std::shared_ptr<OpenSegment>> open_segment(std::size_t member,
                                                    std::uint64_t max_memory_bytes,
                                                    bool first_only = false);
  // Compares the metadata checksum of a sealed member once per generation. True if it holds.
  Result<bool> hash_holds(std::size_t member);

 private:
  Archive(io::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  Result<void> add_directory();
  Result<void> add_member(std::string name, std::string label, std::unique_ptr<io::File> file);

  io::FileSystem& files_;
  std::string path_;
  std::unique_ptr<io::Directory> directory_;  // of an archive
  std::string prefix_;                        // "segments/" if the data directory was named
  std::vector<Member> members_;
  std::vector<Finding> notes_;
};

}  // namespace varve::jss
