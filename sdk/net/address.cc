#include "sdk/net/address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

namespace glim::net {

std::string SocketAddress::Host() const {
  char host[NI_MAXHOST];
  const int error = ::getnameinfo(raw(), length, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host : "?";
}

std::uint16_t SocketAddress::port() const {
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                                             : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::string SocketAddress::ToString() const {
  const std::string host = Host();
  if (host == "?") return host;
  return (storage.ss_family == AF_INET6 ? "[" + host + "]:" : host + ":") + std::to_string(port());
}

bool SocketAddress::IsAny() const {
  if (storage.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr);
}

namespace {

Result<std::vector<SocketAddress>> ResolveAll(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0 || found == nullptr) {
    return Status(StatusCode::kInvalidArgument, "no address for host '" + host + "': " + ::gai_strerror(error));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::copy_n(reinterpret_cast<const char*>(one->ai_addr), one->ai_addrlen,
                reinterpret_cast<char*>(&address.storage));
    address.length = one->ai_addrlen;
  }
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace

Result<SocketAddress> ResolveAddress(const std::string& host, std::uint16_t port) {
  Result<std::vector<SocketAddress>> all = ResolveAll(host, port);
  if (!all.ok()) return all.status();
  return all->front();
}

Result<std::vector<SocketAddress>> ParseAddresses(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos) {
    const auto parsed = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && port != 0) {
      std::string host = text.substr(0, colon);
      if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
      return ResolveAll(host, port);
    }
  }
  return Status(StatusCode::kInvalidArgument, "'" + text + "' is not an address of the form host:port");
}

Result<SocketAddress> ParseAddress(const std::string& text) {
  Result<std::vector<SocketAddress>> all = ParseAddresses(text);
  if (!all.ok()) return all.status();
  return all->front();
}

}  // namespace glim::net
