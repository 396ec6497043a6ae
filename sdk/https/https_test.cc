#include "sdk/https/https.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <optional>
#include <thread>

#include "sdk/base/testing/waits.h"
#include "sdk/https/safe_url.h"
#include "sdk/net/socket.h"
#include "sdk/pki/testing/authorities.h"
#include "sdk/pki/testing/tls_peer.h"

namespace glim::https {
namespace {

// Answers one connection in a thread of its own: with `answer` when the request is there, or, with an identity, by TLS.
class OneServer {
 public:
  explicit OneServer(std::string answer, const pki::TlsPeer::Identity* identity = nullptr)
      : answer_(std::move(answer)), identity_(identity) {
    const auto any = net::ResolveAddress("127.0.0.1", 0);
    listener_ = std::move(net::Listen(*any)).value();
    address_ = net::LocalAddress(listener_.get())->ToString();
    thread_ = std::thread([this] { Serve(); });
  }
  ~OneServer() { Join(); }
  const std::string& address() const { return address_; }
  // What was asked, once the other side has gone.
  const std::string& Request() {
    Join();
    return request_;
  }

 private:
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  void Serve() {
    const net::Deadline deadline(LongWaitDuration());
    if (!net::AwaitReady(listener_.get(), POLLIN, deadline)) return;
    const UniqueFd socket = net::Accept(listener_.get());
    std::optional<pki::TlsPeer> peer;
    if (identity_) {
      peer.emplace(pki::TlsPeer::Side::kServer, identity_, std::vector<pki::Certificate>{}, pki::kTestNow);
    }
    bool answered = false;
    while (net::AwaitReady(socket.get(), POLLIN, deadline)) {
      char buffer[4096];
      const ssize_t bytes = ::recv(socket.get(), buffer, sizeof buffer, 0);
      if (bytes <= 0) return;
      const std::string got(buffer, static_cast<std::size_t>(bytes));
      if (peer) {
        peer->Take(got);
        peer->Step();
        Send(socket.get(), peer->Pending(), deadline);
        continue;
      }
      request_ += got;
      if (answered || request_.find("\r\n\r\n") == std::string::npos) continue;
      answered = true;
      Send(socket.get(), answer_, deadline);
      ::shutdown(socket.get(), SHUT_WR);
    }
  }
  static void Send(int socket, const std::string& text, const net::Deadline& deadline) {
    for (std::size_t sent = 0; sent < text.size();) {
      if (!net::AwaitReady(socket, POLLOUT, deadline)) return;
      const ssize_t bytes = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (bytes <= 0) return;
      sent += static_cast<std::size_t>(bytes);
    }
  }

  const std::string answer_;
  const pki::TlsPeer::Identity* const identity_;
  UniqueFd listener_;
  std::string address_;
  std::string request_;
  std::thread thread_;
};

std::string Response(const std::string& line, const std::string& body, const std::string& header = "") {
  return "HTTP/1.1 " + line + "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         header + "\r\n" + body;
}

TEST(Https, GoesToSafePlacesAlone) {
  for (const char* url : {"https://issuer.example", "https://issuer.example:8443/realms/x?a=b", "http://127.0.0.1:80/x",
                          "http://localhost", "http://localhost:1/x", "http://[::1]:5/x", "http://[::1]",
                          "https://issuer.example:65535"}) {
    EXPECT_TRUE(IsSafeUrl(url)) << url;
  }
  CurlClient client;
  for (const char* url :
       {"", "https://", "http://issuer.example", "ftp://127.0.0.1", "file:///etc/passwd", "http://127.0.0.1.example",
        "http://localhost:80@issuer.example", "https://kim:secret@issuer.example", "http://localhost\\@issuer.example",
        "http://[::1].example/", "https://a b", "https://issuer.example/\n", "HTTPS://x", "http://127.0.0.2",
        "http://localhost:99999/", "https://issuer.example:0", "https://issuer.example:", "https://issuer.example:8x",
        "https://issuer.example/x#part"}) {
    EXPECT_FALSE(IsSafeUrl(url)) << url;
    EXPECT_EQ(client.Get(url).status().reason(), "BAD_URL") << url;
    EXPECT_EQ(client.Post(url, {}).status().reason(), "BAD_URL") << url;
  }
}

TEST(Https, SendsAForm) {
  OneServer server(Response("400 Bad Request", "no"));
  const Result<Answer> answer = CurlClient().Post("http://" + server.address() + "/token", {{"a", "b c"}, {"d", "&"}});
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->status, 400) << "what it says is for the caller";
  EXPECT_EQ(answer->body, "no");
  EXPECT_TRUE(server.Request().starts_with("POST /token HTTP/1.1\r\n")) << server.Request();
  EXPECT_TRUE(server.Request().ends_with("\r\n\r\na=b%20c&d=%26")) << server.Request();
}

TEST(Https, IsNotSentElsewhere) {
  OneServer server(Response("302 Found", "", "Location: file:///etc/passwd\r\n"));
  const Result<Answer> answer = CurlClient().Get("http://" + server.address());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->status, 302);
  EXPECT_EQ(answer->body, "");
}

