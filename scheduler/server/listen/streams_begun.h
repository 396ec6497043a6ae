// How many streams the connections of this process' gRPC servers have begun, as gRPC counts them (channelz): from the
// first byte on, before anybody else hears of them. Any thread; some 20 us a peer and 1 us for each other one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace glim::server {

// "ipv4:10.0.0.7:51234", "ipv6:%5B::1%5D:51234" -> as SocketAddress::ToString has it. A link's address has its link:
// "ipv6:%5Bfe80::1%254%5D:51234" -> "[fe80::1%eth0]:51234".
std::string PeerOfUri(const std::string& uri);

// Of these peers, as SocketAddress::ToString names them; who is not connected is left out.
std::map<std::string, std::uint64_t> StreamsBegun(const std::set<std::string>& peers);

}  // namespace glim::server
