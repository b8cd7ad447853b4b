// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/state_source.hpp"

#include <utility>

#include "arena/fold.hpp"
#include "arena/journal.hpp"
#include "arena/snapshot.hpp"

namespace varve::arena {

std::optional<Error> refusal_to_compact(const StoreMap& map) {
  const auto refuse = [&](const char* word, const char* message) {
    return fail(ErrorCode::unsupported, word, message, map.path).error();
  };
  if (!map.schema) {
    return refuse("no-schema", "without store.json nothing says what the payloads mean");
  }
  if (map.schema->encrypted) {
    return refuse("unsupported-payload", "the store is encrypted");
  }
  if (map.schema->version != k_oldest_schema) {
    return refuse("unsupported-schema",
                  "stores of this schema write HMS-TXN-3, which is not known well enough");
  }
  return std::nullopt;
}

StateSource::StateSource(io::FileSystem& files, std::string path,
                         const std::optional<Geometry>& geometry,
                         const std::optional<StoreSchema>& schema, ChunkText chunk_text,
                         unsigned threads)
    : files_(files),
      path_(std::move(path)),
      geometry_(geometry),
      payloads_(PayloadContext::of(schema)),
      chunk_text_(std::move(chunk_text)),
      threads_(threads) {}

LiveState StateSource::empty_state() const {
  return LiveState(payloads_.rules.meaning_enabled, payloads_.rules.dimensions.value_or(0));
}

Result<void> StateSource::freeze(const JournalEnd& end) {
  end_ = end;
  return {};
}

// The log before the frozen end: what is behind it is not looked at, as if it were not there yet.
Result<void> StateSource::fold(LiveState& state) const {
  VARVE_ASSIGN(StoreMap map, map_store(files_, path_, {"", geometry_}));
  if (auto refusal = refusal_to_write(map)) {
    return std::unexpected(std::move(*refusal));
  }
  if (map.live_name != end_.generation || map.segments.size() <= end_.segment) {
    return fail(ErrorCode::locked, "changing", "the log was replaced meanwhile", path_);
  }
  map.segments.resize(end_.segment + 1);
  map.segments.back().file_bytes = end_.offset;
  FoldRequest request;
  request.walk.threads = threads_;
  request.walk.settle_ms = 0;
  FindingList findings;
  VARVE_ASSIGN(const Verdict verdict, fold_log(map, payloads_, request, state, findings));
  if (verdict != Verdict::clean) {
    return std::unexpected(to_error(findings.findings().front()));
  }
  return {};
}

Result<void> StateSource::write(PayloadSink& sink) {
  LiveState state = empty_state();
  VARVE_TRY(fold(state));
  // The comparison is with the state as it will be: texts that the log lacked are in it then.
  for (auto& [id, document] : state.documents) {
    if (document.has_null_text) {
      VARVE_ASSIGN(auto whole, document_inline(id, document.chunks, chunk_text_));
      document.chunks = std::move(whole).value_or(std::move(document.chunks));
      document.has_null_text = false;
    }
  }
  digest_ = state.digest();
  return write_snapshot(state, chunk_text_, [&](std::string_view payload) {
    return sink.add(base::as_bytes(payload));
  });
}

Result<void> StateSource::confirm(std::span<const std::byte> payload) {
  if (!read_back_) {
    read_back_ = empty_state();
  }
  const auto fault = decode_transaction(payload, payloads_.rules, scratch_.mutations);
  if (fault) {
    return fail(ErrorCode::unsupported, fault->word,
                std::string("the state holds what the format refuses: ") + fault->what, path_);
  }
  for (const Mutation& mutation : scratch_.mutations) {
    read_back_->apply(mutation);
  }
  return {};
}

Result<void> StateSource::confirmed() {
  const base::Hash128 digest = (read_back_ ? *read_back_ : empty_state()).digest();
  read_back_.reset();
  if (digest.high != digest_.high || digest.low != digest_.low) {
    return fail(ErrorCode::unsupported, "state-not-reproducible",
                "an id was used for several things in turn, so that no short log leads to the same "
                "state: the store stays as it is",
                path_);
  }
  return {};
}

Result<std::optional<std::string>> StateSource::carry(std::span<const std::byte> payload) {
  const PayloadView view = look_at_payload(payloads_, payload, scratch_);
  if (view.what != PayloadClass::txn2) {
    return fail(ErrorCode::unsupported, "unsupported-payload",
                "a payload of another form was appended while the compaction ran", path_);
  }
  std::vector<std::string> texts;  // stay in place: the mutations point into them
  texts.reserve(scratch_.mutations.size());
  for (Mutation& mutation : scratch_.mutations) {
    if (mutation.kind != MutationKind::document) {
      continue;
    }
    VARVE_ASSIGN(auto whole,
                 document_inline(text_of(mutation.values[0]), mutation.values[4], chunk_text_));
    if (whole) {
      mutation.values[4] = texts.emplace_back(*std::move(whole));
    }
  }
  if (texts.empty()) {
    return std::optional<std::string>();
  }
  std::string out;
  encode_transaction(scratch_.mutations, out);
  return out;
}

Result<CompactionReport> Journal::compact(const ChunkText& chunk_text) {
  if (auto refusal = refusal_to_compact(impl_->map)) {
    return std::unexpected(std::move(*refusal));
  }
  StateSource source(impl_->files, impl_->path, impl_->geometry, impl_->map.schema, chunk_text,
                     impl_->options.threads);
  return impl_->compact(source);
}

}  // namespace varve::arena
