#include "scheduler/gateway/gateway.h"

#include <pthread.h>

#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "scheduler/gateway/api.h"
#include "scheduler/gateway/transport.h"
#include "sdk/log/log.h"
#include "sdk/net/address.h"

namespace glim::gateway {
namespace {

using boost::asio::ip::tcp;
using TlsContext = boost::asio::ssl::context;

constexpr std::size_t kThreads = 2;
constexpr auto kAcceptPause = std::chrono::milliseconds(100);  // without descriptors
constexpr auto kRoomPause = std::chrono::milliseconds(20);     // until who was hung up on is gone
constexpr int kRoomTries = 10;
constexpr std::size_t kParkedMax = 64;

Status BindFailed(const std::string& address, const std::string& why) {
  return Status(StatusCode::kUnavailable, "cannot listen on " + address + ": " + why)
      .WithReason("BIND_FAILED")
      .WithField("listen_http")
      .WithFix("is another scheduler running? choose another --listen-http, or none");
}

// As gRPC names peers; one that came over IPv6 with an IPv4 address is that.
std::string PeerOf(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address();
  if (address.is_v4()) return "ipv4:" + address.to_string();
  if (address.to_v6().is_v4_mapped()) {
    return "ipv4:" + boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return "ipv6:%5B" + address.to_string() + "%5D";
}

std::shared_ptr<TlsContext> MakeContext(const ShownCertificate& shown) {
  auto context = std::make_shared<TlsContext>(TlsContext::tls_server);
  context->set_options(TlsContext::default_workarounds | TlsContext::no_sslv2 | TlsContext::no_sslv3 |
                       TlsContext::no_tlsv1 | TlsContext::no_tlsv1_1 | TlsContext::single_dh_use);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION);
  boost::system::error_code error;
  context->use_certificate_chain(boost::asio::buffer(*shown.chain), error);
  if (!error) context->use_private_key(boost::asio::buffer(*shown.key), TlsContext::pem, error);
  if (!error) return context;
  LogError("the HTTP port has no certificate error=\"{}\"", error.message());
  return nullptr;
}

}  // namespace

struct Gateway::Parts {
  explicit Parts(Options given) : options(std::move(given)), holdings(std::make_shared<Holdings>(options.bounds)) {}

  Options options;
  std::shared_ptr<Holdings> holdings;
  boost::asio::io_context io{static_cast<int>(kThreads)};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  boost::asio::strand<boost::asio::io_context::executor_type> strand{io.get_executor()};  // of what follows
  tcp::acceptor acceptor{strand};
  boost::asio::steady_timer pause{strand};
  std::list<std::weak_ptr<Connection>> connections;
  std::size_t parked = 0;               // newcomers that wait for the room that has just been made
  std::shared_ptr<const void> version;  // of the context
  std::shared_ptr<TlsContext> context;
  int port = 0;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Api> api;
  std::vector<std::thread> threads;
  bool stopped = false;

