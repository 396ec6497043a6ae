// Transport: the bytes of one connection, plain or TLS. On the connection's strand alone; it lives until its last
// handler has been called.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>

namespace glim::gateway {

class Transport {
 public:
  using Tcp = boost::asio::ip::tcp;
  using Handler = std::function<void(const boost::system::error_code& error, std::size_t bytes)>;

  virtual ~Transport() = default;
  virtual void Handshake(Handler done) = 0;  // at once where there is none
  virtual void ReadSome(boost::asio::mutable_buffer into, Handler done) = 0;
  virtual void WriteSome(boost::asio::const_buffer from, Handler done) = 0;
  virtual Tcp::socket& socket() = 0;
  // What waits ends with an error.
  void Close() {
    boost::system::error_code ignored;
    socket().close(ignored);
  }
  // Nothing more is written; the other side may still read what was.
  void EndWriting() {
    boost::system::error_code ignored;
    socket().shutdown(Tcp::socket::shutdown_send, ignored);
  }
};

std::unique_ptr<Transport> PlainTransport(Transport::Tcp::socket socket);
std::unique_ptr<Transport> TlsTransport(Transport::Tcp::socket socket,
                                        std::shared_ptr<boost::asio::ssl::context> context);

}  // namespace glim::gateway
