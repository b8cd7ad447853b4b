// SPDX-License-Identifier: MIT OR Apache-2.0
// How refusals come about: from directory entries, objects, records, payloads, system errors.
#pragma once

#include <initializer_list>
#include <string>

#include "tay/objects.hpp"
#include "tay/record.hpp"
#include "tay/value.hpp"
#include "varve/tay_refusal.hpp"

namespace varve::tay {

// The verdict of a kind by the contract of `verify`; initialization_required depends on more.
Verdict verdict_of(RefusalKind kind);

// A refusal whose reason is the word by itself, or the word followed by arguments.
Refusal make_refusal(RefusalKind kind, std::string stage, std::string word, std::string message);
Refusal make_refusal(RefusalKind kind, std::string stage, std::string word, Json::Array arguments,
                     std::string message);

// Discovery (section 3.1): kind and physical kind, word, optionally the argument that names the
// entry or ids.
Refusal discovery_refusal(std::string word, Json argument, std::string file, std::string message);

// A fixed object at `file`; `unit` is STORE, header or footer. In a segment that is not the
// highest, `earlier`, what is incomplete is `sealed_history_error`.
Refusal object_refusal(const ObjectFault& fault, std::string unit, std::string file,
                       std::uint64_t offset, std::uint64_t length);

// What a walk found at `offset` of a segment instead of a whole record: the decoder's answer...
Refusal record_refusal(const DecodedRecord& record, std::uint64_t offset);
// ...or one of the four incomplete results, with what was there and what was expected.
Refusal incomplete_refusal(const char* word, std::uint64_t offset, std::uint64_t available,
                           std::uint64_t expected, std::string unit);

// A payload that does not decode, and an event that does not fit.
Refusal payload_refusal(const ValueFault& fault);
Refusal semantic_refusal(RefusalKind kind, const char* word, std::string message);

// A failed system call, or a file that is no longer what was listed.
Refusal refusal_of(const Error& error, std::string stage);

// Turns an incomplete result into what it is in an earlier segment.
void make_sealed_history_error(Refusal& refusal);

}  // namespace varve::tay