TEST(Https, TakesNoMoreThanIsDue) {
  OneServer fits(Response("200 OK", std::string(kAnswerBytesMax, 'x')));
  const Result<Answer> whole = CurlClient().Get("http://" + fits.address());
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole->body.size(), kAnswerBytesMax);
  OneServer more(Response("200 OK", std::string(kAnswerBytesMax + 1, 'x')));
  EXPECT_EQ(CurlClient().Get("http://" + more.address()).status().reason(), "ISSUER_UNREACHABLE");
}

// The certificate names 127.0.0.1, and no authority of this machine has signed it.
TEST(Https, BelievesTheMachinesAuthoritiesAlone) {
  const pki::Authority authority = pki::TestAuthority();
  const pki::PrivateKey key = pki::PrivateKey::Make();
  const pki::TlsPeer::Identity identity{key, {pki::TestScheduler(authority, key), authority.certificate}};
  OneServer server("", &identity);
  const Result<Answer> answer = CurlClient().Get("https://" + server.address());
  EXPECT_EQ(answer.status().reason(), "ISSUER_UNREACHABLE");
  EXPECT_NE(answer.status().message().find("certificate"), std::string::npos) << answer.status().message();
}

TEST(HttpsPostJson, SendsADocumentWithItsHeaders) {
  OneServer server(Response("204 No Content", ""));
  const std::atomic<bool> stopping{false};
  const auto answer = PostJson({"http://" + server.address() + "/hook", R"({"a": "b&c"})", {{"X-One", "1"}}}, stopping);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->status, 204);
  EXPECT_TRUE(server.Request().starts_with("POST /hook HTTP/1.1\r\n")) << server.Request();
  EXPECT_NE(server.Request().find("\r\nContent-Type: application/json\r\n"), std::string::npos) << server.Request();
  EXPECT_NE(server.Request().find("\r\nX-One: 1\r\n"), std::string::npos) << server.Request();
  EXPECT_TRUE(server.Request().ends_with("\r\n\r\n{\"a\": \"b&c\"}")) << server.Request();
}

TEST(HttpsPostJson, IsNotSentElsewhere) {
  OneServer server(Response("307 Temporary Redirect", "", "Location: http://127.0.0.1:1/\r\n"));
  const std::atomic<bool> stopping{false};
  EXPECT_EQ(PostJson({"http://" + server.address(), "{}", {}}, stopping)->status, 307);
  EXPECT_EQ(PostJson({"http://hooks.example", "{}", {}}, stopping).status().reason(), "BAD_URL");
  EXPECT_EQ(PostJson({"https://hooks.example", std::string(kPostBytesMax + 1, 'x'), {}}, stopping).status().field(),
            "body");
}

TEST(HttpsPostJson, BelievesTheMachinesAuthoritiesAlone) {
  const pki::Authority authority = pki::TestAuthority();
  const pki::PrivateKey key = pki::PrivateKey::Make();
  const pki::TlsPeer::Identity identity{key, {pki::TestScheduler(authority, key), authority.certificate}};
  OneServer server("", &identity);
  const std::atomic<bool> stopping{false};
  const auto answer = PostJson({"https://" + server.address(), "{}", {}}, stopping);
  EXPECT_EQ(answer.status().reason(), "NO_ANSWER");
  EXPECT_NE(answer.status().message().find("certificate"), std::string::npos) << answer.status().message();
}

TEST(Https, NobodyThereIsToldSo) {
  EXPECT_EQ(CurlClient().Get("http://127.0.0.1:1/keys").status().reason(), "ISSUER_UNREACHABLE");
}

}  // namespace
}  // namespace glim::https
