#include "nodeagent/programs/validate/pair_test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "nodeagent/programs/validate/stopwatch.h"
#include "sdk/net/deadline.h"
#include "sdk/net/socket.h"

namespace glim::validate {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kEcho = 64;
constexpr int kEchoes = 100;
constexpr Duration kSilence = Seconds(20);
constexpr char kMore = 1, kLast = 0;  // the first byte of a piece

Status Gone(int error) {
  return Status(StatusCode::kUnavailable,
                error == 0 ? "the other end has closed the connection" : net::ErrnoText(error));
}

// The socket is nonblocking: each wait has its bound.
Status MoveAll(int socket, char* bytes, std::size_t count, bool send) {
  for (std::size_t done = 0; done < count;) {
    const ssize_t moved =
        send ? ::send(socket, bytes + done, count - done, MSG_NOSIGNAL) : ::recv(socket, bytes + done, count - done, 0);
    if (moved > 0) {
      done += static_cast<std::size_t>(moved);
      continue;
    }
    if (moved == 0) return Gone(0);
    if (errno == EINTR) continue;
    if (!net::WouldBlock(errno)) return Gone(errno);
    if (!net::AwaitReady(socket, send ? POLLOUT : POLLIN, net::Deadline(kSilence))) {
      return Status(StatusCode::kUnavailable, "the other end said nothing for 20 seconds");
    }
  }
  return Status::Ok();
}

Status Say(int socket, double value) { return MoveAll(socket, reinterpret_cast<char*>(&value), sizeof value, true); }
Status Hear(int socket, double* value) { return MoveAll(socket, reinterpret_cast<char*>(value), sizeof *value, false); }

// Pieces for a while; the other end says how fast they came.
Status Stream(int socket, std::vector<char>& piece, double seconds, double* mbps) {
  const Stopwatch watch;
  for (bool last = false; !last;) {
    last = watch.Seconds() >= seconds;
    piece[0] = last ? kLast : kMore;
    if (Status moved = MoveAll(socket, piece.data(), piece.size(), true); !moved.ok()) return moved;
  }
  return Hear(socket, mbps);
}

Status Drain(int socket, std::vector<char>& piece, double* mbps) {
  // The clock starts when the first piece is there: until then the sender may have been busy elsewhere.
  if (Status moved = MoveAll(socket, piece.data(), piece.size(), false); !moved.ok()) return moved;
  const Stopwatch watch;
  std::size_t bytes = 0;
  while (piece[0] == kMore) {
    if (Status moved = MoveAll(socket, piece.data(), piece.size(), false); !moved.ok()) return moved;
    bytes += piece.size();
  }
  *mbps = static_cast<double>(bytes) / 1e6 / std::max(watch.Seconds(), 1e-6);
  return Say(socket, *mbps);
}

Status Echo(int socket, bool first, double* latency_us) {
  char bytes[kEcho] = {};
  std::vector<double> us;
  for (int i = 0; i < kEchoes; ++i) {
    const Stopwatch watch;
    if (Status moved = MoveAll(socket, bytes, kEcho, first); !moved.ok()) return moved;
    if (Status moved = MoveAll(socket, bytes, kEcho, !first); !moved.ok()) return moved;
    us.push_back(watch.Seconds() * 1e6);
  }
  std::sort(us.begin(), us.end());
  *latency_us = us[us.size() / 2];
  return first ? Say(socket, *latency_us) : Hear(socket, latency_us);
}

}  // namespace

Result<PairFigures> TestPair(const UniqueFd& connection, bool first, double seconds) {
  const int socket = connection.get();
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> piece(kPiece);
  PairFigures figures;
  if (Status status = Echo(socket, first, &figures.latency_us); !status.ok()) return status;
  if (first) {
    if (Status status = Stream(socket, piece, seconds, &figures.sent_mbps); !status.ok()) return status;
    if (Status status = Drain(socket, piece, &figures.received_mbps); !status.ok()) return status;
    return figures;
  }
  if (Status status = Drain(socket, piece, &figures.received_mbps); !status.ok()) return status;
  if (Status status = Stream(socket, piece, seconds, &figures.sent_mbps); !status.ok()) return status;
  return figures;
}

}  // namespace glim::validate
