#include "scheduler/server/door/forwarded_peer.h"

#include <iterator>

#include "scheduler/server/limits/caller_limits.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

// A port's peers are named with their scheme: "ipv4:10.0.0.7:51234", "ipv6:...", "unix:...". A call inside the process
// has none of these.
bool IsOfAPort(std::string_view peer) {
  return peer.starts_with("ipv4:") || peer.starts_with("ipv6:") || peer.starts_with("unix:");
}

}  // namespace

std::string ForwardedPeer(std::string_view key, std::string_view peer) {
  return std::string(key) + " " + std::string(peer);
}

std::string PeerOf(const grpc::ServerContextBase& context, std::string_view key) {
  const std::string own = context.peer();
  if (key.empty() || IsOfAPort(own)) return PeerHost(own);
  const auto [begin, end] = context.client_metadata().equal_range(kForwardedPeer);
  if (begin == end || std::next(begin) != end) return PeerHost(own);
  const std::string_view said(begin->second.data(), begin->second.size());
  const std::size_t space = said.find(' ');
  if (space == std::string_view::npos || !SameHash(said.substr(0, space), key)) return PeerHost(own);
  return std::string(said.substr(space + 1));
}

}  // namespace glim::server
