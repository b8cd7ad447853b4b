// SPDX-License-Identifier: MIT OR Apache-2.0
// A file system that can only be read, and whose readers can be called off: what a page looks at a
// store through. Every long call of a view reads; so all of them end soon after a stop.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "varve/file_system.hpp"

namespace varve::serve {

// Shared between who looks and who may call it off.
class StopSign {
 public:
  void raise() { raised_.store(true, std::memory_order_relaxed); }
  bool raised() const { return raised_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> raised_ = false;
};

// Reading goes through to `files`; anything that writes, locks or makes is ErrorCode::unsupported
// with the reason "read_only". After the sign is raised every read is ErrorCode::io with the reason
// "stopped". Thread-safe as `files` is, which outlives this and what was opened through it.
class ReadingFiles final : public io::FileSystem {
 public:
  ReadingFiles(io::FileSystem& files, std::shared_ptr<const StopSign> sign)
      : files_(files), sign_(std::move(sign)) {}

  Result<io::FileIdentity> identity_of(const std::string& path) override;
  Result<std::unique_ptr<io::Directory>> open_directory(const std::string& path) override;
  Result<std::unique_ptr<io::File>> open_file(const std::string& path, io::OpenMode mode) override;
  Result<std::unique_ptr<io::Directory>> make_directories(const std::string& path) override;

 private:
  io::FileSystem& files_;
  std::shared_ptr<const StopSign> sign_;
};

}  // namespace varve::serve
