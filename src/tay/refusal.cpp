// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/refusal.hpp"

#include <array>
#include <utility>

namespace varve::tay {

namespace {

constexpr std::array<std::string_view, 17> k_kind_words = {"argument",
                                                           "ownership_busy",
                                                           "ownership_unavailable",
                                                           "initialization_required",
                                                           "discovery",
                                                           "unsupported_physical",
                                                           "physical_corruption",
                                                           "continuity",
                                                           "incomplete_tail",
                                                           "unsupported_semantics",
                                                           "invalid_payload",
                                                           "consumer_rejected",
                                                           "resource_limit",
                                                           "io",
                                                           "changed_view",
                                                           "callback",
                                                           "uncertain_activation"};

constexpr std::size_t k_longest_reason_bytes = 1024;

ErrorCode code_of(const Refusal& refusal) {
  switch (refusal.kind) {
    case RefusalKind::argument:
    case RefusalKind::callback:
      return ErrorCode::invalid_argument;
    case RefusalKind::ownership_busy:
    case RefusalKind::changed_view:
      return ErrorCode::locked;
    case RefusalKind::ownership_unavailable:
      return ErrorCode::not_a_store;
    case RefusalKind::resource_limit:
      return ErrorCode::limit;
    case RefusalKind::io:
      return ErrorCode::io;
    case RefusalKind::uncertain_activation:
      return ErrorCode::poisoned;
    default:
      break;
  }
  switch (refusal.verdict) {
    case Verdict::torn:
      return ErrorCode::torn;
    case Verdict::unknown:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::damaged;
  }
}

// The arguments that the reason of a record's fault carries behind its word.
Json reason_detail(const Fault& fault) {
  const std::string_view word = fault.word;
  if (word == "invalid_magic" || word == "header_checksum" || word == "record_checksum") {
    return Json(word);
  }
  Json detail = Json::array();
  detail.push(word).push(Json(fault.actual));
  if (word == "payload_length_exceeds_format") {
    detail.push(Json(fault.expected));
  }
  return detail;
}

std::string_view record_message(std::string_view word) {
  if (word == "record_checksum") return "the record's payload does not fit its checksum";
  if (word == "header_checksum") return "the record's header does not fit its checksum";
  if (word == "invalid_magic") return "neither a record nor a footer begins here";
  if (word == "format") return "the record has a framing version that this build does not know";
  if (word == "flags") return "the record has flags that this build does not know";
  return "the record's header holds a value that the format forbids";
}

}  // namespace

std::string_view to_text(RefusalKind kind) { return k_kind_words[static_cast<std::size_t>(kind)]; }

Verdict verdict_of(RefusalKind kind) {
  switch (kind) {
    case RefusalKind::incomplete_tail:
      return Verdict::torn;
    case RefusalKind::unsupported_physical:
    case RefusalKind::unsupported_semantics:
    case RefusalKind::resource_limit:
    case RefusalKind::io:
    case RefusalKind::changed_view:
    case RefusalKind::argument:
    case RefusalKind::ownership_busy:
    case RefusalKind::callback:
    case RefusalKind::uncertain_activation:
      return Verdict::unknown;
    default:
      return Verdict::damaged;
  }
}

Json to_json(const Refusal& refusal) {
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json();
  };
  const bool uncertain = refusal.kind == RefusalKind::uncertain_activation;
  Json out = Json::object();
  out.set("state", "refused");
  out.set("kind", to_text(refusal.kind));
  out.set("physical_kind", refusal.physical_kind.empty() ? Json() : Json(refusal.physical_kind));
  out.set("stage", refusal.stage);
  out.set("reason", refusal.reason.text().size() > k_longest_reason_bytes ? Json("details_redacted")
                                                                          : refusal.reason);
  out.set("segment_id", number(refusal.segment_id));
  out.set("offset", number(refusal.offset));
  out.set("sequence", number(refusal.sequence));
  out.set("mutation", uncertain ? "activation_uncertain" : "none");
  out.set("action", "preserve_and_stop");
  return out;
}

Finding to_finding(const Refusal& refusal) {
  Finding finding;
  finding.verdict = refusal.verdict;
  finding.code = refusal.word;
  finding.kind = to_text(refusal.kind);
  finding.file = refusal.file;
  finding.offset = refusal.offset.value_or(0);
  finding.length = refusal.length;
  finding.unit = refusal.unit;
  finding.index = refusal.index;
  finding.expected = refusal.expected;
  finding.actual = refusal.actual;
  finding.message = refusal.message;
  if (refusal.verdict == Verdict::torn) {
    finding.message += "; the format's own engine refuses to open such a store";
  }
  return finding;
}

Error to_error(const Refusal& refusal) {
  Error error;
  error.code = code_of(refusal);
  error.path = refusal.file;
  error.offset = refusal.offset.value_or(0);
  error.length = refusal.length;
  error.unit = refusal.unit;
  error.reason = refusal.word;
  error.expected = refusal.expected;
  error.actual = refusal.actual;
  error.system_errno = refusal.system_errno;
  error.message = refusal.message;
  return error;
}

Refusal make_refusal(RefusalKind kind, std::string stage, std::string word, std::string message) {
  Refusal out;
  out.kind = kind;
  out.verdict = verdict_of(kind);
  out.stage = std::move(stage);
  out.reason = Json(word);
  out.word = std::move(word);
  out.message = std::move(message);
  return out;
}

