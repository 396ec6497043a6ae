// Header blocks without end, and frames that mean nothing, at both ports of a real server: strangers, users after a
// good call and nodes with a certificate are hung up on before it costs memory, and who sends much that is wanted is
// not.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/server/testing/identity_server.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"
#include "sdk/net/tcp_counts.h"
#include "sdk/net/testing/raw_http2.h"

namespace glim::server {
namespace {

using namespace net::testing;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t kMiB = 1 << 20;

// HTTP/2 by hand over TLS. One thread; what comes is read when it is asked for.
class RawPeer {
 public:
  // `node`: whose certificate is shown; null: none. gRPC's own clients have a name of their own for the protocol.
  RawPeer(int port, const TestNode* node, const std::string& protocol = "h2")
      : context_(SSL_CTX_new(TLS_client_method())) {
    const net::SocketAddress to = net::ParseAddress("127.0.0.1:" + std::to_string(port)).value();
    socket_.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int little = 16 << 10;  // so that what was given has come, but for as much
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    const timeval patience{LongWait().count() / 1'000, 0};
    for (const int way : {SO_RCVTIMEO, SO_SNDTIMEO}) {
      ::setsockopt(socket_.get(), SOL_SOCKET, way, &patience, sizeof patience);
    }
    EXPECT_EQ(::connect(socket_.get(), to.raw(), to.length), 0);
    if (node != nullptr) Show(*node);
    ssl_ = SSL_new(context_);
    const std::string protocols = static_cast<char>(protocol.size()) + protocol;
    SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned int>(protocols.size()));
    SSL_set_fd(ssl_, socket_.get());
    EXPECT_EQ(SSL_connect(ssl_), 1);
    EXPECT_TRUE(Send(RawPreface()));
  }
  ~RawPeer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  // False: it was hung up on.
  bool Send(const std::string& bytes) {
    return bytes.empty() || SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  // A whole call. True: it was answered, whatever the answer is.
  bool Call(std::uint32_t stream, const std::string& path, const std::string& token, const std::string& body = "") {
    std::string headers = RawCallHeaders(path);
    if (!token.empty()) headers += RawHeader("authorization", "Bearer " + token);
    return Send(RawFrame(kRawHeaders, kRawEndHeaders, stream, headers) +
                RawFrame(kRawData, kRawEndStream, stream, RawMessage(body))) &&
           IsAnswered(stream);
  }
  bool IsAnswered(std::uint32_t stream) {
    for (;;) {
      const std::string head = Read(9);
      if (head.size() < 9) return false;
      const auto at = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(head[i])}; };
      Read(at(0) << 16 | at(1) << 8 | at(2));
      if ((at(5) << 24 | at(6) << 16 | at(7) << 8 | at(8)) == stream && (at(4) & kRawEndStream) != 0) return true;
    }
  }
  // TLS and what the kernel has not sent yet among it.
  std::uint64_t given() const { return net::CountsOf(socket_.get()).value().given; }

 private:
  void Show(const TestNode& node) {
    const std::string key = node.key.Pem(), chain = pki::PemOf(node.certificate);
    BIO* const from_key = BIO_new_mem_buf(key.data(), static_cast<int>(key.size()));
    BIO* const from_chain = BIO_new_mem_buf(chain.data(), static_cast<int>(chain.size()));
    EVP_PKEY* const own = PEM_read_bio_PrivateKey(from_key, nullptr, nullptr, nullptr);
    X509* const certificate = PEM_read_bio_X509(from_chain, nullptr, nullptr, nullptr);
    EXPECT_EQ(SSL_CTX_use_certificate(context_, certificate), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context_, own), 1);
    X509_free(certificate);
    EVP_PKEY_free(own);
    BIO_free(from_key);
    BIO_free(from_chain);
  }
  // Less: the connection has ended.
  std::string Read(std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
      char some[4'096];
      const int read = SSL_read(ssl_, some, static_cast<int>(std::min(bytes - text.size(), sizeof some)));
      if (read <= 0) break;
      text.append(some, static_cast<std::size_t>(read));
    }
    return text;
  }

