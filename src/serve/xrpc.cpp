// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/answers.hpp"
#include "serve/context.hpp"

namespace varve::serve {

Result<void> install_archive_endpoints(ServeContext& context) {
  context.server.add_prefix("*", "/xrpc/", [](const HttpRequest& request) {
    return error_answer(501, "there is no method " + request.path.substr(6));
  });
  return {};
}

}  // namespace varve::serve
