// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/verify_since.hpp"

#include <utility>

#include "base/text_coding.hpp"

namespace varve::tay {

std::string store_text(const Snapshot& snapshot) {
  return snapshot.store_id ? base::to_hex(*snapshot.store_id) : std::string();
}

Result<Since> take_from_receipt(const Snapshot& snapshot, model::ReceiptWork& receipt) {
  Since out;
  if (!snapshot.segments_directory) {
    return out;
  }
  if (snapshot.version == 2) {
    if (receipt.has_since()) {
      receipt.refuse("the root of a Store v2 is always checked whole");
    }
    return out;
  }
  bool any = false;
  for (const Segment& segment : snapshot.segments) {
    ProvenRun run;
    const std::string name = snapshot.segments_prefix + segment.name;
    if (receipt.part(name) != nullptr) {
      VARVE_ASSIGN(const auto file,
                   snapshot.segments_directory->open_file(segment.name, io::OpenMode::read));
      VARVE_ASSIGN(const VerifyReceipt::Part* const part, receipt.standing_part(*file, name));
      if (part != nullptr && part->proven_bytes > k_header_bytes &&
          part->proven_bytes <= segment.bytes()) {
        run = {part->proven_bytes, part->number("records"), part->number("last_sequence"),
               static_cast<std::uint32_t>(part->number("crc"))};
        out.replayed = out.replayed && part->number("replayed") != 0;
        receipt.taken(part->proven_bytes - k_header_bytes);
        any = true;
      }
    }
    out.proven.push_back(run);
  }
  if (!any) {
    out.proven.clear();
  }
  return out;
}

bool has_new_records(const std::vector<Segment>& found, const std::vector<ProvenRun>& proven) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i >= proven.size() || found[i].records != proven[i].records) {
      return true;
    }
  }
  return false;
}

Finding not_replayed_finding() {
  Finding finding;
  finding.severity = Severity::note;
  finding.code = "not-replayed";
  finding.unit = "receipt";
  finding.message =
      "new records are whole and follow each other; whether their events fit the state of their "
      "jobs is not checked with a receipt, only by a run without";
  return finding;
}

Result<void> keep_in_receipt(const Snapshot& snapshot, const Examination& found, bool replayed,
                             model::ReceiptWork& receipt) {
  if (!receipt.making() || snapshot.version == 2 || !snapshot.segments_directory) {
    return {};
  }
  for (const Segment& segment : found.segments) {
    const std::uint64_t end = segment.sealed ? segment.bytes() - k_footer_bytes : segment.end;
    if (segment.hurt || segment.records == 0) {
      continue;
    }
    VARVE_ASSIGN(const auto file,
                 snapshot.segments_directory->open_file(segment.name, io::OpenMode::read));
    VerifyReceipt::Part part;
    part.file = snapshot.segments_prefix + segment.name;
    part.proven_bytes = end;
    part.closed = segment.sealed;
    part.numbers = {{"records", segment.records},
                    {"last_sequence", segment.last_sequence},
                    {"crc", segment.crc},
                    {"replayed", replayed ? 1 : 0}};
    VARVE_TRY(receipt.keep(*file, std::move(part)));
  }
  return {};
}

}  // namespace varve::tay
