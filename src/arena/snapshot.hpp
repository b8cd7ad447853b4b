// SPDX-License-Identifier: MIT OR Apache-2.0
// The live state as HMS-TXN-2 payloads that lead to it again, one mutation a payload, in the order
// of section 13 step 2. What only the engine could compute (the vectors of Triplet) is carried as
// the original mutation, with the atoms it met set before it.
#pragma once

#include <functional>
#include <string_view>

#include "arena/state.hpp"
#include "varve/arena.hpp"

namespace varve::arena {

// Documents whose chunks lack their text ask `chunk_text`; ErrorCode::unsupported, reason
// document-text-missing, if that does not know it. States that no sequence of mutations in this
// order leads to exist (an id used for several things in turn): comparing digests shows them.
Result<void> write_snapshot(const LiveState& state, const ChunkText& chunk_text,
                            const std::function<Result<void>(std::string_view payload)>& write);

// A Document mutation with every chunk's text inline; nullopt if it has them all already.
Result<std::optional<std::string>> document_inline(std::string_view document_id,
                                                   std::string_view chunks_token,
                                                   const ChunkText& chunk_text);

}  // namespace varve::arena
