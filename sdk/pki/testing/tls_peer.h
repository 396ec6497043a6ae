// For tests: one end of a TLS connection in memory, with the settings that a daemon has. Owns what it is made of; one
// thread. Faults of the set-up end the program (CHECK); that a handshake fails is what the tests ask for.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <string>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/openssl_ptr.h"
#include "sdk/pki/private_key.h"

namespace glim::pki {

class TlsPeer {
 public:
  enum class Side { kServer, kClient };
  struct Identity {
    PrivateKey key;
    std::vector<Certificate> chain;
  };

  // `own`: null, it shows nothing. `trusted`: none, the other side shows nothing, or may be anybody. `now`: of its
  // clock.
  TlsPeer(Side side, const Identity* own, const std::vector<Certificate>& trusted, TimePoint now,
          const std::string& server_name = "")
      : context_(SSL_CTX_new(side == Side::kServer ? TLS_server_method() : TLS_client_method())) {
    GLIM_CHECK(context_ != nullptr, "a context can be made");
    if (own != nullptr) Show(*own);
    X509_STORE* const store = SSL_CTX_get_cert_store(context_.get());
    for (const Certificate& authority : trusted) X509_STORE_add_cert(store, authority.raw());
    if (!trusted.empty()) {
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context_.get()), now.ms / 1000);
    tls_.reset(SSL_new(context_.get()));
    if (!server_name.empty()) SSL_set1_host(tls_.get(), server_name.c_str());
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(tls_.get(), in_, out_);
    side == Side::kServer ? SSL_set_accept_state(tls_.get()) : SSL_set_connect_state(tls_.get());
  }

  // One step; what it wants to send is in Pending. True: the handshake is through.
  bool Step() {
    if (failed_ || SSL_is_init_finished(tls_.get()) != 0) {
      char byte = 0;
      // A client of TLS 1.3 is through before it is refused.
      if (!failed_ && SSL_read(tls_.get(), &byte, 1) < 0) Note(-1);
      return !failed_;
    }
    const int done = SSL_do_handshake(tls_.get());
    if (done != 1) Note(done);
    return done == 1;
  }
  std::string Pending() {
    std::string bytes = TextOf(out_);
    (void)BIO_reset(out_);
    return bytes;
  }
  void Take(const std::string& bytes) {
    if (!bytes.empty()) BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  }
  bool failed() const { return failed_; }
  // X509_V_OK, or why the other side's certificate was refused.
  long verdict() const { return SSL_get_verify_result(tls_.get()); }

 private:
  void Show(const Identity& own) {
    GLIM_CHECK(SSL_CTX_use_certificate(context_.get(), own.chain.front().raw()) == 1 &&
                   SSL_CTX_use_PrivateKey(context_.get(), own.key.raw()) == 1,
               "certificate and key belong together");
    for (std::size_t i = 1; i < own.chain.size(); ++i) SSL_CTX_add1_chain_cert(context_.get(), own.chain[i].raw());
  }
  void Note(int done) {
    const int error = SSL_get_error(tls_.get(), done);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) failed_ = true;
    (void)OpensslError();
  }

  OpensslPtr<SSL_CTX, SSL_CTX_free> context_;
  OpensslPtr<SSL, SSL_free> tls_;
  BIO* in_ = nullptr;  // both are tls_'s
  BIO* out_ = nullptr;
  bool failed_ = false;
};

// Whether both sides are through, and neither has refused the other.
inline bool ShakeHands(TlsPeer* server, TlsPeer* client) {
  bool done = false;
  for (int round = 0; round < 10; ++round) {
    const bool client_done = client->Step();
    server->Take(client->Pending());
    const bool server_done = server->Step();
    client->Take(server->Pending());
    if (server->failed() || client->failed()) {
      client->Step();
      return false;
    }
    done = client_done && server_done;
  }
  return done;
}

}  // namespace glim::pki
