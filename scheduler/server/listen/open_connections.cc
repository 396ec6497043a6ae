#include "scheduler/server/listen/open_connections.h"

#include <sys/socket.h>

namespace glim::server {
namespace {

constexpr Duration kLookEvery = Milliseconds(100);  // at all of them: a full port must not cost a processor

}  // namespace

std::uint64_t CookieOf(int fd) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

bool OpenConnections::Fits(const std::string& peer) const {
  const auto of_peer = peers_.find(peer);
  return open_.size() < bounds_.all && (of_peer == peers_.end() || of_peer->second.size() < bounds_.of_peer);
}

void OpenConnections::Forget(int fd) {
  const auto row = open_.find(fd);
  if (row == open_.end()) return;
  const auto of_peer = peers_.find(row->second.peer);
  of_peer->second.erase(fd);
  if (of_peer->second.empty()) peers_.erase(of_peer);
  open_.erase(row);
}

void OpenConnections::ForgetClosed(const std::vector<int>& fds) {
  for (const int fd : fds) {
    if (!is_open_(fd, open_.at(fd).cookie)) Forget(fd);
  }
}

std::vector<int> OpenConnections::Of(const std::string& peer) const {
  const auto of_peer = peers_.find(peer);
  return of_peer == peers_.end() ? std::vector<int>()
                                 : std::vector<int>(of_peer->second.begin(), of_peer->second.end());
}

std::vector<int> OpenConnections::All() const {
  std::vector<int> all;
  for (const auto& [fd, row] : open_) all.push_back(fd);
  return all;
}

bool OpenConnections::Take(const std::string& peer, int fd, std::uint64_t cookie, TimePoint now) {
  if (cookie == 0) return true;  // a kernel without them: nobody could be told from who has gone
  Forget(fd);                    // the descriptor is given out again: whose it was is gone
  if (!Fits(peer)) ForgetClosed(Of(peer));
  if (!Fits(peer) && open_.size() >= bounds_.all && now - looked_at_ >= kLookEvery) {
    looked_at_ = now;
    ForgetClosed(All());
  }
  if (!Fits(peer)) return false;
  open_[fd] = {peer, cookie};
  peers_[peer].insert(fd);
  return true;
}

}  // namespace glim::server
