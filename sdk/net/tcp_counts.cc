#include "sdk/net/tcp_counts.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>

namespace glim::net {
namespace {

// As the kernel has it since Linux 4.19; the C library's stops half way.
struct LongTcpInfo {
  tcp_info first;
  std::uint64_t rates_and_acked[3];
  std::uint64_t received;
  std::uint32_t segments[2];
  std::uint32_t unsent;
  std::uint32_t round_trip_and_segments[3];
  std::uint64_t rate_and_times[4];
  std::uint32_t delivered[2];
  std::uint64_t sent;
};
static_assert(sizeof(tcp_info) == 104 && offsetof(LongTcpInfo, received) == 128);
static_assert(offsetof(LongTcpInfo, unsent) == 144 && offsetof(LongTcpInfo, sent) == 200);

}  // namespace

std::optional<TcpCounts> CountsOf(int socket) {
  LongTcpInfo info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return TcpCounts{info.received, info.sent + info.unsent};
}

void Disconnect(int socket) {
  const sockaddr nobody{AF_UNSPEC, {}};
  if (::connect(socket, &nobody, sizeof nobody) != 0) ::shutdown(socket, SHUT_RDWR);
}

}  // namespace glim::net