Refusal make_refusal(RefusalKind kind, std::string stage, std::string word, Json::Array arguments,
                     std::string message) {
  Refusal out = make_refusal(kind, std::move(stage), std::move(word), std::move(message));
  Json reason = Json::array();
  reason.push(out.word);
  for (Json& argument : arguments) {
    reason.push(std::move(argument));
  }
  out.reason = std::move(reason);
  return out;
}

Refusal discovery_refusal(std::string word, Json argument, std::string file, std::string message) {
  Refusal out =
      argument.is_null()
          ? make_refusal(RefusalKind::discovery, "listing", std::move(word), std::move(message))
          : make_refusal(RefusalKind::discovery, "listing", std::move(word),
                         Json::Array{std::move(argument)}, std::move(message));
  out.physical_kind = "discovery_error";
  out.file = std::move(file);
  out.unit = "entry";
  return out;
}

Refusal object_refusal(const ObjectFault& fault, std::string unit, std::string file,
                       std::uint64_t offset, std::uint64_t length) {
  const std::string_view word = fault.fault.word;
  const bool unsupported = fault.type == ObjectFault::Class::unsupported;
  const bool store = unit == k_store_name;
  Refusal out = make_refusal(
      unsupported ? RefusalKind::unsupported_physical : RefusalKind::physical_corruption,
      store ? "store" : "segments", std::string(word),
      "the " + unit + " breaks a rule of the format");
  if (store) {
    out.physical_kind = "corrupt_store";
  } else if (unit == "footer") {
    out.physical_kind =
        fault.type == ObjectFault::Class::segment_crc ? "segment_crc" : "corrupt_footer";
  } else if (unsupported) {
    out.physical_kind =
        word == "unsupported_version" ? "unsupported_segment_version" : "unsupported_segment_flags";
  } else if (fault.type == ObjectFault::Class::mismatch) {
    out.physical_kind = "id_or_store_mismatch";
  } else {
    out.physical_kind = word == "segment_size_exceeds_format" ? "record_or_sequence_error"
                                                              : "corrupt_segment_header";
  }
  if (unsupported) {
    out.message = "the " + unit + " has a version or flags that this build does not know";
  } else if (fault.type == ObjectFault::Class::segment_crc) {
    out.message = "the segment's bytes do not fit the checksum in its footer";
  } else if (word == "checksum") {
    out.message = "the " + unit + " does not fit its checksum";
  }
  out.unit = std::move(unit);
  out.file = std::move(file);
  out.offset = offset;
  out.length = length;
  out.expected = fault.fault.expected;
  out.actual = fault.fault.actual;
  return out;
}

Refusal record_refusal(const DecodedRecord& record, std::uint64_t offset) {
  const Fault& fault = record.fault;
  Refusal out;
  if (record.status == RecordStatus::resource_limit) {
    out = make_refusal(RefusalKind::resource_limit, "segments", "resource_limit",
                       {Json(fault.actual), Json(fault.expected)},
                       "the record's payload is larger than the budget for one");
    out.physical_kind = "io_or_resource_error";
  } else {
    const bool unsupported = record.status == RecordStatus::unsupported;
    out = make_refusal(
        unsupported ? RefusalKind::unsupported_physical : RefusalKind::physical_corruption,
        "segments", fault.word, std::string(record_message(fault.word)));
    Json reason = Json::array();
    reason.push(unsupported ? "unsupported" : "corrupt").push(reason_detail(fault));
    out.reason = std::move(reason);
    out.physical_kind = "record_or_sequence_error";
  }
  out.unit = "record";
  out.offset = offset;
  out.length = record.header_proven ? record.header.frame_bytes() : 0;
  out.expected = fault.expected;
  out.actual = fault.actual;
  return out;
}

Refusal incomplete_refusal(const char* word, std::uint64_t offset, std::uint64_t available,
                           std::uint64_t expected, std::string unit) {
  Refusal out = make_refusal(RefusalKind::incomplete_tail, "segments", word,
                             "the segment ends inside a " + unit);
  out.physical_kind = word;
  out.unit = std::move(unit);
  out.offset = offset;
  out.length = available;
  out.expected = Number::decimal(expected);
  out.actual = Number::decimal(available);
  return out;
}

void make_sealed_history_error(Refusal& refusal) {
  refusal.kind = RefusalKind::physical_corruption;
  refusal.verdict = Verdict::damaged;
  refusal.physical_kind = "sealed_history_error";
  refusal.message += ", although a later segment exists";
}

Refusal payload_refusal(const ValueFault& fault) {
  return semantic_refusal(
      fault.limit ? RefusalKind::resource_limit : RefusalKind::invalid_payload, fault.word,
      fault.limit ? "decoding the payload would cost more than its budget"
                  : "the payload is not the canonical encoding of an event of its type");
}

Refusal semantic_refusal(RefusalKind kind, const char* word, std::string message) {
  Refusal out = make_refusal(kind, "replay", word, std::move(message));
  out.unit = "record";
  return out;
}

Refusal refusal_of(const Error& error, std::string stage) {
  const bool changed = error.code == ErrorCode::locked;
  Refusal out = make_refusal(changed ? RefusalKind::changed_view : RefusalKind::io,
                             std::move(stage), error.reason, error.message);
  out.physical_kind = "io_or_resource_error";
  out.file = error.path;
  out.system_errno = error.system_errno;
  return out;
}

}  // namespace varve::tay
