// The serving half of TcpStore: one thread, one poll loop, everything in memory.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "sdk/base/result.h"
#include "sdk/hfreduce/rendezvous/store_message.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"
#include "sdk/net/deadline.h"
#include "sdk/net/framed_stream.h"

namespace glim::hfreduce {

inline constexpr std::size_t kStoreBytesMax = std::size_t{256} << 20;  // of keys and values together
inline constexpr std::size_t kStoreConnectionsMax = 16384;

// A connection for each call. Who has not said within ten seconds what it wants is cut off. Serves until its end.
class TcpStoreServer {
 public:
  // Port 0 picks a free one. UNAVAILABLE: the port is taken, or no descriptor is left.
  static Result<std::unique_ptr<TcpStoreServer>> Create(const net::SocketAddress& listen);
  // Everyone who still waits sees the connection end.
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  const net::SocketAddress& address() const { return address_; }

 private:
  struct Caller {
    net::FramedStream stream;
    std::optional<std::string> waits_for;  // a key
    net::Deadline deadline;
  };

  TcpStoreServer(UniqueFd listener, UniqueFd stop, const net::SocketAddress& address);
  void Loop();
  void AcceptAll();
  // True: done with the caller.
  bool Hear(Caller& caller);
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
  std::list<Caller> callers_;
  std::thread thread_;
};

}  // namespace glim::hfreduce
