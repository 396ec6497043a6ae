// OpenConnections: who is connected to a port, by peer, and whether one more may be. gRPC owns the sockets and does not
// tell when it closes one: they are looked after when there is no room, by the number that the kernel gives to each
// socket once.
//
// One thread. Memory: a row for each connection, so bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/time.h"

namespace glim::server {

struct ConnectionBounds {
  std::size_t of_peer = 512;  // an address, whatever the port
  std::size_t all = 8'192;
};

class OpenConnections {
 public:
  // Whether the descriptor is still that socket.
  using IsOpen = std::function<bool(int fd, std::uint64_t cookie)>;

  OpenConnections(ConnectionBounds bounds, IsOpen is_open) : bounds_(bounds), is_open_(std::move(is_open)) {}

  // False: there are as many as may be. `now` never goes back.
  bool Take(const std::string& peer, int fd, std::uint64_t cookie, TimePoint now);
  std::size_t count() const { return open_.size(); }

 private:
  struct Row {
    std::string peer;
    std::uint64_t cookie = 0;
  };
  bool Fits(const std::string& peer) const;
  void Forget(int fd);
  void ForgetClosed(const std::vector<int>& fds);
  std::vector<int> Of(const std::string& peer) const;
  std::vector<int> All() const;

  const ConnectionBounds bounds_;
  const IsOpen is_open_;
  std::map<int, Row> open_;
  std::map<std::string, std::set<int>> peers_;
  TimePoint looked_at_;  // with no room for anybody
};

// The socket's number: another one has another. 0: it has none.
std::uint64_t CookieOf(int fd);

}  // namespace glim::server