  SSL_CTX* const context_;
  UniqueFd socket_;
  SSL* ssl_ = nullptr;
};

struct Flood {
  const char* name;
  std::string begin;  // once
  std::string more;   // without end
};

std::string Filled(const std::string& with, std::size_t bytes = 16'000) {
  std::string all;
  while (all.size() < bytes) all += with;
  return all;
}

// On stream 3; 1 had the call before.
std::vector<Flood> Floods() {
  const std::string headers = RawCallHeaders("/glim.v1.ClientApi/WhoAmI");
  const std::string block = RawFrame(kRawHeaders, 0, 3, headers);
  const std::string open = RawFrame(kRawHeaders, kRawEndHeaders, 3, headers);
  const auto more = [](const std::string& payload) { return RawFrame(kRawContinuation, 0, 3, payload); };
  // A header that goes into the table, by 62 later (RFC 7541, 6.2.1).
  const std::string kept = std::string("\x40\x01x\x7f\xe1\x1d", 6) + std::string(3'936, 'y');
  return {
      {"small headers", block, more(Filled(RawHeader("x", "y")))},
      {"frames without a byte", block, more("")},
      {"frames of a byte", block, more(std::string(1, '\x82'))},
      {"a header that goes on", block + more(std::string("\0\x7f\xff\xff\xff\xff\x07", 7)), more(Filled("x"))},
      {"a number that goes on", block + more(std::string("\0\x7f", 2)), more(Filled("\x80"))},
      {"headers of the table", RawFrame(kRawHeaders, 0, 3, headers + kept), more(Filled("\xbe", 200))},
      {"padding", RawFrame(kRawHeaders, kRawPadded, 3, '\x64' + headers + std::string(100, '\0')),
       more(Filled("\x82"))},
      {"trailers", open + RawFrame(kRawData, 0, 3, RawMessage("").substr(0, 3)) + RawFrame(kRawHeaders, 1, 3, ""),
       more(Filled(RawHeader("x", "y")))},
      {"beside an open call", open + RawFrame(kRawHeaders, 0, 5, headers),
       RawFrame(kRawContinuation, 0, 5, Filled(RawHeader("x", "y")))},
      {"priorities", "", Filled(RawFrame(kRawPriority, 0, 3, "12345"))},
      {"frames that nobody knows", "", RawFrame(kRawUnknown, 0, 0, Filled("x"))},
      {"promises", "", RawFrame(kRawPushPromise, 0, 3, Filled("x"))},
      {"goodbyes", "", RawFrame(kRawGoAway, 0, 0, Filled("x"))},
      {"data without a byte", open, Filled(RawFrame(kRawData, 0, 3, ""))},
  };
}

class HeaderFloodsTest : public IdentityTest {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to who has hung up
    IdentityTest::SetUp();
  }
  // Resident now. A sanitizer has memory of its own for all that is touched: there it says nothing.
  static std::uint64_t MemoryOfThisProcess() {
#ifdef GLIM_SANITIZED
    return 0;
#endif
    std::ifstream file("/proc/self/statm");
    std::uint64_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * 4'096;
  }
  static void IsHungUpOnInTime(RawPeer* peer, const Flood& flood) {
    const std::uint64_t memory = MemoryOfThisProcess(), before = peer->given();
    bool stands = peer->Send(flood.begin);
    while (stands && peer->given() - before < 16 * kMiB) stands = peer->Send(flood.more);
    EXPECT_FALSE(stands) << flood.name << ": it may go on";
    EXPECT_LT(peer->given() - before, kMiB) << flood.name;
    EXPECT_LT(MemoryOfThisProcess(), memory + 16 * kMiB) << flood.name;
  }
};

TEST_F(HeaderFloodsTest, AStrangerIsHungUpOn) {
  for (const Flood& flood : Floods()) {
    RawPeer peer(port(), nullptr);
    IsHungUpOnInTime(&peer, flood);
  }
  EXPECT_EQ(WhoIs(admin_token()).role(), "admin");
}

