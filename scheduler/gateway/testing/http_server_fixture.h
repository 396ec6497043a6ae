// A real scheduler with TLS, tokens and the HTTP port, for tests of the gateway.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "scheduler/gateway/testing/http_client.h"
#include "scheduler/server/testing/token_server.h"

namespace glim::gateway {

class HttpServerTest : public server::TokenServerTest {
 protected:
  std::string Authorities() const {
    std::stringstream text;
    text << std::ifstream(folder_ / "operator" / "ca.pem").rdbuf();
    return text.str();
  }
  HttpClient Connect() const { return {server_->http_port(), Authorities()}; }
  // One request on a connection of its own; `token` empty: without one.
  HttpReply Ask(const std::string& verb, const std::string& target, const std::string& token = "",
                const std::string& body = "", TestHeaders headers = {}) const {
    if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
    if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
    return Connect().Ask(verb, target, headers, body);
  }
};

}  // namespace glim::gateway
