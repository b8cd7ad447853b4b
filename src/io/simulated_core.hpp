// SPDX-License-Identifier: MIT OR Apache-2.0
// The state that a simulated file system shares with its open handles. Internal to src/io.
#pragma once

#include <mutex>
#include <unordered_map>
#include <utility>

#include "io/simulated.hpp"

namespace varve::io {

class SimulatedFileSystem::Core {
 public:
  using InodeNumber = simulated::InodeNumber;

  Core(const simulated::Image& image, const Options& options);

  // Announces a call: runs the hook, counts, traces. Answers the fault that the call must meet.
  // Never called with the lock held.
  std::optional<FaultKind> begin(CallKind kind, const std::string& path);

  [[nodiscard]] std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }

  // All below: with the lock held.
  const simulated::Node& node(InodeNumber inode) const { return *nodes_[inode].node; }
  FileIdentity identity(InodeNumber inode) const;
  std::uint32_t links(InodeNumber inode) const { return nodes_[inode].links; }
  // The object of that name, or 0.
  InodeNumber find(InodeNumber directory, std::string_view name) const;
  // Follows a path from the root. With `follow_last` a symbolic link at the end is followed too.
  // Errors are errno values.
  std::expected<InodeNumber, int> resolve(const std::string& path, bool follow_last = true) const;
  // As resolve, but for everything except the last component, which is returned in `name`.
  std::expected<InodeNumber, int> resolve_parent(const std::string& path, std::string& name) const;

  InodeNumber make_node(FileType type, std::uint32_t mode);
  void set_mode(InodeNumber inode, std::uint32_t mode);
  void set_symlink_target(InodeNumber inode, const std::string& target);

  void write(InodeNumber inode, std::span<const std::byte> bytes, std::uint64_t offset);
  void resize(InodeNumber inode, std::uint64_t size_bytes);
  void punch(InodeNumber inode, std::uint64_t offset, std::uint64_t length);
  void allocate(InodeNumber inode, std::uint64_t offset, std::uint64_t length);
  // Lets `name` lead to `target`, or to nothing for 0.
  void set_name(InodeNumber directory, const std::string& name, InodeNumber target);
  void rename(InodeNumber from_directory, const std::string& from, InodeNumber to_directory,
              const std::string& to);
  // errno of a rename that may not be, else 0.
  int check_rename(InodeNumber from_directory, const std::string& from, InodeNumber to_directory,
                   const std::string& to, bool replace) const;

  void make_durable(InodeNumber inode);
  void lose(InodeNumber inode);
  void settle();
  void mark(std::uint64_t value, std::uint32_t slot = 0);
  const simulated::Recording& recording() const { return recording_; }
  simulated::Image image() const;

  // flock: false if another handle's lock is in the way. `handle` is any address of the handle.
  bool take_lock(InodeNumber inode, const void* handle, LockKind kind);
  void release_lock(InodeNumber inode, const void* handle);
  // Whether another handle holds an exclusive lock.
  bool locked_by_other(InodeNumber inode, const void* handle) const;

  void set_fault(std::optional<Fault> fault);
  std::uint64_t faults_met() const { return faults_met_; }
  void set_trace(bool on);
  const std::vector<Call>& trace() const { return trace_; }
  void set_hook(std::function<void(const Call&)> hook) { hook_ = std::move(hook); }

  // While one lives, calls of this thread are those of a bystander: not counted or faulted.
  class Bystander {
   public:
    Bystander();
    ~Bystander();
    Bystander(const Bystander&) = delete;
    Bystander& operator=(const Bystander&) = delete;

   private:
    bool before_;
  };

 private:
  struct Slot {
    std::shared_ptr<const simulated::Node> node;
    simulated::Node* own = nullptr;  // the same node, if nobody shares it
    std::uint32_t links = 0;
  };
  simulated::Node& change(InodeNumber inode);
  void issue(simulated::Effect effect);
  void count_links();
  std::int64_t now_ns();

  mutable std::mutex mutex_;
  std::vector<Slot> nodes_;
  Environment* environment_;
  bool record_;
  std::int64_t ticks_ = 0;
  std::uint32_t call_ = 0;

  simulated::Recording recording_;
  std::unordered_map<InodeNumber, std::vector<std::uint32_t>> pending_;  // effects by inode
  std::vector<bool> is_durable_;                                         // by effect

  std::unordered_map<InodeNumber, std::vector<std::pair<const void*, LockKind>>> locks_;

  std::optional<Fault> fault_;
  std::uint64_t fault_calls_ = 0;
  std::uint64_t faults_met_ = 0;
  bool tracing_ = false;
  std::vector<Call> trace_;
  std::function<void(const Call&)> hook_;
};

// Handles; made by the file system and by directories.
std::unique_ptr<File> make_simulated_file(std::shared_ptr<SimulatedFileSystem::Core> core,
                                          simulated::InodeNumber inode, std::string path,
                                          bool writable);
std::unique_ptr<Directory> make_simulated_directory(std::shared_ptr<SimulatedFileSystem::Core> core,
                                                    simulated::InodeNumber inode, std::string path);
// Opens `name` in `directory` as OpenMode says, links not followed. Takes the lock.
Result<std::unique_ptr<File>> open_simulated_file(
    const std::shared_ptr<SimulatedFileSystem::Core>& core, simulated::InodeNumber directory,
    const std::string& name, OpenMode mode, std::string path);

}  // namespace varve::io
