#include "sdk/net/framed_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sdk/net/socket.h"

namespace glim::net {

Status FramedStream::Read() {
  std::array<char, 4096> some;
  while (input_.size() < bounds_.input) {
    const std::size_t room = std::min(some.size(), bounds_.input - input_.size());
    const ssize_t n = ::recv(socket_.get(), some.data(), room, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && WouldBlock(errno)) return Status::Ok();
    if (n < 0) return {StatusCode::kUnavailable, "the connection broke: " + ErrnoText(errno)};
    if (n == 0) return {StatusCode::kUnavailable, "the other side ended the connection"};
    input_.append(some.data(), static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

Status FramedStream::Send(std::string_view bytes) {
  output_ += bytes;
  if (output_.size() > bounds_.output) return {StatusCode::kUnavailable, "the other side does not read its answers"};
  return Flush();
}

Status FramedStream::Flush() {
  std::size_t sent = 0;
  Status status;
  while (sent < output_.size()) {
    const ssize_t n = ::send(socket_.get(), output_.data() + sent, output_.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && WouldBlock(errno)) break;
    if (n < 0) {
      status = {StatusCode::kUnavailable, "the connection broke: " + ErrnoText(errno)};
      break;
    }
    sent += static_cast<std::size_t>(n);
  }
  output_.erase(0, sent);
  return status;
}

}  // namespace glim::net
