#include "sdk/checkpoint/replica/loopback.h"

#include <netinet/in.h>

namespace glim::checkpoint {

Result<hfreduce::SocketAddress> ListenAddress(const std::string& text) {
  if (text.size() > 2 && text.ends_with(":0")) return hfreduce::ResolveAddress(text.substr(0, text.size() - 2), 0);
  return hfreduce::ParseAddress(text);
}

bool IsLoopback(const hfreduce::SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr) != 0;
}

}  // namespace glim::checkpoint
