// SPDX-License-Identifier: MIT OR Apache-2.0
// Finding out what lies at a path, and opening it, over any table of formats.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "varve/store.hpp"

namespace varve::store {

// A path with the format that claims it.
struct Located {
  const Format* format = nullptr;
  // What to open: the path asked for, or the store that a backup directory holds.
  std::string path;
  Confidence confidence = Confidence::none;
};

// Asks each format in the table's order; the first with the highest confidence wins. A directory
// that `varve backup` wrote stands for the store in it. Errors: what the system says about the path
// (ENOENT, EACCES...), or ErrorCode::not_a_store.
Result<Located> locate(std::span<const Format* const> formats, io::FileSystem& files,
                       const std::string& path);

// As above where `format_name` is empty; else that format whatever the content looks like.
// ErrorCode::invalid_argument if there is no format of that name.
Result<Located> locate(std::span<const Format* const> formats, io::FileSystem& files,
                       const std::string& path, std::string_view format_name);

// The format whose stores the file at `path` may be a member of, by content or name; nullptr if
// there is none.
const Format* format_of_member(std::span<const Format* const> formats, io::FileSystem& files,
                               const std::string& path);

// The format of that name, or nullptr.
const Format* find_format(std::span<const Format* const> formats, std::string_view name);

// "arena, kladde, tay, jss"
std::string format_names(std::span<const Format* const> formats);

}  // namespace varve::store
