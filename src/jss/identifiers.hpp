// SPDX-License-Identifier: MIT OR Apache-2.0
// The identifiers that filters take (section 18). Rows need not hold valid ones.
#pragma once

#include <string_view>

namespace varve::jss {

// "app.bsky.feed.post"
bool is_nsid(std::string_view text);
// "app.bsky.feed.*": valid if the head with any last label is an NSID.
bool is_collection_wildcard(std::string_view text);
// "did:plc:..."
bool is_did(std::string_view text);

}  // namespace varve::jss
