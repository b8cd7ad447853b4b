// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/fold.hpp"

#include "arena/findings.hpp"

namespace varve::arena {

namespace {

// The error that a payload stands for when the log must be read whole.
Finding refusal_of(const SegmentContext& segment, std::uint64_t offset, std::uint64_t index,
                   const PayloadView& view) {
  PayloadFault fault;
  switch (view.what) {
    case PayloadClass::txn3:
      fault = {"unsupported-payload", 0, "HMS-TXN-3 is not interpreted"};
      break;
    case PayloadClass::encrypted:
      fault = {"decrypt-failed", 0, "the payload is encrypted and no passphrase was given"};
      break;
    case PayloadClass::opaque:
      fault = {"unsupported-payload", 0, "the payload is no transaction: the log has no state"};
      break;
    default:
      fault = *view.fault;
  }
  Finding finding = payload_finding(segment, offset, index, fault);
  finding.severity = Severity::error;
  finding.verdict =
      std::string_view(fault.word) == "bad-payload" ? Verdict::damaged : Verdict::unknown;
  return finding;
}

class Folder {
 public:
  struct Decoded {
    std::uint64_t offset = 0;
    PayloadView view;
    std::size_t first_mutation = 0;
    std::size_t mutations = 0;
  };
  struct Output {
    base::Buffer memory;  // decompressed payloads; reserved at once, so that they stay in place
    std::vector<base::Bytes> plain;  // decrypted ones
    std::vector<Decoded> frames;
    std::vector<Mutation> mutations;
    PayloadScratch scratch;
  };

  Folder(const PayloadContext& payloads, const FoldRequest& request, LiveState& state,
         FindingSink& findings)
      : payloads_(payloads), request_(request), state_(state), findings_(findings) {}

  void begin(Output& output, const RawChunk& chunk) {
    std::size_t total = 0;
    for (const PlannedFrame& frame : chunk.frames) {
      total += frame.header.compressed() ? frame.header.raw_len : 0;
    }
    output.memory.reserve(std::min<std::size_t>(total, k_plenty_bytes));
    output.memory.set_size(0);
    output.plain.clear();
    output.frames.clear();
    output.mutations.clear();
  }
  std::byte* room(Output& output, const PlannedFrame& frame, unsigned) {
    if (output.memory.size() + frame.header.raw_len > output.memory.capacity()) {
      // Only the first frame of a chunk may be that large: nothing points into the memory yet.
      output.memory.set_size(0);
      output.memory.reserve(frame.header.raw_len);
    }
    return output.memory.data() + output.memory.size();
  }
  void frame(Output& output, const PlannedFrame& frame, base::ByteSpan payload, unsigned) {
    if (frame.header.compressed()) {
      output.memory.set_size(output.memory.size() + payload.size());
    }
    Decoded decoded;
    decoded.offset = frame.offset;
    decoded.view = look_at_payload(payloads_, payload, output.scratch);
    if (decoded.view.what == PayloadClass::txn2) {
      if (payloads_.key && decoded.view.text.data() != payload.data()) {
        output.plain.push_back(std::move(output.scratch.decrypted));  // its bytes stay in place
      }
      decoded.first_mutation = output.mutations.size();
      decoded.mutations = output.scratch.mutations.size();
      output.mutations.insert(output.mutations.end(), output.scratch.mutations.begin(),
                              output.scratch.mutations.end());
    }
    output.frames.push_back(decoded);
  }
  void finish(Output&, unsigned) {}

  Result<bool> deliver(Output& output, std::span<const PlannedFrame>) {
    for (const Decoded& frame : output.frames) {
      if (request_.until && context_->position == request_.until->first &&
          frame.offset >= request_.until->second) {
        return false;
      }
      if (frame.view.what != PayloadClass::txn2) {
        VARVE_TRY(refuse(refusal_of(*context_, frame.offset, index_, frame.view)));
      }
      for (std::size_t i = 0; i < frame.mutations; ++i) {
        state_.apply(output.mutations[frame.first_mutation + i]);
      }
      ++index_;
    }
    return true;
  }

  void segment(const SegmentContext& context) {
    context_ = &context;
    index_ = 0;
  }
  Result<bool> damage(const SegmentContext& context, const Damage& damage) {
    Finding finding = damage_finding(context, damage, index_++);
    if (damage.kind == Damage::Kind::torn || damage.kind == Damage::Kind::in_progress) {
      if (finding.severity == Severity::error) {
        verdict = worse(verdict, finding.verdict);
      }
      findings_.add(std::move(finding));
      return true;
    }
    VARVE_TRY(refuse(std::move(finding)));
    return true;
  }
  Result<void> end(const SegmentContext&, const SegmentEnd&, TailScanner&) { return {}; }

  Verdict verdict = Verdict::clean;

 private:
  static constexpr std::size_t k_plenty_bytes = std::size_t{8} << 20;

  Result<void> refuse(Finding finding) {
    if (!request_.partial) {
      return std::unexpected(to_error(finding));
    }
    verdict = worse(verdict, finding.verdict);
    findings_.add(std::move(finding));
    return {};
  }

  const PayloadContext& payloads_;
  const FoldRequest& request_;
  LiveState& state_;
  FindingSink& findings_;
  const SegmentContext* context_ = nullptr;
  std::uint64_t index_ = 0;
};

}  // namespace

Result<Verdict> fold_log(const StoreMap& map, const PayloadContext& payloads,
                         const FoldRequest& request, LiveState& state, FindingSink& findings) {
  Folder folder(payloads, request, state, findings);
  WalkOptions options = request.walk;
  options.policy = request.partial ? Policy::report : Policy::strict;
  VARVE_TRY(walk_log(map, options, folder));
  return folder.verdict;
}

}  // namespace varve::arena
