// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/mirror_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/bytes.hpp"

namespace varve::serve {

namespace {

constexpr std::size_t k_most_state_bytes = std::size_t{1} << 20;
constexpr std::size_t k_most_etag_bytes = 256;
constexpr std::size_t k_line_bytes = 11;  // ten digits and a line end

bool is_plain_etag(const std::string& etag) {
  return !etag.empty() && etag.size() <= k_most_etag_bytes &&
         std::ranges::all_of(etag, [](char c) { return c > 0x20 && c < 0x7F; });
}

Result<void> remove_if_there(io::Directory& directory, const std::string& name) {
  auto removed = directory.remove_file(name);
  if (!removed && removed.error().system_errno != ENOENT) {
    return removed;
  }
  return {};
}

Result<std::string> read_text(const io::File& file) {
  std::string text(k_most_state_bytes, '\0');
  VARVE_ASSIGN(const std::size_t n, file.read_at(std::as_writable_bytes(std::span(text)), 0));
  text.resize(n);
  return text;
}

}  // namespace

std::string part_file_name(const std::string& segment) { return segment + ".part"; }
std::string state_file_name(const std::string& segment) { return segment + ".state"; }

Result<void> discard_parts(io::Directory& work, const std::string& segment) {
  VARVE_TRY(remove_if_there(work, state_file_name(segment)));
  return remove_if_there(work, part_file_name(segment));
}

PartFile::PartFile(std::unique_ptr<io::File> data, std::unique_ptr<io::File> state,
                   Generation generation, std::uint64_t part_bytes)
    : data_(std::move(data)),
      state_(std::move(state)),
      generation_(std::move(generation)),
      part_bytes_(part_bytes) {
  received_.resize((generation_.size_bytes + part_bytes - 1) / part_bytes);
}

std::string PartFile::head() const {
  return fmt::format("varve-parts 1 {} {} {}\n", generation_.size_bytes, part_bytes_,
                     generation_.etag);
}

Result<std::unique_ptr<PartFile>> PartFile::resume(io::Directory& work, const std::string& segment,
                                                   std::uint64_t part_bytes) {
  auto data = work.open_file(part_file_name(segment), io::OpenMode::read_write);
  auto state = work.open_file(state_file_name(segment), io::OpenMode::read_write);
  if (!data || !state) {
    return nullptr;
  }
  VARVE_ASSIGN(const std::string text, read_text(**state));
  VARVE_ASSIGN(const io::FileIdentity identity, (*data)->identity());
  std::unique_ptr<PartFile> out(new PartFile(*std::move(data), *std::move(state), {}, part_bytes));
  return out->load(text, identity.size_bytes) ? std::move(out) : nullptr;
}

// False if the text is not, to the byte, what this class writes, or speaks of bytes that are not
// there.
bool PartFile::load(const std::string& text, std::uint64_t data_bytes) {
  const std::size_t line_end = text.find('\n');
  const std::size_t etag = text.rfind(' ', std::min(line_end, text.size()));
  constexpr std::string_view k_begin = "varve-parts 1 ";
  if (line_end == std::string::npos || etag == std::string::npos || !text.starts_with(k_begin)) {
    return false;
  }
  std::from_chars(text.data() + k_begin.size(), text.data() + etag, generation_.size_bytes);
  generation_.etag = text.substr(etag + 1, line_end - etag - 1);
  if (!is_plain_etag(generation_.etag) || generation_.size_bytes == 0 ||
      generation_.size_bytes > k_most_segment_bytes || text.substr(0, line_end + 1) != head()) {
    return false;
  }
  received_.assign((generation_.size_bytes + part_bytes_ - 1) / part_bytes_, 0);
  if (text.size() != line_end + 1 + received_.size() * k_line_bytes) {
    return false;
  }
  for (std::size_t i = 0; i < received_.size(); ++i) {
    const char* line = text.data() + line_end + 1 + i * k_line_bytes;
    const auto [end, error] = std::from_chars(line, line + k_line_bytes - 1, received_[i]);
    if (error != std::errc() || end != line + k_line_bytes - 1 || *end != '\n' ||
        received_[i] > part_length(i) ||
        (received_[i] != 0 && part_offset(i) + received_[i] > data_bytes)) {
      return false;
    }
  }
  return true;
}

Result<std::unique_ptr<PartFile>> PartFile::begin(io::Directory& work, const std::string& segment,
                                                  const Generation& generation,
                                                  std::uint64_t part_bytes) {
  VARVE_TRY(discard_parts(work, segment));
  VARVE_ASSIGN(auto data, work.open_file(part_file_name(segment), io::OpenMode::create_exclusive));
  VARVE_ASSIGN(auto state,
               work.open_file(state_file_name(segment), io::OpenMode::create_exclusive));
  std::unique_ptr<PartFile> out(
      new PartFile(std::move(data), std::move(state), generation, part_bytes));
  std::string text = out->head();
  for (std::size_t i = 0; i < out->parts(); ++i) {
    text += "0000000000\n";
  }
  VARVE_TRY(out->state_->write_at(base::as_bytes(text), 0));
  return out;
}

std::uint64_t PartFile::part_length(std::size_t part) const {
  return std::min(part_bytes_, generation_.size_bytes - part_offset(part));
}

std::uint64_t PartFile::received(std::size_t part) const {
  const std::lock_guard lock(mutex_);
  return received_[part];
}

std::uint64_t PartFile::received_in_all() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(received_.begin(), received_.end(), std::uint64_t{0});
}

Result<void> PartFile::append(std::size_t part, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(data_->write_at(base::as_bytes(bytes), part_offset(part) + received_[part]));
  received_[part] += bytes.size();
  const std::string line = fmt::format("{:010}\n", received_[part]);
  return state_->write_at(base::as_bytes(line), head().size() + part * k_line_bytes);
}

Result<void> PartFile::sync() { return data_->sync(); }

}  // namespace varve::serve
