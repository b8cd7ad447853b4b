// SPDX-License-Identifier: MIT OR Apache-2.0
// The end of a Parquet file: the file's metadata (Thrift, compact protocol), its length in four
// bytes, "PAR1". A text in it is a varint of its length, then its bytes, and nothing in the file
// points into it, so that a text can be exchanged for another.
#include "base/bytes.hpp"
#include "output/parquet.hpp"

namespace varve::output {

namespace {

constexpr std::size_t k_tail_bytes = 8;
constexpr std::string_view k_magic = "PAR1";

std::unexpected<Error> not_parquet(const io::File& file) {
  return fail(ErrorCode::io, "duckdb", "DuckDB wrote no Parquet file", file.path());
}

Result<std::string> read_exactly(const io::File& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  VARVE_ASSIGN(const std::size_t got,
               file.read_at(std::as_writable_bytes(std::span(bytes)), offset));
  if (got != size) {
    return not_parquet(file);
  }
  return bytes;
}

std::string thrift_text(const std::string& text) { return static_cast<char>(text.size()) + text; }

}  // namespace

Result<void> replace_parquet_metadata(io::File& file,
                                      const std::map<std::string, std::string>& new_by_old) {
  VARVE_ASSIGN(const io::FileIdentity identity, file.identity());
  if (identity.size_bytes < k_tail_bytes) {
    return not_parquet(file);
  }
  VARVE_ASSIGN(const std::string tail,
               read_exactly(file, identity.size_bytes - k_tail_bytes, k_tail_bytes));
  const auto length = base::u32le(tail.data());
  if (tail.substr(4) != k_magic || length + k_tail_bytes > identity.size_bytes) {
    return not_parquet(file);
  }
  const std::uint64_t begin = identity.size_bytes - k_tail_bytes - length;
  VARVE_ASSIGN(std::string footer, read_exactly(file, begin, length));
  for (const auto& [old_text, new_text] : new_by_old) {
    const std::string known = thrift_text(old_text);
    const std::size_t at = footer.rfind(known);
    if (at == footer.npos) {
      return not_parquet(file);
    }
    footer.replace(at, known.size(), thrift_text(new_text));
  }
  base::Bytes out;
  base::ByteWriter writer(out);
  writer.text(footer);
  writer.u32le(static_cast<std::uint32_t>(footer.size()));
  writer.text(k_magic);
  VARVE_TRY(file.write_at(out, begin));
  return file.truncate(begin + out.size());
}

}  // namespace varve::output
