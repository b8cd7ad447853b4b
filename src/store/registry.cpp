// SPDX-License-Identifier: MIT OR Apache-2.0
// The registration table: the one place where the format-neutral code names the formats.
#include <array>
#include <vector>

#include "arena/salvage.hpp"
#include "arena/view.hpp"
#include "jss/view.hpp"
#include "jss/writing.hpp"
#include "kladde/salvage.hpp"
#include "kladde/view.hpp"
#include "tay/view.hpp"
#include "tay/writing.hpp"
#include "varve/salvage.hpp"
#include "varve/store.hpp"

namespace varve {

namespace {

using SalvageFunction = Result<SalvageReport> (*)(io::FileSystem&, const std::string&,
                                                  const SalvageRequest&, FindingSink&);
struct Salvager {
  const Format& (*format)();
  SalvageFunction salvage;
};

constexpr std::array k_salvagers = {
    Salvager{arena::format, arena::salvage_store},
    Salvager{kladde::format, kladde::salvage_store},
    Salvager{tay::format, tay::salvage_store},
    Salvager{jss::format, jss::salvage_store},
};

}  // namespace

std::span<const Format* const> formats() {
  static const std::vector<const Format*> table = {
      &arena::format(),
      &kladde::format(),
      &tay::format(),
      &jss::format(),
  };
  return table;
}

Result<SalvageReport> salvage(io::FileSystem& files, const Format& format, const std::string& path,
                              const SalvageRequest& request, FindingSink& findings) {
  for (const Salvager& one : k_salvagers) {
    if (&one.format() == &format) {
      return one.salvage(files, path, request, findings);
    }
  }
  return fail(ErrorCode::unsupported, "not_offered", "this format does not offer `salvage`", path);
}

}  // namespace varve
