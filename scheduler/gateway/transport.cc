#include "scheduler/gateway/transport.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <utility>

namespace glim::gateway {
namespace {

class Plain final : public Transport {
 public:
  explicit Plain(Tcp::socket socket) : socket_(std::move(socket)) {}
  void Handshake(Handler done) override {
    boost::asio::post(socket_.get_executor(), [done = std::move(done)] { done({}, 0); });
  }
  void ReadSome(boost::asio::mutable_buffer into, Handler done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void WriteSome(boost::asio::const_buffer from, Handler done) override {
    socket_.async_write_some(from, std::move(done));
  }
  Tcp::socket& socket() override { return socket_; }

 private:
  Tcp::socket socket_;
};

class Tls final : public Transport {
 public:
  Tls(Tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}
  void Handshake(Handler done) override {
    stream_.async_handshake(boost::asio::ssl::stream_base::server,
                            [done = std::move(done)](const boost::system::error_code& error) { done(error, 0); });
  }
  void ReadSome(boost::asio::mutable_buffer into, Handler done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void WriteSome(boost::asio::const_buffer from, Handler done) override {
    stream_.async_write_some(from, std::move(done));
  }
  Tcp::socket& socket() override { return stream_.next_layer(); }

 private:
  const std::shared_ptr<boost::asio::ssl::context> context_;  // the stream's, also when a newer one is shown
  boost::asio::ssl::stream<Tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<Transport> PlainTransport(Transport::Tcp::socket socket) {
  return std::make_unique<Plain>(std::move(socket));
}

std::unique_ptr<Transport> TlsTransport(Transport::Tcp::socket socket,
                                        std::shared_ptr<boost::asio::ssl::context> context) {
  return std::make_unique<Tls>(std::move(socket), std::move(context));
}

}  // namespace glim::gateway
