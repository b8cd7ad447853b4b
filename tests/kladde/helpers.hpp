// SPDX-License-Identifier: MIT OR Apache-2.0
// What the kladde tests share: hex, files in memory, fixtures with their manifests, contents.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "io/simulated.hpp"
#include "kladde/reader.hpp"
#include "tests/support.hpp"

namespace varve::kladde::test {

// Bytes from hex with blanks.
inline base::Bytes hex(std::string_view text) {
  std::string compact;
  for (const char c : text) {
    if (c != ' ' && c != '\n') {
      compact += c;
    }
  }
  const auto bytes = base::from_hex(compact);
  if (!bytes) {
    throw std::runtime_error("not hex: " + compact);
  }
  return *bytes;
}

inline base::Bytes bytes_of(std::string_view text) {
  const auto span = base::as_bytes(text);
  return {span.begin(), span.end()};
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().text());
  }
  return std::move(*result);
}
inline void must(Result<void> result) {
  if (!result) {
    throw std::runtime_error(result.error().text());
  }
}

// One file in memory, for tests that need no crash states.
inline constexpr const char* k_path = "/store.kladde";
inline std::unique_ptr<io::SimulatedFileSystem> memory(base::ByteSpan content) {
  io::SimulatedFileSystem::Options options;
  options.record = false;
  auto files = std::make_unique<io::SimulatedFileSystem>(options);
  must(files->put(k_path, content));
  return files;
}

// Every id with its bytes.
using Contents = std::map<Id, std::string>;

inline std::string read_runs(const io::File& file, const State& state, Id id) {
  std::string out(state.size(id), '\0');
  state.for_runs(id, 0, state.size(id), [&](const ByteRun& run) {
    if (!run.zero) {
      const auto got = must(file.read_at(
          {reinterpret_cast<std::byte*>(out.data()) + run.start, run.size}, run.address));
      if (got != run.size) {
        throw std::runtime_error("bytes past the end of the file");
      }
    }
  });
  return out;
}

inline Contents contents_of(const io::File& file, const State& state) {
  Contents out;
  for (const Id id : state.ids()) {
    out[id] = read_runs(file, state, id);
  }
  return out;
}

// Opens strictly and replays: what a read-only open of section 15 gives, or its refusal.
struct Opened {
  World world;
  Journal journal;
  Contents flushed;
  Contents recovered;
};
inline Result<Opened> open_strictly(io::FileSystem& files, const std::string& path,
                                    Dialect dialect = Dialect::a) {
  VARVE_ASSIGN(const auto file, files.open_file(path, io::OpenMode::read));
  LoadRequest request;
  request.dialect = dialect;
  const Policy policy = Policy::strict(path);
  VARVE_ASSIGN(auto world, load_world(*file, request, policy));
  Opened out;
  out.world = std::move(*world);
  State state(out.world.allocations);
  out.flushed = contents_of(*file, state);
  VARVE_ASSIGN(out.journal, replay_journal(*file, out.world, request, policy, state));
  out.recovered = contents_of(*file, state);
  return out;
}

// Names of the fixtures in a folder below fixtures/kladde, without extension, sorted.
inline std::vector<std::string> fixture_names(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(varve::test::shared_path("fixtures/kladde") / folder)) {
    if (entry.path().extension() == ".kladde") {
      out.push_back((std::filesystem::path(folder) / entry.path().stem()).string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}
inline std::string fixture_bytes(const std::string& name) {
  return varve::test::read_file(varve::test::shared_path("fixtures/kladde/" + name + ".kladde"));
}
inline std::string fixture_path(const std::string& name) {
  return varve::test::shared_path("fixtures/kladde/" + name + ".kladde").string();
}

// A manifest; keeps the parser that the document points into.
class Manifest {
 public:
  explicit Manifest(const std::string& name)
      : text_(simdjson::padded_string(varve::test::read_file(
            varve::test::shared_path("fixtures/kladde/" + name + ".json")))) {
    root_ = parser_.parse(text_);
  }
  simdjson::dom::element root() const { return root_; }
  bool opens() const { return std::string_view(root_["expect"]) == "opens"; }
  std::string text(const char* key) const { return std::string(std::string_view(root_[key])); }

 private:
  simdjson::padded_string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

inline std::string sha256_hex(std::string_view bytes) {
  return base::to_hex(base::sha256(base::as_bytes(bytes)));
}

// Compares contents with a manifest's "flushed" or "recovered" object.
inline void expect_contents(simdjson::dom::object expected, const Contents& actual) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [key, value] : expected) {
    const auto found = actual.find(static_cast<Id>(std::stoul(std::string(key))));
    ASSERT_NE(found, actual.end()) << key;
    EXPECT_EQ(found->second.size(), std::uint64_t(value["size"])) << key;
    EXPECT_EQ(sha256_hex(found->second), std::string_view(value["sha256"])) << key;
  }
}

}  // namespace varve::kladde::test
