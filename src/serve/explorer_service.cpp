// SPDX-License-Identifier: MIT OR Apache-2.0
// The explorer among the services.
#include "serve/context.hpp"
#include "serve/explorer.hpp"
#include "varve/store.hpp"

namespace varve::serve {

Result<void> install_explorer(ServeContext& context) {
  std::vector<Explorer::Store> stores;
  for (const ServedStore& store : context.stores) {
    const Format* const format = find_format(store.format);
    if (format == nullptr) {
      return fail(ErrorCode::invalid_argument, "format", "no such format: " + store.format,
                  store.path);
    }
    stores.push_back({format, store.path, store.name});
  }
  const auto explorer = std::make_shared<Explorer>(context.files, stores);
  context.kept.push_back(explorer);
  const HttpHandler handle = [explorer = explorer.get()](const HttpRequest& request) {
    return explorer->handle(request);
  };
  context.server.add("*", "/", handle);
  context.server.add_prefix("*", "/explorer/", handle);
  context.server.add_prefix("*", "/api/", handle);
  return {};
}

}  // namespace varve::serve
