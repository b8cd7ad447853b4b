// SPDX-License-Identifier: MIT OR Apache-2.0
// The live state of a journal of HMS-TXN-2 transactions, folded from its own log: the source of the
// built-in compaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arena/payload.hpp"
#include "arena/state.hpp"
#include "arena/store_map.hpp"
#include "varve/arena.hpp"

namespace varve::arena {

// Why the built-in compaction does not take a store, whatever its log holds (section 13: encrypted,
// schemas above 2, documents.ckpt).
std::optional<Error> refusal_to_compact(const StoreMap& map);

class StateSource final : public LiveStateSource {
 public:
  StateSource(io::FileSystem& files, std::string path, const std::optional<Geometry>& geometry,
              const std::optional<StoreSchema>& schema, ChunkText chunk_text, unsigned threads);

  Result<void> freeze(const JournalEnd& end) override;
  Result<void> write(PayloadSink& sink) override;
  Result<std::optional<std::string>> carry(std::span<const std::byte> payload) override;
  Result<void> confirm(std::span<const std::byte> payload) override;
  Result<void> confirmed() override;

 private:
  Result<void> fold(LiveState& state) const;
  LiveState empty_state() const;

  io::FileSystem& files_;
  std::string path_;
  std::optional<Geometry> geometry_;
  PayloadContext payloads_;
  ChunkText chunk_text_;
  unsigned threads_;
  JournalEnd end_;
  PayloadScratch scratch_;
  base::Hash128 digest_;                // of the frozen state, with every chunk's text
  std::optional<LiveState> read_back_;  // what the new generation adds up to
};

}  // namespace varve::arena
