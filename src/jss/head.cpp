// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps 1 to 8 of section 10: what can be said of a segment from its header and size alone.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/mutant.hpp"
#include "jss/segment_file.hpp"

namespace varve::jss {

namespace {

// What steps 5 to 8 ask of a header; each names the field that fails.
struct HeaderRule {
  bool holds;
  std::uint64_t field_offset;
  std::uint64_t field_bytes;
  const char* message;
  Number expected;
  Number actual;
};

std::optional<HeaderRule> first_broken_layout_rule(const Header& h, std::uint64_t size) {
  const auto number = [](std::uint64_t v) { return Number::decimal(v); };
  const HeaderRule rules[] = {
      {h.footer_offset >= k_header_bytes, k_footer_offset_offset, 8,
       "footer_offset lies inside the header", number(k_header_bytes), number(h.footer_offset)},
      {h.footer_offset <= size + (base::mutant("jss-layout-end") ? 1 : 0), k_footer_offset_offset,
       8, "footer_offset lies behind the end of the file", number(size), number(h.footer_offset)},
      {h.block_index_offset == h.footer_offset, k_block_index_offset_offset, 8,
       "block_index_offset is not footer_offset", number(h.footer_offset),
       number(h.block_index_offset)},
      {h.block_index_offset <= h.did_bloom_offset, k_did_bloom_offset_offset, 8,
       "did_bloom_offset lies before the block index", number(h.block_index_offset),
       number(h.did_bloom_offset)},
      {h.did_bloom_offset <= h.block_did_bloom_offset, k_block_did_bloom_offset_offset, 8,
       "block_did_bloom_offset lies before the segment's bloom", number(h.did_bloom_offset),
       number(h.block_did_bloom_offset)},
      {h.block_did_bloom_offset <= h.collection_index_offset, k_collection_index_offset_offset, 8,
       "collection_index_offset lies before the blocks' blooms", number(h.block_did_bloom_offset),
       number(h.collection_index_offset)},
      {h.collection_index_offset <= size, k_collection_index_offset_offset, 8,
       "collection_index_offset lies behind the end of the file", number(size),
       number(h.collection_index_offset)},
  };
  for (const HeaderRule& rule : rules) {
    if (!rule.holds) {
      return rule;
    }
  }
  return std::nullopt;
}

Finding header_finding(const char* code, const std::string& name, std::string message) {
  return make_finding(code, k_stage_open, name, 0, k_header_bytes, "header", std::move(message));
}

// Steps 4 to 8 of a file whose header is there and begins with the magic.
std::optional<Finding> check_sealed(const Header& h, const std::optional<HeaderRule>& broken,
                                    const std::string& name) {
  if (h.version != k_version) {
    Finding finding = header_finding(k_invalid_footer, name,
                                     h.version > k_version
                                         ? "the file says a version that this build does not know"
                                         : "there is no version 0");
    finding.verdict = h.version > k_version ? Verdict::unknown : Verdict::damaged;
    finding.expected = Number::decimal(k_version);
    finding.actual = Number::decimal(h.version);
    return finding;
  }
  if (broken) {
    Finding finding = header_finding(k_invalid_footer, name, broken->message);
    finding.expected = broken->expected;
    finding.actual = broken->actual;
    return finding;
  }
  return std::nullopt;
}

// An active header is all zeros behind the magic and nobody reads it.
void note_dirty_active_header(SegmentHead& head, const std::string& name) {
  const auto first = std::find_if(head.raw.begin() + k_checksum_from, head.raw.end(),
                                  [](std::byte b) { return b != std::byte{0}; });
  if (first == head.raw.end()) {
    return;
  }
  Finding finding = header_finding(
      "active-header-not-zero", name,
      "the checksum field says that the segment is active, but a field behind it is not zero");
  finding.severity = Severity::warning;
  finding.offset = static_cast<std::uint64_t>(first - head.raw.begin());
  finding.length = 1;
  finding.expected = Number::hex8(0);
  finding.actual = Number::hex8(base::u8(*first));
  head.oddities.push_back(std::move(finding));
}

}  // namespace

SegmentHead parse_head(base::ByteSpan first_bytes, std::uint64_t size_bytes,
                       const std::string& name) {
  SegmentHead head;
  head.raw_bytes = std::min<std::uint64_t>(first_bytes.size(), k_header_bytes);
  std::copy_n(first_bytes.begin(), head.raw_bytes, head.raw.begin());
  head.magic_holds = head.raw_bytes >= k_magic.size() &&
                     std::memcmp(head.raw.data(), k_magic.data(), k_magic.size()) == 0;
  if (head.raw_bytes < k_header_bytes) {
    head.fault = header_finding(k_corrupt_segment, name, "the file is shorter than a header");
    head.fault->length = head.raw_bytes;
    head.fault->expected = Number::decimal(k_header_bytes);
    head.fault->actual = Number::decimal(head.raw_bytes);
    return head;
  }
  head.header = load_header(head.raw.data());
  const Header& h = head.header;
  const auto broken = first_broken_layout_rule(h, size_bytes);
  head.layout_holds = !broken;
  if (!head.magic_holds) {
    head.fault = header_finding(k_corrupt_segment, name, "the file does not begin with \"jss0\"");
    head.fault->length = k_magic.size();
    head.fault->expected = Number::hex32(base::u32be(base::as_bytes(k_magic).data()));
    head.fault->actual = Number::hex32(base::u32be(head.raw.data()));
    return head;
  }
  // A zero checksum means active, unless the rest of the header describes a sealed file: then the
  // checksum was lost, and the comparison with the computed one will say so.
  if (h.checksum == 0 && (broken || h.version != k_version || base::mutant("jss-active-zero"))) {
    head.state = SegmentState::active;
    note_dirty_active_header(head, name);
    return head;
  }
  head.fault = check_sealed(h, broken, name);
  if (!head.fault) {
    head.state = SegmentState::sealed;
  }
  return head;
}

Result<SegmentHead> read_head(const SegmentFile& file) {
  std::array<std::byte, k_header_bytes> raw;
  const std::size_t n = static_cast<std::size_t>(std::min(file.size(), k_header_bytes));
  VARVE_TRY(file.read(std::span(raw).first(n), 0));
  return parse_head(base::ByteSpan(raw).first(n), file.size(), file.name());
}

}  // namespace varve::jss