TEST_F(HeaderFloodsTest, AUserAfterAGoodCallIsHungUpOn) {
  for (const Flood& flood : Floods()) {
    RawPeer peer(port(), nullptr, "grpc-exp");
    ASSERT_TRUE(peer.Call(1, "/glim.v1.ClientApi/WhoAmI", admin_token())) << flood.name;
    IsHungUpOnInTime(&peer, flood);
  }
  EXPECT_EQ(WhoIs(admin_token()).role(), "admin");
}

TEST_F(HeaderFloodsTest, ANodeWithItsCertificateIsHungUpOn) {
  const TestNode node = MustEnrol("node-1");
  for (const Flood& flood : Floods()) {
    RawPeer peer(server_->agents_port(), &node);
    ASSERT_TRUE(peer.Call(1, "/glim.v1.AgentApi/ReviewSaves", "")) << flood.name;
    IsHungUpOnInTime(&peer, flood);
  }
  FakeAgent agent(ConnectAgent(&node), HelloOf(node));
  EXPECT_TRUE(agent.WaitWelcome());
}

// Each has half a block, as large as one may be; TLS itself has more of a connection than that.
TEST_F(HeaderFloodsTest, ManyWhoBeginABlockHoldLittle) {
  constexpr std::size_t kPeers = 100;
  std::deque<RawPeer> peers;
  for (std::size_t i = 0; i < kPeers; ++i) {
    ASSERT_TRUE(peers.emplace_back(port(), nullptr).Call(1, "/glim.v1.ClientApi/WhoAmI", admin_token()));
  }
  const std::uint64_t memory = MemoryOfThisProcess();
  const Flood flood = Floods().front();
  for (RawPeer& peer : peers)
    peer.Send(flood.begin + RawFrame(kRawContinuation, 0, 3, Filled(RawHeader("x", "y"), 15'000)));
  EXPECT_EQ(WhoIs(admin_token()).role(), "admin");
  EXPECT_LT(MemoryOfThisProcess(), memory + 16 * kMiB);
}

// Messages that are wanted: by new connections and by known ones, in succession and side by side.
TEST_F(HeaderFloodsTest, LargeMessagesAreTaken) {
  const std::string large(15 * kMiB, 'x');  // as a field that nobody knows, so that nobody minds
  v1::WhoAmIRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1'000, large);
  for (int i = 0; i < 3; ++i) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port()), Credentials(), own);
    const auto stub = v1::ClientApi::NewStub(channel);
    std::vector<std::jthread> callers;
    callers.reserve(3);
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&] {
        for (int call = 0; call < 3; ++call) {
          grpc::ClientContext context;
          Authorize(&context);
          v1::WhoAmIResponse who;
          const grpc::Status status = stub->WhoAmI(&context, request, &who);
          EXPECT_TRUE(status.ok()) << status.error_message();
        }
      });
    }
  }
}

// A slow wire and other clients than gRPC's own.
TEST_F(HeaderFloodsTest, ABlockInPiecesAndACallInPiecesAreTaken) {
  RawPeer peer(port(), nullptr);
  const std::string headers = RawCallHeaders("/glim.v1.ClientApi/WhoAmI") +
                              RawHeader("authorization", "Bearer " + admin_token()) +
                              RawHeader("x", std::string(100, 'y'));
  std::string sent = RawFrame(kRawHeaders, 0, 1, headers.substr(0, 50)) +
                     RawFrame(kRawContinuation, 0, 1, headers.substr(50, 10)) +
                     RawFrame(kRawContinuation, kRawEndHeaders, 1, headers.substr(60));
  v1::WhoAmIRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1'000, std::string(40'000, 'x'));
  const std::string message = RawMessage(request.SerializeAsString());
  for (std::size_t at = 0; at < message.size(); at += 1'000) {
    sent += RawFrame(kRawData, at + 1'000 < message.size() ? 0 : kRawEndStream, 1, message.substr(at, 1'000));
  }
  for (std::size_t at = 0; at < sent.size(); at += 97) {
    ASSERT_TRUE(peer.Send(sent.substr(at, 97)));
  }
  EXPECT_TRUE(peer.IsAnswered(1));
}

}  // namespace
}  // namespace glim::server
