// SPDX-License-Identifier: MIT OR Apache-2.0
// The kladde format for embedders: the terms that its headers share. See kladde_store.hpp for the
// transactional store and kladde_types.hpp for type descriptors.
#pragma once

#include <cstdint>

namespace varve::kladde {

// The name of an allocation, 1 to 2^32-1; 0 is never one.
using Id = std::uint32_t;

// The two revisions of the address table (sections 6 and Appendix A). Nothing in a file says which
// one it uses, so it is never guessed: A unless the caller says B.
enum class Dialect : std::uint8_t { a, b };

}  // namespace varve::kladde
