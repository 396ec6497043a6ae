// Who of those that have shown no token yet makes room for the next one. Who has shown one never does.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "sdk/checkpoint/replica/service_connection.h"

namespace glim::checkpoint {

using ServiceConnections = std::map<ReplicaTable::User, std::unique_ptr<ServiceConnection>>;  // who came first is first

// The oldest stranger of that address where those are `address_max`, else the oldest of all where they are `max`; end()
// where there is room.
inline ServiceConnections::iterator StrangerInTheWay(ServiceConnections& connections, const std::string& host,
                                                     std::size_t address_max, std::size_t max) {
  auto oldest = connections.end(), oldest_here = connections.end();
  std::size_t strangers = 0, here = 0;
  for (auto at = connections.begin(); at != connections.end(); ++at) {
    if (at->second->is_known()) continue;
    if (strangers++ == 0) oldest = at;
    if (at->second->host == host && here++ == 0) oldest_here = at;
  }
  if (here >= address_max) return oldest_here;
  return strangers >= max ? oldest : connections.end();
}

}  // namespace glim::checkpoint
