// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_dictionary.hpp"

#include <algorithm>
#include <utility>

namespace varve::serve {

Result<void> StreamDictionaries::add(io::FileSystem& files, const std::string& path) {
  const auto refuse = [&](std::string message) {
    return fail(ErrorCode::invalid_argument, "zstd-dictionary", std::move(message), path);
  };
  VARVE_ASSIGN(const auto file, files.open_file(path, io::OpenMode::read));
  VARVE_ASSIGN(const io::FileIdentity identity, file->identity());
  if (identity.size_bytes > k_max_dictionary_bytes) {
    return refuse("a dictionary has at most 16 MiB");
  }
  base::Bytes bytes(static_cast<std::size_t>(identity.size_bytes));
  VARVE_ASSIGN(const std::size_t got, file->read_at(bytes, 0));
  bytes.resize(got);
  auto dictionary = base::ZstdDictionary::load(std::move(bytes));
  if (!dictionary) {
    return refuse("the file holds no structured zstd dictionary (it begins with 37 a4 30 ec)");
  }
  if (find(dictionary->id()) >= 0) {
    return refuse("there is already a dictionary with id " + std::to_string(dictionary->id()));
  }
  all_.push_back(std::move(dictionary));
  return {};
}

int StreamDictionaries::find(std::uint64_t id) const {
  const auto found =
      std::ranges::find_if(all_, [&](const auto& dictionary) { return dictionary->id() == id; });
  return found == all_.end() ? -1 : static_cast<int>(found - all_.begin());
}

int StreamDictionaries::current() const {
  const auto found = std::ranges::find_if(
      all_, [](const auto& dictionary) { return dictionary->id() != k_legacy_dictionary_id; });
  return all_.empty() ? -1 : found == all_.end() ? 0 : static_cast<int>(found - all_.begin());
}

std::string StreamDictionaries::ids_text() const {
  std::string out;
  for (const auto& dictionary : all_) {
    out += (out.empty() ? "" : ", ") + std::to_string(dictionary->id());
  }
  return out.empty() ? "none" : out;
}

}  // namespace varve::serve
