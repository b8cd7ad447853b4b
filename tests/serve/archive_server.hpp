// SPDX-License-Identifier: MIT OR Apache-2.0
// A server of a jss archive that can be made to misbehave: each answer passes a function that may
// change its status, headers, body, stated length, or cut and slow it. Written from section 17 of
// the specification over bare sockets, so that it shares nothing with the server that it stands
// for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace varve::serve::test {

struct Asked {
  std::string method;
  std::string service;  // "getSegment"; empty for any other path
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::uint64_t number = 0;  // of requests for this service, from 1

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

struct Answer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // Said instead of the body's length.
  std::optional<std::uint64_t> stated_length;
  // The connection is cut behind so many bytes of the body.
  std::optional<std::uint64_t> cut_after;
  std::chrono::milliseconds stall{0};  // before the head
  std::uint64_t bytes_per_second = 0;  // 0: as fast as it goes

  void set(const std::string& name, const std::string& value);
  void drop(const std::string& name);
  static Answer error(int status, const std::string& name);
};

class ArchiveServer {
 public:
  // Serves what is in the directory at the time of each request.
  explicit ArchiveServer(std::filesystem::path directory, std::string base_path = "");
  ArchiveServer(const ArchiveServer&) = delete;
  ArchiveServer& operator=(const ArchiveServer&) = delete;
  ~ArchiveServer();

  std::string url() const;
  // Called for each answer before it is sent, one at a time.
  void tamper(std::function<void(const Asked&, Answer&)> change);
  // Bytes of segment files that were handed to the system, and requests by service.
  std::uint64_t segment_bytes() const { return segment_bytes_; }
  std::uint64_t requests(const std::string& service) const;
  // Requests that were being answered at once, at most.
  unsigned most_at_once() const { return most_at_once_; }

 private:
  struct Connection;
  void accept_loop();
  void serve(int socket);
  bool read_request(int socket, std::string& buffer, Asked& asked) const;
  Answer answer(Asked& asked);
  Answer list(const Asked& asked) const;
  Answer segment(const Asked& asked) const;
  Answer block(const Asked& asked) const;
  Answer plan(const Asked& asked) const;
  bool send(int socket, const Asked& asked, const Answer& answer);

  std::filesystem::path directory_;
  std::string base_path_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> segment_bytes_ = 0;
  std::atomic<unsigned> at_once_ = 0;
  std::atomic<unsigned> most_at_once_ = 0;
  mutable std::mutex mutex_;
  std::function<void(const Asked&, Answer&)> tamper_;
  std::map<std::string, std::uint64_t> requests_;
  std::vector<int> sockets_;
  std::vector<std::jthread> threads_;
  std::jthread acceptor_;
};

}  // namespace varve::serve::test
