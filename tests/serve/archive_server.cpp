// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/serve/archive_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "jss/layout.hpp"
#include "jss/names.hpp"
#include "tests/support.hpp"
#include "varve/jss_plan.hpp"

namespace varve::serve::test {

namespace {

namespace fs = std::filesystem;
using jss::Header;

std::string hex16(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

// One open file: what is answered about it comes from one generation.
struct SegmentOnDisk {
  std::ifstream in;
  std::uint64_t size = 0;
  Header header;

  explicit SegmentOnDisk(const fs::path& path) : in(path, std::ios::binary) {
    const std::string head = read(0, jss::k_header_bytes);
    in.clear();
    in.seekg(0, std::ios::end);
    size = static_cast<std::uint64_t>(in.tellg());
    if (head.size() == jss::k_header_bytes) {
      header = jss::load_header(reinterpret_cast<const std::byte*>(head.data()));
    }
  }
  std::string read(std::uint64_t offset, std::uint64_t length) {
    std::string out(length, '\0');
    in.clear();
    in.seekg(static_cast<std::streamoff>(offset));
    in.read(out.data(), static_cast<std::streamsize>(length));
    out.resize(static_cast<std::size_t>(in.gcount()));
    return out;
  }
  bool sealed() const { return header.checksum != 0; }
};

std::uint64_t number(std::string_view text) {
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      int byte = 0;
      std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

void Answer::set(const std::string& name, const std::string& value) {
  drop(name);
  headers.emplace_back(name, value);
}

void Answer::drop(const std::string& name) {
  std::erase_if(headers, [&](const auto& header) { return header.first == name; });
}

Answer Answer::error(int status, const std::string& name) {
  Answer out;
  out.status = status;
  out.set("Content-Type", "application/json");
  out.body = R"({"error":")" + name + R"(","message":"as the test wants it"})";
  return out;
}

ArchiveServer::ArchiveServer(fs::path directory, std::string base_path)
    : directory_(std::move(directory)), base_path_(std::move(base_path)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener_, 128) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no socket to listen on");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { accept_loop(); });
}

ArchiveServer::~ArchiveServer() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) {
      ::shutdown(socket, SHUT_RDWR);
    }
  }
  threads_.clear();
  for (const int socket : sockets_) {
    ::close(socket);
  }
  ::close(listener_);
}

std::string ArchiveServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_) + base_path_;
}

void ArchiveServer::tamper(std::function<void(const Asked&, Answer&)> change) {
  const std::lock_guard lock(mutex_);
  tamper_ = std::move(change);
}

std::uint64_t ArchiveServer::requests(const std::string& service) const {
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(service);
  return found == requests_.end() ? 0 : found->second;
}

void ArchiveServer::accept_loop() {
  while (!stopping_) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      continue;
    }
    // What is in flight when a client is killed stays small.
    constexpr int k_send_buffer = 64 << 10;
    ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &k_send_buffer, sizeof k_send_buffer);
    constexpr int k_on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &k_on, sizeof k_on);
    const std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] {
      serve(socket);
      ::shutdown(socket, SHUT_RDWR);
    });
  }
}

void ArchiveServer::serve(int socket) {
  std::string buffer;
  for (;;) {
    Asked asked;
    if (!read_request(socket, buffer, asked)) {
      return;
    }
    unsigned now = ++at_once_;
    unsigned most = most_at_once_;
    while (now > most && !most_at_once_.compare_exchange_weak(most, now)) {
    }
    const Answer reply = answer(asked);
    const bool whole = send(socket, asked, reply);
    --at_once_;
    if (!whole) {
      return;
    }
  }
}

