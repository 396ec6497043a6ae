// Who is connected to SaveApi: gRPC is given connections, and any of them can be hung up on, whatever gRPC waits for.
//
// A connection is a stranger's until a call on it has shown a good token. Strangers have little time, few bytes and few
// refused calls, and they take places from each other alone, first from those of their own address. Others send their
// calls and that they take what they are given: who sends much beyond that sends headers without end, which gRPC 1.51
// would keep (scheduler/server/listen/frame_guard.h). A thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"
#include "sdk/net/tcp_counts.h"

namespace glim::nodeagent {

struct SaveDoorBounds {
  std::size_t address_strangers = 16;
  std::size_t strangers = 256;
  std::size_t connections = 1024;            // strangers' and others'
  std::uint64_t stranger_bytes = 128 << 10;  // a request has at most half of that
  std::uint64_t known_bytes = 256 << 10;     // since a call, beyond what a reader says of what it was given
  unsigned refusals = 4;                     // of calls on one connection
  std::chrono::milliseconds stranger_time{10'000};
};

class SaveDoor {
 public:
  // The socket, which is not blocking, and the one that it came by.
  using Give = std::function<void(UniqueFd socket, int listener)>;

  // HOST:PORT, port 0: a free one. UNAVAILABLE: somebody else has the port, or the address is not of this machine.
  static Result<std::unique_ptr<SaveDoor>> Open(const std::string& listen, SaveDoorBounds bounds);
  ~SaveDoor() { Close(); }
  SaveDoor(const SaveDoor&) = delete;
  SaveDoor& operator=(const SaveDoor&) = delete;

  const std::string& address() const { return address_; }  // host:port
  void Start(Give give);
  // Lets nobody in any more, and hangs up on everybody. Once.
  void Close();

  // Any thread; `peer` as grpc::ServerContext has it.
  void Know(const std::string& peer);    // has shown a token
  void Refuse(const std::string& peer);  // a call: it is hung up on when there were too many
  void HangUp(const std::string& peer);

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    UniqueFd socket;  // a descriptor of our own
    std::string host;
    Clock::time_point since;
    std::uint64_t number = 0;
    net::TcpCounts counts;  // at the last look, which was then
    Clock::time_point looked_at;
    std::uint64_t unasked = 0;  // of a known one, bytes
    bool known = false;
    bool ended = false;
    unsigned refusals = 0;
  };
  using Connections = std::map<std::string, Connection>;

  explicit SaveDoor(SaveDoorBounds bounds) : bounds_(bounds) {}
  Status ListenOn(const std::string& listen);
  void Run();
  // False: no descriptor is left.
  bool TakeAll(int listener);
  bool Take(UniqueFd socket, const net::SocketAddress& from, int listener);
  bool MakeRoom(const std::string& host);
  bool EndOldestStranger(const std::string* host);
  void LookAtArrivals();
  // Whether there are any.
  bool LookAtStrangers();
  void Look(Connection& connection, Clock::time_point now) const;
  static void End(Connection& connection);
  void Forget(Connections::iterator at);

  const SaveDoorBounds bounds_;
  std::string address_;
  UniqueFd stop_;
  UniqueFd arrivals_;  // of epoll(7): by which connections something has come
  std::vector<UniqueFd> listening_;
  Give give_;
  std::mutex mutex_;
  Connections connections_;  // by peer, "10.0.0.7:51234"; guarded by mutex_, erased by the thread alone
  std::map<std::uint64_t, Connections::iterator> numbered_;  // the thread's
  std::uint64_t numbers_ = 0;                                // likewise
  std::thread thread_;
};

}  // namespace glim::nodeagent
