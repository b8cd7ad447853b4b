// SPDX-License-Identifier: MIT OR Apache-2.0
// WebSockets (RFC 6455) on a connection of the server, framed by wslay. No extension is negotiated.
#pragma once

#include <memory>
#include <string>

#include "serve/http_head.hpp"
#include "serve/http_server.hpp"
#include "serve/http_socket.hpp"

namespace varve::serve {

// The answer that accepts an upgrade (101), or one that says what is missing.
HttpResponse web_socket_answer(const HttpRequest& request, const std::string& subprotocol);

// Runs the session on the socket and closes it in order. `pending`: bytes that came behind the
// request.
void run_web_socket(const HttpSocket& socket, std::string pending, std::size_t max_message_bytes,
                    const HttpServerOptions& options, const Signal& stopping,
                    const WebSocketSession& session);

}  // namespace varve::serve
