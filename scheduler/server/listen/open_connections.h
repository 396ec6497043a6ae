// OpenConnections: who is connected to a port, by peer, and whether one more may be. gRPC owns the sockets and does not
// tell when it closes one: they are looked after when there is no room, by the number that the kernel gives to each
// socket once.
//
// Whoever connects is a stranger until a call has shown who it is. When there is no room for one more, the oldest
// stranger is hung up on: strangers take connections from each other, and from nobody else.
//
// Any thread. Memory: a row for each connection, so bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/time.h"
#include "sdk/net/tcp_counts.h"

namespace glim::server {

struct ConnectionBounds {
  std::size_t of_peer = 512;  // an address, whatever the port
  std::size_t all = 8'192;
};

class OpenConnections {
 public:
  // The number is the socket's own: the descriptor may be another's by now.
  struct Socket {
    int fd = -1;
    std::uint64_t cookie = 0;
  };
  // What the kernel does. None holds a socket that is gone.
  struct Kernel {
    std::function<bool(Socket)> is_open;
    std::function<std::optional<net::TcpCounts>(Socket)> counts;  // none: it is gone
    std::function<void(Socket)> end;                              // hangs up; gRPC then closes it
  };
  static Kernel RealKernel();

  OpenConnections(ConnectionBounds bounds, Kernel kernel) : bounds_(bounds), kernel_(std::move(kernel)) {}

  // Whether one more may come in now: so many strangers at a time have their first moments, in which nothing
  // is known of them. The others wait (newcomers.h).
  bool HasTurn(TimePoint now);
  // False: there are as many as may be. `host` is the peer without its port; `peer` with it, empty: it is no stranger,
  // for nobody would ever tell who it is. `now` never goes back.
  bool Take(const std::string& host, const std::string& peer, Socket socket, TimePoint now);
  // The peer has shown who it is, `user`: of the places of its address one user has half, and the oldest goes. Empty:
  // nobody in particular. Its number; 0: there is no such connection, or no more.
  std::uint64_t Proven(const std::string& peer, const std::string& user);
  void End(std::uint64_t cookie);
  // Ends strangers who were sent more than what strangers ask for: they go on asking for what they are refused, which
  // costs a processor, or take no answers, which pile up. And those who sent more than a few calls can be: a connection
  // whose token counts is a stranger's until its first call is there. When to look again; none: there is no stranger.
  std::optional<Duration> EndGreedyStrangers(TimePoint now);
  // Strangers' peers.
  std::set<std::string> Strangers() const;
  // Ends strangers who have begun more calls than strangers do; how many. `offender`: one of them was refused again and
  // again, and has begun so many at least; who has, and has had the time to show who it is, is ended with it, for gRPC
  // does not tell which it was.
  std::size_t EndStrangersWhoBegan(const std::map<std::string, std::uint64_t>& calls, TimePoint now,
                                   std::optional<std::uint64_t> offender = std::nullopt);
  std::size_t count() const;

 private:
  using Order = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // oldest first: its turn, its cookie
  struct Row {
    int fd = -1;
    std::string host;
    std::string peer;
    std::uint64_t turn = 0;
    TimePoint since;
    bool stranger = false;
    std::string user;
  };
  struct Host {
    std::set<std::uint64_t> all;
    Order strangers;
    std::map<std::string, Order> users;
    TimePoint looked_at;
  };
  bool Fits(const std::string& host) const;
  void MakeRoom(const std::string& host, TimePoint now);
  void EndOldest(const Order& order);
  // Null: nobody of that host is that user.
  const Order* OfUser(const std::string& host, const std::string& user) const;
  void HoldToShare(const std::string& host, const std::string& user);
  void ForgetEnded();
  void EndAndForget(std::uint64_t cookie);
  void Forget(std::uint64_t cookie);
  void ForgetClosed(const std::vector<std::uint64_t>& cookies);

  const ConnectionBounds bounds_;
  const Kernel kernel_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::uint64_t, Row> open_;
  std::map<int, std::uint64_t> descriptors_;
  std::map<std::string, std::uint64_t> peers_;
  std::map<std::string, Host> hosts_;
  Order strangers_;
  std::uint64_t turns_ = 0;
  std::vector<Socket> ended_;  // and not closed yet by gRPC: what it has read of them it still works off
  TimePoint flooded_until_;    // strangers began more calls than they do
  TimePoint looked_at_;        // with no room for anybody
};

// The socket's number: another one has another. 0: it has none.
std::uint64_t CookieOf(int fd);
// Since some moment; it never goes back.
TimePoint SteadyNow();

}  // namespace glim::server
