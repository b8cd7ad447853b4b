// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/compaction_note.hpp"

#include <simdjson.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "io/publish.hpp"
#include "varve/json.hpp"

namespace varve::jss {

namespace {
constexpr std::string_view k_schema = "varve.compaction/1";
constexpr std::size_t k_max_note_bytes = 4096;
}  // namespace

Result<std::uint64_t> noted_watermark(const io::Directory& directory) {
  const auto file = directory.open_file(k_compaction_note_name, io::OpenMode::read);
  if (!file) {
    if (file.error().system_errno == ENOENT || file.error().code == ErrorCode::invalid_argument) {
      return 0;
    }
    return std::unexpected(file.error());
  }
  base::Bytes bytes(k_max_note_bytes);
  VARVE_ASSIGN(const std::size_t size, (*file)->read_at(bytes, 0));
  bytes.resize(size);
  const simdjson::padded_string text{base::as_text(bytes)};
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  std::string_view schema;
  std::uint64_t watermark = 0;
  if (parser.iterate(text).get(document) != simdjson::SUCCESS ||
      document["schema"].get_string().get(schema) != simdjson::SUCCESS || schema != k_schema ||
      document["watermark"].get_uint64().get(watermark) != simdjson::SUCCESS) {
    return 0;
  }
  return watermark;
}

Result<void> note_compaction(io::Directory& directory, std::uint64_t watermark) {
  Json note = Json::object();
  note.set("schema", k_schema).set("watermark", watermark);
  const std::string text = note.text() + "\n";
  const std::string staging = std::string(k_compaction_note_name) + ".tmp";
  if (auto removed = directory.remove_file(staging);
      !removed && removed.error().system_errno != ENOENT) {
    return std::unexpected(std::move(removed).error());
  }
  VARVE_ASSIGN(auto staged, io::StagedFile::create(directory, staging));
  VARVE_TRY(staged.file().write_at(base::as_bytes(text), 0));
  return staged.publish(k_compaction_note_name, io::Replace::yes);
}

}  // namespace varve::jss