bool ArchiveServer::read_request(int socket, std::string& buffer, Asked& asked) const {
  const auto more = [&] {
    char piece[16384];
    const ssize_t n = ::recv(socket, piece, sizeof piece, 0);
    if (n <= 0) {
      return false;
    }
    buffer.append(piece, static_cast<std::size_t>(n));
    return true;
  };
  std::size_t head = 0;
  while ((head = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) {
      return false;
    }
  }
  std::istringstream lines(buffer.substr(0, head));
  std::string target;
  std::string line;
  std::getline(lines, line);
  std::istringstream(line) >> asked.method >> target;
  while (std::getline(lines, line)) {
    const std::size_t colon = line.find(": ");
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    asked.headers[name] = line.substr(colon + 2, line.find('\r') - colon - 2);
  }
  const std::size_t length = number(asked.header("content-length"));
  while (buffer.size() < head + 4 + length) {
    if (!more()) {
      return false;
    }
  }
  asked.body = buffer.substr(head + 4, length);
  buffer.erase(0, head + 4 + length);

  const std::string prefix = base_path_ + "/xrpc/network.bsky.jetstream.";
  const std::size_t question = std::min(target.find('?'), target.size());
  if (target.starts_with(prefix)) {
    asked.service = target.substr(prefix.size(), question - prefix.size());
  }
  std::istringstream parameters(target.substr(std::min(question + 1, target.size())));
  while (std::getline(parameters, line, '&')) {
    const std::size_t equals = line.find('=');
    asked.query[line.substr(0, equals)] = decoded(line.substr(equals + 1));
  }
  return true;
}

Answer ArchiveServer::answer(Asked& asked) {
  std::function<void(const Asked&, Answer&)> change;
  {
    const std::lock_guard lock(mutex_);
    asked.number = ++requests_[asked.service];
    change = tamper_;
  }
  Answer out = asked.service == "listSegments"   ? list(asked)
               : asked.service == "getSegment"   ? segment(asked)
               : asked.service == "getBlock"     ? block(asked)
               : asked.service == "planSnapshot" ? plan(asked)
                                                 : Answer::error(404, "NotFound");
  if (change) {
    const std::lock_guard lock(mutex_);
    change(asked, out);
  }
  return out;
}

Answer ArchiveServer::list(const Asked& asked) const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    const std::string name = entry.path().filename().string();
    if (jss::segment_number(name)) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  const auto cursor = asked.query.find("cursor");
  const auto limit = asked.query.find("limit");
  std::uint64_t left = limit == asked.query.end() ? 100 : number(limit->second);
  Answer out;
  out.body = "{\"segments\":[";
  const char* comma = "";
  for (const std::string& name : names) {
    const std::uint64_t index = *jss::segment_number(name);
    SegmentOnDisk file(directory_ / name);
    if ((cursor != asked.query.end() && index < number(cursor->second)) || !file.sealed()) {
      continue;
    }
    if (left-- == 0) {
      out.body += "],\"cursor\":\"" + std::to_string(index) + "\"}";
      return out;
    }
    out.body += std::string(comma) + "{\"name\":\"" + name +
                "\",\"index\":" + std::to_string(index) +
                ",\"sizeBytes\":" + std::to_string(file.size) + ",\"checksum\":\"" +
                hex16(file.header.checksum) +
                "\",\"eventCount\":" + std::to_string(file.header.event_count) +
                ",\"minSeq\":" + std::to_string(file.header.min_seq) +
                ",\"maxSeq\":" + std::to_string(file.header.max_seq) +
                ",\"minWitnessedAt\":" + std::to_string(file.header.min_witnessed_at) +
                ",\"maxWitnessedAt\":" + std::to_string(file.header.max_witnessed_at) + "}";
    comma = ",";
  }
  out.body += "]}";
  return out;
}

