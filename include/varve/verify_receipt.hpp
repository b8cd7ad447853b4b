// SPDX-License-Identifier: MIT OR Apache-2.0
// The receipt of a `verify` run: what was proven, and by what a later run knows that it still
// stands. See docs/verify.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/finding.hpp"
#include "varve/json.hpp"
#include "varve/result.hpp"

namespace varve {

struct VerifyReceipt {
  // A file of which the first `proven_bytes` bytes were found to be without fault.
  struct Part {
    std::string file;  // relative to the store; empty if the store is the file
    std::uint64_t device = 0, inode = 0;
    std::uint64_t size_bytes = 0;
    std::int64_t modified_ns = 0;
    std::uint64_t proven_bytes = 0;
    // True: the format never changes this file again, so that any difference ends the trust. False:
    // the file may grow; what was proven stands as long as `proof` holds.
    bool closed = false;
    // The format's own evidence (a header, a footer, the last frame), read again by a later run.
    std::string proof;
    // Numbers that the format needs to go on from here, and what it counted so far.
    std::map<std::string, std::uint64_t, std::less<>> numbers;

    void identify(const io::FileIdentity& identity);
    bool same_file(const io::FileIdentity& now) const;  // the object, whatever its size
    // Also of the same size, and not written to since.
    bool unchanged(const io::FileIdentity& now) const;
    std::uint64_t number(std::string_view name) const;  // 0 if there is none
  };

  std::string format;
  std::uint32_t version = 0;
  // What tells this store from another one, and this generation of it from the next; may be empty.
  std::string store;
  std::map<std::string, std::string> options;  // the format's own that the run was made with
  Verdict verdict = Verdict::clean;            // of the run
  std::vector<Part> parts;

  const Part* find(std::string_view file) const;
};

// varve.verify-receipt/1, with a digest over all of it.
Json to_json(const VerifyReceipt& receipt);
// The reverse. ErrorCode::invalid_argument, reason "receipt", for text that is no receipt, or whose
// digest says that it is not the one that was written.
Result<VerifyReceipt> parse_verify_receipt(std::string_view text);

}  // namespace varve
