// One client of the service, from its Hello on.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sdk/base/time.h"
#include "sdk/checkpoint/replica/control_stream.h"
#include "sdk/checkpoint/replica/replica_table.h"
#include "sdk/checkpoint/replica/transfer.h"
#include "sdk/net/address.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint {

// "10.0.0.7"; empty: it has gone already.
inline std::string HostOf(int socket) {
  net::SocketAddress peer;
  peer.length = sizeof peer.storage;
  const bool there = ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer.storage), &peer.length) == 0;
  return there ? peer.Host() : "";
}

struct ServiceConnection {
  enum class Stage : std::uint8_t { kNew, kChallenged, kJoined, kMember };
  // What the transfer process has been asked for; the client's next message waits for that.
  enum class Awaiting : std::uint8_t { kNothing, kWelcome, kGrant, kOpened };

  ServiceConnection(ReplicaTable::User given_id, UniqueFd socket, TimePoint now)
      : id(given_id), host(HostOf(socket.get())), stream(std::move(socket)), since(now) {}

  // It has shown a token.
  bool is_known() const { return stage >= Stage::kJoined; }

  // Memory that the table has given up is free when nobody maps it any more.
  void ForgetWhatIsGone() {
    if (transfer == nullptr) return;
    for (auto at = mapped.begin(); at != mapped.end();) {
      const bool gone = at->second.expired();
      if (gone) (void)transfer->Forget(at->first);
      at = gone ? mapped.erase(at) : std::next(at);
    }
  }

  ReplicaTable::User id;
  std::string host;
  ControlStream stream;
  TimePoint since;
  Stage stage = Stage::kNew;
  Awaiting awaiting = Awaiting::kNothing;
  Hello hello;
  Nonce nonce{};
  ReplicaClaims claims;  // from kJoined on: whose it is, shown and checked
  std::string worker;    // the client's UCX address
  Opened opened;         // what is known of it before the memory is mapped
  std::unique_ptr<Transfer> transfer;
  std::map<std::uint64_t, std::weak_ptr<Region>> mapped;  // by the transfer process
  std::string ending;                                     // why it is to be closed, once that is so
  bool watches_write = false;
};

}  // namespace glim::checkpoint
