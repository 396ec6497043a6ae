#include "sdk/pki/tls_probe.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <optional>
#include <thread>

#include "sdk/base/testing/waits.h"
#include "sdk/net/socket.h"
#include "sdk/pki/testing/authorities.h"
#include "sdk/pki/testing/tls_peer.h"
#include "sdk/pki/verify.h"

namespace glim::pki {
namespace {

// Answers one connection in a thread of its own: by TLS, with `greeting`, or not at all.
class OneServer {
 public:
  enum class Manner { kTls, kWords, kEnds, kSilent };
  OneServer(Manner manner, const TlsPeer::Identity* identity) {
    const auto any = net::ResolveAddress("127.0.0.1", 0);
    listener_ = std::move(net::Listen(*any)).value();
    address_ = net::LocalAddress(listener_.get())->ToString();
    thread_ = std::thread([this, manner, identity] { Serve(manner, identity); });
  }
  ~OneServer() { Join(); }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  const std::string& address() const { return address_; }

 private:
  void Serve(Manner manner, const TlsPeer::Identity* identity) {
    const net::Deadline deadline(LongWaitDuration());
    if (!net::AwaitReady(listener_.get(), POLLIN, deadline)) return;
    const UniqueFd socket = net::Accept(listener_.get());
    if (manner == Manner::kEnds) return;
    const std::string words = "SSH-2.0-OpenSSH_9.2\r\n";
    if (manner == Manner::kWords) ::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
    std::optional<TlsPeer> peer;
    if (manner == Manner::kTls) peer.emplace(TlsPeer::Side::kServer, identity, std::vector<Certificate>{}, kTestNow);
    // Until the other side goes.
    while (net::AwaitReady(socket.get(), POLLIN, deadline)) {
      char buffer[4096];
      const ssize_t bytes = ::recv(socket.get(), buffer, sizeof buffer, 0);
      if (bytes <= 0) return;
      if (!peer) continue;
      peer->Take(std::string(buffer, static_cast<std::size_t>(bytes)));
      peer->Step();
      const std::string answer = peer->Pending();
      ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  UniqueFd listener_;
  std::string address_;
  std::thread thread_;
};

TEST(TlsProbe, TellsWhatTheServerShows) {
  const Authority authority = TestAuthority();
  const PrivateKey key = PrivateKey::Make();
  const TlsPeer::Identity identity{key, {TestScheduler(authority, key), authority.certificate}};
  OneServer server(OneServer::Manner::kTls, &identity);
  const Result<std::vector<Certificate>> chain = ProbeTls(server.address(), LongWaitDuration());
  ASSERT_TRUE(chain.ok()) << chain.status().message();
  EXPECT_EQ(*chain, identity.chain);
  EXPECT_TRUE(FindAuthority(*chain, authority.certificate.fingerprint()).ok());
}

TEST(TlsProbe, WhoDoesNotSpeakTlsIsNoScheduler) {
  for (const OneServer::Manner manner : {OneServer::Manner::kWords, OneServer::Manner::kEnds}) {
    OneServer server(manner, nullptr);
    const Result<std::vector<Certificate>> chain = ProbeTls(server.address(), LongWaitDuration());
    EXPECT_EQ(chain.status().code(), StatusCode::kUnavailable);
    EXPECT_NE(chain.status().message().find(server.address()), std::string::npos) << chain.status().message();
    EXPECT_NE(chain.status().fix(), "");
  }
}

TEST(TlsProbe, WhoSaysNothingIsNotWaitedForLongerThanIsDue) {
  OneServer server(OneServer::Manner::kSilent, nullptr);
  EXPECT_EQ(ProbeTls(server.address(), Milliseconds(50)).status().code(), StatusCode::kDeadlineExceeded);
}

TEST(TlsProbe, AnAddressThatDropsWhatItIsSentIsToldApartFromASilentServer) {
  const UniqueFd listener = std::move(net::Listen(*net::ResolveAddress("127.0.0.1", 0))).value();
  ASSERT_EQ(::listen(listener.get(), 0), 0);  // nobody accepts: from some connection on, the kernel drops the request
  const std::string address = net::LocalAddress(listener.get())->ToString();
  std::vector<UniqueFd> held;
  Status shown;
  for (int i = 0; i < 8 && shown.message().find("cannot connect") == std::string::npos; ++i) {
    held.push_back(std::move(net::StartConnect(*net::LocalAddress(listener.get()))).value());
    shown = ProbeTls(address, Milliseconds(50)).status();
  }
  EXPECT_EQ(shown.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(shown.message(), "cannot connect to " + address + ": it did not answer in time");
  EXPECT_NE(shown.fix().find("firewall"), std::string::npos);
}

TEST(TlsProbe, WhereNobodyListens) {
  std::string address;
  {
    OneServer server(OneServer::Manner::kEnds, nullptr);
    address = server.address();
    EXPECT_FALSE(ProbeTls(address, LongWaitDuration()).ok());
  }
  EXPECT_EQ(ProbeTls(address, LongWaitDuration()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(ProbeTls("nonsense", LongWaitDuration()).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace glim::pki
