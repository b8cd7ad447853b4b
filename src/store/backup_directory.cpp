// SPDX-License-Identifier: MIT OR Apache-2.0
#include "store/backup_directory.hpp"

#include <simdjson.h>

#include "model/copy_catalogue.hpp"

namespace varve::store {

namespace {

constexpr std::uint64_t k_max_catalogue_bytes = std::uint64_t{64} << 20;

std::optional<simdjson::padded_string> read_catalogue(io::FileSystem& files,
                                                      const std::string& directory) {
  const auto opened = files.open_directory(directory);
  if (!opened) {
    return std::nullopt;
  }
  const auto file = (*opened)->open_file(model::k_backup_catalogue_name, io::OpenMode::read);
  if (!file) {
    return std::nullopt;
  }
  const auto identity = (*file)->identity();
  if (!identity || identity->size_bytes > k_max_catalogue_bytes) {
    return std::nullopt;
  }
  simdjson::padded_string text(static_cast<std::size_t>(identity->size_bytes));
  const auto got = (*file)->read_at({reinterpret_cast<std::byte*>(text.data()), text.size()}, 0);
  if (!got || *got != text.size()) {
    return std::nullopt;
  }
  return text;
}

}  // namespace

std::optional<std::string> store_in_backup(io::FileSystem& files, const std::string& directory) {
  const auto text = read_catalogue(files, directory);
  if (!text) {
    return std::nullopt;
  }
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  std::string_view schema;
  std::string_view name;
  if (parser.iterate(*text).get(document) != simdjson::SUCCESS ||
      document["schema"].get_string().get(schema) != simdjson::SUCCESS ||
      schema != "varve.backup/1" || document["store"].get_string().get(name) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  return directory + (directory.ends_with('/') ? "" : "/") + std::string(name);
}

}  // namespace varve::store
