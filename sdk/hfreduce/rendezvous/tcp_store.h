// A store that one process serves over TCP (MASTER_ADDR and MASTER_PORT) and everyone else calls.
//
// A connection for each call: a rank that waits for a key holds up no other call of its process, and nothing is open
// once a communicator is made. Bounded: keys and values (store_message.h), their number, connections, and the time
// until one must have said what it wants (tcp_store_server.h). With a secret both ends of each connection prove first
// that they have it (proof.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sdk/base/result.h"
#include "sdk/hfreduce/rendezvous/secret.h"
#include "sdk/hfreduce/rendezvous/store.h"
#include "sdk/net/address.h"

namespace glim::hfreduce {

class TcpStoreServer;

struct TcpStoreOptions {
  std::string host = "127.0.0.1";  // the server's; the server itself listens there
  std::uint16_t port = 0;          // for the server, 0 picks a free one: see TcpStore::port
  bool serve = false;              // rank 0's
  Duration timeout = Seconds(60);  // within which the server must have answered a Set
  Secret secret = {};              // the same on all ranks; empty: whoever reaches the port is believed
};

// Thread-safe. The server answers until it is destroyed: keep it until every rank has what it needs.
class TcpStore final : public Store {
 public:
  // INVALID_ARGUMENT (no such host), UNAVAILABLE (the port is taken). A client is not connected yet: calls try again
  // until the server is there.
  static Result<std::unique_ptr<TcpStore>> Create(const TcpStoreOptions& options);
  ~TcpStore() override;

  // Beside Store's: INVALID_ARGUMENT (key or value too long), RESOURCE_EXHAUSTED (the server is full), UNAUTHENTICATED
  // (the server asks for a secret). What shows none or another one in the server's place is tried again until the
  // timeout, as if nobody listened there; the message says what it showed.
  Status Set(const std::string& key, const std::string& value) override;
  Result<std::string> Get(const std::string& key, Duration timeout) override;
  std::uint16_t port() const { return address_.port(); }

 private:
  TcpStore();

  net::SocketAddress address_;
  Duration timeout_;
  Secret secret_;
  std::unique_ptr<TcpStoreServer> server_;
};

}  // namespace glim::hfreduce
