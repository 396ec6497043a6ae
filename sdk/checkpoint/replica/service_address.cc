#include "sdk/checkpoint/replica/service_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include "sdk/io/unique_fd.h"
#include "sdk/net/rdma.h"
#include "sdk/net/socket.h"

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

Result<net::SocketAddress> ListenAddress(const std::string& text) {
  if (text.size() > 2 && text.ends_with(":0")) return net::ResolveAddress(text.substr(0, text.size() - 2), 0);
  return net::ParseAddress(text);
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
