#include "scheduler/gateway/holdings.h"

namespace glim::gateway {

Holdings::Room Holdings::Begin(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  if (all_.connections >= bounds_.connections) return Room::kNone;
  const auto found = peers_.find(peer);
  if (found != peers_.end() && found->second.connections >= bounds_.connections_of_peer) return Room::kNoneForPeer;
  ++peers_[peer].connections;
  ++all_.connections;
  return Room::kSome;
}

void Holdings::End(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  --peers_[peer].connections;
  --all_.connections;
  ForgetIfEmpty(peer);
}

bool Holdings::Hold(const std::string& peer, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Row& row = peers_[peer];
  if (row.bytes + bytes > bounds_.bytes_of_peer || all_.bytes + bytes > bounds_.bytes) {
    ForgetIfEmpty(peer);
    return false;
  }
  row.bytes += bytes;
  all_.bytes += bytes;
  return true;
}

void Holdings::Release(const std::string& peer, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  peers_[peer].bytes -= bytes;
  all_.bytes -= bytes;
  ForgetIfEmpty(peer);
}

void Holdings::ForgetIfEmpty(const std::string& peer) {
  const auto found = peers_.find(peer);
  if (found->second.connections == 0 && found->second.bytes == 0) peers_.erase(found);
}

std::size_t Holdings::connections() const {
  const std::lock_guard lock(mutex_);
  return all_.connections;
}

std::size_t Holdings::bytes() const {
  const std::lock_guard lock(mutex_);
  return all_.bytes;
}

}  // namespace glim::gateway
