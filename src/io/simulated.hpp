// SPDX-License-Identifier: MIT OR Apache-2.0
// A file system in memory that behaves as the operating system's does, injects faults, and records
// every effect so that the states a crash may leave can be enumerated (crash.hpp). Deterministic:
// the same calls give the same results, identities and times.
//
// The model of durability. A call changes what later calls see at once. A crash of the machine may
// keep or lose each effect on its own until it is durable: bytes and length of a file become
// durable by a sync of that file; names in a directory by a sync of that directory, and by nothing
// else. A sync that fails loses the dirty effects: reads still show them, the next sync succeeds,
// and they never become durable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/simulated_recording.hpp"
#include "varve/file_system.hpp"

namespace varve::io {

// What a call on the simulated file system was, for faults and traces.
enum class CallKind : std::uint8_t {
  open,  // also opening a directory
  identity,
  list,
  read,
  seek,
  write,
  truncate,
  allocate,
  punch,
  sync,
  make_directory,
  rename,
  remove,
  directory_sync,
  lock,
};
using CallMask = std::uint32_t;
constexpr CallMask mask_of(CallKind kind) { return CallMask{1} << static_cast<unsigned>(kind); }
inline constexpr CallMask k_all_calls = ~CallMask{0};
// Calls that change something or make it durable.
inline constexpr CallMask k_changing_calls =
    mask_of(CallKind::write) | mask_of(CallKind::truncate) | mask_of(CallKind::allocate) |
    mask_of(CallKind::punch) | mask_of(CallKind::sync) | mask_of(CallKind::make_directory) |
    mask_of(CallKind::rename) | mask_of(CallKind::remove) | mask_of(CallKind::directory_sync);
std::string_view to_text(CallKind kind);

enum class FaultKind : std::uint8_t {
  io_error,     // EIO, nothing done; a sync also loses the dirty effects
  no_space,     // ENOSPC, nothing done; a sync also loses the dirty effects
  short_write,  // a write stores the first half of its bytes, then ENOSPC; else as no_space
};
std::string_view to_text(FaultKind kind);

struct Fault {
  std::uint64_t call = 0;  // which call fails, from 0, counting only those in `calls`
  FaultKind kind = FaultKind::io_error;
  bool for_good = false;  // every later call in `calls` fails too
  CallMask calls = k_all_calls;
};

struct Call {
  CallKind kind = CallKind::open;
  std::string path;
};

class SimulatedFileSystem final : public FileSystem {
 public:
  struct Options {
    Environment* environment = nullptr;  // clock of file times; null: a clock that counts calls
    bool record = true;  // without it there are no crash states, and long runs cost no memory
  };
  SimulatedFileSystem();
  explicit SimulatedFileSystem(const Options& options);
  // A fresh file system whose durable content is `image` (a crash state, for instance).
  SimulatedFileSystem(const simulated::Image& image, const Options& options);
  ~SimulatedFileSystem() override;

  Result<FileIdentity> identity_of(const std::string& path) override;
  Result<std::unique_ptr<Directory>> open_directory(const std::string& path) override;
  Result<std::unique_ptr<File>> open_file(const std::string& path, OpenMode mode) override;
  Result<std::unique_ptr<Directory>> make_directories(const std::string& path) override;

  // Setting up and looking on, as another process would: not counted, not faulted, not traced.
  // Missing parent directories are made. Paths are absolute or relative to the root.
  Result<void> put(const std::string& path, std::span<const std::byte> bytes);  // may replace
  Result<std::vector<std::byte>> get(const std::string& path);
  Result<void> add_directory(const std::string& path);
  Result<void> add_symlink(const std::string& path, const std::string& target);
  Result<void> add_hard_link(const std::string& path, const std::string& existing);
  Result<void> add_other(const std::string& path);  // neither file, directory nor link
  Result<void> set_mode(const std::string& path, std::uint32_t mode);
  Result<void> set_size(const std::string& path, std::uint64_t size_bytes);
  Result<void> erase(const std::string& path);  // with everything below
  // Copies a file or tree of regular files and directories from another file system.
  Result<void> copy_from(FileSystem& other, const std::string& from, const std::string& to);
  // Every path below `path`, directories with a '/' behind, sorted.
  std::vector<std::string> paths(const std::string& path = "/");
  // Of all names, types and bytes reachable from the root; identities and times do not count.
  std::uint64_t hash() const;

  // Makes everything durable and begins the recording anew from here.
  void settle();
  // Puts `value` into the recording, for a test to find in crash states: "this many acknowledged".
  // There are k_mark_slots independent values.
  void mark(std::uint64_t value, std::uint32_t slot = 0);
  simulated::Recording recording() const;
  simulated::Image image() const;

  // Arms a fault, or none; the count of calls begins anew.
  void set_fault(std::optional<Fault> fault);
  // How many calls the armed fault made fail so far.
  std::uint64_t faults_met() const;
  // Starts (emptied) or stops keeping the calls made.
  void set_trace(bool on);
  std::vector<Call> trace() const;
  // Called before each call, with the file system unlocked, for tests that change things under a
  // reader. Calls made from within are as those of the set-up functions.
  void set_hook(std::function<void(const Call&)> hook);

  class Core;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace varve::io
