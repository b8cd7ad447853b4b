// SPDX-License-Identifier: MIT OR Apache-2.0
// Each bit of a file flipped. A flip must be noticed (a finding of at least warning) or change
// nothing that a user can see; a visible change without a finding is an unprotected bit and belongs
// into the published table.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/exhaustive/every_cut.hpp"

namespace varve::test {

struct BitLook {
  bool noticed = false;           // a finding of at least warning
  std::string code;               // the first finding's word
  std::uint64_t fingerprint = 0;  // of the log and state that a user sees
};

template <class Look>
concept LooksAtBits = requires(Look look, io::SimulatedFileSystem& files) {
  { look(files) } -> std::same_as<BitLook>;
};

struct BitReport {
  std::uint64_t bits = 0;
  std::uint64_t noticed = 0;
  std::uint64_t invisible = 0;
  bool sampled = false;
  std::map<std::string, std::uint64_t> codes;  // findings by word
  std::vector<std::uint64_t> unprotected;      // bit positions
  std::map<std::string, std::uint64_t> unprotected_by_field;
  std::map<std::string, std::uint64_t> invisible_by_field;

  Table table(const std::string& title) const {
    Table out(title, {"field", "unprotected bits", "bits without visible effect"});
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> fields;
    for (const auto& [field, count] : unprotected_by_field) {
      fields[field].first = count;
    }
    for (const auto& [field, count] : invisible_by_field) {
      fields[field].second = count;
    }
    for (const auto& [field, counts] : fields) {
      out.add_row({field, counts.first, counts.second});
    }
    out.add_note(std::to_string(bits) + (sampled ? " bits sampled: " : " bits, every one: ") +
                 std::to_string(noticed) + " noticed, " + std::to_string(invisible) +
                 " without visible effect, " + std::to_string(unprotected.size()) +
                 " unprotected.");
    return out;
  }
};

// Flips each bit of `path` in turn. `field_of` names the field that holds a byte, for the table.
template <LooksAtBits Look>
BitReport every_bit(const io::simulated::Image& image, const std::string& path, Look look,
                    const std::function<std::string(std::uint64_t offset)>& field_of,
                    const SamplingOptions& options = {}) {
  const io::SimulatedFileSystem::Options plain{nullptr, false};
  std::vector<std::byte> bytes =
      io::SimulatedFileSystem(image, plain).get(path).value_or(std::vector<std::byte>{});
  BitReport report;
  report.sampled = bytes.size() > options.exhaustive_bytes;
  if (bytes.empty()) {
    return report;
  }
  io::SimulatedFileSystem healthy(image, plain);
  const std::uint64_t whole = look(healthy).fingerprint;
  for (const std::uint64_t bit : positions(bytes.size() * 8, !report.sampled, options)) {
    const auto flip = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= flip;
    io::SimulatedFileSystem files(image, plain);
    (void)files.put(path, bytes);
    bytes[bit / 8] ^= flip;
    const BitLook now = look(files);
    ++report.bits;
    if (now.noticed) {
      ++report.noticed;
      ++report.codes[now.code];
    } else if (now.fingerprint == whole) {
      ++report.invisible;
      ++report.invisible_by_field[field_of(bit / 8)];
    } else {
      report.unprotected.push_back(bit);
      ++report.unprotected_by_field[field_of(bit / 8)];
    }
  }
  return report;
}

}  // namespace varve::test
