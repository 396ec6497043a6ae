#include "sdk/checkpoint/replica/service_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "sdk/io/unique_fd.h"
#include "sdk/net/rdma.h"
#include "sdk/net/socket.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint {
namespace {

bool SameHost(const sockaddr& a, const sockaddr& b) {
  if (a.sa_family != b.sa_family) return false;
  if (a.sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  }
  return a.sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace

Result<ReplicaPeer> ParsePeer(const std::string& text) {
  const std::size_t at = text.find('@');
  const auto key = at == std::string::npos ? std::nullopt : ParseKey(text.substr(0, at));
  if (!key.has_value()) {
    return InvalidArgument("peer", "'" + text + "' does not say by which key the service is known",
                           "give KEY@HOST:PORT, as GLIM_REPLICA_PEER has it");
  }
  return ReplicaPeer{*key, text.substr(at + 1)};
}

std::string PeerText(const ReplicaPeer& peer) { return KeyText(peer.key) + "@" + peer.address; }

Result<net::SocketAddress> ListenAddress(const std::string& text) {
  if (text.size() > 2 && text.ends_with(":0")) return net::ResolveAddress(text.substr(0, text.size() - 2), 0);
  return net::ParseAddress(text);
}

Result<Listening> ListenAt(const std::string& text) {
  const Result<net::SocketAddress> where = ListenAddress(text);
  if (!where.ok()) return where.status();
  if (where->IsAny()) {
    return InvalidArgument("listen", "'" + text + "' is no address that other nodes could be told",
                           "name the one that they reach this node by");
  }
  Result<UniqueFd> socket = net::Listen(*where);
  if (!socket.ok()) return socket.status();
  const Result<net::SocketAddress> bound = net::LocalAddress(socket->get());
  if (!bound.ok()) return bound.status();
  return Listening{std::move(socket).value(), bound->ToString(), DevicesFor(*where)};
}

Result<std::string> ServiceTransports(const std::string& told) {
  std::string tls = told;
  if (tls == "all") tls = net::UcxVariablesOfProcess().tls;
  if (tls.empty() || tls == "all") return std::string("^sm");
  if (tls.starts_with("^")) return tls + ",sm";
  std::istringstream names(tls);
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "sm" && name != "shm" && name != "mm" && name != "posix" && name != "sysv" && name != "cma" &&
        name != "knem" && name != "xpmem") {
      continue;
    }
    return InvalidArgument("ucx_tls", "'" + name + "' is shared memory, which leads to no other node",
                           "name tcp, rc or dc, or say all");
  }
  return tls;
}

std::string DevicesFor(const net::SocketAddress& address) {
  if (address.IsAny() || !net::UcxVariablesOfProcess().net_devices.empty()) return "";
  const Result<net::SocketAddress> own = net::OwnAddressTowards(address);
  ifaddrs* list = nullptr;
  if (!own.ok() || ::getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || !SameHost(*entry->ifa_addr, *own->raw())) continue;
    std::string devices = entry->ifa_name;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0) return devices;
    const std::string ports = net::UsablePorts(net::RdmaPorts());
    if (!ports.empty()) devices.append(",").append(ports);
    return devices;
  }
  return "";
}

}  // namespace glim::checkpoint
