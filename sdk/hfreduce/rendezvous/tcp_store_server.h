// The serving half of TcpStore: one thread, one poll loop, everything in memory.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "sdk/base/result.h"
#include "sdk/hfreduce/rendezvous/proof.h"
#include "sdk/hfreduce/rendezvous/secret.h"
#include "sdk/hfreduce/rendezvous/store_message.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"
#include "sdk/net/deadline.h"
#include "sdk/net/framed_stream.h"

namespace glim::hfreduce {

inline constexpr std::size_t kStoreBytesMax = std::size_t{256} << 20;  // of keys and values together
inline constexpr std::size_t kStoreConnectionsMax = 16384;
inline constexpr std::size_t kStoreStrangersMax = 256;  // that have not said what they want

// A connection for each call. Who has not said within ten seconds what it wants, with a secret also proven to have it,
// is a stranger and cut off; the oldest of too many strangers goes before, when it has had its moment, and until then
// newcomers wait with the kernel. Serves until its end.
class TcpStoreServer {
 public:
  // Port 0 picks a free one. UNAVAILABLE: the port is taken, or no descriptor is left.
  static Result<std::unique_ptr<TcpStoreServer>> Create(const net::SocketAddress& listen, const Secret& secret);
  // Everyone who still waits sees the connection end.
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  const net::SocketAddress& address() const { return address_; }

 private:
  struct Caller {
    net::FramedStream stream;
    Examiner examiner;
    bool proven = false;
    std::optional<std::string> waits_for;  // a key
    net::Deadline deadline;
    net::Deadline moment;  // a stranger is not asked to make room before

    bool IsStranger() const { return !waits_for.has_value() && !stream.wants_to_write(); }
  };

  TcpStoreServer(UniqueFd listener, UniqueFd stop, const net::SocketAddress& address, const Secret& secret);
  void Loop();
  void AcceptAll();
  bool HasRoom() const;
  // True: done with the caller.
  bool Hear(Caller& caller);
  bool HearProof(Caller& caller);
  std::string TurnedAway() const;
  bool Answer(Caller& caller, StatusCode code, const std::string& value);
  bool Execute(Caller& caller, const StoreMessage& request);
  bool Set(Caller& caller, const StoreMessage& request);
  bool Serve(Caller& caller, bool ready);

  UniqueFd listener_;
  UniqueFd stop_;  // an eventfd
  net::SocketAddress address_;
  std::map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
  bool written_ = false;  // a key, since the callers were last looked at
  const Secret secret_;
  std::uint64_t without_secret_ = 0;       // who was turned away: they showed none,
  std::uint64_t without_proof_ = 0;        // or left when they saw this one's, or showed another
  std::optional<net::Deadline> breather_;  // no descriptor is left: until then nobody is accepted
  std::list<Caller> callers_;
  std::list<Caller> strangers_;  // the oldest first
  std::thread thread_;
};

}  // namespace glim::hfreduce
