#include "sdk/checkpoint/replica/service_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "sdk/io/unique_fd.h"
#include "sdk/net/socket.h"

namespace glim::checkpoint {
namespace {

constexpr const char* kInfiniBand = "/sys/class/infiniband";

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

// "mlx5_0:1"
std::vector<std::string> InfiniBandPorts() {
  std::vector<std::string> ports;
  std::error_code error;
  for (std::filesystem::directory_iterator device(kInfiniBand, error), end; !error && device != end;
       device.increment(error)) {
    std::error_code none;
    for (std::filesystem::directory_iterator port(device->path() / "ports", none), last; !none && port != last;
         port.increment(none)) {
      ports.push_back(device->path().filename().string() + ":" + port->path().filename().string());
    }
  }
  std::sort(ports.begin(), ports.end());
  return ports;
}

}  // namespace

Result<net::SocketAddress> ListenAddress(const std::string& text) {
  if (text.size() > 2 && text.ends_with(":0")) return net::ResolveAddress(text.substr(0, text.size() - 2), 0);
  return net::ParseAddress(text);
}

std::string DevicesFor(const net::SocketAddress& address) {
  if (address.IsAny()) return "";
  const Result<net::SocketAddress> own = net::OwnAddressTowards(address);
  ifaddrs* list = nullptr;
  if (!own.ok() || ::getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || !SameHost(*entry->ifa_addr, *own->raw())) continue;
    std::string devices = entry->ifa_name;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0) return devices;
    for (const std::string& port : InfiniBandPorts()) devices += "," + port;
    return devices;
  }
  return "";
}

}  // namespace glim::checkpoint
