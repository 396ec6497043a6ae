// The few calls on stream sockets that hfreduce and the replicas share. Nothing here blocks but AwaitReady. Any thread.
// Errors: UNAVAILABLE with the address in the text.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"
#include "sdk/net/deadline.h"

namespace glim::net {

// Sockets are nonblocking and closed on exec. Port 0 picks a free one.
Result<UniqueFd> Listen(const SocketAddress& address);
Result<SocketAddress> LocalAddress(int socket);
// This machine's own address on the way to that one, with port 0. Nothing is sent. UNAVAILABLE: there is no route.
Result<SocketAddress> OwnAddressTowards(const SocketAddress& to);
// The connection may still be under way: when the socket is writable, ConnectError says how it went (0: connected).
Result<UniqueFd> StartConnect(const SocketAddress& address);
int ConnectError(int socket);
// None: nobody is waiting.
UniqueFd Accept(int listener);
// Of poll(2). False: the deadline passed.
bool AwaitReady(int socket, short events, const Deadline& deadline);
// Whether a read or write of a nonblocking socket may be tried again later.
bool WouldBlock(int error);
std::string ErrnoText(int error);

}  // namespace glim::net
