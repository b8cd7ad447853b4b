// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/contents.hpp"

#include "kladde/page_reader.hpp"

namespace varve::kladde {

Result<void> append_contents(const io::File& file, const State& state, Id id, std::uint32_t from,
                             std::uint32_t to, std::string& out) {
  Result<void> outcome;
  const std::size_t base = out.size();
  const std::uint32_t end = std::min(to, state.size(id));
  out.resize(base + (end > from ? end - from : 0));
  state.for_runs(id, from, end, [&](const ByteRun& run) {
    if (run.zero || !outcome) {
      return;
    }
    const auto got = file.read_at(
        {reinterpret_cast<std::byte*>(out.data()) + base + (run.start - from), run.size},
        run.address);
    if (!got) {
      outcome = std::unexpected(got.error());
    } else if (*got < run.size) {
      outcome = changed_while_read(file, run.address);
    }
  });
  return outcome;
}

}  // namespace varve::kladde
