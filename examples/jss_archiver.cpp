// SPDX-License-Identifier: MIT OR Apache-2.0
// An archiver of events that may be killed at any moment:
//
//   example_jss_archiver DIRECTORY < EVENTS
//
// Each line of EVENTS is "DID COLLECTION KEY TEXT". The number of the line is the number of the
// event in the archive, so a second run over the same, longer input goes on where the first one
// ended. "durable N" says that the first N events would survive a power cut. At the end of the
// input the segment is sealed; the next run begins another.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>

#include "varve/jss.hpp"

namespace {

using namespace varve;

constexpr std::uint64_t k_batch = 100;

int complain(const Error& error) {
  std::fprintf(stderr, "example_jss_archiver: %s\n", error.text().c_str());
  return exit_code(error);
}

// Head and bytes of a text in DAG-CBOR, of lengths that a line has.
std::string cbor_text(std::string_view text) {
  std::string out;
  if (text.size() < 24) {
    out += static_cast<char>(0x60 + text.size());
  } else if (text.size() < 256) {
    out += {static_cast<char>(0x78), static_cast<char>(text.size())};
  } else {
    out += {static_cast<char>(0x79), static_cast<char>(text.size() >> 8),
            static_cast<char>(text.size())};
  }
  return out.append(text);
}

// {"text": TEXT}
std::string record_of(const std::string& text) {
  return '\xA1' + cbor_text("text") + cbor_text(text.substr(0, 60'000));
}

std::int64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

Result<void> append(jss::Writer& writer, const std::string& line) {
  std::istringstream words(line);
  std::string did, collection, key, text;
  words >> did >> collection >> key >> std::ws;
  std::getline(words, text);
  const std::string record = record_of(text);
  jss::Event event;
  event.witnessed_at = now_us();
  event.kind = 1;  // a record was made
  event.did = did;
  event.collection = collection;
  event.rkey = key;
  event.payload = std::as_bytes(std::span(record));
  VARVE_TRY(writer.append(event));
  return {};
}

Result<void> make_durable(jss::Writer& writer) {
  VARVE_TRY(writer.sync());
  std::printf("durable %llu\n", static_cast<unsigned long long>(writer.next_seq() - 1));
  std::fflush(stdout);
  return {};
}

Result<void> run(const std::string& directory) {
  io::FileSystem& files = io::posix_file_system();
  if (!std::filesystem::exists(directory)) {
    VARVE_TRY(jss::Writer::create(files, directory));
  }
  VARVE_ASSIGN(const auto writer, jss::Writer::open(files, directory));
  std::string line;
  for (std::uint64_t number = 1; std::getline(std::cin, line); ++number) {
    if (number < writer->next_seq()) {
      continue;  // in the archive since an earlier run
    }
    VARVE_TRY(append(*writer, line));
    if (number % k_batch == 0) {
      VARVE_TRY(make_durable(*writer));
    }
  }
  VARVE_TRY(make_durable(*writer));
  VARVE_TRY(writer->seal());
  return writer->close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: example_jss_archiver DIRECTORY < EVENTS\n");
    return 64;
  }
  const auto done = run(argv[1]);
  return done ? 0 : complain(done.error());
}