  Status Listen();
  void Accept();
  void Take(tcp::socket socket, int tries = kRoomTries);
  bool MakeRoom(const std::string& peer);
  void TakeSoon(tcp::socket socket, int tries);
  std::shared_ptr<TlsContext> Context();
};

Status Gateway::Parts::Listen() {
  const std::size_t colon = options.address.rfind(':');
  std::string host = options.address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto number = static_cast<std::uint16_t>(std::stoul(options.address.substr(colon + 1)));
  const auto resolved = net::ResolveAddress(host, number);
  if (!resolved.ok()) return BindFailed(options.address, resolved.status().message());
  tcp::endpoint endpoint;
  endpoint.resize(resolved->length);
  std::copy_n(reinterpret_cast<const char*>(resolved->raw()), resolved->length,
              reinterpret_cast<char*>(endpoint.data()));
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return BindFailed(options.address, error.message());
  port = acceptor.local_endpoint(error).port();
  return Status::Ok();
}

void Gateway::Parts::Accept() {
  acceptor.async_accept(boost::asio::make_strand(io),
                        [this](const boost::system::error_code& error, tcp::socket socket) {
                          if (error == boost::asio::error::operation_aborted || !acceptor.is_open()) return;
                          if (!error) {
                            Take(std::move(socket));
                            return Accept();
                          }
                          pause.expires_after(kAcceptPause);
                          pause.async_wait([this](const boost::system::error_code& stopped_now) {
                            if (!stopped_now) Accept();
                          });
                        });
}

// Hangs up on one that waits for a request, of this peer or, if it is empty, of any: Connection::Rank. False: all are
// being answered.
bool Gateway::Parts::MakeRoom(const std::string& peer) {
  std::erase_if(connections, [](const auto& weak) { return weak.expired(); });
  std::shared_ptr<Connection> first;
  for (const auto& weak : connections) {
    auto connection = weak.lock();
    if (!connection || !connection->idle() || (!peer.empty() && connection->peer() != peer)) continue;
    if (!first || connection->Rank() < first->Rank()) first = std::move(connection);
  }
  if (first) first->Close();
  return first != nullptr;
}

// The room is there when the connection that was hung up on has gone; another newcomer may be faster.
void Gateway::Parts::TakeSoon(tcp::socket socket, int tries) {
  if (parked >= kParkedMax) return;
  ++parked;
  const auto timer = std::make_shared<boost::asio::steady_timer>(strand, kRoomPause);
  timer->async_wait([this, timer, tries, socket = std::move(socket)](const boost::system::error_code& error) mutable {
    --parked;
    if (!error && acceptor.is_open()) Take(std::move(socket), tries);
  });
}

std::shared_ptr<TlsContext> Gateway::Parts::Context() {
  const ShownCertificate shown = options.certificate();
  if (shown.version == nullptr) return nullptr;
  if (shown.version != version) {
    context = MakeContext(shown);
    version = shown.version;
  }
  return context;
}

void Gateway::Parts::Take(tcp::socket socket, int tries) {
  boost::system::error_code error;
  const tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return;
  const std::string peer = PeerOf(endpoint);
  if (const Holdings::Room room = holdings->Begin(peer); room != Holdings::Room::kSome) {
    const bool of_peer = room == Holdings::Room::kNoneForPeer;
    if (tries > 0 && MakeRoom(of_peer ? peer : "")) TakeSoon(std::move(socket), tries - 1);
    return;
  }
  socket.set_option(tcp::no_delay(true), error);
  std::unique_ptr<Transport> transport;
  if (options.certificate) {
    if (auto shown = Context()) transport = TlsTransport(std::move(socket), std::move(shown));
  } else {
    transport = PlainTransport(std::move(socket));
  }
  if (!transport) return holdings->End(peer);
  auto connection =
      std::make_shared<Connection>(std::move(transport), peer, options.certificate != nullptr, options.times, holdings,
                                   [this](HttpRequest request, std::shared_ptr<Exchange> exchange) {
                                     api->Handle(std::move(request), std::move(exchange));
                                   });
  if (connections.size() > 2 * options.bounds.connections) {
    std::erase_if(connections, [](const auto& weak) { return weak.expired(); });
  }
  connections.push_back(connection);
  connection->Start();
}

Gateway::Gateway() = default;
Gateway::~Gateway() { Stop(); }

Result<std::unique_ptr<Gateway>> Gateway::Start(Options options, std::shared_ptr<grpc::Channel> channel) {
  std::unique_ptr<Gateway> gateway(new Gateway());
  gateway->parts_ = std::make_unique<Parts>(std::move(options));
  Parts& parts = *gateway->parts_;
  Api::Options api;
  api.identity = parts.options.identity;
  api.names = parts.options.names;
  api.streams = parts.options.streams;
  if (!parts.options.web_root.empty()) {
    auto files = StaticFiles::Read(parts.options.web_root);
    if (!files.ok()) return files.status();
    api.files = std::move(files).value();
  }
  if (Status s = parts.Listen(); !s.ok()) return s;
  parts.backend = std::make_unique<Backend>(std::move(channel), parts.options.forward);
  parts.api = std::make_unique<Api>(parts.backend.get(), std::move(api), parts.io.get_executor());
  boost::asio::post(parts.strand, [&parts] { parts.Accept(); });
  for (std::size_t i = 0; i < kThreads; ++i) {
    parts.threads.emplace_back([&parts] {
      pthread_setname_np(pthread_self(), "http");
      parts.io.run();
    });
  }
  return gateway;
}

int Gateway::port() const { return parts_->port; }
std::size_t Gateway::connections() const { return parts_->holdings->connections(); }
std::size_t Gateway::bytes_held() const { return parts_->holdings->bytes(); }

// Readers first: what feeds them is told, and then the calls end.
void Gateway::Stop() {
  if (!parts_ || std::exchange(parts_->stopped, true)) return;
  boost::asio::post(parts_->strand, [parts = parts_.get()] {
    boost::system::error_code ignored;
    parts->acceptor.close(ignored);
    parts->pause.cancel();
    for (const auto& weak : parts->connections) {
      if (const auto connection = weak.lock()) connection->Close();
    }
  });
  if (parts_->backend) parts_->backend->Stop();
  parts_->work.reset();
  for (std::thread& thread : parts_->threads) thread.join();
}

}  // namespace glim::gateway
