// For tests: secrets, and strangers on a socket.
#pragma once

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/rendezvous/secret.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce::testing {

inline std::string DigitsOf(char digit) { return std::string(64, digit); }
inline Secret SecretOf(char digit, const std::string& attempt = "7.1") {
  return Secret::Parse(DigitsOf(digit), attempt).value();
}

// Somebody who has connected, and perhaps said something.
inline UniqueFd ConnectTo(const net::SocketAddress& address, const std::string& said = "") {
  Result<UniqueFd> socket = net::StartConnect(address);
  GLIM_CHECK(socket.ok(), socket.status().message());
  (void)net::AwaitReady(socket->get(), POLLOUT, net::Deadline(LongWaitDuration()));
  (void)::send(socket->get(), said.data(), said.size(), MSG_NOSIGNAL);
  return std::move(socket).value();
}

// Both ends of them are in this process.
inline std::vector<UniqueFd> CrowdAt(const net::SocketAddress& address, int size) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < size; ++i) {
    Result<UniqueFd> socket = net::StartConnect(address);
    GLIM_CHECK(socket.ok(), socket.status().message());
    crowd.push_back(std::move(*socket));
  }
  return crowd;
}

// So many bytes, or what came until the other side ended the connection or ten seconds had passed.
inline std::string HearBytes(int socket, std::size_t bytes) {
  std::string heard;
  const net::Deadline deadline(LongWaitDuration());
  while (heard.size() < bytes && net::AwaitReady(socket, POLLIN, deadline)) {
    char some[256];
    const ssize_t n = ::recv(socket, some, std::min(sizeof some, bytes - heard.size()), 0);
    if (n <= 0) break;
    heard.append(some, static_cast<std::size_t>(n));
  }
  return heard;
}

// Within ten seconds, whatever it says before.
inline bool IsEndedByTheOther(int socket) {
  const net::Deadline deadline(LongWaitDuration());
  while (net::AwaitReady(socket, POLLIN, deadline)) {
    char some[256];
    if (::recv(socket, some, sizeof some, 0) <= 0) return true;
  }
  return false;
}

}  // namespace glim::hfreduce::testing