Answer ArchiveServer::segment(const Asked& asked) const {
  const std::string name = asked.query.contains("name") ? asked.query.at("name") : "";
  if (!jss::segment_number(name)) {
    return Answer::error(400, "InvalidRequest");
  }
  if (!fs::exists(directory_ / name)) {
    return Answer::error(404, "SegmentNotFound");
  }
  SegmentOnDisk file(directory_ / name);
  if (!file.sealed()) {
    return Answer::error(404, "SegmentNotFound");
  }
  Answer out;
  const std::string etag = '"' + hex16(file.header.checksum) + '"';
  out.set("Content-Type", "application/octet-stream");
  out.set("ETag", etag);
  out.set("Accept-Ranges", "bytes");
  std::string range = asked.header("range");
  const std::string if_range = asked.header("if-range");
  if (!if_range.empty() && if_range != etag) {
    range.clear();
  }
  if (!range.starts_with("bytes=")) {
    out.body = file.read(0, file.size);
    return out;
  }
  const std::uint64_t first = number(std::string_view(range).substr(6));
  const std::uint64_t last =
      std::min(number(std::string_view(range).substr(range.find('-') + 1)), file.size - 1);
  if (first >= file.size || last < first) {
    out.status = 416;
    out.set("Content-Range", "bytes */" + std::to_string(file.size));
    return out;
  }
  out.status = 206;
  out.set("Content-Range", "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                               std::to_string(file.size));
  out.body = file.read(first, last - first + 1);
  return out;
}

Answer ArchiveServer::block(const Asked& asked) const {
  const std::string name = asked.query.contains("segment") ? asked.query.at("segment") : "";
  if (!jss::segment_number(name) || !fs::exists(directory_ / name)) {
    return Answer::error(404, "SegmentNotFound");
  }
  SegmentOnDisk file(directory_ / name);
  const std::uint64_t index = number(asked.query.at("blockIndex"));
  if (index >= file.header.block_count) {
    return Answer::error(404, "BlockNotFound");
  }
  const std::string raw = file.read(
      file.header.block_index_offset + index * jss::k_index_entry_bytes, jss::k_index_entry_bytes);
  const auto entry = jss::load_index_entry(reinterpret_cast<const std::byte*>(raw.data()));
  Answer out;
  out.set("ETag", '"' + hex16(file.header.checksum) + ":" + std::to_string(index) + '"');
  out.body = file.read(entry.offset + jss::k_length_prefix_bytes, entry.compressed_size);
  return out;
}

Answer ArchiveServer::plan(const Asked& asked) const {
  const auto request = jss::SnapshotRequest::parse(asked.body);
  auto planner = jss::SnapshotPlanner::open(io::posix_file_system(), directory_.string());
  if (!request || !planner) {
    return Answer::error(400, "InvalidRequest");
  }
  jss::SnapshotLimits limits;
  limits.max_entries = 2;  // so that every test meets several pages
  const auto page = planner->plan(*request, limits);
  if (!page) {
    return Answer::error(400, "InvalidRequest");
  }
  Answer out;
  out.body = page->to_json().text();
  return out;
}

bool ArchiveServer::send(int socket, const Asked& asked, const Answer& reply) {
  for (auto left = reply.stall; left.count() > 0 && !stopping_;
       left -= std::chrono::milliseconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " Status\r\n";
  for (const auto& [name, value] : reply.headers) {
    head += name + ": " + value + "\r\n";
  }
  head += "Content-Length: " + std::to_string(reply.stated_length.value_or(reply.body.size())) +
          "\r\n\r\n";
  const auto put = [&](std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  };
  if (!put(head)) {
    return false;
  }
  const std::string_view body =
      std::string_view(reply.body)
          .substr(0, std::min<std::uint64_t>(reply.cut_after.value_or(reply.body.size()),
                                             reply.body.size()));
  constexpr std::size_t k_piece = 16384;
  for (std::size_t at = 0; at < body.size() && !stopping_; at += k_piece) {
    const std::string_view piece = body.substr(at, k_piece);
    if (!put(piece)) {
      return false;
    }
    if (asked.service == "getSegment") {
      segment_bytes_ += piece.size();
    }
    if (reply.bytes_per_second != 0) {
      std::this_thread::sleep_for(
          std::chrono::microseconds(piece.size() * 1'000'000 / reply.bytes_per_second));
    }
  }
  return body.size() == reply.stated_length.value_or(reply.body.size()) && !reply.cut_after;
}

}  // namespace varve::serve::test
