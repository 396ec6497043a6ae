// What the kernel has counted of a TCP connection, whoever reads and writes it; and an end that waits for nobody.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace glim::net {

struct TcpCounts {
  std::uint64_t received = 0;  // bytes that came, read or not
  std::uint64_t given = 0;     // bytes to be sent, taken by the other side or not
};

// None: it is no TCP connection, or the descriptor is closed.
std::optional<TcpCounts> CountsOf(int socket);

// Hangs up, so that what has come and was not read yet is gone, too; a shutdown would let its reader read it all.
void Disconnect(int socket);

}  // namespace glim::net
