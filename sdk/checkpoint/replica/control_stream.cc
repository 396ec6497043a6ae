#include "sdk/checkpoint/replica/control_stream.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace glim::checkpoint {
namespace {

constexpr std::size_t kInputMax = kFrameHeadBytes + kFrameBodyBytesMax;
// Every answer is to a request, so that whoever reads has at most one waiting.
constexpr std::size_t kOutputMax = 2 * kInputMax;

bool NotNow(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Status ControlStream::Read() {
  std::array<char, 4096> some;
  while (input_.size() < kInputMax) {
    const ssize_t n = ::recv(socket_.get(), some.data(), some.size(), 0);
    if (n < 0 && NotNow(errno)) return Status::Ok();
    if (n < 0) return {StatusCode::kUnavailable, "the connection broke: " + hfreduce::ErrnoText(errno)};
    if (n == 0) return {StatusCode::kUnavailable, "the other side ended the connection"};
    input_.append(some.data(), static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

Status ControlStream::Send(const ControlMessage& message) {
  output_ += Encode(message);
  if (output_.size() > kOutputMax) return {StatusCode::kUnavailable, "the other side does not read its answers"};
  return Flush();
}

Status ControlStream::Flush() {
  while (!output_.empty()) {
    const ssize_t n = ::send(socket_.get(), output_.data(), output_.size(), MSG_NOSIGNAL);
    if (n < 0 && NotNow(errno)) return Status::Ok();
    if (n < 0) return {StatusCode::kUnavailable, "the connection broke: " + hfreduce::ErrnoText(errno)};
    output_.erase(0, static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

}  // namespace glim::checkpoint
