// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/receipt_work.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/checksum.hpp"
#include "base/text_coding.hpp"

namespace varve::model {

namespace {

Finding note(std::string file, std::string message) {
  Finding finding;
  finding.severity = Severity::note;
  finding.code = "receipt-mismatch";
  finding.file = std::move(file);
  finding.unit = "receipt";
  finding.message = std::move(message);
  return finding;
}

// What differs, or nothing.
std::string difference(const VerifyReceipt::Part& part, const io::FileIdentity& now) {
  if (!part.same_file(now)) {
    return "another file is in its place";
  }
  if (now.size_bytes < part.proven_bytes || (part.closed && now.size_bytes != part.size_bytes)) {
    return "its size was " + std::to_string(part.size_bytes) + " and is " +
           std::to_string(now.size_bytes);
  }
  if (part.closed && part.modified_ns != now.modified_ns) {
    return "it was written to, which the format never does to a finished segment";
  }
  return {};
}

}  // namespace

Result<std::string> edge_digest(const io::File& file, std::uint64_t end) {
  std::array<std::byte, 2 * k_edge_bytes> bytes;
  const auto head = static_cast<std::size_t>(std::min(end, k_edge_bytes));
  const auto tail = static_cast<std::size_t>(std::min(end - head, k_edge_bytes));
  const auto first = std::span(bytes).first(head);
  const auto last = std::span(bytes).subspan(head, tail);
  VARVE_ASSIGN(const std::size_t got_first, file.read_at(first, 0));
  VARVE_ASSIGN(const std::size_t got_last, file.read_at(last, end - tail));
  if (got_first != head || got_last != tail) {
    return std::string();
  }
  return base::to_hex(base::sha256(base::ByteSpan(bytes).first(head + tail)));
}

ReceiptWork::ReceiptWork(const VerifyRequest& request, std::string store,
                         std::map<std::string, std::string> options, VerifyReport& report,
                         FindingSink& findings)
    : report_(report), findings_(findings) {
  if (request.quick) {
    return;
  }
  since_ = request.since;
  if (since_ != nullptr) {
    report_.receipt_use.parts = since_->parts.size();
    if (since_->format != report.format || since_->version != report.version) {
      refuse("the receipt is of a store of another format or version");
    } else if (since_->store != store) {
      refuse("the receipt is of another store or generation (" + since_->store + ", this is " +
             store + ")");
    } else if (since_->options != options) {
      refuse("the receipt is of a run with other options of the format");
    } else if (since_->parts.empty()) {
      refuse("the receipt proves nothing: nothing of the store was without a finding");
    }
  }
  if (request.make_receipt) {
    made_ = std::make_shared<VerifyReceipt>();
    made_->format = report.format;
    made_->version = report.version;
    made_->store = std::move(store);
    made_->options = std::move(options);
  }
}

const VerifyReceipt::Part* ReceiptWork::part(std::string_view file) const {
  return since_ == nullptr ? nullptr : since_->find(file);
}

Result<const VerifyReceipt::Part*> ReceiptWork::standing_part(const io::File& file,
                                                              const std::string& shown) {
  const VerifyReceipt::Part* found = part(shown);
  if (found == nullptr) {
    return found;
  }
  VARVE_ASSIGN(const io::FileIdentity now, file.identity());
  if (std::string reason = difference(*found, now); !reason.empty()) {
    mismatch(shown, reason);
    return nullptr;
  }
  VARVE_ASSIGN(const std::string edges, edge_digest(file, found->proven_bytes));
  if (edges != found->proof) {
    mismatch(shown, "its first or last bytes are not those that were proven");
    return nullptr;
  }
  return found;
}

void ReceiptWork::refuse(const std::string& reason) {
  since_ = nullptr;
  report_.receipt_use.reasons.push_back(reason + "; everything is checked");
  findings_.add(note("", report_.receipt_use.reasons.back()));
}

void ReceiptWork::mismatch(const std::string& file, const std::string& reason) {
  const std::string name = file.empty() ? "the file" : file;
  report_.receipt_use.reasons.push_back(name + ": " + reason + "; it is checked whole");
  findings_.add(note(file, "not as the receipt has it: " + reason + "; it is checked whole"));
}

void ReceiptWork::taken(std::uint64_t bytes) {
  ++report_.receipt_use.parts_taken;
  report_.receipt_use.bytes_taken += bytes;
}

Result<void> ReceiptWork::keep(const io::File& file, VerifyReceipt::Part part) {
  if (made_ == nullptr) {
    return {};
  }
  VARVE_ASSIGN(const io::FileIdentity identity, file.identity());
  part.identify(identity);
  VARVE_ASSIGN(part.proof, edge_digest(file, part.proven_bytes));
  if (!part.proof.empty()) {
    made_->parts.push_back(std::move(part));
  }
  return {};
}

void ReceiptWork::keep_as_is(VerifyReceipt::Part part) {
  if (made_ != nullptr) {
    made_->parts.push_back(std::move(part));
  }
}

void ReceiptWork::finish() {
  if (made_ != nullptr) {
    made_->verdict = report_.verdict;
    report_.receipt = std::move(made_);
  }
}

}  // namespace varve::model
