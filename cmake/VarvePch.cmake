# SPDX-License-Identifier: MIT OR Apache-2.0
# Precompiled headers of the standard library and of the test framework: most of a compile's time is
# reading those. For clang, where it halves a compile; g++ 12 gains nothing from its own. Sources still
# include what they use: the other presets build without.
option(VARVE_PCH "Precompile the standard headers" OFF)

set(varve_standard_headers <algorithm> <array> <cstdint> <expected> <filesystem> <functional> <map>
    <memory> <mutex> <optional> <span> <string> <string_view> <thread> <unordered_map> <variant>
    <vector>)

# Precompiles the standard headers, and any further ones given, for one target.
function(varve_precompile target)
  if(VARVE_PCH)
    target_precompile_headers(${target} PRIVATE ${varve_standard_headers} ${ARGN})
  endif()
endfunction()
