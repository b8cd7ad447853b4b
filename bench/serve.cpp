// SPDX-License-Identifier: MIT OR Apache-2.0
// The server of an archive beside nginx: both send the same file, and the same blocks of it, over
// loopback to one client that reads and forgets. Then plans over an archive of 5,000 segments.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/text_coding.hpp"
#include "bench/archive.hpp"
#include "serve/context.hpp"

namespace varve::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_events = 250'000;
constexpr std::uint64_t k_small_segments = 5'000;
constexpr std::uint64_t k_rows = 12;  // of each of them
constexpr std::size_t k_block_requests = 500;
constexpr std::size_t k_plans = 50;
const std::string k_xrpc = "/xrpc/network.bsky.jetstream.";

// A connection that is kept; each request's answer is read to its end and thrown away.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(fd_); }
  bool connected() const { return connected_; }

  std::string get(const std::string& target, const std::string& headers = {}) {
    return ask("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n");
  }
  std::string post(const std::string& target, const std::string& body) {
    return ask("POST " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  std::uint64_t body_bytes() const { return body_bytes_; }  // of the last answer

 private:
  // Gives the answer's head.
  std::string ask(const std::string& request) {
    must(::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(request.size()),
         "send");
    std::string head;
    std::size_t end = std::string::npos;
    while (end == std::string::npos) {
      const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
      must(got > 0, "an answer's head");
      head.append(buffer_.data(), static_cast<std::size_t>(got));
      end = head.find("\r\n\r\n");
    }
    const std::size_t length = head.find("Content-Length: ");
    must(length != std::string::npos, "an answer's length");
    body_bytes_ = std::strtoull(head.c_str() + length + 16, nullptr, 10);
    std::uint64_t have = head.size() - end - 4;
    while (have < body_bytes_) {
      const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
      must(got > 0, "an answer's body");
      have += static_cast<std::uint64_t>(got);
    }
    head.resize(end);
    return head;
  }

  int fd_;
  bool connected_ = false;
  std::uint64_t body_bytes_ = 0;
  std::array<char, 256 << 10> buffer_;
};

// Sealed, of events whose payloads hardly compress.
void make_sealed(const std::string& path, std::uint64_t events,
                 const std::map<std::string, std::string>& options, std::size_t payload_bytes) {
  std::mt19937_64 random(7);
  std::vector<std::byte> payload(payload_bytes);
  make_archive(path, events, options, [&](std::uint64_t i) {
    for (std::byte& byte : payload) {
      byte = static_cast<std::byte>(random());
    }
    return R"({"kind":"create","witnessed_at":)" + std::to_string(1'783'000'000'000'000 + i) +
           R"(,"did":"did:web:a)" + std::to_string(random() % 5'000) +
           R"(.example.net","collection":"app.bsky.feed.)" + (i % 4 == 0 ? "post" : "like") +
           R"(","rkey":"r)" + std::to_string(i) + R"(","rev":"3kaaaaaaaaaa2","record":{"text":")" +
           base::to_base64(payload) + "\"}}";
  });
  must(find_format("jss")->seal(io::posix_file_system(), path, {}).has_value(), "seal");
}

// An archive behind the endpoints, on a free port.
class Served {
 public:
  explicit Served(const std::string& path) {
    serve::HttpServerOptions options;
    options.port = 0;
    server_ = std::make_unique<serve::HttpServer>(std::move(options));
    serve::ServeContext context{.server = *server_,
                                .metrics = metrics_,
                                .files = io::posix_file_system(),
                                .settings = {},
                                .stores = {{"archive", path, "jss"}},
                                .archive = 0};
    must(serve::install_archive_endpoints(context).has_value(), "endpoints");
    kept_ = std::move(context.kept);
    must(server_->start().has_value(), "listen");
    while (Client(port()).get(k_xrpc + "listSegments").find(" 200 ") == std::string::npos) {
      ::usleep(10'000);
    }
  }
  ~Served() { server_->stop(std::chrono::seconds(1)); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  std::uint16_t port() const { return server_->port(); }

 private:
  serve::Metrics metrics_;
  std::vector<std::shared_ptr<void>> kept_;
  std::unique_ptr<serve::HttpServer> server_;
};

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  must(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
           ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0,
       "a free port");
  ::close(fd);
  return ntohs(address.sin_port);
}

// nginx over the same directory, as a distribution sets it up for files: sendfile on.
class Nginx {
 public:
  Nginx(const std::string& files, const std::string& work) : port_(free_port()) {
    std::ofstream(work + "/nginx.conf")
        << (::geteuid() == 0 ? "user root; " : "")
        << "daemon off; worker_processes 1; error_log stderr crit; pid " << work
        << "/nginx.pid;\nevents { worker_connections 64; }\nhttp { access_log off; sendfile on; "
           "tcp_nopush on; keepalive_requests 1000000;\n"
        << "client_body_temp_path " << work << "/t1; proxy_temp_path " << work
        << "/t2; fastcgi_temp_path " << work << "/t3; uwsgi_temp_path " << work
        << "/t4; scgi_temp_path " << work << "/t5;\n"
        << "server { listen 127.0.0.1:" << port_ << "; root " << files << "; } }\n";
    child_ = ::fork();
    if (child_ == 0) {
      const std::string configuration = work + "/nginx.conf";
      ::execlp("nginx", "nginx", "-p", work.c_str(), "-c", configuration.c_str(), nullptr);
      ::execl("/usr/sbin/nginx", "nginx", "-p", work.c_str(), "-c", configuration.c_str(), nullptr);
      ::_exit(127);
    }
    for (int tries = 0; tries < 500 && !Client(port_).connected(); ++tries) {
      ::usleep(10'000);
    }
  }
  ~Nginx() {
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
  }
  Nginx(const Nginx&) = delete;
  Nginx& operator=(const Nginx&) = delete;
  std::uint16_t port() const { return port_; }

 private:
  std::uint16_t port_;
  pid_t child_ = -1;
};

void compare_downloads(Runner& runner, const std::string& directory) {
  const std::string archive = directory + "/archive";
  const std::string name = "seg_0000000000.jss";
  make_sealed(archive, k_events, {{"rotation-bytes", "1000000000000"}}, 700);
  fs::create_directory(directory + "/nginx");
  const Served served(archive);
  const Nginx nginx(archive, directory + "/nginx");
  Client ours(served.port());
  Client theirs(nginx.port());
  const std::uint64_t bytes = fs::file_size(archive + "/" + name);
  runner.compare({"a segment of " + std::to_string(bytes >> 20) + " MiB", "bytes", bytes},
                 {{"nginx", k_limit,
                   [&] {
                     theirs.get("/" + name);
                     must(theirs.body_bytes() == bytes, "nginx: a whole segment");
                   }},
                  {"getSegment", k_ours, [&] {
                     ours.get(k_xrpc + "getSegment?name=" + name);
                     must(ours.body_bytes() == bytes, "a whole segment");
                   }}});
  // Frames follow each other behind the header, each with eight bytes before it.
  std::vector<std::string> blocks;
  std::vector<std::string> ranges;
  std::uint64_t sent = 0;
  for (std::uint64_t at = 256; blocks.size() < k_block_requests;) {
    const std::string call =
        k_xrpc + "getBlock?segment=" + name + "&blockIndex=" + std::to_string(blocks.size());
    if (ours.get(call).find(" 200 ") == std::string::npos) {
      break;
    }
    ranges.push_back("Range: bytes=" + std::to_string(at + 8) + "-" +
                     std::to_string(at + 7 + ours.body_bytes()) + "\r\n");
    blocks.push_back(call);
    at += 8 + ours.body_bytes();
    sent += ours.body_bytes();
  }
  must(!blocks.empty(), "blocks");
  const std::string title = std::to_string(blocks.size()) + " blocks of " +
                            std::to_string((sent / blocks.size()) >> 10) + " KiB, one by one";
  const auto take_ranges = [&] {
    for (const std::string& range : ranges) {
      must(theirs.get("/" + name, range).find(" 206 ") != std::string::npos, "nginx: a range");
    }
  };
  const auto take_blocks = [&] {
    for (const std::string& block : blocks) {
      ours.get(block);
    }
  };
  runner.compare({title, "requests", blocks.size()},
                 {{"nginx, as ranges", k_limit, take_ranges}, {"getBlock", k_ours, take_blocks}});
}

void plans(Runner& runner, const std::string& directory) {
  const std::string archive = directory + "/many";
  make_sealed(archive, k_rows * k_small_segments,
              {{"rotation-bytes", "2000"}, {"block-rows", std::to_string(k_rows)}}, 150);
  std::uint64_t segments = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(archive)) {
    ++segments;
  }
  const Served served(archive);
  Client client(served.port());
  std::mt19937_64 random(3);
  const auto ask = [&](const char* what, const auto& body) {
    runner.compare({std::string("plans over ") + std::to_string(segments) + " segments: " + what,
                    "plans", k_plans},
                   {{"planSnapshot", k_ours, [&] {
                       for (std::size_t i = 0; i < k_plans; ++i) {
                         client.post(k_xrpc + "planSnapshot", body());
                       }
                     }}});
  };
  ask("everything", [] { return std::string("{}"); });
  ask("one DID", [&] {
    return R"({"dids":["did:web:a)" + std::to_string(random() % 5'000) + R"(.example.net"]})";
  });
  ask("the last segments",
      [&] { return R"({"afterSeq":)" + std::to_string(k_rows * k_small_segments - 100) + "}"; });
}

}  // namespace
}  // namespace varve::bench

int main(int argc, char** argv) {
  varve::bench::Runner runner("serve", argc, argv);
  const std::string directory = varve::bench::scratch_directory();
  varve::bench::compare_downloads(runner, directory);
  varve::bench::plans(runner, directory);
  std::filesystem::remove_all(directory);
  return runner.finish();
}
