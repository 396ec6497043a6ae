#include "scheduler/oidc/testing/local_issuer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <utility>

namespace glim::oidc::testing {

LocalIssuer::LocalIssuer(std::string keys) : keys_(std::move(keys)) {
  listener_.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof place;
  EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&place), bytes), 0);
  EXPECT_EQ(::listen(listener_.get(), 8), 0);
  EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&place), &bytes), 0);
  url_ = "http://127.0.0.1:" + std::to_string(ntohs(place.sin_port));
  thread_ = std::thread([this] { Serve(); });
}

LocalIssuer::~LocalIssuer() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
}

void LocalIssuer::Serve() {
  while (true) {
    const UniqueFd connection(::accept(listener_.get(), nullptr, nullptr));
    if (!connection) return;
    char request[4096];
    const ssize_t got = ::recv(connection.get(), request, sizeof request, 0);
    const std::string line(request, static_cast<std::size_t>(got > 0 ? got : 0));
    const bool configuration = line.starts_with("GET /.well-known/openid-configuration ");
    const bool keys = line.starts_with("GET /keys ");
    std::string body = "no";
    if (configuration) body = R"({"issuer": ")" + url_ + R"(", "jwks_uri": ")" + url_ + R"(/keys"})";
    if (keys) body = keys_;
    const std::string answer = std::string(configuration || keys ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 Not Found") +
                               "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                               body;
    ++requests_;
    (void)::send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  }
}

}  // namespace glim::oidc::testing
