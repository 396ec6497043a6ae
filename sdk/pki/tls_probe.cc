#include "sdk/pki/tls_probe.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "sdk/base/check.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"
#include "sdk/net/deadline.h"
#include "sdk/net/socket.h"
#include "sdk/pki/openssl_ptr.h"

namespace glim::pki {
namespace {

using TlsContextPtr = OpensslPtr<SSL_CTX, SSL_CTX_free>;
using TlsPtr = OpensslPtr<SSL, SSL_free>;

Status TooLate(const std::string& address) {
  return {StatusCode::kDeadlineExceeded, address + " did not answer the TLS handshake in time"};
}

Status NoConnection(const std::string& address) {
  return Status(StatusCode::kDeadlineExceeded, "cannot connect to " + address + ": it did not answer in time")
      .WithFix("check the address, and that no firewall drops what is sent to this port");
}

Status NoTls(const std::string& address, const std::string& why) {
  return Status(StatusCode::kUnavailable, address + " does not answer by TLS: " + why)
      .WithReason("NOT_TLS")
      .WithFix("name the scheduler's `listen` address; a scheduler without TLS takes no enrolment");
}

Result<UniqueFd> ConnectTo(const net::SocketAddress& address, const net::Deadline& deadline) {
  Result<UniqueFd> socket = net::StartConnect(address);
  if (!socket.ok()) return socket;
  if (!net::AwaitReady(socket->get(), POLLOUT, deadline)) return NoConnection(address.ToString());
  if (const int error = net::ConnectError(socket->get()); error != 0) {
    return Status(StatusCode::kUnavailable, "cannot connect to " + address.ToString() + ": " + net::ErrnoText(error));
  }
  return socket;
}

// A handshake over memory: no call of OpenSSL's touches the socket, so none raises SIGPIPE or waits without end.
class Handshake {
 public:
  Handshake(int socket, std::string address, net::Deadline deadline)
      : socket_(socket), address_(std::move(address)), deadline_(deadline), context_(SSL_CTX_new(TLS_client_method())) {
    GLIM_CHECK(context_ != nullptr && SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION) == 1,
               "TLS 1.2 is always there");
    // Whom to trust is the caller's next question.
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
    tls_.reset(SSL_new(context_.get()));
    GLIM_CHECK(tls_ != nullptr, "out of memory");
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    GLIM_CHECK(in_ != nullptr && out_ != nullptr, "out of memory");
    SSL_set_bio(tls_.get(), in_, out_);
    constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
    GLIM_CHECK(SSL_set_alpn_protos(tls_.get(), kHttp2.data(), kHttp2.size()) == 0, "out of memory");
    SSL_set_connect_state(tls_.get());
  }

  Status Run() {
    while (true) {
      const int done = SSL_do_handshake(tls_.get());
      const int error = SSL_get_error(tls_.get(), done);
      if (Status status = Send(); !status.ok()) return status;
      if (done == 1) return Status::Ok();
      if (error != SSL_ERROR_WANT_READ) return NoTls(address_, OpensslError());
      if (Status status = Receive(); !status.ok()) return status;
    }
  }

  Result<std::vector<Certificate>> Chain() const {
    STACK_OF(X509)* shown = SSL_get_peer_cert_chain(tls_.get());
    const int count = shown != nullptr ? sk_X509_num(shown) : 0;
    if (count == 0) return NoTls(address_, "it shows no certificate");
    if (count > static_cast<int>(kCertificatesMax)) return NoTls(address_, "it shows too many certificates");
    std::vector<Certificate> chain;
    for (int i = 0; i < count; ++i) {
      unsigned char* bytes = nullptr;
      const int size = i2d_X509(sk_X509_value(shown, i), &bytes);
      const std::string der(reinterpret_cast<const char*>(bytes), size > 0 ? static_cast<std::size_t>(size) : 0);
      OPENSSL_free(bytes);
      Result<Certificate> certificate = Certificate::FromDer(der);
      if (!certificate.ok()) return NoTls(address_, certificate.status().message());
      chain.push_back(std::move(certificate).value());
    }
    return chain;
  }

 private:
  Status Send() {
    std::string pending = TextOf(out_);
    (void)BIO_reset(out_);
    std::size_t sent = 0;
    while (sent < pending.size()) {
      const ssize_t bytes = ::send(socket_, pending.data() + sent, pending.size() - sent, MSG_NOSIGNAL);
      if (bytes > 0) {
        sent += static_cast<std::size_t>(bytes);
      } else if (!net::WouldBlock(errno)) {
        return NoTls(address_, net::ErrnoText(errno));
      } else if (!net::AwaitReady(socket_, POLLOUT, deadline_)) {
        return TooLate(address_);
      }
    }
    return Status::Ok();
  }

  Status Receive() {
    std::array<char, 4096> buffer{};
    while (true) {
      if (!net::AwaitReady(socket_, POLLIN, deadline_)) return TooLate(address_);
      const ssize_t bytes = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (bytes > 0) {
        GLIM_CHECK(BIO_write(in_, buffer.data(), static_cast<int>(bytes)) == bytes, "out of memory");
        return Status::Ok();
      }
      if (bytes == 0) return NoTls(address_, "it ended the connection");
      if (!net::WouldBlock(errno)) return NoTls(address_, net::ErrnoText(errno));
    }
  }

  int socket_;
  std::string address_;
  net::Deadline deadline_;
  TlsContextPtr context_;
  TlsPtr tls_;
  BIO* in_ = nullptr;  // both are tls_'s
  BIO* out_ = nullptr;
};

}  // namespace

Result<std::vector<Certificate>> ProbeTls(const std::string& address, Duration within) {
  const net::Deadline deadline(within);
  const Result<std::vector<net::SocketAddress>> places = net::ParseAddresses(address);
  if (!places.ok()) return places.status();
  Result<UniqueFd> socket = ConnectTo(places->front(), deadline);
  for (std::size_t i = 1; !socket.ok() && i < places->size(); ++i) socket = ConnectTo((*places)[i], deadline);
  if (!socket.ok()) return socket.status();
  Handshake handshake(socket->get(), address, deadline);
  if (Status status = handshake.Run(); !status.ok()) return status;
  return handshake.Chain();
}

}  // namespace glim::pki
