#include "nodeagent/programs/image/registry_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "sdk/net/address.h"

namespace glim::nodeagent {
namespace {

struct Range {
  std::uint32_t first;
  int bits;
};
// Of IPv4: what is not the whole internet's (the registry of special-purpose addresses, RFC 6890).
constexpr Range kNotPublic[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},
                                {0xa9fe0000, 16}, {0xac100000, 12}, {0xc0000000, 24}, {0xc0a80000, 16},
                                {0xc6120000, 15}, {0xe0000000, 4},  {0xf0000000, 4}};

bool IsPublic4(std::uint32_t address) {
  return std::none_of(std::begin(kNotPublic), std::end(kNotPublic),
                      [&](const Range& range) { return (address ^ range.first) >> (32 - range.bits) == 0; });
}

bool IsPublic6(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    std::uint32_t inner = 0;
    std::memcpy(&inner, &address.s6_addr[12], sizeof inner);
    return IsPublic4(ntohl(inner));
  }
  return (address.s6_addr[0] & 0xe0) == 0x20;  // global unicast alone
}

}  // namespace

bool IsPublicAddress(const std::string& address) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return IsPublic4(ntohl(four.s_addr));
  return ::inet_pton(AF_INET6, address.c_str(), &six) == 1 && IsPublic6(six);
}

Result<RegistryWay> WayTo(const std::string& registry, const std::vector<std::string>& named) {
  const auto is_named = [&](const std::string& entry) {
    return std::find(named.begin(), named.end(), entry) != named.end();
  };
  if (is_named("http://" + registry)) return RegistryWay{true};
  if (is_named(registry)) return RegistryWay{};
  const std::string host = registry.substr(0, registry.find(':'));
  const Result<std::vector<net::SocketAddress>> addresses = net::ParseAddresses(host + ":443");
  if (!addresses.ok()) {
    return Status(StatusCode::kUnavailable,
                  "the registry " + host + " is not known on this node: " + addresses.status().message());
  }
  for (const net::SocketAddress& address : *addresses) {
    if (IsPublicAddress(address.Host())) continue;
    return InvalidArgument("image", "the registry " + registry + " is at a private address, " + address.Host(),
                           "ask the operator to name it in the agents' image_registries");
  }
  return RegistryWay{};
}

}  // namespace glim::nodeagent
