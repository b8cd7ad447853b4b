// SPDX-License-Identifier: MIT OR Apache-2.0
// Results of exhaustive tests as tables for the documents, in Markdown and JSON.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "varve/json.hpp"

namespace varve::test {

class Table {
 public:
  Table(std::string title, std::vector<std::string> columns)
      : title_(std::move(title)), columns_(std::move(columns)) {}

  void add_row(std::vector<Json> cells) { rows_.push_back(std::move(cells)); }
  // A sentence below the table.
  void add_note(std::string note) { notes_.push_back(std::move(note)); }
  std::size_t rows() const { return rows_.size(); }

  std::string markdown() const {
    std::string out = "### " + title_ + "\n\n|";
    std::string rule = "|";
    for (const std::string& column : columns_) {
      out += " " + column + " |";
      rule += "---|";
    }
    out += "\n" + rule + "\n";
    for (const auto& row : rows_) {
      out += "|";
      for (const Json& cell : row) {
        const std::string* text = cell.as_text();
        out += " " + (text != nullptr ? *text : cell.text()) + " |";
      }
      out += "\n";
    }
    for (const std::string& note : notes_) {
      out += "\n" + note + "\n";
    }
    return out;
  }

  Json json() const {
    Json out = Json::object();
    out.set("title", title_);
    Json rows = Json::array();
    for (const auto& row : rows_) {
      Json object = Json::object();
      for (std::size_t i = 0; i < row.size(); ++i) {
        object.set(columns_[i], row[i]);
      }
      rows.push(std::move(object));
    }
    out.set("rows", std::move(rows));
    Json notes = Json::array();
    for (const std::string& note : notes_) {
      notes.push(note);
    }
    out.set("notes", std::move(notes));
    return out;
  }

  // Writes NAME.md and NAME.json into a directory, made if missing. False if that fails.
  bool publish_to(const std::filesystem::path& directory, const std::string& name) const {
    std::error_code ignored;  // writing shows whether it worked
    std::filesystem::create_directories(directory, ignored);
    std::string text;
    json().write_pretty(text);
    std::ofstream markdown_file(directory / (name + ".md"));
    markdown_file << markdown();
    std::ofstream json_file(directory / (name + ".json"));
    json_file << text << "\n";
    markdown_file.close();
    json_file.close();
    return markdown_file.good() && json_file.good();
  }

  // The same, into the directory that VARVE_WRITE_TABLES names; without it does nothing.
  bool publish(const std::string& name) const {
    const char* directory = std::getenv("VARVE_WRITE_TABLES");
    return directory == nullptr || *directory == '\0' || publish_to(directory, name);
  }

 private:
  std::string title_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Json>> rows_;
  std::vector<std::string> notes_;
};

// "17" or "17..42".
inline std::string range_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? std::to_string(first)
                       : std::to_string(first) + ".." + std::to_string(last);
}

}  // namespace varve::test
